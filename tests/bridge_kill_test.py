"""kill -9 of the driver and of the program at every step: the same command again goes on and ends the same."""
import json
import shutil
import signal
import unittest

from bridging import DISK_FAULTS, RELEASE_NOTES, REVIEW, BridgeTest
from gate import HOLD, Reply

# Everything that the driver changes in the directory, and everything that a program does.
OF_DRIVER = ".agent-response*:*/.treaty-bridge*"
OF_PROGRAM = ".agent-request*:.review-state*:.release-notes-state*:*.md*"
MOST_STEPS = 200  # More than either has.


@unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
class KilledAtEveryStep(BridgeTest):
    def empty(self):
        shutil.rmtree(self.work)
        self.work.mkdir()
        self.put("draft.txt", "Teh moon.\n")
        self.put("changes.txt", "bridge: Add it\n")

    def result(self):
        return "".join(path.read_text() for path in sorted(self.work.glob("*.md")))

    def assert_same_end(self, gate, asked_before):
        """Each phase has one answer, the result is whole, and nothing of a killed writer is left."""
        self.assertRegex(self.result(), "Say it in phase 1(.|\n)*Say it in phase 2|Say it in phase 2")
        for phase in (1, 2):
            request, response = self.request(f"-phase{phase}"), self.response(f"-phase{phase}")
            self.assertEqual((response["request_id"], response["status"]), (request["request_id"], "success"))
        self.assertEqual(list(self.work.glob(".agent-response*.treaty-*")), [])
        answered = [entry["request_id"] for entry in self.journal("answer.written", "answer.found")]
        self.assertEqual(len(answered), len(set(answered)), "a request was answered twice")
        self.assertEqual(self.journal("run.ended")[-1]["final"], True)
        return gate.count - asked_before

    def kill_at_every_step(self, program, files, name, most_asked, stride=1):
        gate = self.agent(lambda call: f"Say it in phase {2 if 'Say it in phase 1' in call.user else 1}")
        for step in range(0, MOST_STEPS, stride):
            self.empty()
            before = gate.count
            killed = self.drive(program, **self.faults(f"KILL any {step}", files, name))
            if killed.code == 0:
                self.assertGreater(step, 5)
                return step
            with self.subTest(step=step):
                self.assertIn(killed.code, (-signal.SIGKILL, 128 + signal.SIGKILL), killed)
                # One that had told its end is run once more from the beginning.
                was_over = any(entry["final"] for entry in self.journal("run.ended"))

                ran = self.drive(program)

                self.assertEqual(ran.code, 0, ran)
                self.assertLessEqual(self.assert_same_end(gate, before), most_asked * (2 if was_over else 1))
        self.fail("it never came to its end")

    def test_the_driver_is_killed(self):
        # What it had asked is taken up again: no model is asked a question twice.
        self.assertGreater(self.kill_at_every_step(REVIEW, OF_DRIVER, "treaty", most_asked=2), 20)

    def test_the_driver_is_killed_while_it_writes_to_the_journal_of_turns(self):
        # A model whose answer was not on the disk yet is asked again.
        self.kill_at_every_step(REVIEW, "treaty.db*", "treaty", most_asked=3, stride=3)

    def test_the_program_is_killed(self):
        # A question whose program died before it left is asked anew, under another id.
        self.assertGreater(self.kill_at_every_step(REVIEW, OF_PROGRAM, "python*", most_asked=2), 10)

    def test_the_compiled_program_is_killed(self):
        self.assertGreater(self.kill_at_every_step(RELEASE_NOTES, OF_PROGRAM, "release_notes", most_asked=2), 5)


class KilledWhileItAsks(BridgeTest):
    def test_the_turn_is_taken_up_again_and_answered_once(self):
        gate = self.agent(Reply(HOLD, "After all."))
        program = self.program("if not RESUMED:\n    ask()\nprint(answer()['response'])\n")
        child = self.start("run", "--", *program)
        gate.wait_for_calls(1)

        child.kill()
        child.wait()
        gate.open()
        ran = self.drive(program)

        self.assertEqual((ran.code, ran.out), (0, "After all.\n"), ran)
        self.assertEqual(len(self.journal("answer.written")), 1)
        asked = self.journal("request.asked")
        self.assertEqual(len(asked), 1, json.dumps(asked))


if __name__ == "__main__":
    unittest.main()
