"""Tests of `treaty call` against providers of the test's own: what is sent, what is printed, what it ends with."""
import json
import os
import pty
import signal
import socket
import subprocess
import threading
import unittest

from fake_provider import CallTest, KEY, STREAM, answer, certificate, chunk, completion, open_answer
from treaty_binary import BINARY, SECONDS

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)


class TheRequest(CallTest):
    def sent(self, *options, provider="openai", body=None, path="/v1", text="Say hi.", **more):
        fake = self.provider(answer(completion() if body is None else body))
        ran = self.call(fake, *options, provider=provider, path=path, text=text, **more)
        self.assertEqual(ran.code, 0, ran)
        request, = fake.requests
        return request

    def test_it_has_the_key_the_model_and_the_text(self):
        request = self.sent()

        self.assertEqual((request.method, request.target), ("POST", "/v1/chat/completions"))
        self.assertEqual(request.headers["authorization"], f"Bearer {KEY}")
        self.assertEqual(request.headers["content-type"], "application/json")
        self.assertTrue(request.headers["user-agent"].startswith("treaty/"))
        self.assertEqual(request.json, {"model": "small-1", "messages": [{"role": "user", "content": "Say hi."}]})

    def test_a_text_may_come_from_standard_input(self):
        request = self.sent(text="-", stdin="Grüße\n".encode())

        self.assertEqual(request.json["messages"][0]["content"], "Grüße\n")

    def test_system_settings_and_streams(self):
        request = self.sent("--system", "Be brief.", "--max-tokens", "9", "--temperature", "0.5", "--stream")

        self.assertEqual(request.json["messages"][0], {"role": "system", "content": "Be brief."})
        self.assertEqual(request.json["max_completion_tokens"], 9)
        self.assertEqual(request.json["temperature"], 0.5)
        self.assertIs(request.json["stream"], True)
        self.assertEqual(request.headers["accept"], "text/event-stream")

    def test_how_much_the_model_thinks_is_said_in_the_words_of_the_provider(self):
        message = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                   "content": [{"type": "text", "text": "Hi."}], "usage": {"input_tokens": 1, "output_tokens": 1}}

        self.assertEqual(self.sent("--reasoning", "low").json["reasoning_effort"], "low")
        thinking = self.sent("--reasoning-budget", "2048", provider="anthropic", path="", body=message,
                             variables={"ANTHROPIC_API_KEY": "k"}).json["thinking"]
        self.assertEqual(thinking["budget_tokens"], 2048)

    def test_images_are_told_by_their_bytes(self):
        for name, content, kind in (("a.txt", PNG, "png"), ("b", b"\xff\xd8\xff\xe0", "jpeg"), ("c", b"GIF89a", "gif"),
                                    ("d", b"RIFF\0\0\0\0WEBPVP8 ", "webp")):
            with self.subTest(kind):
                content = self.sent("--image", self.write(name, content)).json["messages"][0]["content"]

                self.assertEqual(content[0], {"type": "text", "text": "Say hi."})
                self.assertTrue(content[1]["image_url"]["url"].startswith(f"data:image/{kind};base64,"), content)

    def test_tools_come_by_name_by_file_and_as_json(self):
        schema = {"type": "object", "properties": {"city": {"type": "string"}}}
        self.write("weather.json", schema)
        self.write("whole.json", {"name": "other", "description": "Finds.", "input_schema": schema})

        tools = self.sent("--tool", "now", "--tool", "weather=weather.json", "--tool", "find=whole.json",
                          "--tool", json.dumps({"type": "function", "function": {"name": "add", "parameters": schema}}),
                          ).json["tools"]

        self.assertEqual([tool["function"]["name"] for tool in tools], ["now", "weather", "find", "add"])
        self.assertEqual(tools[0]["function"]["parameters"], {"type": "object", "properties": {}})
        for tool in tools[1:]:
            self.assertEqual(tool["function"]["parameters"], schema)
        self.assertEqual(tools[2]["function"]["description"], "Finds.")

    def test_a_schema_asks_for_structured_output(self):
        self.write("schema.json", {"type": "object"})
        fake = self.provider(answer(completion('{"n": 1}')))

        result = self.result(fake, "--schema", "schema.json", code=0)

        self.assertEqual(fake.requests[0].json["response_format"]["json_schema"]["schema"], {"type": "object"})
        self.assertEqual(result["output"], {"n": 1})

    def test_each_protocol_has_its_address_and_key(self):
        message = {"type": "message", "role": "assistant", "model": "m", "content": [{"type": "text", "text": "Hi."}],
                   "stop_reason": "end_turn", "usage": {"input_tokens": 1, "output_tokens": 1}}
        candidate = {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]}
        native = {"model": "m", "message": {"role": "assistant", "content": "Hi."}, "done": True, "done_reason": "stop"}
        for provider, variable, path, body, target, header in (
                ("anthropic", "ANTHROPIC_API_KEY", "", message, "/v1/messages", "x-api-key"),
                ("gemini", "GEMINI_API_KEY", "", candidate, "/v1beta/models/small-1:generateContent", "x-goog-api-key"),
                ("azure", "AZURE_OPENAI_API_KEY", "", completion(), "/openai/v1/chat/completions", "api-key"),
                ("azure", "AZURE_OPENAI_API_KEY", "/openai/deployments/d?api-version=2024-10-21", completion(),
                 "/openai/deployments/d/chat/completions?api-version=2024-10-21", "api-key"),
                ("groq", "GROQ_API_KEY", "", completion(), "/openai/v1/chat/completions", "authorization"),
                ("ollama", "OLLAMA_API_KEY", "", native, "/api/chat", "authorization"),
                ("custom", "CUSTOM_API_KEY", "/api", completion(), "/api/chat/completions", "authorization")):
            with self.subTest(provider):
                request = self.sent(provider=provider, path=path, body=body, variables={variable: "key-of-" + provider})

                self.assertEqual(request.target, target)
                self.assertTrue(request.headers[header].endswith("key-of-" + provider), request.headers)

    def test_the_address_may_come_from_the_environment(self):
        fake = self.provider(answer(completion()))
        arguments = self.arguments(fake)
        at = arguments.index("--base-url")

        ran = subprocess.run(arguments[:at] + arguments[at + 2:], capture_output=True, timeout=SECONDS, check=False,
                             env=self.environment(OPENAI_BASE_URL=fake.url + "/v1"))

        self.assertEqual((ran.returncode, len(fake.requests)), (0, 1), ran)

    def test_a_local_server_needs_no_key(self):
        self.assertNotIn("authorization", self.sent(provider="vllm").headers)


