"""Anything that a network can do to `treaty call`: it ends, in bounds, with one AgentResult that tells the right error."""
import json
import resource
import socket
import unittest
import zlib

from fake_provider import CallTest, FakeProvider, KEY, STREAM, answer, certificate, chunk, completion, open_answer, reset
from treaty_binary import MEMORY, MIB, SANITIZED

PAGE = "<!DOCTYPE html><html><head><title>Sign in to the network</title></head><body>…</body></html>"


def limit_memory():
    if not SANITIZED:
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Bodies(CallTest):
    def test_what_cannot_be_read_is_a_server_error(self):
        whole = json.dumps(completion()).encode()
        for name, given in {
                "nothing": answer(b""),
                "white space": answer(b" \r\n\t "),
                "a page": answer(PAGE, content_type="text/html"),
                "a page that says it is JSON": answer(PAGE),
                "cut JSON": answer(whole[:-20]),
                "another JSON": answer([1, 2]),
                "a text": answer("service warming up", content_type="text/plain"),
                "not UTF-8": answer(whole.replace(b"Hello", b"H\xff\xfello")),
                "shorter than promised": answer(whole)[:-9],
                "not HTTP": b"SSH-2.0-OpenSSH_9.2\r\n" + bytes(100),
                "nothing at all": lambda connection, _: connection.close(),
                "a bad chunk": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nZZ\r\n{}\r\n0\r\n\r\n",
                "a coding nobody knows": answer(whole, content_encoding="br"),
                "broken gzip": answer(b"\x1f\x8b\x08" + bytes(30), content_encoding="gzip")}.items():
            with self.subTest(name):
                result = self.result(given, code=75)

                self.assert_error(result, "server_error", True)
                self.assertFalse(result.get("content"), result)

    def test_the_same_in_a_stream(self):
        for name, given in {
                "nothing": open_answer(),
                "a page": open_answer() + PAGE.encode(),
                "cut between events": open_answer() + chunk("Hello"),
                "cut inside an event": open_answer() + STREAM[:40],
                "no JSON": open_answer() + chunk("Hello") + b"data: {oops\n\n" + STREAM,
                "not UTF-8": open_answer() + b'data: {"choices":[{"index":0,"delta":{"content":"\xff\xfe"}}]}\n\n' + STREAM,
        }.items():
            with self.subTest(name):
                self.assert_error(self.result(given, "--stream", code=75), "server_error", True)

    def test_a_wrong_content_type_does_not_matter_when_the_body_can_be_read(self):
        for kind in ("text/plain", "text/html", "application/octet-stream", "", "nonsense;;;"):
            with self.subTest(kind):
                self.assertEqual(self.result(answer(completion(), content_type=kind), code=0)["content"], "Hello there.")
                self.assertEqual(self.result(answer(STREAM, content_type=kind), "--stream", code=0)["content"],
                                 "Hello there.")

    def test_a_provider_may_stream_or_not_whatever_was_asked(self):
        self.assertEqual(self.result(answer(completion()), "--stream", code=0)["content"], "Hello there.")
        self.assertEqual(self.result(open_answer() + STREAM, code=0)["content"], "Hello there.")
        self.assertEqual(self.call(self.provider(answer(completion())), "--stream").out, "Hello there.\n")

    def test_absurd_numbers_are_left_out(self):
        usage = '"usage":{"prompt_tokens":-5,"completion_tokens":1e400,"total_tokens":99999999999999999999999}'
        body = json.dumps(completion()).split('"usage"')[0] + usage + "}"

        result = self.result(answer(body, x_ratelimit_limit_requests="-7", x_ratelimit_remaining_requests="9" * 400,
                                    x_ratelimit_reset_requests="1e999s", retry_after="-3"), code=0)

        self.assertEqual(result["content"], "Hello there.")
        self.assertNotIn("usage", result)
        self.assertEqual(result["rate_limit"], {"limited": False, "windows": [
            {"name": "requests", "resource": "requests", "remaining": 2 ** 63 - 1}]})

    def test_errors_in_a_stream_that_began_well(self):
        error = b'data: {"error":{"message":"Overloaded","type":"overloaded_error","code":503}}\n\n'

        result = self.result(open_answer() + chunk("Hello") + error, "--stream", code=75)

        self.assert_error(result, "server_error", True)
        self.assertIn("Overloaded", result["error"]["message"])


