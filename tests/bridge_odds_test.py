"""Tests of `treaty bridge run` where things are odd: leftovers, links, signals, other programs, strange names."""
import os
import signal
import unittest

from bridging import BridgeTest
from treaty_binary import bridge_request, bridge_response

ASKS_ONCE = "if not RESUMED:\n    ask()\nprint(answer()['response'])\n"

# Once it has been answered; what it did and asked before is not done and asked again.
KILLS_ITS_DRIVER = """
if not RESUMED:
    ask()
if count() == 1:
    os.kill(os.getppid(), 9)
    os.kill(os.getpid(), 9)
print(answer()['response'])
"""


class Leftovers(BridgeTest):
    def test_a_file_that_an_old_request_names_is_not_a_leftover_unless_it_is_an_answer(self):
        self.agent()
        self.put("notes.txt", "precious")
        self.put(".agent-request.json", bridge_request(response_file="notes.txt"))
        self.put(".agent-request-phase1.json", bridge_request(response_file="old.json"))
        self.put("old.json", bridge_response())

        ran = self.drive(self.program("write('seen.json', sorted(os.listdir('.')))"))

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual((self.work / "notes.txt").read_text(), "precious")
        self.assertEqual(self.document("seen.json"), [".treaty-bridge", "notes.txt"])

    def test_an_answer_beside_the_place_that_its_request_names_is_a_leftover_too(self):
        self.agent()
        self.put(".agent-request.json", bridge_request(response_file="elsewhere.json"))
        self.put(".agent-request-phase1.json", bridge_request(response_file="elsewhere.json"))
        self.put("elsewhere.json", bridge_response())
        self.put(".agent-response.json", bridge_response())

        ran = self.drive(self.program("write('seen.json', sorted(os.listdir('.')))"))

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.document("seen.json"), [".treaty-bridge"])
        self.assertEqual(len(self.journal("file.quarantined")), 4)


class StrangeNames(BridgeTest):
    def test_a_run_in_a_directory_and_with_words_that_are_not_utf_8_goes_on_after_a_kill(self):
        gate = self.agent("One.", "Two.")
        self.work = self.folder / os.fsdecode(b"caf\xe9")
        self.work.mkdir()
        program = [*self.program(KILLS_ITS_DRIVER), os.fsdecode(b"\xff")]

        self.assertEqual(self.drive(program).code, -signal.SIGKILL)
        ran = self.drive(program)

        self.assertEqual((ran.code, ran.out), (0, "One.\n"), ran)
        self.assertEqual(gate.count, 1)
        self.assertEqual(len(self.journal("run.continued")), 1)


if __name__ == "__main__":
    unittest.main()
