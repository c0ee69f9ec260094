"""Broken files, wrong words, hooks that misbehave, stores that cannot be used: a clear end, and nothing left behind."""
import os
import json
import sqlite3
import unittest

from machining import MachineTest, final, machine, to
from treaty_binary import MIB, SANITIZED, SOON

GOOD = machine({"end": final(ok=True)})

BOMB = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"{name}: &{name} [{', '.join('*' + before for _ in range(9))}]\n"
    for before, name in zip("abcdefgh", "bcdefghi"))

# Text of a file, and what is said of it.
BROKEN = {
    "nothing": ("", "MCH-01"),
    "an alias bomb": (BOMB + "spec: flatmachine\ndata: {states: {a: *i}}\n", "MCH-01"),
    "an alias of itself": ("spec: flatmachine\ndata: &d {states: *d}\n", "MCH-01"),
    "a key twice": ("spec: flatmachine\nspec: flatmachine\ndata: {states: {}}\n", "MCH-01"),
    "a tab": ("spec: flatmachine\ndata:\n\tstates: {}\n", "MCH-01"),
    "an open bracket": ("spec: [flatmachine\n", "MCH-01"),
    "two documents": ("spec: flatmachine\n---\nspec: flatmachine\n", "MCH-0"),
    "bytes": ("\x00\x01\x02", "MCH-01"),
    "a list": ("- spec\n", "MCH-01"),
    "a number": ("42\n", "MCH-01"),
    "too deep": ("[" * 5000, "MCH-01"),
    "another spec": ("spec: flatagent\ndata: {}\n", "MCH-02"),
    "no states": (json.dumps(machine({})), "MCH-06"),
    "an unknown key": (json.dumps(machine({"a": {"agnet": "x", **to("a")}})), "did you mean"),
    "a way to nowhere": (json.dumps(machine({"a": to("b")})), "MCH-08"),
    "a condition that is none": (json.dumps(machine({"a": to("a", "context.x ==")})), "MCH-13"),
    "a template that is none": (json.dumps(machine({"a": final(x="{{ context.x")})), "MCH-14"),
    "a template that calls": (json.dumps(machine({"a": final(x="{{ context.x() }}")})), "MCH-14"),
    "an unknown agent": (json.dumps(machine({"a": {"agent": "who", **to("a")}})), "MCH-15"),
    "an unknown hook": (json.dumps(machine({"a": {"hooks": "who", **final()}})), "MCH-19"),
}

# States, the code and words of the failure.
FAILING = {
    "a cycle without exit": ({"a": to("b"), "b": to("a")}, "max_steps", "1000 steps"),
    "a division by zero": ({"a": to("a", "1 / 0 == 1")}, "expression_error", "1 / 0"),
    "a list and a number": ({"a": to("a", "[1] < 2")}, "expression_error", "[1] < 2"),
    "a division by zero in a template": ({"a": final(x="{{ 1 / 0 }}")}, "template_error", ""),
    "a member of nothing": ({"a": final(x="{{ context.a.b.c }}")}, "template_error", ""),
    "no way on": ({"a": to("a", "false")}, "no_transition", "'a'"),
    "foreach over a number": ({"a": {"foreach": "{{ 3 }}", "machine": "self", **to("a")}}, "not_a_list", "3"),
    "machines within machines": ({"a": {"machine": "self", **to("a")}}, "max_depth", ""),
    "a wait that is no time": ({"a": {"action": "treaty.wait", **to("a")}}, "wait_error", "long"),
    "no channel": ({"a": {"wait_for": "{{ context.nothing }}", **to("a")}}, "wait_error", "channel"),
}

