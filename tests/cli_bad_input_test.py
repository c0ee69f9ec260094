"""Tests that bad and hostile input is refused clearly: no crash, bounded memory, the others still checked."""
import json
import os
import unittest

from treaty_binary import (BINARY, MIB, SOON, VALID, TreatyTest, agent_result, assistant, bridge_response, final, rules_of,
                           tool_continuation, tool_result, user_turn, waiting)

LIMIT = 16 * MIB


def padded(document, size):
    """The document as JSON of exactly so many bytes, with its last text grown."""
    text = json.dumps(document)
    assert text.endswith('"}')
    return text[:-2] + "x" * (size - len(text)) + '"}'


def nested(levels):
    """An AgentResult that nests so deep, the top object counting 1."""
    return '{"metadata": {"a": ' + "[" * (levels - 2) + "]" * (levels - 2) + "}}"


class NotJson(TreatyTest):
    def test_what_is_not_json_is_refused_by_the_rules_for_json_whatever_the_contract(self):
        document = json.dumps(user_turn())
        cases = [("empty", b"", "JSON-01"), ("white space", b" \n\t ", "JSON-01"), ("words", b"not JSON", "JSON-01"),
                 ("a cut document", document[:-5], "JSON-01"), ("two documents", document * 2, "JSON-01"),
                 ("a comma too many", '{"a": 1,}', "JSON-01"), ("a comment", "{} // x", "JSON-01"),
                 ("single quotes", "{'a': 1}", "JSON-01"), ("NaN", '{"a": NaN}', "JSON-01"),
                 ("a list", "[]", "JSON-06"), ("a text", '"x"', "JSON-06"), ("null", "null", "JSON-06"),
                 ("a byte order mark", b"\xef\xbb\xbf" + document.encode(), "JSON-01"),
                 ("a raw control character", b'{"a": "\x01"}', "JSON-04"), ("half a pair", '{"a": "\\ud800"}', "JSON-04"),
                 ("bytes that are not UTF-8", b'{"a": "\xff"}', "JSON-01"),
                 ("an overlong form", b'{"a": "\xc0\xaf"}', "JSON-01"),
                 ("a surrogate in UTF-8", b'{"a": "\xed\xa0\x80"}', "JSON-01"), ("NUL after the end", b"{}\x00", "JSON-01"),
                 ("a number too large", '{"a": 1e999}', "JSON-05"), ("a name twice", '{"a": 1, "a": 2}', "JSON-02")]
        for contract in VALID:
            for name, content, rule in cases:
                with self.subTest(name, contract=contract):
                    verdict = self.verdict(contract, content, code=1)
                    self.assertIn(rule, rules_of(verdict["violations"]))

    def test_a_document_in_utf_16_is_told_to_be_utf_8(self):
        for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
            with self.subTest(encoding):
                verdict = self.verdict("request", json.dumps(user_turn()).encode(encoding), code=1)
                violation = verdict["violations"][0]
                self.assertEqual(violation["rule"], "JSON-01")
                self.assertIn("UTF-8", violation["message"] + violation.get("hint", ""))

    def test_a_program_is_refused(self):
        verdict, = self.verdicts("auto", BINARY, code=1)

        self.assertIn(verdict["violations"][0]["rule"], ("JSON-01", "JSON-03"))

    def test_an_empty_device_is_an_empty_document(self):
        verdict, = self.verdicts("auto", "/dev/null", code=1)

        violation, = verdict["violations"]
        self.assertEqual((violation["rule"], violation["message"]), ("JSON-01", "the document is empty"))

    def test_an_endless_device_is_too_large(self):
        ran = self.treaty("check", "auto", "/dev/zero", "--format", "json", limited=True)

        self.assertEqual(rules_of(json.loads(ran.out)["violations"]), ["JSON-03"])


