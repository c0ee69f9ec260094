"""kill -9 at every write of a machine with twenty states: whoever goes on ends as if nothing had happened."""
import collections
import concurrent.futures
import contextlib
import json
import random
import re
import signal
import sqlite3
import time
import unittest

from machining import MachineTest, final, machine, to
from treaty_binary import SECONDS

# Lines that are written at a moment of their own; all others go with a checkpoint.
EVENT_OF_LINE = {"call": "call", "wait": "wait", "action": "noted", "child": "noted", "launched": "noted",
                 "tool": "noted"}
MOST_CRASHES = 40  # Of one run: one for each execution that comes to that event.

# Answers each event, and notes that it came.
COUNTER = r"""while read -r line; do
  echo "$line" >> hooked.log
  id=${line#*\"id\":}; id=${id%%[,\}]*}
  case $line in *'"event":"action"'*) context=', "context": {"acted": "yes"}' ;; *) context= ;; esac
  printf '{"id": %s%s}\n' "$id" "$context"
done
"""


def logged(name, then, value="output.content", **state):
    """A state that adds its answer to context.log, so that one that was asked twice shows in the output."""
    return {**state, "output_to_context": {"log": "{{ context.log }} " + name + "={{ " + value + " }}"}, **to(then)}


def child(*states):
    """A machine of so many states, each asking the agent of its name."""
    names = [*states, "done"]
    chain = {state: {"agent": state, "input": {"item": "{{ context.item }}"}, **logged(state, names[place + 1])}
             for place, state in enumerate(states)}
    return machine({**chain, "done": final(log="{{ context.log }}")}, agents={state: f"{state}.yml" for state in states},
                   context={"item": "{{ input.item }}", "log": ""})


AGENTS = ("plan", "seek", "flaky", "many", "voter", "broken", "mend", "again", "last")
TWENTY = machine(
    {
        "first": logged("first", "split", "1"),
        "split": {"foreach": "context.items", "as": "item", "machine": "part", "input": {"item": "{{ item }}"},
                  **logged("split", "act", "output | tojson")},
        "act": {"action": "count", "hooks": ["counter", {"name": "command", "args": {"command": ["sh", "counter.sh"]}}],
                **logged("act", "plan", "context.acted")},
        "plan": {"agent": "plan", "hooks": "watch", **logged("plan", "seek")},
        "seek": {"agent": "seek", "tool_loop": {"max_turns": 4}, "hooks": "watch", **logged("seek", "flaky")},
        "flaky": {"agent": "flaky", "execution": {"type": "retry", "backoffs": [2, 8]}, **logged("flaky", "many")},
        "many": {"agent": "many", "execution": {"type": "parallel", "n_samples": 3},
                 **logged("many", "vote", "output.results | tojson")},
        "vote": {"agent": "voter", "execution": {"type": "mdap_voting", "k_margin": 2}, **logged("vote", "start_beside")},
        "start_beside": {"launch": "beside", "launch_input": {"item": "b"}, **logged("beside", "ask", "1")},
        "ask": {"wait_for": "approvals/{{ context.machine.execution_id }}", **logged("ask", "rest", "output.by")},
        "rest": {"action": "treaty.wait", **logged("rest", "broken", "1")},
        "broken": {"agent": "broken", "on_error": {"invalid_request": "mend"}, **to("never")},
        "mend": {"agent": "mend", **logged("mend", "single", "context.last_error_code")},
        "single": {"machine": "whole", "input": {"item": "s"}, **logged("single", "either", "output.log")},
        "either": {"machine": ["bad", "whole"], "mode": "any", "input": {"item": "e"},
                   **logged("either", "again", "output.whole.log")},
        "again": {"agent": "again", "output_to_context": {"rounds": "{{ context.rounds | int + 1 }}",
                                                          "log": "{{ context.log }} again={{ output.content }}"},
                  "transitions": [{"condition": "context.rounds == '3'", "to": "turn"}, {"to": "again"}]},
        "turn": {"hooks": "turner", **logged("turn", "never", "1")},
        "last": {"agent": "last", "hooks": "watch", **logged("last", "end")},
        "never": final(wrong="this way"),
        "end": final(log="{{ context.log }}"),
    },
    agents={name: f"{name}.yml" for name in AGENTS},
    machines={"part": child("read", "check", "write"), "beside": child("note"), "whole": child("sum"),
              "bad": child("fail")},
    context={"log": "", "items": ["x", "y"], "rounds": 0, "wait_seconds": 7})

