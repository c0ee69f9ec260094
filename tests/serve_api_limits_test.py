"""Tests of what the connections of `treaty serve` share: memory for bodies, the number of them, and the end."""
import http.client
import unittest

from scripted_agent import scripted
from serving import EXECUTE, ServingTest, user_turn
from treaty_binary import MIB, as_bytes


def read_all(socket):
    told = b""
    try:
        while piece := socket.recv(65536):
            told += piece
    except ConnectionError:  # It closed while something was still on its way to it.
        pass
    return told


def head_of(length, more=""):
    return (f"POST {EXECUTE} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n{more}"
            f"Content-Length: {length}\r\n\r\n").encode()


class Memory(ServingTest):
    def setUp(self):
        super().setUp()
        self.one = self.server(scripted(http={"body_memory": "16MiB"}))

    def has_room(self, length):
        """Whether the server would take a body of that length now. It does not get one."""
        with self.one.connect() as socket:
            socket.sendall(head_of(length, "Expect: 100-continue\r\n"))
            return socket.recv(64).startswith(b"HTTP/1.1 100 ")

    def hold(self, length, left):
        """A connection that has sent most of a body of that length, after which `left` is left for others."""
        socket = self.one.connect()
        self.addCleanup(socket.close)
        socket.sendall(head_of(length) + b" " * (length - 1))
        self.until(lambda: not self.has_room(left + 1), "a body that is held")
        self.assertIs(self.has_room(left), True)
        return socket

    def test_large_bodies_have_a_common_limit_and_small_ones_are_still_taken(self):
        held = [self.hold(8 * MIB, 8 * MIB), self.hold(7 * MIB, MIB)]
        large = as_bytes(user_turn(Instruction="x" * 2 * MIB))
        answer = self.one.ask("POST", EXECUTE, large)
        self.assert_refused(answer, 503, "overloaded")
        self.assertGreater(int(answer.headers["retry-after"]), 0)
        self.assertEqual(answer.headers["connection"], "close")
        self.assertEqual(self.one.say("s2", "t1").status, 200)
        for socket in held:
            socket.close()
        self.until(lambda: self.has_room(16 * MIB), "room again")
        self.assertEqual(self.one.ask("POST", EXECUTE, large).status, 200)
        self.until(lambda: self.has_room(16 * MIB), "room after an answer")

    def test_a_chunked_body_that_grows_too_large_for_what_is_left_is_refused(self):
        self.hold(8 * MIB, 8 * MIB)
        self.hold(7 * MIB, MIB)
        chunk = b"%x\r\n%s\r\n" % (MIB, b" " * MIB)
        with self.one.connect() as socket:
            socket.sendall(f"POST {EXECUTE} HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
                           + 2 * chunk + b"0\r\n\r\n")
            self.assertIn(b" 503 ", read_all(socket)[:20])
        self.until(lambda: self.has_room(MIB), "room for what was left before")

    def test_a_large_body_of_nothing_but_faults_is_told_as_a_small_one_is(self):
        answer = self.one.execute({"SessionId": "s1", "TurnId": "t1", "ToolResults": [{}] * 200_000})
        self.assert_refused(answer, 400, "contract_violation", "TOOL-03")
        self.assertEqual(len(answer.error["Details"].splitlines()), 51)
        verdict = self.one.post("/v1/check/request", {f"m{n}": 1 for n in range(100_000)}).json
        self.assertEqual((verdict["valid"], verdict["contract"]), (False, "request"))

    def test_a_large_request_in_order_is_answered(self):
        text = "x" * MIB
        answer = self.one.say("s1", "t1", text, Streaming=False)
        self.assertEqual(answer.status, 200)
        self.assertEqual(self.one.say("s1", "t1", text).body, answer.body)
        composed = self.one.post("/v1/assistant/respond", {"summary": {"summary": text}})
        self.assertEqual(composed.status, 200)


class Connections(ServingTest):
    def test_the_limit_is_for_all_workers_together(self):
        one = self.server(scripted(workers=4, http={"max_connections": 8}))
        kept = []
        for _ in range(8):  # Wherever the kernel puts them.
            connection = one.connection()
            self.addCleanup(connection.close)
            self.assertEqual(one.ask("GET", "/healthz", on=connection).status, 200)
            kept.append(connection)
        self.assert_refused(one.get("/healthz"), 503, "overloaded")
        kept.pop().close()
        self.until(lambda: one.get("/healthz").status == 200, "room for one more")


class Changes(ServingTest):
    def test_a_reload_applies_the_limits_of_http(self):
        one = self.server(scripted())
        large = user_turn(Instruction="x" * 10_000)
        self.assertEqual(one.execute(large).status, 200)
        one.write_config(scripted(http={"max_body": "2KiB", "max_header": "1KiB"}))
        one.hang_up()
        self.until(lambda: one.execute(large).status == 413, "the new limit of bodies")
        self.until(lambda: one.get("/healthz", {"X-Long": "x" * 2_000}).status == 431, "that of heads, in each worker")
        self.assertNotIn("restart", one.errors())


class Leaving(ServingTest):
    def test_who_still_waits_at_the_end_is_told_503_and_finds_the_turn_at_the_next_start(self):
        gate, one = self.gated(held=True, http={"shutdown_timeout": "100ms"})
        waiting = [self.later(one.say, f"s{n}", "t1") for n in range(3)]
        gate.wait_for_calls(3)
        one.terminate()
        for answer in [each.result() for each in waiting]:
            self.assert_refused(answer, 503, "overloaded", "again")
            self.assertGreater(int(answer.headers["retry-after"]), 0)
        self.assertEqual(one.wait(), 0)
        one.start()
        gate.open()
        self.assertEqual(one.say("s1", "t1").text, "You said: Hello.")

    def test_a_stream_that_has_begun_is_cut_and_not_ended(self):
        gate, one = self.gated(held=True, http={"shutdown_timeout": "100ms"})
        stream = one.say_streaming()  # The head leaves after a second without an answer.
        self.assertEqual(stream.status, 200)
        gate.wait_for_calls(1)
        one.terminate()
        with self.assertRaises(http.client.HTTPException), stream:
            stream.rest()
        self.assertEqual(one.wait(), 0)


if __name__ == "__main__":
    unittest.main()