class Unreadable(TreatyTest):
    def test_what_cannot_be_opened_is_reported_with_the_reason(self):
        self.write("file.json", user_turn())
        os.symlink("loop.json", self.folder / "loop.json")
        os.symlink("nowhere.json", self.folder / "dangling.json")
        cases = [("missing.json", "No such file"), ("file.json/a.json", "Not a directory"),
                 ("dangling.json", "No such file"), ("loop.json", "symbolic links"),
                 (".", "directory"), ("n" * 300, "too long"), ("", "No such file")]
        for name, reason in cases:
            with self.subTest(name):
                verdict, = self.verdicts("request", name, code=1)
                self.assertEqual((verdict["document"], rules_of(verdict["violations"])), (name, ["INPUT"]))
                self.assertIn(reason, verdict["violations"][0]["message"])

    def test_a_file_that_fails_while_it_is_read_is_reported(self):
        verdict, = self.verdicts("request", "/proc/self/mem", code=1)

        self.assertIn("cannot be read", verdict["violations"][0]["message"])

    @unittest.skipIf(os.geteuid() == 0, "root may read everything")
    def test_a_file_without_permission_is_reported(self):
        self.write("secret.json", user_turn())
        os.chmod(self.folder / "secret.json", 0)

        verdict, = self.verdicts("request", "secret.json", code=1)

        self.assertIn("Permission denied", verdict["violations"][0]["message"])


class Sizes(TreatyTest):
    def test_sixteen_mebibytes_are_accepted_and_one_byte_more_is_not(self):
        self.write("most.json", padded(user_turn(), LIMIT))
        self.write("more.json", padded(user_turn(), LIMIT + 1))

        most, more = self.verdicts("request", "most.json", "more.json", code=1, limited=True)

        self.assertEqual((most["valid"], most["violations"]), (True, []))
        self.assertEqual(rules_of(more["violations"]), ["JSON-03"])
        self.assertIn(str(LIMIT), more["violations"][0]["message"])

    def test_a_line_of_ndjson_has_the_same_limit(self):
        lines = "\n".join([padded(user_turn(), LIMIT + 1), json.dumps(user_turn()), padded(user_turn(), LIMIT)])

        verdicts = self.verdicts("request", "--ndjson", "-", code=1, stdin=lines, limited=True)

        self.assertEqual([rules_of(verdict["violations"]) for verdict in verdicts], [["JSON-03"], [], []])

    def test_sixty_four_levels_are_accepted_and_one_more_is_not(self):
        self.assertTrue(self.verdict("agent-result", nested(64))["valid"])
        self.assertEqual(rules_of(self.verdict("agent-result", nested(65))["violations"]), ["JSON-03"])

    def test_a_hundred_thousand_levels_are_refused(self):
        for name, document in (("lists", "[" * 100_000 + "]" * 100_000),
                               ("objects", '{"a":' * 100_000 + "1" + "}" * 100_000),
                               ("open lists", "[" * 100_000), ("in a member", nested(100_000))):
            for contract in ("auto", "agent-result", "request"):
                with self.subTest(name, contract=contract):
                    verdict = self.verdict(contract, document, code=1, limited=True)
                    self.assertIn("JSON-03", rules_of(verdict["violations"]))


