"""Two processes and one execution: one of them drives it, the other one leaves and says who does."""
import os
import signal
import unittest

from machining import MachineTest, final, machine, to

# An agent that tells that it was asked, and answers when it is let go.
HELD = "cat > /dev/null; echo $$ > asked.fifo; read -r _ < go.fifo; echo '{\"content\": \"done\"}'"


class Leases(MachineTest):
    def setUp(self):
        super().setUp()
        for name in ("asked.fifo", "go.fifo"):
            os.mkfifo(self.folder / name)
        agent = {"type": "command", "config": {"command": ["sh", "-c", HELD]}}
        self.write("held.json", machine(
            {"ask": {"agent": "held", "output_to_context": {"said": "{{ output.content }}"}, **to("end")},
             "end": final(said="{{ context.said }}")}, agents={"held": agent}))

    def wait_until_asked(self):
        return int((self.folder / "asked.fifo").read_text())

    def let_go(self):
        (self.folder / "go.fifo").write_text("now\n")

    def one_wins(self, *where):
        owner = self.start("run", "held.json", "--id", "x1", *where)
        self.wait_until_asked()

        other = self.machine("resume", "x1", *where)
        again = self.machine("run", "held.json", "--id", "x1", *where)
        listed = self.json_of("list", *where)
        pruned = self.json_of("prune", "--keep", "0", *where)
        self.let_go()
        out, err = owner.communicate(timeout=60)

        for left in (other, again):
            self.assert_told(left, 75, f":{owner.pid}:")
            self.assertEqual(left.out, "")
        self.assertEqual((listed["status"], listed["state"]), ("running", "ask"))
        self.assertIn(f":{owner.pid}:", listed["owner"])
        self.assertEqual(pruned["count"], 0)
        self.assertEqual(owner.returncode, 0, err)
        self.assertIn(b'"said": "done"', out)
        self.assertEqual(self.json_of("list", *where)["status"], "completed")

    def the_next_goes_on_at_once(self, *where):
        owner = self.start("run", "held.json", "--id", "x2", *where)
        program = self.wait_until_asked()
        owner.send_signal(signal.SIGKILL)
        owner.wait(timeout=60)
        self.end_program(program)
        self.assertEqual(self.json_of("list", *where)["status"], "interrupted")

        other = self.start("resume", "x2", "--format", "json", *where)
        self.wait_until_asked()
        self.let_go()
        out, err = other.communicate(timeout=60)

        self.assertEqual(other.returncode, 0, err)
        self.assertIn(b'"output":{"said":"done"}', out)

    @staticmethod
    def end_program(pid):
        """The killed process could not end the program that it had started, and that would take what is let go."""
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass

    def test_of_two_on_a_directory_one_wins(self):
        self.one_wins("--store", "runs")

    def test_of_two_on_sqlite_one_wins(self):
        self.one_wins("--state-dir", "state")

    def test_a_directory_is_free_when_its_owner_was_killed(self):
        self.the_next_goes_on_at_once("--store", "runs")

    def test_sqlite_is_free_when_its_owner_was_killed(self):
        self.the_next_goes_on_at_once("--state-dir", "state")

    def test_an_interrupt_leaves_an_execution_that_goes_on(self):
        owner = self.start("run", "held.json", "--id", "x3", "--store", "runs")
        self.addCleanup(self.end_program, self.wait_until_asked())
        owner.send_signal(signal.SIGTERM)
        _, err = owner.communicate(timeout=60)

        self.assertEqual(owner.returncode, 75, err)
        self.assertIn(b"treaty machine resume x3", err)
        self.assertEqual(self.json_of("list", "--store", "runs")["status"], "interrupted")


if __name__ == "__main__":
    unittest.main()
