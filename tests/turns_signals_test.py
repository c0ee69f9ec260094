"""Whole-binary tests of S8: SIGTERM, SIGINT and SIGHUP under load end no turn that is in flight."""
import http.client
import signal
import socket
import threading
import unittest

from gate import HOLD, Reply, calling
from serving import Server, ServingTest, configuration, until


def refuses_connections(server):
    try:
        with socket.create_connection(("127.0.0.1", server.port), 5):
            return False
    except OSError:
        return True


class Leaving(ServingTest):
    def leave_with(self, number):
        gate, server = self.gated(held=True)
        plain = [self.later(server.say, f"p{n}", "t1", f"Say {n}.") for n in range(8)]
        streamed = [server.say_streaming(f"q{n}", "t1", f"Say {n}.") for n in range(4)]
        gate.wait_for_calls(12)

        server.process.send_signal(number)
        self.until(lambda: refuses_connections(server), "a closed door")
        self.assertIsNone(server.process.poll(), "it waits for its turns")
        gate.open()

        for n, running in enumerate(plain):
            self.assertEqual(running.result().text, f"You said: Say {n}.")
        for n, stream in enumerate(streamed):
            with stream:
                result = list(stream)[-1]
                self.assertEqual(result.json["Result"]["PrimaryOutputText"], f"You said: Say {n}.")
        self.assertEqual(server.wait(), 0)
        self.assertEqual(gate.count, 12)

    def test_sigterm_lets_running_turns_end(self):
        self.leave_with(signal.SIGTERM)

    def test_sigint_lets_running_turns_end(self):
        self.leave_with(signal.SIGINT)

    def test_sigterm_leaves_at_once_when_nothing_runs(self):
        _, server = self.gated(calling("a"))
        server.say("s1", "t1")  # Waits for tools: nothing runs.
        idle = server.connection()
        self.addCleanup(idle.close)
        with server.events("s1") as watching:
            watching.next()
            server.terminate()
            self.assertEqual(server.wait(), 0)
        server.start()
        self.assertEqual(server.state_of(), "awaiting_tools")

    def test_turns_that_do_not_end_in_time_stay_journalled_and_go_on_at_the_next_start(self):
        gate, server = self.gated(held=True, http={"shutdown_timeout": "200ms"})
        lost = self.later(self.say_or_lose, server)
        gate.wait_for_calls(1)
        server.terminate()
        self.assertEqual(server.wait(), 0)
        answer = lost.result()
        self.assertTrue(answer is None or answer.status == 503, answer)
        server.start()
        gate.wait_for_calls(2)
        gate.open()
        self.assertEqual(server.say("s1", "t1").text, "You said: Hello.")
        self.assertEqual(gate.count, 2)

    def say_or_lose(self, server):
        try:
            return server.say("s1", "t1")
        except (OSError, http.client.HTTPException):
            return None

    def test_under_load_every_request_that_was_accepted_is_answered(self):
        gate, server = self.gated()
        told, refused = {}, []

        def client(number):
            for turn in range(10_000):
                name = (f"c{number}", f"t{turn}")
                try:
                    answer = server.say(*name)
                except ConnectionRefusedError:
                    return
                except (OSError, http.client.HTTPException):
                    refused.append(name)  # The door closed on a connection that nobody had taken yet.
                    return
                if answer.status == 503:
                    refused.append(name)
                    return
                self.assertEqual(answer.status, 200, answer)
                told[name] = answer.body

        clients = [self.later(client, number) for number in range(8)]
        self.until(lambda: len(told) > 100, "load")
        server.terminate()
        for running in clients:
            running.result()
        self.assertEqual(server.wait(), 0)
        calls = gate.count
        server.start()
        for name, body in told.items():
            self.assertEqual(server.say(*name).body, body)
        self.assertEqual(gate.count, calls, "no turn that was begun was left behind")
        for name in refused:
            self.assertEqual(server.say(*name).status, 200)


class UsualFile(Server):
    """Finds its configuration, treaty.yaml, in the directory where it was started."""

    def command(self):
        command = super().command()
        place = command.index("--config")
        return command[:place] + command[place + 2:]