class Hostile(TreatyTest):
    """Documents that try to take more memory or time than their size deserves."""

    def assert_survived(self, contract, document, *options, code):
        for form in ("json", "human"):
            ran = self.treaty("check", contract, "-", "--format", form, *options, stdin=document, limited=True,
                              seconds=SOON)
            self.assertEqual(ran.code, code, ran)

    def test_a_text_that_holds_deep_json(self):
        deep = "[" * (LIMIT - 500)

        call = {"ToolCallId": "a", "Name": "n", "ArgumentsJson": deep}
        self.assert_survived("response", waiting(ToolCalls=[call]), code=1)
        self.assert_survived("request", tool_continuation(ToolResults=[tool_result(ResultJson=deep)]), code=0)
        self.assert_survived("response", final(PrimaryOutputText=deep), code=0)
        self.assert_survived("bridge-response", bridge_response(response=deep), "--inner", "json", code=1)

    def test_millions_of_values(self):
        for value, count in (("0", 8 * MIB - 99), ("[]", 5 * MIB), ("{}", 5 * MIB), ('{"a":0}', 2 * MIB - 99)):
            with self.subTest(value):
                document = '{"output":{"a":[' + ",".join([value] * count) + "]}}"
                self.assert_survived("agent-result", document, code=0)

    def test_millions_of_members_that_nobody_knows(self):
        members = ",".join(f'"{number:x}":0' for number in range(1_500_000))

        self.assert_survived("request", "{" + members + "}", code=1)
        self.assert_survived("assistant", "{" + members + "}", code=1)

    def test_millions_of_repeated_names(self):
        self.assert_survived("request", "{" + ",".join(['"a":0'] * 2_500_000) + "}", code=1)

    def test_many_findings_below_a_name_of_a_mebibyte(self):
        inner = "{" + ",".join(['"a":0'] * 10_001) + "}"

        self.assert_survived("agent-result", '{"' + "x" * MIB + '":' + inner + "}", code=1)

    def test_texts_that_look_like_what_is_searched_for(self):
        cases = [("response", "PrimaryOutputText", final, piece) for piece in
                 ("```\n[\n", "`", "~", "[`", "data:", "data:;", "A", "~~~\n```\n", "```a\n")]
        cases += [("assistant", "assistant_message", assistant, piece) for piece in
                  ("/", "a/", "sk-", "ghp_", "A=", "KEY=", "a://", "://@", "a:b@", "at (", "eyJa.", "a.b.", "C:\\", "\\\\",
                   "a/b.c", ".c.c", "openai ", "openai is ", "token ", "1 tokens of ", "gpt-", "sentry ", "Sentry ", "1:1:1 ",
                   "relation \"", "at a.b.c", "ERROR ", "GET /", "a ", "duplicate entry '", "http://", ": column \"")]
        for contract, member, document, piece in cases:
            with self.subTest(piece=piece, contract=contract):
                text = piece * (2 * MIB // len(piece))
                verdict = self.verdict(contract, document(**{member: text}), limited=True, seconds=SOON)
                self.assertLessEqual(set(rules_of(verdict["violations"])), {"RES-31", "ARL-09"})

    def test_the_lists_of_findings_are_bounded_and_say_so(self):
        document = user_turn(**{f"x{number}": 1 for number in range(20_000)})

        verdict = self.verdict("request", document, code=0)

        self.assertTrue(verdict["truncated"])
        self.assertEqual(len(verdict["warnings"]), 10_000)

    def test_a_good_document_is_not_called_truncated(self):
        self.assertNotIn("truncated", self.verdict("agent-result", agent_result()))


class Output(TreatyTest):
    def test_output_that_cannot_be_written_is_told_and_ends_with_1(self):
        self.write("a.json", user_turn())
        for arguments in (["version"], ["rules", "--format", "jsonl"], ["schema", "request"],
                          ["check", "request", "a.json"], ["check", "request", *["a.json"] * 500, "--format", "json"]):
            with self.subTest(arguments=arguments[:3], count=len(arguments)), open("/dev/full", "wb") as full:
                ran = self.treaty(*arguments, stdout=full)
                self.assertEqual(ran.code, 1, ran)
                self.assertIn("cannot be written", ran.err)


class Streams(TreatyTest):
    def test_lines_that_cannot_be_read_to_their_end_are_an_error(self):
        for command in (("check", "request", "--ndjson"), ("compose", "--ndjson")):
            with self.subTest(command=command):
                ran = self.treaty(*command, "/proc/self/mem")
                self.assertEqual(ran.code, 1)
                self.assertIn("cannot be read to its end", ran.out + ran.err)

    def test_a_link_that_leads_nowhere_is_told(self):
        os.symlink("nowhere", self.folder / "x.json")
        ran = self.treaty("check", "auto", "--recursive", ".")
        self.assertEqual(ran.code, 1)
        self.assertIn("x.json: error: cannot be read", ran.out)

    def test_names_cannot_write_escapes_to_the_terminal(self):
        name = "e\x1b[31mx"
        self.write(name, "text")
        for arguments in (("hash", name), ("check", name, "x"), ("rules", name), ("schema", name),
                          ("check", "request", "--request", name, "x")):
            with self.subTest(arguments=arguments):
                ran = self.treaty(*arguments)
                self.assertNotIn("\x1b", ran.out + ran.err)


if __name__ == "__main__":
    unittest.main()
