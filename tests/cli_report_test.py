"""Tests of what `treaty check` prints for people, and of its SARIF."""
import json
import os
import pty
import re
import subprocess
import unittest
import urllib.parse

from treaty_binary import BINARY, SECONDS, SOON, TreatyTest, bridge_response, final, user_turn

ONE_VIOLATION = """{
  "SessionId": "s1",
  "TurnId": "t1",
  "Instruction": "Sum it up.",
  "Mode": "fast"
}
"""
REPORT = """\
a.json:5:11: error REQ-12: a request names no mode: the server decides it
  5 |   "Mode": "fast"
    |           ^~~~~~ /Mode
  hint: leave it out
1 document: 1 refused; 1 violation, 0 warnings
"""


def marked(report):
    """What each caret of a report points at, and the pointer beside it."""
    found = []
    lines = report.splitlines()
    for quoted, below in zip(lines, lines[1:]):
        caret = re.fullmatch(r"( +\| *)(\^~*)(?: (/.*))?", below)
        if caret:
            found.append((quoted[caret.start(2):caret.end(2)], caret.group(3) or ""))
    return found


class HumanReport(TreatyTest):
    def report(self, contract, document, *options):
        self.write("a.json", document)
        return self.treaty("check", contract, "a.json", *options).out

    def test_a_violation_reads_like_a_compilers(self):
        self.assertEqual(self.report("request", ONE_VIOLATION), REPORT)

    def test_a_valid_document_takes_one_line_and_the_summary_another(self):
        self.assertEqual(self.report("response", final()),
                         "a.json: ok (response, final)\n1 document: all valid; 0 violations, 0 warnings\n")

    def test_a_warning_is_called_one_and_the_document_is_still_ok(self):
        report = self.report("request", user_turn(Color="red"))

        self.assertRegex(report, r"a\.json:1:\d+: warning REQ-15: ")
        self.assertIn("a.json: ok (request, user_turn)\n", report)
        self.assertTrue(report.endswith("1 document: all valid; 0 violations, 1 warning\n"), report)

    def test_the_summary_counts_documents_violations_and_warnings(self):
        self.write("good.json", user_turn())
        self.write("bad.json", user_turn(Mode=1, RunId=2, Color="red"))

        ran = self.treaty("check", "request", "good.json", "bad.json", "missing.json")

        self.assertTrue(ran.out.endswith("3 documents: 2 refused; 2 violations, 1 warning\n"), ran)
        self.assertIn("missing.json: error: cannot be read: No such file or directory\n", ran.out)

    def test_the_caret_stands_below_the_value_after_multi_byte_characters(self):
        report = self.report("request", '{"SessionId": "é€ø", "TurnId": "ünü", "Instruction": "ñ", "Mode": "ö"}')

        self.assertEqual(marked(report), [('"ö"', "/Mode")])

    def test_the_caret_stands_below_the_value_after_tabs(self):
        report = self.report("request", '{"SessionId": "s",\n\t\t"TurnId": "t", "Instruction": "x",\t"Mode": 17}')

        self.assertEqual(marked(report), [("17", "/Mode")])

    def test_the_caret_stands_below_the_value_in_a_very_long_line(self):
        long = "ä" * 100_000
        report = self.report("request", f'{{"SessionId": "s", "TurnId": "t", "Instruction": "{long}", '
                                        f'"Mode": "here", "Repo": "{long}"}}')

        self.assertEqual(marked(report), [('"here"', "/Mode")])
        self.assertLess(max(map(len, report.splitlines())), 130)

    def test_the_caret_stays_inside_what_is_shown_of_a_long_value(self):
        report = self.report("response", final(ToolCalls=["x" * 1000]))

        self.assertLess(max(map(len, report.splitlines())), 130)
        self.assertIn("/ToolCalls", report)

    def test_a_finding_at_the_end_of_the_text_has_its_caret_after_it(self):
        report = self.report("request", '{"SessionId": "s"')

        self.assertIn('  1 | {"SessionId": "s"\n    |                  ^\n', report)

    def test_windows_line_ends_are_not_shown(self):
        report = self.report("request", ONE_VIOLATION.replace("\n", "\r\n"))

        self.assertEqual(report, REPORT)

    def test_nothing_of_a_document_can_steer_a_terminal(self):
        name = "\x1b]0;title\x07\u009b31m\u202e"
        raw = json.dumps(user_turn(**{name: 1, "Mode": name}), ensure_ascii=False).encode()
        documents = [json.dumps(user_turn(**{name: 1, "Mode": name})), raw,
                     b'{"SessionId": "s", \x1b[2J\xff\x9b"TurnId"', b'\x1b[31mred', b'{"a": "\x1b[31m\x7f"}']
        for document in documents:
            for command in (["check", "request", "-"], ["check", "auto", "-"], ["check", "request", "--fix", "-"]):
                with self.subTest(document=document, command=command):
                    ran = self.treaty(*command, stdin=document)
                    shown = ran.err if "--fix" in command else ran.out
                    self.assertEqual(re.findall(r"[\x00-\x09\x0b-\x1f\x7f-\x9f]", shown), [])

    def test_nothing_of_a_document_can_reorder_what_is_read(self):
        for character in ("\u202e", "\u2066", "\u200f"):
            with self.subTest(repr(character)):
                report = self.report("request", json.dumps(user_turn(Mode=character), ensure_ascii=False))
                self.assertNotIn(character, report)

    def test_a_file_name_cannot_steer_a_terminal(self):
        self.write("\x1b[31m.json", "{")

        for arguments in (("request", "*.json"), ("request", "--recursive", "."), ("request", "--fix", "*.json")):
            with self.subTest(arguments=arguments):
                ran = self.treaty("check", *arguments)
                self.assertNotIn(b"\x1b", ran.raw_out.replace(self.read("\x1b[31m.json"), b"") + ran.raw_err)

    def test_a_report_of_many_findings_in_one_long_line_takes_no_time_to_speak_of(self):
        artifact = {"RelativePath": "/a", "FileName": "a", "Contents": "c" * 1000, "Origin": "ide"}
        self.write("a.json", user_turn(InputArtifacts=[artifact] * 10_000))

        ran = self.treaty("check", "request", "a.json", seconds=SOON)

        self.assertEqual(ran.code, 1)
        self.assertEqual(ran.out.count(": error REQ-31: "), 10_000)