class Reloading(ServingTest):
    def test_a_reload_changes_agents_for_new_turns_only(self):
        gate, server = self.gated(held=True)
        running = [self.later(server.say, f"s{n}", "t1") for n in range(4)]
        gate.wait_for_calls(4)

        server.write_config(configuration(gate, {"system": "You are long-winded.", "mode": "Talk"}))
        server.hang_up()
        gate.open()
        for turn in running:
            self.assertEqual(turn.result().result["ModeDisplayName"], "General")
        tries = iter(range(10_000))
        self.until(lambda: server.say(f"new{next(tries)}", "t1").result["ModeDisplayName"] == "Talk", "the new mode")
        self.assertIn("You are long-winded.", gate.calls[-1].system)

    def test_a_reload_of_a_wrong_file_changes_nothing(self):
        gate, server = self.gated()
        server.write_config("agents:\n  default:\n    backends: [{nonsense: 1}]\n")
        said = len(server.errors())
        server.hang_up()
        self.until(lambda: "nonsense" in server.errors()[said:], "a word about it")
        self.assertEqual(server.say("s1", "t1").result["ModeDisplayName"], "General")
        self.assertIsNone(server.process.poll())
        self.assertEqual(gate.count, 1)

    def test_a_reload_without_the_file_changes_nothing(self):
        gate = self.gate()
        server = UsualFile(self.folder, configuration(gate, {"mode": "Talk"}), name="treaty")
        self.servers.append(server)
        server.start()
        server.config.unlink()
        said = len(server.errors())
        server.hang_up()
        self.until(lambda: "treaty.yaml no longer exists" in server.errors()[said:], "a word about it")
        self.assertEqual(server.say("s1", "t1").result["ModeDisplayName"], "Talk")
        self.assertEqual(gate.count, 1)

    def test_a_reload_of_an_emptied_file_changes_nothing(self):
        gate, server = self.gated(agent={"mode": "Talk"})
        for turn, text in enumerate((b"", b"\n", b"# agents:\n", b"---\n...\n"), 1):
            with self.subTest(text):
                server.config.write_bytes(text)
                said = len(server.errors())
                server.hang_up()
                self.until(lambda said=said: "has no settings" in server.errors()[said:], "a word about it")
                self.assertEqual(server.say(f"s{turn}", "t1").result["ModeDisplayName"], "Talk")
                self.assertEqual(gate.count, turn)

    def test_a_turn_that_waits_for_tools_goes_on_after_a_reload(self):
        gate, server = self.gated(calling("a"), "Done.")
        server.say("s1", "t1")
        server.write_config(configuration(gate, {"mode": "Talk"}))
        server.hang_up()
        tries = iter(range(10_000))
        self.until(lambda: server.say(f"new{next(tries)}", "t1").result["ModeDisplayName"] == "Talk", "the new mode")
        self.assertEqual(server.submit("s1", "t1", ["a"]).text, "Done.")

    def test_reloads_under_load_fail_no_turn(self):
        gate, server = self.gated(lambda call: Reply("One ", "two.") if call.number % 3 or call.tool_results
                                  else calling(f"c{call.number}"))
        stop, finished = threading.Event(), []

        def client(number):
            turn = 0
            while not stop.is_set():
                turn += 1
                name = f"t{turn}"
                if turn % 2:
                    answer = server.say(f"c{number}", name, f"Say {turn}.")
                    self.assertEqual(answer.status, 200, answer)
                    result = answer.result
                else:
                    with server.say_streaming(f"c{number}", name, f"Say {turn}.") as stream:
                        result = list(stream)[-1].json["Result"]
                while result["Kind"] != "final":
                    answer = server.submit(f"c{number}", name, [c["ToolCallId"] for c in result["ToolCalls"]])
                    self.assertEqual(answer.status, 200, answer)
                    result = answer.result
                finished.append(name)

        clients = [self.later(client, number) for number in range(6)]
        for reload in range(12):
            server.write_config(configuration(gate, {"mode": f"Mode {reload}"}))
            server.hang_up()
            before = len(finished)
            until(lambda: len(finished) > before + 5 or any(c.done() for c in clients), "turns between reloads")
        stop.set()
        for running in clients:
            running.result()
        self.assertIsNone(server.process.poll())

    def test_a_stream_in_flight_survives_a_reload(self):
        gate, server = self.gated(Reply("One ", HOLD, "two."))
        with server.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
            server.write_config(configuration(gate, {"mode": "Talk"}))
            server.hang_up()
            tries = iter(range(10_000))
            gate.replies = ["Short."]
            self.until(lambda: server.say(f"n{next(tries)}", "t1").result["ModeDisplayName"] == "Talk", "the new mode")
            gate.open()
            self.assertEqual(list(stream)[-1].json["Result"]["PrimaryOutputText"], "One two.")


if __name__ == "__main__":
    unittest.main()