class Statuses(CallTest):
    def error(self, status, body, code, **headers):
        return self.result(answer(body, status, **headers), code=code)["error"]

    def test_a_rate_limit_says_when_to_try_again(self):
        given = answer({"error": {"message": "Slow down.", "code": "rate_limit_exceeded"}}, 429, retry_after=7)
        ran = self.call(self.provider(given))
        result = self.result(given, code=75)

        self.assertEqual((ran.code, ran.out), (75, ""))
        self.assertIn("rate_limit (HTTP 429): Slow down.", ran.err)
        self.assertIn("try again in 7 s", ran.err)
        self.assert_error(result, "rate_limit", True)
        self.assertEqual(result["rate_limit"]["retry_after"], 7)

    def test_what_will_not_get_better_ends_with_1(self):
        for status, error, code in ((400, {"message": "No.", "code": "context_length_exceeded"}, "context_length"),
                                    (404, {"message": "Gone.", "code": "model_not_found"}, "model_unavailable"),
                                    (400, {"message": "What?"}, "invalid_request"),
                                    (429, {"message": "Pay.", "type": "insufficient_quota"}, "rate_limit")):
            with self.subTest(code):
                self.assertEqual(self.error(status, {"error": error}, 1)["code"], code)

    def test_a_page_of_a_proxy_keeps_its_status(self):
        error = self.error(502, PAGE, 75, content_type="text/html")

        self.assertEqual((error["code"], error["status_code"], error["retryable"]), ("server_error", 502, True))
        self.assertNotIn("<html", error["message"])

    def test_redirects_are_not_followed(self):
        elsewhere = self.provider(answer(completion()))
        fake = self.provider(answer(b"", 307, location=elsewhere.url + "/v1/chat/completions"))

        result = self.result(fake)

        self.assertEqual((result["finish_reason"], elsewhere.requests), ("error", []))
        self.assertIn("redirects are not followed", result["error"]["message"])

    def test_a_huge_error_is_read_in_part(self):
        error = self.error(500, b'{"error":{"message":"' + b"x" * (8 * MIB), 75)

        self.assertLess(len(error["message"]), MIB)

    def test_the_key_is_masked_wherever_it_comes_back(self):
        body = {"error": {"message": f"Incorrect API key provided: {KEY}. See Bearer {KEY}", "code": "invalid_api_key"}}
        given = answer(body, 401, x_echo=KEY, x_request_id=f"req-{KEY}")
        ran = self.call(self.provider(given))

        self.assert_error(self.result(given, code=1), "auth_error", False)
        self.assertNotIn(KEY, ran.out + ran.err)
        self.assertIn("OPENAI_API_KEY", ran.err)
        self.assertNotIn(KEY, json.dumps(self.result(answer(completion(), x_echo=KEY), code=0)))


