"""Whole-binary tests of S6 and S7: more than the server takes is shed politely; slow clients hinder nobody."""
import contextlib
import socket
import unittest

from gate import HOLD, Reply
from serving import EXECUTE, ServingTest, as_bytes, user_turn
from treaty_binary import SANITIZED


class Overload(ServingTest):
    def test_beyond_its_limit_turns_are_shed_with_retry_after_and_admitted_ones_answered(self):
        gate, server = self.gated(held=True, turns={"max_running": 4})
        admitted = [self.later(server.say, f"s{n}", "t1", f"Say {n}.") for n in range(4)]
        gate.wait_for_calls(4)

        shed = self.at_once(40, lambda n: server.say(f"x{n}", "t1"))

        for answer in shed:
            self.assertEqual((answer.status, answer.code), (503, "overloaded"), answer)
            self.assertGreater(int(answer.headers["retry-after"]), 0)
        self.assert_refused(shed[0], 503, "overloaded")
        self.assertEqual(server.get("/v1/sessions/x0").status, 404, "what is shed leaves nothing behind")
        gate.open()
        self.assertEqual([turn.result().text for turn in admitted], [f"You said: Say {n}." for n in range(4)])
        self.assertEqual(self.until(lambda: self.admitted(server, "x0"), "room").text, "You said: Hello.")
        self.assertEqual(gate.count, 5)

    def admitted(self, server, session):
        answer = server.say(session, "t1")
        return answer if answer.status == 200 else None

    def test_what_needs_no_backend_is_answered_all_the_same(self):
        gate, server = self.gated(turns={"max_running": 1})
        first = server.say("s1", "t1")
        gate.held = True
        running = self.later(server.say, "s2", "t1")
        gate.wait_for_calls(2)
        self.assertEqual(server.say("s1", "t1").body, first.body)
        joined = self.later(server.say, "s2", "t1")
        self.assertEqual(server.get("/healthz").status, 200)
        self.assertEqual(server.say("s3", "t1").code, "overloaded")
        gate.open()
        self.assertEqual(running.result().body, joined.result().body)

    def test_a_flood_at_ten_times_the_limit_keeps_memory_and_answers(self):
        gate, server = self.gated(turns={"max_running": 8})
        body = "word " * 20_000
        before = None
        statuses = []

        def client(number):
            connection = server.connection()
            for turn in range(6):
                answer = server.execute(user_turn(f"c{number}", f"t{turn}", body), on=connection)
                self.assertIn(answer.status, (200, 503), answer)
                statuses.append(answer.status)
            connection.close()

        for _ in range(2):
            self.at_once(80, client)
            if before is None:
                before = server.resident()
        self.assertGreater(statuses.count(200), 0)
        if not SANITIZED:
            self.assertLess(server.resident(), 2 * before + (64 << 20))
        self.assertEqual(server.say("after", "t1").status, 200)
        self.assertGreaterEqual(gate.count, statuses.count(200) // 2)


class SlowClients(ServingTest):
    def assert_good_traffic(self, server, name):
        for turn in range(5):
            self.assertEqual(server.say(name, f"t{turn}").status, 200)

    def test_idle_connections_hinder_nobody(self):
        _, server = self.gated()
        with contextlib.ExitStack() as stack:
            for _ in range(400):
                stack.enter_context(server.connect())
            self.assert_good_traffic(server, "good")

    def test_slow_heads_and_slow_bodies_hinder_nobody_and_are_let_go(self):
        _, server = self.gated(http={"header_timeout": "300ms", "body_timeout": "300ms"})
        body = as_bytes(user_turn("slow", "t1"))
        with contextlib.ExitStack() as stack:
            heads = [stack.enter_context(server.connect()) for _ in range(50)]
            for client in heads:
                client.sendall(b"POST /v1/agent/execute HTTP/1.1\r\nHo")
            bodies = [stack.enter_context(server.connect()) for _ in range(50)]
            for client in bodies:
                client.sendall(b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d"
                               b"\r\n\r\n" % (EXECUTE.encode(), len(body)) + body[:10])
            self.assert_good_traffic(server, "good")
            for client in heads + bodies:
                received = b""
                with contextlib.suppress(ConnectionResetError):
                    while piece := client.recv(4096):
                        received += piece
                self.assertTrue(received == b"" or received.startswith(b"HTTP/1.1 408"), received)
        self.assertEqual(server.get("/v1/sessions/slow").status, 404)

    def test_readers_that_do_not_read_hinder_nobody(self):
        gate, server = self.gated(lambda call: Reply("Begin.", HOLD, *["word " * 200] * 2000)
                                  if call.user == "Long." else "Short.")
        request = as_bytes(user_turn("s1", "t1", "Long.", Streaming=True))
        with contextlib.ExitStack() as stack:
            for _ in range(20):
                client = stack.enter_context(socket.socket())
                client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
                client.connect(("127.0.0.1", server.port))
                client.sendall(b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d"
                               b"\r\n\r\n" % (EXECUTE.encode(), len(request)) + request)
            gate.wait_for_calls(1)
            gate.open()
            self.until(lambda: server.state_of("s1", "t1") == "completed", "the end of the turn")
            self.assert_good_traffic(server, "good")


if __name__ == "__main__":
    unittest.main()