HOOKS = {
    "hangs": ("read -r line; sleep 1000", "did not answer within"),
    "dies": ("exit 3", "ended with"),
    "dies midway": ("read -r line; printf '{\"id\"'; exit 0", "ended with"),
    "answers nonsense": ("read -r line; echo nonsense", "JSON"),
    "answers a list": ("read -r line; echo '[]'", ""),
    "answers somebody else": ("read -r line; echo '{\"id\": 99}'", ""),
    "goes nowhere": ("read -r l; read -r l; echo '{\"id\": 1}'", "did not answer within"),
    "is not there": (None, ""),
}


class BrokenFiles(MachineTest):
    def test_every_kind_of_broken_file_is_refused_before_anything_runs(self):
        for name, (text, word) in BROKEN.items():
            with self.subTest(file=name):
                self.write("machine.yml", text)
                ran = self.machine("run", "machine.yml", "--store", "runs", limited=True, seconds=SOON)
                self.assert_told(ran, 2, word, "nothing has run")
                self.assertEqual(self.machine("check", "machine.yml").code, 1)
                self.assertFalse((self.folder / "runs").exists())

    def test_a_file_of_ten_megabytes_is_refused_soon(self):
        self.write("machine.yml", b"spec: flatmachine\ndata: {states: {}}\n# " + b"x" * (10 * MIB))
        ran = self.machine("run", "machine.yml", "--store", "runs", limited=True, seconds=SOON)
        self.assert_told(ran, 2, "MCH-01")
        self.assertFalse((self.folder / "runs").exists())

    def test_a_file_that_cannot_be_read_is_told(self):
        (self.folder / "folder.yml").mkdir()
        for name in ("none.yml", "folder.yml"):
            self.assert_told(self.machine("run", name, "--store", "runs"), 69, name)
        self.assertFalse((self.folder / "runs").exists())


