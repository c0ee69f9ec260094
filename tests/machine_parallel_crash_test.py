"""kill -9 while some of several calls have been answered: those are not asked again."""
import json
import os
import signal
import unittest

from machining import MachineTest, final, machine, to
from serving import until

# Notes which call it is. Answers at once, or, without the file `free`, only when it is killed.
ANSWERS = "cat > question.$$; echo {name} >> asked.log; echo {name}"
HELD = "cat > question.$$; echo {name} >> asked.log; test -e free && exec echo {name}; echo $$ > held.fifo; exec sleep 1000"

# The third call is held, whichever of the three it is.
THIRD = """cat > question.$$
n=$(sed 's/.*"turn_id": *"[^"]*:\\([0-9]*\\)".*/\\1/' question.$$)
echo $n >> asked.log
test $n != 2 && exec echo "answer $n"
test -e free && exec echo "answer $n"
echo $$ > held.fifo
exec sleep 1000
"""


def program(text):
    return {"type": "command", "config": {"command": ["sh", "-c", text]}}


class AnswersAreKept(MachineTest):
    WHERE = ("--store", "runs")

    def lines(self, kind):
        path = self.folder / "runs" / "x" / "journal"
        if not path.exists():
            return []
        # The last line may be half written.
        whole = path.read_text().rpartition("\n")[0].splitlines()
        return [line for line in map(json.loads, whole) if line["kind"] == kind]

    def killed(self, kind, count):
        """Runs m.json until `count` lines of that kind are in the journal and a call is held, and kills it."""
        os.mkfifo(self.folder / "held.fifo")
        running = self.start("run", "m.json", "--id", "x", *self.WHERE)
        held = int((self.folder / "held.fifo").read_text())
        until(lambda: len(self.lines(kind)) == count, f"{count} lines of {kind}")
        running.send_signal(signal.SIGKILL)
        running.wait(timeout=60)
        os.kill(held, signal.SIGKILL)
        self.write("free", "")

    def asked(self):
        return sorted(self.read("asked.log").decode().split())

    def test_samples_of_parallel(self):
        self.write("m.json", machine(
            {"many": {"agent": "a", "execution": {"type": "parallel", "n_samples": 3},
                      "output_to_context": {"all": "output.results"}, **to("end")},
             "end": final(all="context.all")}, agents={"a": program(THIRD)}))
        self.killed("call", 2)

        outcome = self.json_of("resume", "x", *self.WHERE)

        self.assertEqual([one["content"].strip() for one in outcome["output"]["all"]],
                         ["answer 0", "answer 1", "answer 2"])
        self.assertEqual(self.asked(), ["0", "1", "2", "2"])
        self.assertEqual(outcome["calls"], 3)

    def test_children_that_keep_nothing_themselves(self):
        def child(text):
            return machine({"end": {"agent": "a", **final(said="output.content")}}, agents={"a": program(text)},
                           persistence={"enabled": False})
        self.write("m.json", machine(
            {"both": {"machine": ["quick", "slow"], "output_to_context": {"both": "output"}, **to("end")},
             "end": final(both="context.both")},
            machines={"quick": child(ANSWERS.format(name="quick")), "slow": child(HELD.format(name="slow"))}))
        self.killed("child", 1)

        outcome = self.json_of("resume", "x", *self.WHERE)

        self.assertEqual({name: one["said"].strip() for name, one in outcome["output"]["both"].items()},
                         {"quick": "quick", "slow": "slow"})
        self.assertEqual(self.asked(), ["quick", "slow", "slow"])

    def test_items_of_foreach(self):
        child = machine({"end": {"agent": "a", "input": {"n": "input.n"}, **final(said="output.content")}},
                        agents={"a": program("""cat > question.$$
n=$(sed 's/.*"n": *\\([0-9]*\\).*/\\1/' question.$$)
echo $n >> asked.log
test $n = 1 && test ! -e free && echo $$ > held.fifo && exec sleep 1000
echo "item $n"
""")}, persistence={"enabled": False})
        self.write("m.json", machine(
            {"each": {"foreach": "context.items", "machine": "child", "input": {"n": "item"},
                      "output_to_context": {"all": "output"}, **to("end")},
             "end": final(all="context.all")}, machines={"child": child}, context={"items": [0, 1, 2]}))
        self.killed("child", 2)

        outcome = self.json_of("resume", "x", *self.WHERE)

        self.assertEqual([one["said"].strip() for one in outcome["output"]["all"]], ["item 0", "item 1", "item 2"])
        self.assertEqual(self.asked(), ["0", "1", "1", "2"])


if __name__ == "__main__":
    unittest.main()