class TheAnswer(CallTest):
    def test_the_text_goes_to_stdout_and_one_line_to_stderr(self):
        ran = self.call(self.provider(answer(
            completion(), x_ratelimit_limit_requests=60, x_ratelimit_remaining_requests=59,
            x_ratelimit_reset_requests="1s")))

        self.assertEqual((ran.code, ran.out), (0, "Hello there.\n"))
        self.assertEqual(len(ran.err.splitlines()), 1)
        for part in ("openai small-1-2026", "12 tokens in, 3 out", "requests 59/60 left, resets in 1 s"):
            self.assertIn(part, ran.err)

    def test_json_is_the_whole_agent_result(self):
        result = self.result(answer(completion(), x_request_id="req_1"), code=0)

        self.assertEqual((result["content"], result["finish_reason"]), ("Hello there.", "stop"))
        self.assertEqual(result["usage"]["total_tokens"], 15)
        self.assertEqual(result["provider_data"]["provider"], "openai")
        self.assertEqual(result["provider_data"]["request_id"], "req_1")

    def test_streamed_or_not_the_result_is_the_same(self):
        plain = self.result(answer(completion()), code=0)
        streamed = self.result(open_answer() + STREAM, "--stream", code=0)

        for result in (plain, streamed):
            del result["provider_data"]["raw_headers"]
        self.assertEqual(plain, streamed)

    def test_text_is_printed_as_it_comes(self):
        seen = threading.Event()

        def first_then_rest(connection, _):
            connection.sendall(open_answer() + chunk("Hello"))
            self.assertTrue(seen.wait(SECONDS))
            connection.sendall(chunk(" there.") + chunk(finish_reason="stop") + b"data: [DONE]\n\n")

        fake = self.provider(first_then_rest)
        running = self.start(fake, "--stream")
        first = os.read(running.stdout.fileno(), 100)
        seen.set()
        rest, _ = running.communicate(timeout=SECONDS)

        self.assertEqual((first, rest, running.returncode), (b"Hello", b" there.\n", 0))

    def test_tool_calls_are_printed(self):
        calls = [{"id": "call_1", "type": "function", "function": {"name": "weather", "arguments": '{"city": "Oslo"}'}}]
        given = answer(completion(None, message={"tool_calls": calls}, finish_reason="tool_calls"))

        ran = self.call(self.provider(given))
        result = self.result(given, code=0)

        self.assertEqual((ran.code, ran.out), (0, 'weather({"city": "Oslo"})  [call_1]\n'))
        self.assertEqual(result["finish_reason"], "tool_use")
        self.assertEqual(result["tool_calls"], [{"id": "call_1", "name": "weather", "arguments": '{"city": "Oslo"}'}])

    def test_on_a_terminal_a_model_cannot_command_it(self):
        text = "safe \x1b[2J\x07\x9b31m\r\nend\ttab"
        master, slave = pty.openpty()
        fake = self.provider(answer(completion(text)))

        running = self.start(fake, stdout=slave)
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 1000):
                shown += piece
        except OSError:  # How Linux tells that the other side of a terminal is closed.
            pass
        running.communicate(timeout=SECONDS)
        os.close(master)

        self.assertEqual(running.returncode, 0)
        self.assertEqual(shown.decode().replace("\r\n", "\n"), "safe ?[2J??31m\nend\ttab\n")
        self.assertIs(fake.requests[0].json["stream"], True)
        self.assertEqual(self.call(self.provider(answer(completion(text)))).out, text + "\n")


