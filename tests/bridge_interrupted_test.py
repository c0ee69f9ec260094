"""Runs of `treaty bridge run` that were interrupted: by a signal, a kill, a server that was lost, a mistake."""
import os
import signal
import unittest

from bridging import TWO_PHASES, BridgeTest
from gate import HOLD, Reply
from serving import configuration, until
from treaty_binary import bridge_request


class Interrupted(BridgeTest):
    """Nothing that an interrupted run has come to is lost, and nothing is paid for twice."""

    def test_a_request_that_was_mended_is_answered_and_earlier_phases_are_not_asked_again(self):
        gate = self.agent("One.", "Two.")
        program = self.program(TWO_PHASES.replace("ask(suffix", "(ask if phase == 1 else ask_wrong)(suffix").replace(
            "state = read", "def ask_wrong(suffix, **members):\n"
            "    write(name('request', suffix), '\\ufeff' + json.dumps(request(**members)))\n    sys.exit(42)\n"
            "state = read", 1))
        self.assertEqual(self.drive(program).code, 1)
        path = self.work / ".agent-request-phase2.json"
        path.write_bytes(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))

        ran = self.drive(program)

        self.assertEqual((ran.code, gate.count), (0, 2), ran)
        self.assertEqual((self.work / "result.txt").read_text(), "One. / Two.")

    def test_a_program_that_was_mended_is_run_again_as_it_was(self):
        gate = self.agent("One.")
        program = self.program("""
if not RESUMED:
    ask()
if not os.path.exists("mended"):
    sys.exit(42)
""")
        self.assertEqual(self.drive(program).code, 75)
        self.put("mended", "")

        ran = self.drive(program)

        self.assertEqual((ran.code, gate.count), (0, 1), ran)

    def test_a_program_that_asked_nothing_and_was_mended_begins_again(self):
        gate = self.agent("One.")
        program = self.program("""
if not os.path.exists("mended"):
    sys.exit(42)
if not RESUMED:
    ask()
""")
        self.assertEqual(self.drive(program).code, 1)
        self.put("mended", "")

        ran = self.drive(program)

        self.assertEqual((ran.code, gate.count), (0, 1), ran)
        self.assertEqual([entry["resume"] for entry in self.journal("program.started")], [False, False, True])

    def test_another_program_does_not_clear_away_what_was_interrupted(self):
        self.agent()
        program = self.program("if not RESUMED:\n    ask()\nos.kill(os.getpid(), 9)\n")
        self.assertEqual(self.drive(program).code, 137)
        before = sorted(path.name for path in self.work.iterdir())

        other = self.drive(self.program("pass\n", "other.py"))
        typo = self.drive(["pyhton3", program[1]])

        self.assertEqual((other.code, typo.code), (75, 127), other)
        self.assertIn("--fresh", other.err)
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), before)
        self.assertEqual(self.drive(self.program("pass\n", "other.py"), "--fresh").code, 0)

    def test_a_server_that_was_lost_is_asked_for_the_same_turn_again(self):
        gate = self.gate(Reply(HOLD, "Kept."))
        server = self.server(configuration(gate))
        program = self.program("if not RESUMED:\n    ask()\nprint(answer()['response'])\n")
        child = self.start("run", "--url", f"http://127.0.0.1:{server.port}", "--", *program)
        gate.wait_for_calls(1)
        server.kill9()
        self.assertEqual(self.ended(child).code, 69)
        gate.open()
        server.start()
        until(lambda: gate.count == 2, "the recovered turn")

        ran = self.drive(program, "--url", f"http://127.0.0.1:{server.port}")

        self.assertEqual((ran.code, ran.out, gate.count), (0, "Kept.\n", 2), ran)
        self.assertEqual(len(self.journal("request.asked")), 1)

    def test_a_request_that_was_changed_meanwhile_is_asked_anew(self):
        gate = self.agent(Reply(HOLD, "Old."), lambda call: call.user)
        gate.replies = [lambda call: Reply(HOLD, "Old.") if call.number == 1 else call.user]
        program = self.program("if not RESUMED:\n    ask(prompt='old')\nprint(answer()['response'])\n")
        child = self.start("run", "--", *program)
        gate.wait_for_calls(1)
        child.kill()
        child.wait()
        self.put(".agent-request.json", {**self.request(), "prompt": "new"})

        ran = self.drive(program)

        self.assertEqual((ran.code, ran.out), (0, "new\n"), ran)

    def test_an_agent_is_not_asked_its_own_questions(self):
        self.agent(agents={"inbox": {"backends": [{"bridge": {"dir": str(self.work)}}]}})
        for verb in (["run", "--", "true"], ["answer"], ["watch"]):
            with self.subTest(verb[0]):
                self.put(".agent-request.json", bridge_request())
                ran = self.bridge(*verb)
                self.assertEqual(ran.code, 78, ran)
                self.assertIn("its own questions", ran.err)


class Signals(BridgeTest):
    def test_a_signal_goes_on_to_the_program_whose_end_counts(self):
        self.agent()
        program = self.program("""
import signal
def leave(*_):
    sys.exit(5)
signal.signal(signal.SIGTERM, leave)
write("ready", "1")
signal.pause()
""")
        child = self.start("run", "--", *program)
        until((self.work / "ready").exists, "the program")

        child.send_signal(signal.SIGTERM)

        self.assertEqual(self.ended(child).code, 5)

    def test_a_signal_while_the_agent_is_asked_gives_the_question_up_and_the_same_command_goes_on(self):
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number):
                gate = self.agent(Reply(HOLD, "At last."))
                program = self.program("if not RESUMED:\n    ask()\nprint(answer()['response'])\n")
                child = self.start("run", "--fresh", "--", *program)
                gate.wait_for_calls(1)

                child.send_signal(number)
                ran = self.ended(child)

                self.assertEqual(ran.code, 128 + number, ran)
                self.assertEqual(self.journal("request.given_up")[-1]["why"], "interrupted")
                self.assertFalse((self.work / ".agent-response.json").exists())
                gate.open()
                self.assertEqual(self.drive(program).out, "At last.\n")
                self.assertEqual(gate.count, 2)

    def test_the_program_dies_with_its_driver_and_the_next_one_goes_on(self):
        self.agent()
        program = self.program("""
import signal
if count() == 1:
    write("pid", str(os.getpid()))
    signal.pause()
""")
        child = self.start("run", "--", *program)
        until((self.work / "pid").exists, "the program")
        pid = int((self.work / "pid").read_text())

        child.kill()

        child.wait()
        until(lambda: not os.path.exists(f"/proc/{pid}"), "its end")
        ran = self.drive(program)
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(len(self.journal("run.continued")), 1)


if __name__ == "__main__":
    unittest.main()
