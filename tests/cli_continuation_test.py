"""Tests of `treaty check continuation`: tool results against the calls that wait for them."""
import json
import unittest

from treaty_binary import (TreatyTest, failed_invoke_result, final, invoke_result, rules_of, tool_continuation,
                           tool_result, user_turn, waiting)


def camel(value):
    """The same document in camelCase."""
    if isinstance(value, list):
        return [camel(entry) for entry in value]
    if isinstance(value, dict):
        return {name[0].lower() + name[1:]: camel(member) for name, member in value.items()}
    return value


class ContinuationTest(TreatyTest):
    def match(self, pending, submitted, *options):
        self.write("pending.json", pending)
        self.write("submitted.json", submitted)
        return self.treaty("check", "continuation", "pending.json", "submitted.json", *options)

    def verdict_on(self, pending, submitted, *options):
        ran = self.match(pending, submitted, "--format", "json", *options)
        self.assertEqual(ran.out.count("\n"), 1, ran)
        verdict = json.loads(ran.out)
        self.assertEqual(list(verdict), ["valid", "violations", "warnings", "differences"])
        self.assertEqual(ran.code, 0 if verdict["valid"] else 1, ran)
        return verdict


class Matching(ContinuationTest):
    def test_the_same_ids_in_the_same_order_match(self):
        for pending, submitted in ((waiting(*"abc"), tool_continuation(*"abc")),
                                   (camel(waiting(*"ab")), tool_continuation(*"ab")),
                                   (waiting(*"ab"), camel(tool_continuation(*"ab"))),
                                   (invoke_result(waiting(*"ab")), tool_continuation(*"ab")),
                                   (camel(invoke_result(waiting(*"ab"))), camel(tool_continuation(*"ab")))):
            with self.subTest(pending=pending):
                verdict = self.verdict_on(pending, submitted)
                self.assertEqual(verdict, {"valid": True, "violations": [], "warnings": [], "differences": []})

    def test_every_kind_of_difference_is_told_with_its_rule(self):
        cases = [("abc", "ab", {"TOOL-10", "TOOL-11"}, [("missing", "c")]),
                 ("abc", "bc", {"TOOL-10", "TOOL-11"}, [("missing", "a")]),
                 ("ab", "abc", {"TOOL-10", "TOOL-11"}, [("unexpected", "c")]),
                 ("ab", "xb", {"TOOL-11"}, [("missing", "a"), ("unexpected", "x")]),
                 ("ab", "abb", {"TOOL-03", "TOOL-10"}, [("duplicate", "b")]),
                 ("ab", "aa", {"TOOL-03", "TOOL-11"}, [("missing", "b"), ("duplicate", "a")]),
                 ("ab", "ba", {"TOOL-12"}, [("out_of_order", None)]),
                 ("abc", "cba", {"TOOL-12"}, [("out_of_order", None)]),
                 ("abc", "xca", {"TOOL-11", "TOOL-12"}, [("missing", "b"), ("unexpected", "x"), ("out_of_order", None)]),
                 ("abcd", "dxa", {"TOOL-10", "TOOL-11", "TOOL-12"},
                  [("missing", "b"), ("missing", "c"), ("unexpected", "x"), ("out_of_order", None)])]
        for calls, results, rules, differences in cases:
            with self.subTest(calls=calls, results=results):
                verdict = self.verdict_on(waiting(*calls), tool_continuation(*results))
                self.assertEqual(set(rules_of(verdict["violations"])), rules)
                self.assertEqual([(found["kind"], None if found["kind"] == "out_of_order" else found["id"])
                                  for found in verdict["differences"]], differences)

    def test_the_places_of_a_difference_count_from_0(self):
        verdict = self.verdict_on(waiting(*"ab"), tool_continuation(*"xa"))

        self.assertEqual(verdict["differences"], [{"kind": "missing", "id": "b", "expected_at": 1},
                                                  {"kind": "unexpected", "id": "x", "got_at": 0}])

    def test_the_message_names_the_first_difference(self):
        verdict = self.verdict_on(waiting(*"abc"), tool_continuation(*"acb"))

        violation, = verdict["violations"]
        self.assertEqual((violation["rule"], violation["where"], violation["document"]),
                         ("TOOL-12", "/ToolResults", "submitted"))
        for word in ("index 1 (counting from 0)", '"b"', '"c"'):
            self.assertIn(word, violation["message"])

    def test_a_failed_tool_is_an_answer(self):
        failed = {"ToolCallId": "a", "ExecutionMs": 3, "ErrorMessage": "No such file."}

        self.assertTrue(self.verdict_on(waiting("a"), tool_continuation(ToolResults=[failed]))["valid"])