class Examples(CallTest):
    def test_every_example_of_the_help_works(self):
        message = {"type": "message", "content": [{"type": "text", "text": "Hi."}], "stop_reason": "end_turn"}
        candidate = {"candidates": [{"content": {"parts": [{"text": "Hi."}]}, "finishReason": "STOP"}]}

        def by_path(connection, request):
            given = message if "messages" in request.target else candidate if "Content" in request.target else None
            connection.sendall(answer(given or completion("Hi.")))

        fake = self.provider(by_path)
        self.write("cat.png", PNG)
        self.write("question.txt", "What is it?")
        variables = {f"{name}_{what}": fake.url if what == "BASE_URL" else KEY
                     for name in ("OPENAI", "ANTHROPIC", "GEMINI") for what in ("BASE_URL", "API_KEY")}
        help_text = self.treaty("call", "--help").out
        examples = [line.strip() for line in help_text.partition("Examples:")[2].splitlines() if "  treaty " in line]
        self.assertGreater(len(examples), 2)
        for number, example in enumerate(examples, 1):
            with self.subTest(example):
                command = example.replace("treaty", str(BINARY), 1).replace("http://localhost:8080", fake.url)
                ran = subprocess.run(["bash", "-c", command], cwd=self.folder, capture_output=True, timeout=SECONDS,
                                     env=self.environment(**variables), check=False)

                self.assertEqual((ran.returncode, b"Hi." in ran.stdout, len(fake.requests)), (0, True, number), ran)


class Interrupting(CallTest):
    def interrupted(self, number, *options):
        def stall(connection, _):
            connection.sendall(open_answer() + chunk("Hello"))
            asked.set()
            fake.done.wait(SECONDS)

        asked = threading.Event()
        fake = self.provider(stall)
        running = self.start(fake, "--stream", *options)
        if "json" in options:
            self.assertTrue(asked.wait(SECONDS))
        else:
            self.assertEqual(os.read(running.stdout.fileno(), 100), b"Hello")
        running.send_signal(number)
        out, err = running.communicate(timeout=SECONDS)
        return running.returncode, out.decode(), err.decode()

    def test_an_interrupt_ends_the_call(self):
        code, out, err = self.interrupted(signal.SIGINT)

        self.assertEqual((code, out), (130, "\n"))
        self.assertIn("aborted", err)

    def test_the_result_says_that_it_was_aborted(self):
        code, out, _ = self.interrupted(signal.SIGTERM, "--format", "json")

        self.assertEqual(code, 143)
        self.assertEqual(json.loads(out)["finish_reason"], "aborted")
        self.assertTrue(self.verdict("agent-result", out)["valid"])