class Colors(TreatyTest):
    def on_a_terminal(self, *arguments, **environment):
        """What a terminal of its own would be sent."""
        self.write("a.json", ONE_VIOLATION)
        ours, theirs = pty.openpty()
        try:
            environment = {**{name: value for name, value in os.environ.items() if name != "NO_COLOR"}, **environment}
            subprocess.run([BINARY, *arguments], stdout=theirs, stderr=subprocess.DEVNULL, cwd=self.folder,
                           env=environment, timeout=SECONDS, check=False)
            return os.read(ours, 65536).decode()
        finally:
            os.close(ours)
            os.close(theirs)

    def test_there_are_colors_on_a_terminal(self):
        shown = self.on_a_terminal("check", "request", "a.json", TERM="xterm")

        self.assertIn("\x1b[", shown)
        self.assertEqual(re.sub(r"\x1b\[\d+m", "", shown).replace("\r\n", "\n"), REPORT)

    def test_there_are_none_with_no_color_or_on_a_dumb_terminal(self):
        for environment in ({"NO_COLOR": "1", "TERM": "xterm"}, {"TERM": "dumb"}):
            with self.subTest(environment):
                shown = self.on_a_terminal("check", "request", "a.json", **environment)
                self.assertEqual(shown.replace("\r\n", "\n"), REPORT)

    def test_there_are_none_in_a_pipe(self):
        self.write("a.json", ONE_VIOLATION)

        ran = self.treaty("check", "request", "a.json", TERM="xterm")

        self.assertEqual(ran.out, REPORT)

    def test_there_are_none_in_what_programs_read(self):
        for form in ("json", "sarif"):
            with self.subTest(form):
                shown = self.on_a_terminal("check", "request", "a.json", "--format", form, TERM="xterm")
                self.assertNotIn("\x1b", shown)