LIMITED = {"error": {"code": "rate_limit", "type": "RateLimit", "message": "slow down", "retryable": True}}
REFUSED = {"error": {"code": "invalid_request", "type": "BadRequest", "message": "no", "retryable": False}}


def tool_use(number, *tools):
    calls = [{"id": f"t{number}{tool}", "name": tool, "arguments": "{}"} for tool in tools]
    return {"content": "", "finish_reason": "tool_use", "tool_calls": calls}


SCRIPT = {
    "agents": {
        "plan": ["p1"], "seek": [tool_use(1, "look", "find"), tool_use(2, "look"), "found"],
        "flaky": [LIMITED, LIMITED, "f3"], "many": ["m1", "m2", "m3"], "voter": ["a", "b", "a", "a"],
        "broken": [REFUSED], "mend": ["mended"], "again": ["g1", "g2", "g3"], "last": ["l1"],
        "read": ["r1", "r2"], "check": ["c1", "c2"], "write": ["w1", "w2"], "note": ["n1"], "sum": ["s1", "s2"],
        "fail": [REFUSED],
    },
    "tools": {"look": ["saw 1", "saw 2"], "find": ["it"]},
    "hooks": {"watch": {"on_state_exit": [{}, {"context": {"watched": 1}}]},
              "counter": {"on_action": [{"context": {"counted": 1}}]},
              "turner": {"on_state_exit": [{"output": "last"}]}},
    "signals": {"approvals/x1": [{"by": "Ada"}]},
}


class Crashes(MachineTest):
    def setUp(self):
        super().setUp()
        self.write("twenty.json", TWENTY)
        self.write("script.json", SCRIPT)
        self.write("counter.sh", COUNTER)

    def run_in(self, place, script="script.json", folder=None):
        """Runs, and resumes as often as it dies; answers the end and how often it died."""
        where = ("--store", place) if folder is None else ("--state-dir", place)
        words = ("run", "twenty.json", "--id", "x1")
        for crashes in range(MOST_CRASHES):
            ran = self.machine(*words, *where, "--script", script, "--format", "json")
            if ran.code != -signal.SIGKILL:
                self.assertEqual(ran.code, 0, ran)
                return json.loads(ran.out), crashes
            words = ("resume", "x1")
        self.fail(f"it dies again and again at the same place: {(self.folder / script).read_text()[-60:]}")

    def journals(self, place):
        """The lines of every execution, whichever store has them."""
        database = next((self.folder / place).rglob("*.db"), None)
        if database:
            lines = collections.defaultdict(list)
            with contextlib.closing(sqlite3.connect(database)) as connection:
                for execution, line in connection.execute(
                        "SELECT execution_id, line FROM machine_journal ORDER BY execution_id, number"):
                    lines[execution].append(json.loads(line))
            return lines
        return {path.parent.name: [json.loads(line) for line in path.read_text().splitlines()]
                for path in (self.folder / place).glob("*/journal")}

    def places(self, place):
        """Everything that a run has written, as (event, step)."""
        found = set()
        for lines in self.journals(place).values():
            step = 0
            for line in lines:
                step = line.get("step", step)
                if line["kind"] in EVENT_OF_LINE:
                    found.add((EVENT_OF_LINE[line["kind"]], step))
        for path in (self.folder / place).glob("*/step_*.json"):
            step, event = re.fullmatch(r"step_(\d+)_(\w+)\.json", path.name).groups()
            found.add((event, int(step)))
        return sorted(found)

    def assert_same(self, ended, undisturbed):
        for member in ("status", "output", "path", "calls", "waits"):
            self.assertEqual(ended[member], undisturbed[member], member)

    def assert_asked_once(self, place):
        journals = self.journals(place)
        self.assertIn("x1", journals)
        for execution, lines in journals.items():
            asked = collections.Counter((line["step"], line["n"]) for line in lines if line["kind"] == "call")
            self.assertEqual([call for call, times in asked.items() if times > 1], [], execution)
            tools = collections.Counter((line["step"], line["tool"]) for line in lines if line["kind"] == "tool")
            self.assertLessEqual(tools[(5, "find")], 1)

    def crash_everywhere(self, folder):
        undisturbed, crashes = self.run_in("whole")
        self.assertEqual(crashes, 0)
        self.assertEqual(len(set(undisturbed["path"])), 19, undisturbed["path"])
        places = self.places("whole")
        self.assertGreater(len(places), 85)

        def crash_at(number):
            event, step = places[number]
            script = self.write(f"crash-{number}.json", {**SCRIPT, "crash": {"at": event, "step": step}})
            place = f"crash-{number}"
            ended, died = self.run_in(place, script, folder)
            return number, ended, died

        with concurrent.futures.ThreadPoolExecutor(3) as pool:
            for number, ended, died in pool.map(crash_at, range(len(places))):
                with self.subTest(at=places[number]):
                    self.assertGreaterEqual(died, 1)
                    self.assert_same(ended, undisturbed)
                    self.assert_asked_once(f"crash-{number}")

    def test_the_machine_is_as_it_should_be(self):
        ended, _ = self.run_in("whole")

        self.assertEqual(ended["status"], "completed")
        for part in ("plan=p1", "seek=found", "flaky=f3", 'many=[{"content": "m1"}', "vote=a", "ask=Ada", "act=yes",
                     "mend=invalid_request", "single= sum=s1", "either= sum=s2", "again=g1 again=g2 again=g3",
                     "last=l1"):
            self.assertIn(part, ended["output"]["log"])
        self.assertNotIn("never", ended["path"])

    def test_a_directory_keeps_it_through_a_crash_at_every_write(self):
        self.crash_everywhere(None)

    def test_sqlite_keeps_it_through_a_crash_at_every_write(self):
        self.crash_everywhere("sqlite")


