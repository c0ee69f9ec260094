"""Tests of `treaty machine check`: verdicts, exit codes, reports, hostile files."""
import json
import unittest

from treaty_binary import EXAMPLES, MIB, TreatyTest, rules_of

GOOD = """\
spec: flatmachine
spec_version: "4.2.1"
data:
  name: small
  states:
    begin:
      transitions:
        - to: end
    end:
      type: final
"""
BAD = GOOD.replace("to: end", "to: ende").replace("  name: small\n", "  nmae: small\n")
REPORT = """\
m.yml:4:3: error MCH-04: data has no key 'nmae'
  4 |   nmae: small
    |   ^~~~ /data/nmae
  hint: did you mean 'name'?
m.yml:8:11: error MCH-08: a transition names 'ende', which is not there
  8 |         - to: ende
    |           ^~ /data/states/begin/transitions/0/to
  hint: did you mean 'end'?
m.yml:9:5: warning MCH-09: no transition leads to the state 'end'
  9 |     end:
    |     ^~~ /data/states/end
  hint: nor on_error, nor the rate-limit policy; a hook may still redirect to it
1 document: 1 refused; 2 violations, 1 warning
"""


class MachineCheck(TreatyTest):
    def check(self, *arguments, **more):
        return self.treaty("machine", "check", *arguments, **more)

    def verdict_on(self, text, code, **more):
        self.write("m.yml", text)
        ran = self.check("m.yml", "--format", "json", **more)
        self.assertEqual((ran.code, ran.err), (code, ""), ran)
        return json.loads(ran.out)

    def test_a_good_machine_is_ok(self):
        self.write("m.yml", GOOD)

        ran = self.check("m.yml")

        self.assertEqual((ran.code, ran.out), (0, "m.yml: ok (machine small, 2 states)\n"
                                                  "1 document: all valid; 0 violations, 0 warnings\n"))

    def test_the_report_for_people_reads_like_a_compilers(self):
        self.write("m.yml", BAD)

        ran = self.check("m.yml")

        self.assertEqual((ran.code, ran.out), (1, REPORT))

    def test_the_report_for_programs_is_one_line_with_everything(self):
        verdict = self.verdict_on(BAD, 1)

        self.assertEqual(list(verdict), ["document", "contract", "valid", "violations", "warnings"])
        self.assertEqual((verdict["document"], verdict["contract"], verdict["valid"]), ("m.yml", "machine", False))
        self.assertEqual(rules_of(verdict["violations"]), ["MCH-04", "MCH-08"])
        self.assertEqual(verdict["violations"][1],
                         {"rule": "MCH-08", "line": 8, "column": 11, "where": "/data/states/begin/transitions/0/to",
                          "message": "a transition names 'ende', which is not there", "hint": "did you mean 'end'?"})
        self.assertEqual(rules_of(verdict["warnings"]), ["MCH-09"])

    def test_json_is_read_as_well_as_yaml(self):
        document = {"spec": "flatmachine", "spec_version": "4.2.1", "data": {"name": "😀", "states": {
            "a": {"transitions": [{"to": "b"}]}, "b": {"type": "final"}}}}

        self.assertTrue(self.verdict_on(json.dumps(document, indent="\t"), 0)["valid"])
        self.assertTrue(self.verdict_on(json.dumps(document), 0)["valid"])

    def test_several_files_and_standard_input_have_a_verdict_each(self):
        self.write("a.yml", GOOD)
        self.write("b.yml", BAD)

        ran = self.check("[ab].yml", "-", "--format", "json", stdin=GOOD)

        verdicts = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual([(verdict["document"], verdict["valid"]) for verdict in verdicts],
                         [("a.yml", True), ("b.yml", False), ("-", True)])
        self.assertEqual(ran.code, 1)

    def test_a_file_that_cannot_be_read_is_told_and_the_others_are_checked(self):
        self.write("a.yml", GOOD)

        ran = self.check("none.yml", "a.yml", "--format", "json")

        first, second = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual(ran.code, 1)
        self.assertEqual((first["document"], first["valid"], rules_of(first["violations"])),
                         ("none.yml", False, ["INPUT"]))
        self.assertTrue(second["valid"])
        self.assertIn("none.yml: error:", self.check("none.yml").out)

    def test_a_hook_that_a_program_registers_can_be_named(self):
        self.write("m.yml", GOOD.replace("  name: small\n", "  lifecycle_hooks: [mine, logging]\n"))

        self.assertEqual(self.check("m.yml").code, 1)
        self.assertIn("MCH-19", self.check("m.yml").out)
        self.assertEqual(self.check("m.yml", "--hook", "mine").code, 0)

    def test_no_file_is_wrong_usage(self):
        self.assert_usage(self.check(), "which file")
        self.assert_usage(self.check("-", "-"), "once")

    def test_the_examples_are_without_a_warning(self):
        ran = self.check(*sorted((EXAMPLES / "machines").glob("*.yml")), "--format", "json")

        verdicts = [json.loads(line) for line in ran.out.splitlines()]
        self.assertGreaterEqual(len(verdicts), 2)
        self.assertEqual([verdict for verdict in verdicts if verdict["violations"] or verdict["warnings"]], [])
        self.assertEqual(ran.code, 0)

    def test_the_rules_of_machines_are_told_by_their_name(self):
        ran = self.treaty("rules", "machine")

        self.assertEqual([line.split()[0] for line in ran.out.splitlines()],
                         [f"MCH-{number:02}" for number in range(1, 23)])
        self.assertIn("treaty machine check FILE", self.treaty("rules", "MCH-12").out)