class Connections(CallTest):
    def test_a_huge_answer_is_not_taken_in(self):
        def pour(connection, _):
            connection.sendall(f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {100 * MIB}"
                               "\r\n\r\n".encode() + b'{"choices":[{"message":{"content":"')
            for _ in range(100):
                connection.sendall(b"x" * MIB)

        result = self.result(pour, code=75, limit=limit_memory)

        self.assert_error(result, "server_error", True)

    def test_a_stream_without_end_is_left(self):
        def pour(connection, _):
            connection.sendall(open_answer())
            piece = chunk("x" * 1000) * 100
            while True:
                connection.sendall(piece)

        def drip(connection, _):
            connection.sendall(open_answer())
            while not fake.done.wait(0.05):
                connection.sendall(b": still here\n\n")

        self.assert_error(self.result(pour, "--stream", code=75, limit=limit_memory), "server_error", True)
        fake = self.provider(drip)
        self.assert_error(self.result(fake, "--stream", "--timeout", "0.5", code=75), "timeout", True)

    def test_a_bomb_of_gzip_is_left(self):
        packer = zlib.compressobj(9, zlib.DEFLATED, 31)
        bomb = b"".join(packer.compress(bytes(MIB)) for _ in range(200)) + packer.flush()

        result = self.result(answer(bomb, content_encoding="gzip"), code=75, limit=limit_memory)

        self.assert_error(result, "server_error", True)

    def test_silence_is_a_timeout(self):
        for first in (b"", open_answer() + chunk("Hello")):
            with self.subTest(first):
                def stall(connection, _, first=first):
                    connection.sendall(first)
                    fake.done.wait(60)

                fake = self.provider(stall)

                self.assert_error(self.result(fake, "--timeout", "0.3", code=75), "timeout", True)

    def test_a_reset_is_a_server_error(self):
        for first in (b"", b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n{", open_answer() + chunk("Hello")):
            with self.subTest(first):
                def break_off(connection, _, first=first):
                    connection.sendall(first)
                    reset(connection)

                self.assert_error(self.result(break_off, code=75), "server_error", True)

    def test_a_dripping_answer_is_read(self):
        for given, options in ((answer(completion()), []), (open_answer() + STREAM, ["--stream"])):
            def drip(connection, _, given=given):
                connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                for byte in given:
                    connection.sendall(bytes([byte]))

            self.assertEqual(self.result(drip, *options, code=0)["content"], "Hello there.")

    def test_a_connection_that_stays_open_after_the_last_event_does_not_hold_the_answer(self):
        def stay(connection, _):
            connection.sendall(open_answer() + STREAM)
            fake.done.wait()

        fake = self.provider(stay)

        self.assertEqual(self.result(fake, "--stream", "--timeout", "86400", code=0)["content"], "Hello there.")

    def test_a_provider_cannot_choose_the_exit_code(self):
        for word in ("TlsFailure", "MissingKey", "ConnectionRefused", "IncompleteAnswer"):
            with self.subTest(word):
                self.result(answer({"error": {"message": "no", "type": word}}, 500), code=75)

    def test_nobody_there_is_unavailable(self):
        fake = self.provider(b"")
        fake.close()

        ran = self.call(fake)

        self.assertEqual((ran.code, ran.out), (69, ""))
        self.assertIn("Next: check the address", ran.err)
        self.assert_error(self.result(fake, code=69), "server_error", True)

    def test_a_name_that_means_nothing_is_unavailable(self):
        class Nowhere:
            url = "http://treaty.invalid"

        ran = self.call(Nowhere, "--format", "json")

        self.assertEqual(ran.code, 69, ran)
        self.assert_error(json.loads(ran.out), "server_error", True)


class Certificates(CallTest):
    def test_only_a_certificate_that_verifies_gets_the_key(self):
        pem, context = certificate(self.folder)
        fake = self.provider(answer(completion()), context)

        refused = self.result(fake, code=69)

        self.assert_error(refused, "server_error", True)
        self.assertIn("certificate", refused["error"]["message"])
        self.assertEqual(fake.requests, [])
        self.assertEqual(self.result(fake, "--ca-file", str(pem), code=0)["content"], "Hello there.")

    def test_a_certificate_of_somebody_else_is_refused(self):
        pem, context = certificate(self.folder, "example.com")
        fake = self.provider(answer(completion()), context)

        self.assert_error(self.result(fake, "--ca-file", str(pem), code=69), "server_error", True)
        self.assertEqual(fake.requests, [])

    def test_a_server_that_does_not_speak_tls_is_refused(self):
        class Plain(FakeProvider):
            url = property(lambda self: f"https://127.0.0.1:{self.port}")

            def serve(self, connection):
                with connection:
                    connection.recv(65536)
                    connection.sendall(answer("This port speaks HTTP.", 400))

        fake = Plain(b"")
        self.addCleanup(fake.close)

        self.assert_error(self.result(fake, code=69), "server_error", True)


if __name__ == "__main__":
    unittest.main()
