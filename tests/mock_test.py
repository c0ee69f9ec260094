"""Whole-binary tests of `treaty mock`: what it answers, its options, its playback of recordings."""
import json
import re
import signal
import socket
import subprocess
import unittest

from mock_server import CHAT, MESSAGES, RESPONSES, MockTest, anthropic, chat, responses
from treaty_binary import BINARY, EXAMPLES, ROOT, SECONDS

TOOL = {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}, "required": ["city"]}


class WithoutAScript(MockTest):
    def setUp(self):
        super().setUp()
        self.server = self.mock()

    def test_the_user_is_echoed_on_every_wire(self):
        gemini = {"contents": [{"role": "user", "parts": [{"text": "Hello"}]}]}
        texts = [
            self.server.ask(CHAT, chat()).json["choices"][0]["message"]["content"],
            self.server.ask("/v1/completions", {"model": "m", "prompt": "Hello"}).json["choices"][0]["text"],
            self.server.ask(RESPONSES, responses()).json["output"][0]["content"][0]["text"],
            self.server.ask(MESSAGES, anthropic()).json["content"][0]["text"],
            self.server.ask("/v1beta/models/g:generateContent", gemini).json["candidates"][0]["content"]["parts"][0]["text"],
            self.server.ask("/api/chat", chat(stream=False)).json["message"]["content"],
        ]

        self.assertEqual(texts, ["You said: Hello"] * 6)

    def test_streams_bring_the_same_text_in_pieces(self):
        events = self.server.ask(CHAT, chat(stream=True)).events
        self.assertEqual(events[-1], ("", "[DONE]"))
        deltas = [json.loads(data)["choices"][0]["delta"].get("content") or "" for _, data in events[:-1]]
        self.assertEqual("".join(deltas), "You said: Hello")

        events = self.server.ask(MESSAGES, anthropic(stream=True)).events
        self.assertEqual([name for name, _ in events][:3], ["message_start", "content_block_start", "ping"])
        self.assertEqual(events[-1][0], "message_stop")

        events = self.server.ask(RESPONSES, responses(stream=True)).events
        self.assertEqual([json.loads(data)["sequence_number"] for _, data in events], list(range(len(events))))
        self.assertEqual(events[-1][0], "response.completed")

    def test_a_stream_tells_its_usage_only_when_asked(self):
        plain = self.server.ask(CHAT, chat(stream=True)).events
        asked = self.server.ask(CHAT, chat(stream=True, stream_options={"include_usage": True})).events

        self.assertFalse(any('"usage"' in data for _, data in plain))
        last = json.loads(asked[-2][1])
        self.assertEqual(last["choices"], [])
        self.assertEqual(last["usage"]["total_tokens"], last["usage"]["prompt_tokens"] + last["usage"]["completion_tokens"])

    def test_a_tool_that_is_named_is_called_and_its_result_quoted(self):
        tools = [{"type": "function", "function": {"name": "weather", "parameters": TOOL}}]
        call = self.server.ask(CHAT, chat("Use weather please", tools=tools)).json["choices"][0]
        self.assertEqual(call["finish_reason"], "tool_calls")
        self.assertEqual(json.loads(call["message"]["tool_calls"][0]["function"]["arguments"]), {"city": "example"})

        history = chat(tools=tools)
        history["messages"] += [call["message"], {"role": "tool", "tool_call_id": "x", "content": "sunny"}]
        self.assertIn("sunny", self.server.ask(CHAT, history).json["choices"][0]["message"]["content"])

    def test_paths_of_azure_and_without_a_version_are_known(self):
        body = {"messages": [{"role": "user", "content": "Hello"}]}
        answer = self.server.ask("/openai/deployments/d-1/chat/completions?api-version=2024-10-21", body)
        self.assertEqual(answer.json["model"], "d-1")
        self.assertEqual(self.server.ask("/chat/completions", chat()).status, 200)
        self.assertEqual(self.server.ask("/messages", anthropic()).status, 200)

    def test_gemini_streams_events_or_an_array(self):
        body = {"contents": [{"parts": [{"text": "Hello"}]}]}
        array = self.server.ask("/v1beta/models/g:streamGenerateContent", body).json
        events = self.server.ask("/v1beta/models/g:streamGenerateContent?alt=sse", body).events

        self.assertEqual(array[-1]["candidates"][0]["finishReason"], "STOP")
        self.assertEqual(len(array), len(events))

    def test_models_are_listed(self):
        models = self.server.ask("/v1/models", method="GET").json["data"]
        self.assertEqual(self.server.ask("/v1/models/" + models[0]["id"], method="GET").json["id"], models[0]["id"])

    def test_rate_limits_are_told_in_the_dialect_of_the_provider(self):
        self.assertEqual(self.server.ask(CHAT, chat()).headers["x-ratelimit-remaining-requests"], "9999")
        self.assertIn("anthropic-ratelimit-requests-reset", self.server.ask(MESSAGES, anthropic()).headers)

    def test_a_bad_request_gets_the_error_of_its_provider(self):
        cases = [(CHAT, "{", "could not parse"), (CHAT, "[]", "no object"), (CHAT, {"messages": []}, "model"),
                 (CHAT, {"model": "m"}, "messages"), (CHAT, {"model": "m", "messages": []}, "messages"),
                 (RESPONSES, {"model": "m"}, "input"), (CHAT, b"\xff", "could not parse"), (CHAT, "", "could not parse")]
        for path, body, word in cases:
            with self.subTest(path=path, body=body):
                answer = self.server.ask(path, body)
                self.assertEqual(answer.status, 400)
                self.assertEqual(answer.json["error"]["type"], "invalid_request_error")
                self.assertIn(word, answer.json["error"]["message"])
        answer = self.server.ask(MESSAGES, {"model": "m", "messages": [{"role": "user", "content": "a"}]})
        self.assertEqual(answer.json["type"], "error")
        self.assertEqual(answer.json["error"], {"type": "invalid_request_error", "message": "max_tokens: Field required"})

    def test_wrong_paths_and_methods_are_told_what_is_right(self):
        answer = self.server.ask("/v1/chat", chat())
        self.assertEqual(answer.status, 404)
        self.assertIn("/v1/chat/completions", answer.json["error"]["message"])
        answer = self.server.ask(CHAT, method="GET")
        self.assertEqual((answer.status, answer.headers["allow"]), (405, "POST"))