class HostileFiles(TreatyTest):
    """Each has a verdict, soon and within bounds of memory."""

    def verdict(self, content):
        self.write("m.yml", content)
        ran = self.treaty("machine", "check", "m.yml", "--format", "json", limited=True)
        self.assertEqual((ran.code, ran.err), (1, ""), ran)
        verdict = json.loads(ran.out)
        self.assertFalse(verdict["valid"])
        self.assertTrue(all(finding["message"] and finding["line"] > 0 for finding in verdict["violations"]))
        return verdict

    def test_broken_texts(self):
        for content in (b"", b"\x00", b"\xff\xfe\x00", "\t- a", "a: b: c", "{", "[" * 100_000, "a: &a [*a]", "? [a]\n: b",
                        "%YAML 9.9\n---\n- 1\n", '"open', "a: 1\n...\nb: 2\n--- c\n"):
            with self.subTest(content[:20]):
                self.assertEqual(rules_of(self.verdict(content)["violations"])[:1], ["MCH-01"])

    def test_aliases_that_explode(self):
        bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
            f"a{i}: &a{i} [{', '.join(['*a%d' % (i - 1)] * 10)}]\n" for i in range(1, 30))

        self.assertEqual(rules_of(self.verdict(bomb)["violations"]), ["MCH-01"])

    def test_ten_megabytes_of_anything(self):
        ten = 10 * MIB
        lines = b"".join(b"k%07d: 1\n" % i for i in range(ten // 12))
        for name, content in (("letters", b"x" * ten), ("lines", lines), ("brackets", b"a: " + b"[]," * 3_000_000),
                              ("dashes", b"- " * (ten // 2)), ("one too many", b"a" * (ten + 1)),
                              ("braces", b"{" * ten)):
            with self.subTest(name):
                self.assertTrue(self.verdict(content)["violations"])

    def test_thousands_of_problems_are_counted(self):
        states = "".join(f"    s{i}: {{colour: red, agent: none, transitions: [{{to: t{i}}}]}}\n" for i in range(20_000))

        verdict = self.verdict("spec: flatmachine\nspec_version: '4.2.1'\ndata:\n  states:\n" + states)

        self.assertEqual(len(verdict["violations"]) + len(verdict["warnings"]), 1000)
        self.assertGreater(verdict["more"], 50_000)

    def test_long_lines_of_problems(self):
        states = ", ".join(f"s{i}: {{colour: {'é' * 300}}}" for i in range(10_000))

        verdict = self.verdict("{spec: flatmachine, spec_version: '4.2.1', data: {states: {" + states + "}}}")

        self.assertEqual(len(verdict["violations"]), 1000)
        self.assertIn("more are not listed", self.treaty("machine", "check", "m.yml", limited=True).out)


if __name__ == "__main__":
    unittest.main()
