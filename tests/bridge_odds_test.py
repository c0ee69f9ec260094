"""Tests of `treaty bridge run` where things are odd: leftovers, links, signals, other programs, strange names."""
import contextlib
import os
import signal
import unittest

from bridging import DISK_FAULTS, BridgeTest
from gate import HOLD, Reply
from serving import until
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


class AskedToLeave(BridgeTest):
    """The driver gets a signal while its program runs, and passes it on."""

    def told(self, leaves):
        """A program that leaves as it likes when it is told to, and at once when it is run again."""
        return self.program(f"""
import signal
def leave(*_):
    {leaves}
signal.signal(signal.SIGTERM, leave)
if count() == 1:
    os.kill(os.getppid(), signal.SIGTERM)
    while True:
        signal.pause()
print(RESUMED, bool(answer()))
""")

    def test_a_program_that_asks_before_it_leaves_is_answered_next_time(self):
        gate = self.agent()
        program = self.told("ask()")

        ran = self.drive(program)

        self.assertEqual(ran.code, 128 + signal.SIGTERM, ran)
        self.assertEqual(gate.count, 0)
        self.assertEqual(self.drive(program).out, "True True\n")
        self.assertEqual(gate.count, 1)

    def test_a_program_that_leaves_as_shells_tell_it_is_begun_again(self):
        self.agent()
        program = self.told("sys.exit(143)")

        self.assertEqual(self.drive(program).code, 143)
        ran = self.drive(program)

        self.assertEqual((ran.code, ran.out), (0, "False False\n"), ran)
        self.assertEqual(len(self.journal("run.continued")), 1)

    def test_a_program_that_leaves_in_its_own_way_has_come_to_its_end(self):
        self.agent()
        program = self.told("sys.exit(0)")

        self.assertEqual(self.drive(program).code, 0)
        self.assertEqual(self.drive(program).code, 0)

        self.assertEqual(len(self.journal("run.continued")), 0)


class LeftAlone(BridgeTest):
    def test_what_nohup_has_ignored_stays_ignored(self):
        gate = self.agent(Reply(HOLD, "At last."))
        program = self.program(ASKS_ONCE)
        before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, before)
        child = self.start("run", "--", *program)
        gate.wait_for_calls(1)

        child.send_signal(signal.SIGHUP)
        gate.open()
        ran = self.ended(child)

        self.assertEqual((ran.code, ran.out), (0, "At last.\n"), ran)


class OthersInTheDirectory(BridgeTest):
    def test_a_program_that_outlived_its_driver_is_waited_for_before_another_one_begins(self):
        self.agent()
        stubborn = self.program("""
import signal
signal.signal(signal.SIGTERM, signal.SIG_IGN)
write("pid", str(os.getpid()))
signal.pause()
""", "stubborn.py")
        child = self.start("run", "--", *stubborn)
        until((self.work / "pid").exists, "the program")
        until(lambda: self.journal("program.started"), "its start in the journal")
        pid = int((self.work / "pid").read_text())
        self.addCleanup(self.end, pid)
        child.kill()
        child.wait()

        refused = self.drive(["true"])
        other = self.start("run", "--fresh", "--", *self.program(f"""
try:
    print(open("/proc/{pid}/stat").read().rpartition(")")[2].split()[0] in "ZX")
except OSError:
    print(True)
"""))
        line = other.stderr.readline()
        self.end(pid)

        self.assertEqual(refused.code, 75, refused)
        self.assertIn(f"process {pid}".encode(), line)
        self.assertEqual(self.ended(other).out, "True\n")

    @staticmethod
    def end(pid):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)

    def test_a_program_has_no_descriptor_of_the_driver_s(self):
        self.agent()

        ran = self.drive(self.program("""
names = {}
for number in os.listdir("/proc/self/fd"):
    if int(number) > 2:
        try:
            names[number] = os.readlink(f"/proc/self/fd/{number}")
        except OSError:
            pass
if not RESUMED:
    ask()
print(json.dumps(names))
"""))

        self.assertEqual((ran.code, ran.out), (0, "{}\n"), ran)


@unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
class FullDisk(BridgeTest):
    def test_the_program_s_exit_is_the_exit_even_when_nothing_can_be_journalled_of_it(self):
        self.agent()
        for written in (1, 2):
            with self.subTest(written):
                ran = self.drive(self.program("sys.exit(3)"), "--fresh",
                                 **self.faults(f"ENOSPC write {written}", "journal.ndjson"))

                self.assertEqual(ran.code, 3, ran)
                self.assertIn("No space left", ran.err)


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