# An agent that tells who asks, and answers with what it was asked for.
REAL = r"""IFS= read -r line; key=${line#*\"turn_id\":\"}; key=${key%%\"*}
echo "$key" >> asked.log
echo "{\"content\": \"$key\"}"
"""


class RealKills(MachineTest):
    """No script: programs as agents, and kill -9 whenever."""

    def setUp(self):
        super().setUp()
        self.write("agent.sh", REAL)
        agent = {"type": "command", "config": {"command": ["sh", "agent.sh"]}}
        names = [f"s{number}" for number in range(8)]
        chain = {name: {"agent": "a", **logged(name, then)} for name, then in zip(names, [*names[1:], "split"])}
        part = machine({"one": {"agent": "a", **logged("one", "end")}, "end": final(log="{{ context.log }}")},
                       agents={"a": agent}, context={"log": ""})
        self.write("real.json", machine(
            {**chain, "split": {"foreach": [1, 2, 3], "machine": "part", **logged("split", "end", "output | tojson")},
             "end": final(log="{{ context.log }}")},
            agents={"a": agent}, machines={"part": part}, context={"log": ""}))

    def asked(self):
        path = self.folder / "asked.log"
        return path.read_text().split() if path.exists() else []

    def journalled(self, place):
        """Keys of the calls whose answers are on the disk, as far as the last line is whole."""
        keys = set()
        for path in (self.folder / place).glob("*/journal"):
            for line in path.read_text().split("\n")[:-1]:
                told = json.loads(line)
                if told["kind"] == "call":
                    keys.add(f"{path.parent.name}:{told['step']}:{told['n']}")
        return keys

    def kill_after(self, process, count, moment):
        """Once so many more calls were made, and a moment later."""
        before = len(self.asked())
        deadline = time.monotonic() + SECONDS
        while process.poll() is None and len(self.asked()) < before + count and time.monotonic() < deadline:
            time.sleep(0.001)
        time.sleep(moment)  # Anywhere: nothing waits for it.
        process.kill()
        process.communicate(timeout=SECONDS)

    def test_no_answer_that_is_on_the_disk_is_asked_for_again(self):
        chance = random.Random(7)
        killed = 0
        for place in range(4):
            words = ("run", "real.json", "--id", f"x{place}", "--store", f"p{place}")
            known, checked, kills = set(), len(self.asked()), 0
            while True:
                process = self.start(*words)
                self.kill_after(process, chance.randint(1, 4), chance.random() * 0.01)
                again = self.asked()[checked:]
                self.assertEqual(sorted(known & set(again)), [])
                known, checked = self.journalled(f"p{place}"), len(self.asked())
                if process.returncode != -signal.SIGKILL:
                    break
                kills += 1
                self.assertLess(kills, 50)
                is_known = (self.folder / f"p{place}" / f"x{place}" / "latest").exists()
                words = ("resume", f"x{place}", "--store", f"p{place}") if is_known else words
            self.assertEqual(process.returncode, 0)
            ended = self.json_of("resume", f"x{place}", "--store", f"p{place}")
            expected = [f"x{place}:{step}:0" for step in range(1, 9)] + [f"x{place}.9.{item}:1:0" for item in range(3)]
            self.assertEqual(re.findall(r"x\d[.\d]*:\d+:\d+", ended["output"]["log"]), expected)
            self.assertEqual(ended["calls"], 11)
            killed += kills
        self.assertGreater(killed, 0)


if __name__ == "__main__":
    unittest.main()