class Sarif(TreatyTest):
    def sarif(self, *arguments):
        ran = self.treaty("check", *arguments, "--format", "sarif")
        log = json.loads(ran.out)
        self.assertEqual(log["version"], "2.1.0")
        self.assertIn("sarif-2.1.0", log["$schema"])
        run, = log["runs"]
        self.assertEqual(run["tool"]["driver"]["name"], "treaty")
        return ran, run

    def test_every_finding_is_a_result_with_rule_level_and_region(self):
        self.write("a.json", ONE_VIOLATION.replace('"Mode"', '"Color": "red",\n  "Mode"'))

        ran, run = self.sarif("request", "a.json")

        self.assertEqual(ran.code, 1)
        self.assertEqual(run["columnKind"], "unicodeCodePoints")
        self.assertEqual(
            [(result["ruleId"], result["level"], result["locations"][0]["physicalLocation"]["region"],
              result["locations"][0]["logicalLocations"][0]["fullyQualifiedName"]) for result in run["results"]],
            [("REQ-12", "error", {"startLine": 6, "startColumn": 11}, "/Mode"),
             ("REQ-15", "warning", {"startLine": 5, "startColumn": 12}, "/Color")])

    def test_the_message_has_the_hint(self):
        self.write("a.json", ONE_VIOLATION)

        _, run = self.sarif("request", "a.json")

        self.assertRegex(run["results"][0]["message"]["text"], "names no mode.*leave it out")

    def test_every_rule_of_a_result_is_described_once(self):
        self.write("a.json", ONE_VIOLATION)
        self.write("b.json", user_turn(Mode=1, Color=2))
        self.write("c.json", "{")

        _, run = self.sarif("request", "a.json", "b.json", "c.json", "missing.json")

        described = [rule["id"] for rule in run["tool"]["driver"]["rules"]]
        self.assertEqual(len(described), len(set(described)))
        self.assertEqual(set(described), {result["ruleId"] for result in run["results"]})
        self.assertTrue(all(rule["shortDescription"]["text"] for rule in run["tool"]["driver"]["rules"]))

    def test_valid_documents_make_a_log_without_results(self):
        self.write("a.json", user_turn())

        ran, run = self.sarif("request", "a.json")

        self.assertEqual((ran.code, run["results"], run["tool"]["driver"]["rules"]), (0, [], []))

    def test_a_line_of_ndjson_is_a_region_of_its_file(self):
        self.write("a.ndjson", f"{json.dumps(user_turn(Mode=1))}\n{json.dumps(user_turn())}\n{{\n")

        _, run = self.sarif("request", "--ndjson", "a.ndjson")

        places = [result["locations"][0]["physicalLocation"] for result in run["results"]]
        self.assertEqual([place["artifactLocation"]["uri"] for place in places], ["a.ndjson", "a.ndjson"])
        self.assertEqual([place["region"]["startLine"] for place in places], [1, 3])

    def test_an_address_is_a_valid_uri_that_names_the_file(self):
        for name in ("a b.json", "ä.json", "100%.json", "w:1", "t/a#b.json"):
            with self.subTest(name):
                self.write(name, "{")
                _, run = self.sarif("request", name)
                uri = run["results"][0]["locations"][0]["physicalLocation"]["artifactLocation"]["uri"]
                self.assertRegex(uri, r"^([!$&-;=?-Z_a-z~]|%[0-9A-Fa-f]{2})+$")
                self.assertEqual(urllib.parse.unquote(uri).removeprefix("./"), name)

    def test_a_name_that_is_not_utf8_leaves_the_log_well_formed(self):
        name = os.fsdecode(b"\xff.json")
        self.write(name, "{")

        _, run = self.sarif("request", name)

        self.assertEqual(len(run["results"]), 1)

    def test_a_repaired_document_has_warnings_alone(self):
        self.write("a.json", bridge_response(duration_seconds="2"))

        ran, run = self.sarif("bridge-response", "a.json", "--profile", "lenient")

        self.assertEqual(ran.code, 0)
        self.assertEqual([(result["ruleId"], result["level"]) for result in run["results"]], [("BRS-10", "warning")])


if __name__ == "__main__":
    unittest.main()