class Turns(ContinuationTest):
    def test_another_session_or_turn_does_not_wait(self):
        for member in ("SessionId", "TurnId"):
            with self.subTest(member):
                verdict = self.verdict_on(waiting("a"), tool_continuation("a", **{member: "other"}))
                violation, = verdict["violations"]
                self.assertEqual((violation["rule"], violation["where"]), ("TOOL-13", f"/{member}"))
                self.assertIn('"other"', violation["message"])

    def test_a_final_response_waits_for_nothing(self):
        for pending in (final(), invoke_result(final())):
            with self.subTest(pending=pending):
                verdict = self.verdict_on(pending, tool_continuation("a"))
                self.assertIn("TOOL-13", rules_of(verdict["violations"]))
                self.assertEqual({violation["document"] for violation in verdict["violations"]}, {"submitted"})

    def test_a_failed_call_waits_for_nothing_and_is_itself_in_order(self):
        verdict = self.verdict_on(failed_invoke_result(), tool_continuation("a"))

        self.assertIn("TOOL-13", rules_of(verdict["violations"]))
        self.assertEqual([found for found in verdict["violations"] if found["document"] == "pending"], [])

    def test_a_user_turn_answers_no_call(self):
        verdict = self.verdict_on(waiting("a"), user_turn())

        self.assertFalse(verdict["valid"])
        self.assertEqual(verdict["differences"], [{"kind": "missing", "id": "a", "expected_at": 0}])


class Documents(ContinuationTest):
    def test_both_documents_keep_their_own_rules(self):
        verdict = self.verdict_on(waiting("a", PrimaryOutputText="x"), tool_continuation("a", Instruction="x"))

        self.assertEqual({(found["rule"], found["document"]) for found in verdict["violations"]},
                         {("RES-22", "pending"), ("REQ-21", "submitted"), ("REQ-11", "submitted")})

    def test_differences_are_told_even_when_an_entry_is_broken(self):
        verdict = self.verdict_on(waiting(*"ab"), tool_continuation(ToolResults=[{"ToolCallId": "b"}]))

        self.assertIn(("missing", "a"), [(found["kind"], found["id"]) for found in verdict["differences"]])

    def test_what_is_not_json_is_told_by_its_document(self):
        for pending, submitted, guilty in (("{", tool_continuation(), "pending"), (waiting(), "{", "submitted"),
                                           ("", "", "pending"), ("[]", tool_continuation(), "pending")):
            with self.subTest(pending=pending, submitted=submitted):
                violations = self.verdict_on(pending, submitted)["violations"]
                self.assertEqual((violations[0]["rule"][:4], violations[0]["document"]), ("JSON", guilty))

    def test_lenient_repairs_both(self):
        late = tool_result("a")
        del late["ExecutionMs"]
        submitted = tool_continuation(ToolResults=[late], AgentContextId="x")

        self.assertFalse(self.verdict_on(waiting("a"), submitted)["valid"])
        lenient = self.verdict_on(waiting("a"), submitted, "--profile", "lenient")
        self.assertEqual((lenient["valid"], set(rules_of(lenient["warnings"]))), (True, {"TOOL-04", "REQ-26"}))

    def test_one_of_them_may_come_from_standard_input(self):
        self.write("pending.json", waiting("a"))

        ran = self.treaty("check", "continuation", "pending.json", "-", stdin=tool_continuation("a"))

        self.assertEqual(ran.code, 0, ran)


class ForPeople(ContinuationTest):
    def test_a_match_is_said_in_a_line(self):
        ran = self.match(waiting("a"), tool_continuation("a"))

        self.assertEqual((ran.code, ran.out), (0, "the results match the calls\n"))

    def test_a_mismatch_shows_the_place_and_every_difference(self):
        ran = self.match(waiting(*"ab"), tool_continuation(*"bx"))

        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.out, r"(?m)^submitted\.json:1:\d+: error TOOL-11: ")
        self.assertIn("missing a: expected at 0, got at nowhere\n", ran.out)
        self.assertIn("unexpected x: expected at nowhere, got at 1\n", ran.out)
        self.assertTrue(ran.out.endswith("refused: nothing of it would be processed\n"), ran)

    def test_an_id_cannot_steer_a_terminal(self):
        ran = self.match(waiting("\x1b[31m"), tool_continuation("\x1b[2J"))

        self.assertEqual(ran.code, 1)
        self.assertNotIn("\x1b", ran.out)


class Usage(ContinuationTest):
    def test_it_takes_two_files(self):
        self.write("a.json", waiting())
        for files in (["a.json"], ["a.json"] * 3):
            with self.subTest(files=files):
                self.assert_usage(self.treaty("check", "continuation", *files), "PENDING SUBMITTED")

    def test_a_file_that_cannot_be_read_ends_with_1_and_its_name(self):
        self.write("a.json", waiting())
        for files in (["a.json", "missing.json"], ["missing.json", "a.json"]):
            with self.subTest(files=files):
                ran = self.treaty("check", "continuation", *files)
                self.assertEqual(ran.code, 1)
                self.assertIn("missing.json: error: cannot be read", ran.out)
                ran = self.treaty("check", "continuation", *files, "--format", "json")
                verdict = json.loads(ran.out)
                self.assertEqual((ran.code, verdict["valid"]), (1, False))
                self.assertEqual(verdict["violations"][0]["rule"], "INPUT")

    def test_a_form_that_it_does_not_have_is_not_answered_in_another(self):
        ran = self.match(waiting("a"), tool_continuation("b"), "--format", "sarif")

        if ran.code == 1:
            self.assertEqual(json.loads(ran.out)["version"], "2.1.0")
        else:
            self.assert_usage(ran, "sarif")

    def test_options_that_it_does_not_have_are_wrong_usage(self):
        for option in ("--fix", "--ndjson", "--recursive"):
            with self.subTest(option):
                self.assert_usage(self.match(waiting("a"), tool_continuation("a"), option), option)


if __name__ == "__main__":
    unittest.main()