class Scripts(MockTest):
    def test_replies_come_in_order_and_rules_come_first(self):
        server = self.mock("""
rules:
  - when: {user_contains: weather}
    text: "Rain over {{model}}."
replies: [one, two]
""")
        asked = [server.ask(CHAT, chat(text)).json["choices"][0]["message"]["content"]
                 for text in ("a", "Weather?", "b", "c")]
        self.assertEqual(asked, ["one", "Rain over m.", "two", "two"])

    def test_members_of_a_reply_reach_every_wire(self):
        server = self.mock("""
- text: [Let me, " look."]
  tool_calls:
    - {name: look, arguments: {where: here}, id: id_1}
    - {name: leave}
  usage: {input_tokens: 100, output_tokens: 7, cache_read_tokens: 40}
  finish_reason: length
  model: other
  headers: {X-Extra: "1"}
""")
        answer = server.ask(CHAT, chat())
        choice = answer.json["choices"][0]
        self.assertEqual(answer.headers["x-extra"], "1")
        self.assertEqual(choice["finish_reason"], "length")
        self.assertEqual(choice["message"]["content"], "Let me look.")
        self.assertEqual([call["function"]["name"] for call in choice["message"]["tool_calls"]], ["look", "leave"])
        self.assertEqual(answer.json["usage"]["prompt_tokens_details"]["cached_tokens"], 40)

        message = server.ask(MESSAGES, anthropic()).json
        self.assertEqual(message["stop_reason"], "max_tokens")
        self.assertEqual(message["model"], "other")
        self.assertEqual(message["content"][1], {"type": "tool_use", "id": "id_1", "name": "look", "input": {"where": "here"}})
        self.assertEqual((message["usage"]["input_tokens"], message["usage"]["cache_read_input_tokens"]), (60, 40))

        response = server.ask(RESPONSES, responses()).json
        self.assertEqual((response["status"], response["incomplete_details"]), ("incomplete", {"reason": "max_output_tokens"}))
        self.assertEqual(response["output"][1]["call_id"], "id_1")

    def test_streamed_tool_calls_join_to_their_arguments(self):
        arguments = {"text": "quite a long text, with é and \"quotes\" in it"}
        server = self.mock(json.dumps([{"tool_calls": [{"name": "a", "arguments": arguments}, {"name": "b"}]}]))
        joined = {}
        for _, data in server.ask(CHAT, chat(stream=True)).events[:-1]:
            for call in json.loads(data)["choices"][0]["delta"].get("tool_calls", []):
                joined[call["index"]] = joined.get(call["index"], "") + call["function"]["arguments"]
        self.assertEqual([json.loads(text) for text in joined.values()], [arguments, {}])

    def test_refusals_are_told_as_each_provider_does(self):
        server = self.mock("- refusal: I will not.")
        self.assertEqual(server.ask(CHAT, chat()).json["choices"][0]["message"]["refusal"], "I will not.")
        self.assertEqual(server.ask(MESSAGES, anthropic()).json["stop_reason"], "refusal")
        self.assertEqual(server.ask(RESPONSES, responses()).json["output"][0]["content"][0]["type"], "refusal")

    def test_errors_come_in_the_envelope_of_the_provider(self):
        server = self.mock("- error: {status: 429, message: Slow down.}\n  headers: {retry-after: 20}")
        answer = server.ask(CHAT, chat(stream=True))
        self.assertEqual((answer.status, answer.headers["retry-after"]), (429, "20"))
        self.assertEqual(answer.json["error"]["code"], "rate_limit_exceeded")
        answer = server.ask(MESSAGES, anthropic())
        self.assertEqual(answer.json["error"], {"type": "rate_limit_error", "message": "Slow down."})
        self.assertEqual(answer.json["request_id"], answer.headers["request-id"])
        answer = server.ask("/v1beta/models/g:generateContent", {"contents": [{"parts": [{"text": "a"}]}]})
        self.assertEqual(answer.json["error"]["status"], "RESOURCE_EXHAUSTED")
        self.assertEqual(server.ask("/api/chat", chat()).json, {"error": "Slow down."})

    def test_an_error_after_text_comes_inside_of_the_stream(self):
        server = self.mock("- text: Well,\n  error: {status: 529, message: Overloaded}")
        answer = server.ask(MESSAGES, anthropic(stream=True))
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.events[-1][0], "error")
        answer = server.ask(RESPONSES, responses(stream=True))
        self.assertEqual(answer.events[-1][0], "response.failed")
        self.assertEqual(json.loads(server.ask(CHAT, chat(stream=True)).events[-1][1])["error"]["message"], "Overloaded")
        self.assertEqual(server.ask(MESSAGES, anthropic()).status, 529)

    def test_an_exact_body_has_any_status_and_type(self):
        server = self.mock("- {body: 'exactly this', status: 502, content_type: text/plain}\n- html: true\n")
        answer = server.ask(CHAT, chat())
        self.assertEqual((answer.status, answer.body, answer.headers["content-type"]), (502, b"exactly this", "text/plain"))
        answer = server.ask(CHAT, chat())
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "text/html"))
        self.assertIn(b"<html>", answer.body)

    def test_a_key_is_asked_for_when_the_script_has_one(self):
        server = self.mock("key: secret\nreplies: [ok]\n")
        for headers in ({"authorization": "Bearer secret"}, {"x_api_key": "secret"}, {"api_key": "secret"}):
            self.assertEqual(server.ask(CHAT, chat(), **headers).status, 200)
        for headers in ({}, {"authorization": "Bearer other"}):
            answer = server.ask(CHAT, chat(), **headers)
            self.assertEqual((answer.status, answer.json["error"]["code"]), (401, "invalid_api_key"))

    def test_models_of_the_script_are_listed(self):
        server = self.mock("models: [a, b]\n")
        self.assertEqual([model["id"] for model in server.ask("/v1/models", method="GET").json["data"]], ["a", "b"])
        self.assertEqual(server.ask("/v1/models/c", method="GET").status, 404)