class Usage(CallTest):
    def refused(self, *arguments, code=2, **variables):
        """A call that is not tried. Answers what it says on stderr."""
        ran = subprocess.run([BINARY, "call", *arguments], input=b"", capture_output=True,
                             cwd=self.folder, timeout=SECONDS, env=self.environment(**variables), check=False)
        self.assertEqual((ran.returncode, ran.stdout), (code, b""), ran)
        return ran.stderr.decode()

    def test_what_is_missing_is_told(self):
        for arguments, words in (
                (["--model", "m", "hi"], "--provider openai|anthropic|"),
                (["--provider", "opnai", "--model", "m", "hi"], "did you mean openai?"),
                (["--provider", "groq", "hi"], "--model NAME"),
                (["--provider", "openai", "--model", "m"], "a text, or -"),
                (["--provider", "openai", "--model", "m", "a", "b"], "quotes"),
                (["--provider", "openai", "--model", "m", " "], "blank"),
                (["--provider", "openai", "--model", "m", "--protocol", "gemini", "hi"], "chat_completions, responses"),
                (["--provider", "openai", "--model", "m", "--max-tokens", "0", "hi"], "--max-tokens"),
                (["--provider", "openai", "--model", "m", "--temperature", "nan", "hi"], "--temperature"),
                (["--provider", "openai", "--model", "m", "--timeout", "0", "hi"], "--timeout"),
                (["--provider", "openai", "--model", "m", "--base-url", "ftp://x", "hi"], "--base-url"),
                (["--provider", "openai", "--model", "m", "--reasoning", "huge", "hi"], "minimal, low, medium or high"),
                (["--provider", "openai", "--model", "m", "--reasoning-budget", "0", "hi"], "--reasoning-budget"),
                (["--provider", "openai", "--model", "m", "--reasoning-budget", "9", "hi"],
                 "openai takes no --reasoning-budget; use --reasoning"),
                (["--provider", "openai", "--model", "m", "--tool", "no good", "hi"], "letters, digits"),
                (["--provider", "openai", "--model", "m", "--tool", "{}", "hi"], '"name"'),
                (["--provider", "openai", "--model", "m", "--tool", "a", "--tool", "a", "hi"], "two tools"),
                (["--provider", "openai", "--model", "m", "--tool", "a=none.json", "hi"], "cannot be read"),
                (["--provider", "openai", "--model", "m", "--schema", "none.json", "hi"], "cannot be read"),
                (["--provider", "openai", "--model", "m", "--image", "none.png", "hi"], "cannot be read"),
                (["--provider", "openai", "--model", "m", "--image", self.write("a.png", "text"), "hi"], "PNG")):
            with self.subTest(arguments):
                told = self.refused(*arguments)

                self.assertIn(words, told)
                self.assertIn("treaty call --help", told)

    def test_a_provider_without_an_address_needs_one(self):
        told = self.refused("--provider", "custom", "--model", "m", "hi", code=78)

        self.assertIn("CUSTOM_BASE_URL", told)
        self.assertIn("AZURE_OPENAI_BASE_URL", self.refused("--provider", "azure", "--model", "m", "hi", code=78))
        self.assertIn("OPENAI_BASE_URL", self.refused("--provider", "openai", "--model", "m", "hi", code=78,
                                                      OPENAI_BASE_URL="nonsense"))

    def test_without_a_key_nobody_is_called(self):
        fake = self.provider(answer(completion()))
        ran = self.call(fake, variables={"OPENAI_API_KEY": ""})
        told = self.result(fake, code=78, variables={"OPENAI_API_KEY": " "})

        self.assertEqual((ran.code, ran.out, fake.requests), (78, "", []))
        self.assertIn("OPENAI_API_KEY", ran.err)
        self.assert_error(told, "auth_error", False)

    def test_a_key_that_would_break_the_request_is_not_sent(self):
        fake = self.provider(answer(completion()))
        result = self.result(fake, variables={"OPENAI_API_KEY": "abc\r\nx-evil: 1"})

        self.assert_error(result, "auth_error", False)
        self.assertEqual(fake.requests, [])
        self.assertNotIn("evil", json.dumps(result))

    def test_a_price_table_that_cannot_be_read_is_told(self):
        self.assertIn("none.yaml", self.refused("--provider", "openai", "--model", "m", "--prices", "none.yaml", "hi",
                                                code=78))


class Proxies(CallTest):
    def tunnel(self, target_port):
        """A proxy that sends every CONNECT to one port and answers everything else itself."""
        def serve(connection, request):
            if request.method != "CONNECT":
                connection.sendall(answer(completion("through the proxy")))
                return
            with socket.create_connection(("127.0.0.1", target_port)) as beyond:
                connection.sendall(b"HTTP/1.1 200 Connection established\r\n\r\n")
                back = threading.Thread(target=self.pump, args=(beyond, connection), daemon=True)
                back.start()
                self.pump(connection, beyond)
                back.join(SECONDS)

        return self.provider(serve)

    @staticmethod
    def pump(source, target):
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def test_plain_calls_go_through_http_proxy(self):
        proxy = self.tunnel(0)
        fake = self.provider(answer(completion()))

        ran = self.call(fake, variables={"http_proxy": proxy.url})

        self.assertEqual((ran.out, fake.requests), ("through the proxy\n", []), ran)
        self.assertEqual(proxy.requests[0].target, fake.url + "/v1/chat/completions")

    def test_no_proxy_names_who_is_called_directly(self):
        proxy = self.tunnel(0)

        ran = self.call(self.provider(answer(completion())), variables={"http_proxy": proxy.url, "NO_PROXY": "127.0.0.1"})

        self.assertEqual((ran.out, proxy.requests), ("Hello there.\n", []), ran)

    def test_secure_calls_go_through_a_tunnel(self):
        pem, context = certificate(self.folder)
        fake = self.provider(answer(completion()), context)
        proxy = self.tunnel(fake.port)

        ran = self.call(fake, "--ca-file", str(pem), variables={"HTTPS_PROXY": proxy.url})

        self.assertEqual((ran.code, ran.out), (0, "Hello there.\n"), ran)
        self.assertEqual(proxy.requests[0].method, "CONNECT")
        self.assertNotIn(KEY, repr(proxy.requests))


if __name__ == "__main__":
    unittest.main()
