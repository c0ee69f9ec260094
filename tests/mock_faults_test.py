"""Whole-binary tests of the faults that `treaty mock` plays, seen from the socket."""
import json
import time
import unittest

from mock_server import CHAT, MESSAGES, MockTest, anthropic, body_of, chat


class Faults(MockTest):
    def test_cut_closes_after_so_many_bytes_of_the_body(self):
        server = self.mock("- {text: A text that is long enough., cut: 40}")
        for stream in (False, True):
            received, was_reset = server.bytes_until_end(body=chat(stream=stream))
            self.assertEqual(len(body_of(received)), 40)
            self.assertFalse(received.endswith(b"0\r\n\r\n"))
            self.assertFalse(was_reset)

    def test_cut_and_reset_at_the_head_answer_nothing(self):
        server = self.mock("- cut: head\n- reset: head\n")
        self.assertEqual(server.bytes_until_end(), (b"", False))
        self.assertEqual(server.bytes_until_end(), (b"", True))

    def test_reset_breaks_the_connection(self):
        server = self.mock("- {text: A text that is long enough., reset: 40}")
        received, was_reset = server.bytes_until_end()
        self.assertTrue(was_reset)
        self.assertLessEqual(len(body_of(received)), 40)

    def test_stall_says_no_more_and_notices_that_the_client_leaves(self):
        server = self.mock("- {text: A text that is long enough., stall: 40}\n- text: Next.\n")
        with server.connect() as client:
            received = b""
            while len(body_of(received)) < 40:
                received += client.recv(65536)
            client.settimeout(0.2)
            with self.assertRaises(TimeoutError):
                client.recv(1)
        self.assertEqual(server.ask(CHAT, chat()).status, 200)

    def test_garbage_replaces_the_body_and_has_a_seed(self):
        bodies = [self.mock("- garbage: 50", "--seed", "3").ask(CHAT, chat()).body for _ in range(2)]
        self.assertEqual(len(bodies[0]), 50)
        self.assertEqual(bodies[0], bodies[1])

    def test_garbage_comes_after_good_bytes(self):
        body = self.mock("- {text: Fine., garbage: {bytes: 5, after: 10}}").ask(CHAT, chat()).body
        self.assertEqual(len(body), 15)
        self.assertTrue(body.startswith(b'{"id":"cha'))

    def test_a_malformed_chunk_breaks_the_framing(self):
        received, _ = self.mock("- {text: Some words here., malformed_chunk: framing}").bytes_until_end(
            body=chat(stream=True))
        self.assertIn(b"\r\nzz\r\n", received)

    def test_malformed_json_breaks_one_event_and_no_other(self):
        server = self.mock("- {text: Some words here., malformed_chunk: json}")
        broken = 0
        events = server.ask(CHAT, chat(stream=True)).events
        for _, data in events[:-1]:
            try:
                json.loads(data)
            except ValueError:
                broken += 1
        self.assertEqual((broken, events[-1][1]), (1, "[DONE]"))
        with self.assertRaises(ValueError):
            server.ask(CHAT, chat()).json  # pylint: disable=expression-not-assigned

    def test_missing_ids_are_missing_everywhere(self):
        server = self.mock("- {text: a, tool_calls: [{name: look}], missing_ids: true}")
        for path, body in ((CHAT, chat()), (MESSAGES, anthropic()), ("/v1/responses", {"model": "m", "input": "a"})):
            for stream in (False, True):
                answer = server.ask(path, {**body, "stream": stream})
                self.assertNotRegex(answer.body, rb'"(id|call_id|item_id)":')
                self.assertNotIn("x-request-id", answer.headers)
                self.assertNotIn("request-id", answer.headers)

    def test_endless_goes_on_until_the_client_leaves(self):
        for body in (chat(stream=True), chat()):
            server = self.mock("- {text: [again], endless: true}\n- text: Next.\n")
            with server.connect(body=body) as client:
                size = 0
                while size < 1 << 20:
                    piece = client.recv(65536)
                    self.assertTrue(piece)
                    size += len(piece)
            self.assertEqual(server.ask(CHAT, chat()).json["choices"][0]["message"]["content"], "Next.")

    def test_chunk_size_cuts_the_body_anew(self):
        received, _ = self.mock("- {text: Some words., chunk_size: 7}").bytes_until_end()
        rest, sizes = received.partition(b"\r\n\r\n")[2], []
        while rest:
            size, _, rest = rest.partition(b"\r\n")
            sizes.append(int(size, 16))
            rest = rest[sizes[-1] + 2:]
        self.assertEqual(set(sizes[:-2]), {7})  # But the last one and the empty one that ends the body.
        self.assertIn("Some words.", json.loads(body_of(received))["choices"][0]["message"]["content"])

    def test_delays_are_kept(self):
        server = self.mock("- {text: [a, b], delay: 150ms, chunk_delay: 50ms}")
        began = time.monotonic()
        answer = server.ask(CHAT, chat(stream=True))
        self.assertGreaterEqual(time.monotonic() - began, 0.25)  # A lower bound only: 150 + 2 · 50 and more.
        self.assertEqual(answer.events[-1][1], "[DONE]")

    def test_a_client_that_leaves_during_a_delay_ends_nothing_else(self):
        server = self.mock("rules: [{when: {user_contains: slow}, text: a, delay: 60m}]\nreplies: [b]\n")
        server.connect(body=chat("slow")).close()
        with server.connect(body=chat("slow")):
            self.assertEqual(server.ask(CHAT, chat("fast")).json["choices"][0]["message"]["content"], "b")
        self.assertEqual(server.stop()[0], 0)

    def test_content_type_and_status_can_lie(self):
        answer = self.mock("- {text: a, status: 201, content_type: text/html}").ask(CHAT, chat())
        self.assertEqual((answer.status, answer.headers["content-type"]), (201, "text/html"))
        self.assertEqual(answer.json["choices"][0]["message"]["content"], "a")

    def test_the_body_of_an_error_can_be_anything(self):
        answer = self.mock("- error: {status: 503, body: '<html>busy'}").ask(CHAT, chat())
        self.assertEqual((answer.status, answer.body), (503, b"<html>busy"))


if __name__ == "__main__":
    unittest.main()