class Options(MockTest):
    def test_the_same_seed_gives_the_same_ids(self):
        ids = [self.mock(None, "--seed", seed).ask(CHAT, chat()).json["id"] for seed in ("7", "7", "8")]
        self.assertEqual(ids[0], ids[1])
        self.assertNotEqual(ids[0], ids[2])

    def test_requests_are_logged_without_tricks(self):
        server = self.mock("- text: a\n- cut: head\n")
        server.ask(CHAT + "?%1b", chat(stream=True))
        server.bytes_until_end()
        code, log = server.stop()
        self.assertEqual((code, log), (0, [f"POST {CHAT} 200, stream", f"POST {CHAT} no answer, cut"]))

    def test_quiet_logs_nothing(self):
        server = self.mock(None, "--quiet")
        server.ask(CHAT, chat())
        self.assertEqual(server.stop(), (0, []))

    def test_it_ends_well_when_interrupted_even_in_the_middle_of_an_answer(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            server = self.mock("- stall: 0")
            with server.connect() as client:
                self.assertTrue(client.recv(10))
                server.process.send_signal(number)
                self.assertEqual(server.process.wait(SECONDS), 0)

    def test_people_are_told_what_to_paste(self):
        process = subprocess.Popen([BINARY, "mock", "--port", "0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            lines = [process.stdout.readline().decode() for _ in range(3)]
        finally:
            process.terminate()
            process.communicate(timeout=SECONDS)
        url = lines[0].split()[-1]
        self.assertRegex(url, r"^http://127\.0\.0\.1:\d+$")
        self.assertIn(f"OPENAI_BASE_URL={url}/v1", lines[1])
        self.assertIn(f"ANTHROPIC_BASE_URL={url} ", lines[2])

    def test_a_port_that_is_taken_is_told(self):
        with socket.create_server(("127.0.0.1", 0)) as taken:
            ran = self.treaty("mock", "--port", str(taken.getsockname()[1]))
        self.assertEqual(ran.code, 69, ran)
        self.assertIn("--port 0", ran.err)

    def test_a_bad_script_is_told_with_all_its_problems(self):
        self.write("bad.yaml", "replies:\n  - txt: a\n    text: b\n  - delay: soon\n    text: b\n")
        for more in ((), ("--check",)):
            ran = self.treaty("mock", "--port", "0", "--script", "bad.yaml", *more)
            self.assertEqual(ran.code, 78, ran)
            self.assertIn("bad.yaml:2:5: a reply has no key txt (did you mean text?)", ran.err)
            self.assertIn("bad.yaml:4:12: expected a duration", ran.err)
        self.assertEqual(self.treaty("mock", "--script", "missing.yaml").code, 78)

    def test_check_opens_no_port(self):
        self.write("good.yaml", "- text: a\n- text: b\n")
        ran = self.treaty("mock", "--check", "--script", "good.yaml")
        self.assertEqual((ran.code, ran.out), (0, "good.yaml: 0 rules, 2 replies\n"))

    def test_wrong_usage_is_refused(self):
        self.assert_usage(self.treaty("mock", "--port", "70000"), "--port")
        self.assert_usage(self.treaty("mock", "--seed", "x"), "--seed")
        self.assert_usage(self.treaty("mock", "--check"), "--script")
        self.assert_usage(self.treaty("mock", "script.yaml"), "no arguments")
        self.assert_usage(self.treaty("mock", "--script", "a", "--recordings", "b"), "not both")


class Recordings(MockTest):
    def record(self, name, request, body, status=200, endpoint="chat_completions", path=CHAT, **headers):
        response = {"status": status, "headers": {"content-length": "9", "content-encoding": "gzip", **headers},
                    "body_sse_text" if body.startswith("data:") else "body": body}
        self.write(f"recordings/{name}.json",
                   {"id": name, "endpoint": endpoint, "request": {"method": "POST", "path": path, "body": request},
                    "response": response})

    def test_the_most_similar_recording_answers_and_equals_take_turns(self):
        self.record("a", chat("one"), "A", **{"x-kept": "yes"})
        self.record("b", chat("two"), "B", status=429)
        self.record("c", chat("two", model="other"), "C")
        self.record("d", chat("one", stream=True), "data: D\n\ndata: [DONE]\n\n")
        self.write("recordings/index.json", {"no": "recording"})
        server = self.mock(None, "--recordings", "recordings")

        first = server.ask(CHAT, chat("one"))
        self.assertEqual((first.body, first.headers["x-kept"]), (b"A", "yes"))
        self.assertNotIn("content-encoding", first.headers)
        self.assertEqual(server.ask(CHAT, chat("two")).status, 429)
        self.assertEqual(server.ask(CHAT, chat("x", model="other")).body, b"C")
        self.assertEqual({server.ask(CHAT, chat("x")).body for _ in range(2)}, {b"A", b"B"})
        self.assertEqual(server.ask(CHAT, chat("x", stream=True)).events, [("", "D"), ("", "[DONE]")])
        self.assertEqual(server.ask(MESSAGES, anthropic()).status, 404)
        self.assertIn("index.json: is no recorded exchange: it has no object `response`; passed over",
                      "\n".join(server.stop()[1]))

    def test_a_folder_without_recordings_is_refused(self):
        self.write("empty/readme.txt", "")
        ran = self.treaty("mock", "--recordings", "empty")
        self.assertEqual(ran.code, 78, ran)
        self.assertIn("no recorded exchange", ran.err)


class Documents(MockTest):
    def test_the_scripts_of_the_examples_and_of_the_guide_are_in_order(self):
        guide = (ROOT / "docs" / "guide" / "mock.md").read_text(encoding="utf-8")
        blocks = re.findall(r"^```yaml\n(.*?)^```", guide, re.MULTILINE | re.DOTALL)
        scripts = [file.read_text(encoding="utf-8") for file in sorted((EXAMPLES / "scripts").glob("*.yaml"))]
        self.assertGreaterEqual(len(blocks), 2)
        self.assertGreaterEqual(len(scripts), 3)
        for script in blocks + scripts:
            ran = self.treaty("mock", "--check", "--script", "-", stdin=script)
            self.assertEqual(ran.code, 0, (script, ran))

    def test_the_guide_names_every_member(self):
        guide = (ROOT / "docs" / "guide" / "mock.md").read_text(encoding="utf-8")
        for what, text in (("a script", "x: 1"), ("a reply", "- xxxxxxxxxxxxxxxx: 1"),
                           ("when", "rules: [{text: a, when: {xxxxxxxxxxxxxxxx: 1}}]")):
            told = self.treaty("mock", "--check", "--script", "-", stdin=text).err
            self.assertIn(f"{what} has no key", told)
            for name in told.split("it may have ")[1].splitlines()[0].rstrip(")").split(", "):
                self.assertIn(f"`{name}", guide)


if __name__ == "__main__":
    unittest.main()