class LargeFiles(MachineTest):
    def test_a_large_collection_in_brackets_is_refused_and_takes_little_memory(self):
        for name, begin, entry, end in (("list", "[", "a,", "a]\n"), ("map", "{", "some key: 1, ", "a: 1}\n"),
                                        ("nested", "k:\n - {x: [", "[a],", "a]}\n")):
            with self.subTest(name=name):
                self.write("large.yml", begin + entry * (10_000_000 // len(entry)) + end)
                process = self.start("check", "large.yml")
                out, err = process.stdout.read(), process.stderr.read()
                _, status, usage = os.wait4(process.pid, 0)
                process.returncode = os.waitstatus_to_exitcode(status)
                self.assertEqual(process.returncode, 1, (out, err))
                self.assertIn(b"more than 250000 commas", out + err)
                if not SANITIZED:  # A sanitizer has memory of its own.
                    self.assertLess(usage.ru_maxrss // 1024, 250)


class FailingMachines(MachineTest):
    def test_what_fails_says_where_and_why(self):
        for number, (name, (states, code, words)) in enumerate(FAILING.items()):
            with self.subTest(machine=name):
                self.write("self.json", machine(states, machines={"self": "self.json"},
                                                context={"wait_seconds": "long"}))
                told = self.json_of("run", "self.json", "--store", "runs", "--id", f"x{number}", code=1)
                self.assertEqual((told["status"], told["error"]["code"]), ("failed", code))
                self.assertIn(told["error"]["state"], states)
                self.assertIn(words, told["error"]["message"])

    def test_a_template_that_grows_without_end_is_stopped(self):
        grow = machine({"a": {"output_to_context": {"x": "{{ context.x ~ context.x }}"}, **to("a")}},
                       context={"x": "x" * 1024})
        self.write("grow.json", grow)
        told = self.json_of("run", "grow.json", "--store", "runs", "--id", "x1", code=1, limited=True)
        self.assertIn(told["error"]["code"], ("context_too_large", "template_error"))
        self.assertLess(told["path"].count("a"), 40)
        self.assertEqual(self.json_of("show", "x1", "--store", "runs")["status"], "failed")

    def test_a_context_of_more_than_16_mib_is_a_clear_failure(self):
        copies = {name: "{{ context.x }}" for name in ("y", "z", "w")}
        self.write("big.json", machine({"a": {"agent": "a", "output_to_context": {"x": "output.content"}, **to("b")},
                                        "b": {"output_to_context": copies, **to("end")}, "end": final(ok=True)},
                                       agents={"a": "a.yml"}))
        self.write("script.json", {"agents": {"a": ["x" * (5 * MIB)]}})
        told = self.json_of("run", "big.json", "--script", "script.json", "--store", "runs", code=1)
        self.assertEqual((told["error"]["code"], told["error"]["state"]), ("context_too_large", "b"))
        self.assertIn("16 MiB", told["error"]["message"])

    def test_hooks_that_misbehave_are_told(self):
        for number, (name, (script, words)) in enumerate(HOOKS.items()):
            with self.subTest(hook=name):
                command = ["sh", "-c", script] if script else ["./none"]
                hook = {"name": "command", "args": {"command": command, "timeout": 0.2}}
                self.write("hooked.json", machine({"a": {"hooks": hook, **to("end")}, "end": final()}))
                told = self.json_of("run", "hooked.json", "--store", "runs", "--id", f"x{number}", code=1)
                self.assertEqual((told["error"]["code"], told["path"]), ("hook_error", ["a"]))
                self.assertIn(words, told["error"]["message"])


class WrongWords(MachineTest):
    def setUp(self):
        super().setUp()
        self.write("good.json", GOOD)

    def assert_nothing_made(self):
        self.assertEqual(sorted(path.name for path in self.folder.iterdir() if path.name != "big.json"), ["good.json"])

    def test_what_makes_no_sense_is_told_and_nothing_is_made(self):
        for words in (["run"], ["run", "good.json", "more"], ["run", "good.json", "--input", "tea"],
                      ["run", "good.json", "--input", "[]"], ["run", "good.json", "--input", '{"a": 1, "a": 2}'],
                      ["run", "good.json", "--input", "@none"], ["run", "good.json", "--max-steps", "0"],
                      ["run", "good.json", "--id", "a/b"], ["run", "good.json", "--id", "../up"],
                      ["run", "good.json", "--id", ".x"], ["run", "good.json", "--id", ""],
                      ["run", "good.json", "--id", "x" * 201], ["resume"], ["show"], ["show", "a", "b"],
                      ["prune"], ["prune", "--older-than", "30"], ["prune", "--keep", "-1"], ["list", "more"],
                      ["signal"], ["lst"]):
            with self.subTest(words=words):
                self.assert_usage(self.machine(*words, *(["--store", "runs"] if words != ["lst"] else [])))
        self.assert_nothing_made()

    def test_an_input_of_50_mb_is_refused(self):
        self.write("big.json", b'{"x": "' + b"x" * (50 * MIB) + b'"}')
        ran = self.machine("run", "good.json", "--input", "@big.json", "--store", "runs", limited=True)
        self.assert_told(ran, 2, "16 MiB")
        self.assert_nothing_made()

    def test_an_execution_that_nobody_knows_is_told(self):
        self.json_of("run", "good.json", "--id", "x1", "--store", "runs")
        for where in (("--store", "runs"), ("--state-dir", "state")):
            if where[0] == "--state-dir":
                self.json_of("run", "good.json", "--id", "x1", *where)
            for words in (["resume", "x2"], ["show", "x2"], ["show", "flatagents://x2/result"], ["resume", "../x1"],
                          ["show", "a/b"], ["graph", "good.json", "--execution", "x2"]):
                with self.subTest(words=words, where=where):
                    self.assert_told(self.machine(*words, *where), 1, "no execution", "treaty machine list")
            self.assertEqual(self.json_of("list", *where)["execution_id"], "x1")

    def test_an_id_is_used_once(self):
        self.json_of("run", "good.json", "--id", "x1", "--store", "runs")
        ran = self.machine("run", "good.json", "--id", "x1", "--store", "runs")
        self.assert_told(ran, 75, "already", "treaty machine resume x1")


class Stores(MachineTest):
    def setUp(self):
        super().setUp()
        self.write("good.json", GOOD)

    def test_to_look_makes_no_store(self):
        for words in (["show", "x1"], ["prune", "--keep", "1"], ["pool", "status", "p"],
                      ["graph", "good.json", "--execution", "x1"]):
            for where in (("--store", "runs"), ("--state-dir", "state")):
                with self.subTest(words=words, where=where):
                    self.assert_told(self.machine(*words, *where), 69, "there is no")
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["good.json"])

    def test_a_store_of_a_newer_version_is_left_alone(self):
        for where in (("--store", "runs"), ("--state-dir", "state")):
            self.json_of("run", "good.json", "--id", "x1", *where)
        version = self.folder / "runs" / ".version"
        version.write_text("99\n")
        connection = sqlite3.connect(self.folder / "state" / "treaty.db")
        connection.execute("PRAGMA user_version = 99")
        connection.close()
        for words in (["run", "good.json", "--id", "x2"], ["resume", "x1"], ["list"], ["show", "x1"], ["signal", "c"],
                      ["pool", "push", "p", "1"]):
            for where in (("--store", "runs"), ("--state-dir", "state")):
                with self.subTest(words=words, where=where):
                    self.assert_told(self.machine(*words, *where), 69, "newer")
        self.assertEqual(version.read_text(), "99\n")
        self.assertFalse((self.folder / "runs" / "x2").exists())

    @unittest.skipIf(os.geteuid() == 0, "root may write everywhere")
    def test_a_directory_that_may_not_be_written_is_told(self):
        (self.folder / "runs").mkdir(mode=0o500)
        self.assert_told(self.machine("run", "good.json", "--store", "runs"), 69, "runs")

    def test_a_place_that_is_no_directory_is_told(self):
        self.write("file", "")
        for place in ("file", "file/below", "/proc/nowhere/store"):
            with self.subTest(place=place):
                self.assert_told(self.machine("run", "good.json", "--store", place), 69, place.removesuffix("/store"))
                self.assert_told(self.machine("signal", "c", "--store", place), 69)

    def test_a_store_that_does_not_exist_yet_has_no_executions(self):
        for where in ((), ("--store", "runs"), ("--state-dir", "state")):
            for words, said in (((), "no executions\n"), (("--waiting",), "no executions wait\n"),
                                (("--format", "json"), "")):
                with self.subTest(words=words, where=where):
                    ran = self.machine("list", *words, *where)
                    self.assertEqual((ran.code, ran.out, ran.err), (0, said, ""), ran)
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["good.json"])

    def test_each_problem_of_a_broken_configuration_is_on_a_line_of_its_own(self):
        self.write("treaty.yaml", "agents:\n  default: {modee: x, backends: [{provider: nope}]}\nlisten: zz\nfoo: 1\n")
        self.environment.pop("TREATY_CONFIG")
        for command in (["machine", "resume", "x1"], ["machine", "list"], ["machine", "pool", "status", "p"],
                        ["sessions", "list"]):
            with self.subTest(command=command):
                ran = self.treaty(*command, **self.environment)
                self.assertEqual(ran.code, 78, ran)
                lines = [line for line in ran.err.splitlines() if not line.startswith("Next: ")]
                self.assertEqual(len(lines), 4, ran)
                for line, place in zip(lines, ("2:13", "2:45", "3:9", "4:1")):
                    self.assertTrue(line.startswith("treaty ") and f": treaty.yaml:{place}: " in line, line)

    def test_a_torn_store_is_told(self):
        self.json_of("run", "good.json", "--id", "x1", "--store", "runs")
        newest = (self.folder / "runs" / "x1" / "latest").read_text().strip()
        (self.folder / "runs" / newest).write_text('{"execution_id": ')
        self.assert_told(self.machine("resume", "x1", "--store", "runs"), 69, "x1")
        self.assert_told(self.machine("show", "x1", "--store", "runs"), 69, "x1")


class Showing(MachineTest):
    """What was done is shown as it was."""

    def setUp(self):
        super().setUp()
        self.write("talk.json", machine(
            {"ask": {"agent": "a", "execution": {"type": "retry", "backoffs": [3]}, **to("child")},
             "child": {"machine": "part", "input": {"n": 1}, **to("end")}, "end": final(said="done")},
            agents={"a": "a.yml"}, machines={"part": GOOD}))
        self.write("script.json", {"agents": {"a": [
            {"error": {"code": "rate_limit", "type": "RateLimit", "message": "slow\x1b[31m", "retryable": True}}, "ok"]}})
        self.json_of("run", "talk.json", "--id", "x1", "--script", "script.json", "--store", "runs")
        self.write("fails.json", machine({"a": to("a", "1 / 0 == 1")}))
        self.json_of("run", "fails.json", "--id", "x2", "--store", "runs", code=1)
        self.write("waits.json", machine({"a": {"wait_for": "c", **to("a")}}))
        self.json_of("run", "waits.json", "--id", "x3", "--store", "runs", code=3)

    def test_an_execution_is_shown_step_by_step(self):
        shown = self.json_of("show", "x1", "--store", "runs")
        self.assertEqual((shown["status"], shown["path"], shown["output"]),
                         ("completed", ["ask", "child", "end"], {"said": "done"}))
        self.assertEqual([call.get("error", {}).get("code") for call in shown["steps"][0]["calls"]],
                         ["rate_limit", None])
        self.assertEqual(shown["steps"][0]["waits"], [3])
        self.assertEqual([child["execution_id"] for child in shown["children"]], ["x1.2.0"])
        text = self.machine("show", "x1", "--store", "runs").out
        for word in ("asked a: RateLimit: slow", "waited 3 s", "ran x1.2.0: completed", '"said": "done"'):
            self.assertIn(word, text)
        self.assertNotIn("\x1b", text)

    def test_a_result_has_an_address(self):
        ends = {name: self.machine("show", f"flatagents://{name}/result", "--store", "runs") for name in ("x1", "x2", "x3")}
        self.assertEqual({name: ran.code for name, ran in ends.items()}, {"x1": 0, "x2": 1, "x3": 3})
        self.assertEqual(json.loads(ends["x1"].out), {"said": "done"})
        self.assertIn("treaty machine resume x2", ends["x2"].err)
        self.assertIn("treaty machine signal c", ends["x3"].err)

    def test_executions_are_listed_and_pruned(self):
        listed = {row["execution_id"]: row["status"] for row in self.json_of("list", "--store", "runs")}
        self.assertEqual(listed, {"x1": "completed", "x1.2.0": "completed", "x2": "failed", "x3": "waiting"})
        self.assertIn("waiting on c", self.machine("list", "--store", "runs").out)
        self.assertEqual(self.json_of("list", "--waiting", "--store", "runs")["channel"], "c")
        would = self.json_of("prune", "--keep", "0", "--dry-run", "--store", "runs")
        self.assertEqual(sorted(would["executions"]), ["x1", "x1.2.0", "x2"])
        self.assertEqual(self.json_of("prune", "--older-than", "1h", "--store", "runs")["count"], 0)
        self.assertEqual(self.machine("prune", "--keep", "0", "--store", "runs").out, "deleted 3 executions\n")
        self.assertEqual(self.json_of("list", "--store", "runs")["execution_id"], "x3")

    def test_the_path_is_drawn(self):
        plain = self.machine("graph", "talk.json", "--format", "mermaid").out
        marked = self.machine("graph", "talk.json", "--format", "mermaid", "--execution", "x1", "--store", "runs")
        self.assertEqual(marked.code, 0, marked)
        self.assertNotEqual(marked.out, plain)


if __name__ == "__main__":
    unittest.main()
