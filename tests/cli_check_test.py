"""Tests of `treaty check` as a whole: verdicts, exit codes, where documents come from, options."""
import json
import unittest

from treaty_binary import (OTHER_UUID, UUID, VALID, TreatyTest, agent_result, assistant, bridge_request,
                           bridge_response, failed_invoke_result, final, invoke_result, rules_of,
                           tool_continuation, tool_result, user_turn, waiting, without)

TWO_FINDINGS = """{
  "SessionId": "s1",
  "TurnId": "t1",
  "Instruction": "Sum it up.",
  "Color": "red",
  "Mode": "fast"
}
"""


class Verdicts(TreatyTest):
    def test_a_verdict_is_one_line_with_its_members_in_order(self):
        self.write("a.json", TWO_FINDINGS)

        ran = self.treaty("check", "request", "a.json", "--format", "json")

        self.assertEqual(ran.out.count("\n"), 1)
        self.assertTrue(ran.out.endswith("}\n"))
        verdict = json.loads(ran.out)
        self.assertEqual(list(verdict), ["document", "contract", "profile", "valid", "kind", "violations", "warnings"])
        self.assertEqual([verdict[name] for name in list(verdict)[:5]],
                         ["a.json", "request", "strict", False, "user_turn"])

    def test_a_violation_has_its_rule_place_message_and_hint_in_order(self):
        violation, = self.verdict("request", TWO_FINDINGS)["violations"]

        self.assertEqual(list(violation), ["rule", "where", "line", "column", "message", "hint"])
        self.assertEqual([violation[name] for name in ("rule", "where", "line", "column")], ["REQ-12", "/Mode", 6, 11])
        self.assertIn("mode", violation["message"])
        self.assertTrue(violation["hint"])

    def test_a_warning_without_a_hint_has_no_hint(self):
        warning, = self.verdict("request", TWO_FINDINGS)["warnings"]

        self.assertEqual(list(warning), ["rule", "where", "line", "column", "message"])
        self.assertEqual([warning[name] for name in ("rule", "where", "line", "column")], ["REQ-15", "/Color", 5, 12])

    def test_all_violations_come_in_document_order(self):
        document = '{"Mode": 1, "TurnId": " ", "Streaming": "yes", "TraceId": "x", "Instruction": 7}'

        violations = self.verdict("request", document)["violations"]

        self.assertEqual(rules_of(violations), ["REQ-01", "REQ-12", "REQ-02", "REQ-03", "REQ-14", "REQ-03"])
        columns = [violation["column"] for violation in violations]
        self.assertEqual(columns, sorted(columns))

    def test_columns_count_characters_not_bytes(self):
        verdict = self.verdict("request", '{"SessionId": "é😀", "TurnId": "t", "Instruction": "x", "Mode": 1}')

        self.assertEqual(verdict["violations"][0]["column"], 64)

    def test_kind_is_told_where_it_can_be_told(self):
        failed = bridge_response(status="error", response=None, error_message="No.", error_type="timeout")
        cases = [("request", user_turn(), "user_turn"), ("request", tool_continuation(), "tool_continuation"),
                 ("response", final(), "final"), ("response", waiting(), "client_tool_continuation"),
                 ("invoke-result", invoke_result(final()), "success"),
                 ("invoke-result", failed_invoke_result(), "failure"), ("agent-result", agent_result(), "success"),
                 ("agent-result", {"error": {"message": "No."}}, "failure"),
                 ("bridge-response", bridge_response(), "success"), ("bridge-response", failed, "timeout"),
                 ("bridge-response", {**failed, "error_type": None}, "error"), ("assistant", assistant(), None),
                 ("response", without(final(), "Kind"), None)]
        for contract, document, kind in cases:
            with self.subTest(contract=contract, kind=kind):
                self.assertEqual(self.verdict(contract, document).get("kind"), kind)

    def test_a_place_inside_a_list_is_told_by_its_pointer(self):
        document = invoke_result(final(ToolResults=[tool_result("a"), tool_result("b", ExecutionMs=-1)]))

        violation, = self.verdict("invoke-result", document)["violations"]

        self.assertEqual((violation["rule"], violation["where"]), ("TOOL-04", "/Result/ToolResults/1/ExecutionMs"))

    def test_a_pointer_escapes_what_json_pointers_escape(self):
        warning, = self.verdict("request", user_turn(**{"a/b~c": 1}))["warnings"]

        self.assertEqual(warning["where"], "/a~1b~0c")

    def test_a_missing_member_is_spelt_as_the_document_spells(self):
        violation, = self.verdict("request", {"sessionId": "s", "instruction": "x"})["violations"]

        self.assertEqual((violation["rule"], violation["where"]), ("REQ-02", "/turnId"))


class ExitCodes(TreatyTest):
    def test_every_valid_document_ends_with_0(self):
        for contract, document in VALID.items():
            with self.subTest(contract):
                self.write("a.json", document)
                ran = self.treaty("check", contract, "a.json")
                self.assertEqual(ran.code, 0, ran)

    def test_no_contract_accepts_an_empty_object_but_the_agent_result(self):
        for contract in VALID:
            with self.subTest(contract):
                ran = self.treaty("check", contract, "-", stdin="{}")
                self.assertEqual(ran.code, 0 if contract == "agent-result" else 1, ran)

    def test_warnings_alone_end_with_0(self):
        verdict = self.verdict("request", user_turn(Color="red"), code=0)

        self.assertTrue(verdict["valid"])
        self.assertEqual(rules_of(verdict["warnings"]), ["REQ-15"])

    def test_one_bad_file_of_many_does_not_stop_the_others(self):
        self.write("good.json", user_turn())
        self.write("bad.json", "{")
        self.write("last.json", user_turn())

        verdicts = self.verdicts("request", "good.json", "bad.json", "missing.json", ".", "last.json", code=1)

        self.assertEqual([verdict["document"] for verdict in verdicts],
                         ["good.json", "bad.json", "missing.json", ".", "last.json"])
        self.assertEqual([verdict["valid"] for verdict in verdicts], [True, False, False, False, True])
        self.assertEqual([rules_of(verdict["violations"]) for verdict in verdicts],
                         [[], ["JSON-01"], ["INPUT"], ["INPUT"], []])

    def test_wrong_usage_ends_with_2(self):
        self.write("a.json", user_turn())
        cases = [((), "contract"), (("request",), "file"), (("requests", "a.json"), "bridge-response"),
                 (("request", "a.json", "--profile", "loose"), "strict"), (("request", "a.json", "--role"), "--role"),
                 (("request", "a.json", "--verbose"), "--verbose"), (("request", "a.json", "--format", "xml"), "sarif"),
                 (("request", "a.json", "--max-size", "big"), "--max-size"),
                 (("request", "a.json", "--max-size", "0"), "--max-size"),
                 (("request", "a.json", "--max-size", "-1"), "--max-size")]
        for arguments, word in cases:
            with self.subTest(arguments=arguments):
                self.assert_usage(self.treaty("check", *arguments), "treaty check", word)


class Inputs(TreatyTest):
    def test_a_dash_reads_standard_input(self):
        verdict = self.verdict("request", user_turn(), code=0)

        self.assertEqual(verdict["document"], "-")

    def test_files_are_reported_in_the_order_given(self):
        names = [self.write(name, user_turn()) for name in ("c.json", "a.json", "b.json")]

        verdicts = self.verdicts("request", *names, code=0)

        self.assertEqual([verdict["document"] for verdict in verdicts], names)

    def test_a_pattern_that_matches_nothing_is_reported_in_its_place(self):
        self.write("a.json", user_turn())
        self.write("b.json", user_turn())

        verdicts = self.verdicts("request", "a.json", "none-*.json", "b.json", code=1)

        self.assertEqual([verdict["document"] for verdict in verdicts], ["a.json", "none-*.json", "b.json"])
        self.assertEqual(rules_of(verdicts[1]["violations"]), ["INPUT"])

    def test_a_quoted_glob_is_expanded_in_order(self):
        for name in ("b.json", "a.json", "c.txt"):
            self.write(name, user_turn())

        verdicts = self.verdicts("request", "*.json", code=0)

        self.assertEqual([verdict["document"] for verdict in verdicts], ["a.json", "b.json"])

    def test_a_file_whose_name_looks_like_a_glob_is_that_file(self):
        self.write("a[1].json", user_turn())
        self.write("a1.json", "{")

        verdicts = self.verdicts("request", "a[1].json", code=0)

        self.assertEqual([verdict["document"] for verdict in verdicts], ["a[1].json"])

    def test_a_name_in_brackets_is_taken_as_it_is(self):
        self.write("[x]", user_turn())

        verdicts = self.verdicts("request", "[x]")

        self.assertEqual([(verdict["document"], verdict["valid"]) for verdict in verdicts], [("[x]", True)])

    def test_a_name_that_begins_with_a_dash_follows_two_dashes(self):
        self.write("-a.json", user_turn())

        ran = self.treaty("check", "request", "--", "-a.json")

        self.assertEqual(ran.code, 0, ran)

    def test_recursive_finds_json_files_at_any_depth_dotfiles_too(self):
        for name in ("t/b.json", "t/x/y/a.json", "t/x/.agent-request.json", "t/.hidden/c.json", "t/note.txt"):
            self.write(name, user_turn())

        verdicts = self.verdicts("request", "--recursive", "t", code=0)

        self.assertEqual([verdict["document"] for verdict in verdicts],
                         ["t/.hidden/c.json", "t/b.json", "t/x/.agent-request.json", "t/x/y/a.json"])

    def test_recursive_takes_files_beside_directories(self):
        self.write("t/a.json", user_turn())
        self.write("b.json", user_turn())

        verdicts = self.verdicts("request", "b.json", "t", "--recursive", code=0)

        self.assertEqual([verdict["document"] for verdict in verdicts], ["b.json", "t/a.json"])

    def test_recursive_expands_the_directories_that_a_glob_matches(self):
        self.write("one/a.json", user_turn())
        self.write("two/b.json", user_turn())

        verdicts = self.verdicts("request", "--recursive", "*")

        self.assertEqual([verdict["document"] for verdict in verdicts], ["one/a.json", "two/b.json"])

    def test_recursive_does_not_take_a_file_of_lines_for_one_document(self):
        self.write("t/a.json", user_turn())
        self.write("t/log.ndjson", f"{json.dumps(user_turn())}\n{json.dumps(user_turn())}\n")

        verdicts = self.verdicts("request", "--recursive", "t")

        self.assertEqual([verdict for verdict in verdicts if not verdict["valid"]], [])

    def test_a_directory_without_json_files_is_reported(self):
        self.write("t/note.txt", "x")

        verdict, = self.verdicts("request", "--recursive", "t", code=1)

        self.assertEqual(rules_of(verdict["violations"]), ["INPUT"])

    def test_a_directory_without_recursive_is_reported_with_the_way_out(self):
        self.write("t/a.json", user_turn())

        verdict, = self.verdicts("request", "t", code=1)

        self.assertIn("--recursive", verdict["violations"][0]["message"])

    def test_the_size_limit_can_be_set(self):
        document = json.dumps(user_turn())

        self.assertTrue(self.verdict("request", document, "--max-size", str(len(document)))["valid"])
        self.assertTrue(self.verdict("request", document, "--max-size", str(2**64 - 1))["valid"])
        verdict = self.verdict("request", document, "--max-size", str(len(document) - 1))
        self.assertEqual(rules_of(verdict["violations"]), ["JSON-03"])


class Lines(TreatyTest):
    def test_every_line_is_a_document_with_its_line_number(self):
        good, bad = json.dumps(user_turn()), json.dumps(user_turn(Mode="x"))
        self.write("a.ndjson", f"{good}\n\n{bad}\r\n{{\n{good}")

        verdicts = self.verdicts("request", "--ndjson", "a.ndjson", code=1)

        self.assertEqual([verdict["document"] for verdict in verdicts],
                         ["a.ndjson:1", "a.ndjson:3", "a.ndjson:4", "a.ndjson:5"])
        self.assertEqual([verdict["valid"] for verdict in verdicts], [True, False, False, True])
        self.assertEqual([(violation["rule"], violation["line"], violation["column"])
                          for verdict in verdicts for violation in verdict["violations"]],
                         [("REQ-12", 3, bad.index('"x"') + 1), ("JSON-01", 4, 2)])

    def test_lines_may_come_from_standard_input_and_be_of_several_contracts(self):
        lines = "\n".join(json.dumps(document) for document in VALID.values())

        verdicts = self.verdicts("auto", "--ndjson", "-", code=0, stdin=lines)

        self.assertEqual([verdict["contract"] for verdict in verdicts], list(VALID))

    def test_people_see_file_line_and_column_of_a_line(self):
        self.write("a.ndjson", f"{json.dumps(user_turn())}\n{{\n")

        ran = self.treaty("check", "request", "--ndjson", "a.ndjson")

        self.assertIn("a.ndjson:1: ok (request, user_turn)\n", ran.out)
        self.assertIn("a.ndjson:2:2: error JSON-01: ", ran.out)


class Auto(TreatyTest):
    def test_auto_tells_every_contract(self):
        cases = [*VALID.items(), ("request", tool_continuation()), ("response", waiting()),
                 ("response", final(ToolResults=[tool_result()])), ("invoke-result", failed_invoke_result()),
                 ("request", {"sessionId": "s", "turnId": "t", "instruction": "x"})]
        for contract, document in cases:
            with self.subTest(contract=contract, document=document):
                verdict = self.verdict("auto", document, code=0)
                self.assertEqual((verdict["contract"], verdict["valid"]), (contract, True))

    def test_auto_tells_broken_documents_too(self):
        named_wrongly = {**without(bridge_response(), "response"), "result": "Fine."}
        cases = [("response", without(final(), "Kind")), ("request", user_turn(ModeDisplayName="x")),
                 ("bridge-response", named_wrongly), ("assistant", assistant(prompt="x")),
                 ("bridge-request", without(bridge_request(), "agent_name")),
                 ("agent-result", agent_result(raw={})), ("invoke-result", {"Successful": True, "Errors": []})]
        for contract, document in cases:
            with self.subTest(contract=contract, document=document):
                verdict = self.verdict("auto", document, code=1)
                self.assertEqual((verdict["contract"], verdict["valid"]), (contract, False))

    def test_auto_tells_a_failure_that_is_nothing_but_an_error(self):
        verdict = self.verdict("auto", {"error": {"message": "It took too long.", "code": "timeout"}})

        self.assertEqual((verdict["contract"], verdict.get("kind")), ("agent-result", "failure"))

    def test_what_tells_no_contract_asks_for_one(self):
        for document in ({}, {"hello": "world"}, {"request_id": UUID, "version": "1.0"}):
            with self.subTest(document=document):
                verdict = self.verdict("auto", document, code=1)
                self.assertEqual(verdict["contract"], "auto")
                self.assertEqual(rules_of(verdict["violations"]), ["INPUT"])
                self.assertIn("auto", verdict["violations"][0]["message"])

    def test_what_is_no_object_is_told_by_the_rules_for_json(self):
        for document, rule in (("[]", "JSON-06"), ('"text"', "JSON-06"), ("nonsense", "JSON-01"), ("", "JSON-01")):
            with self.subTest(document=document):
                verdict = self.verdict("auto", document, code=1)
                self.assertEqual((verdict["contract"], rules_of(verdict["violations"])), ("auto", [rule]))

    def test_auto_tells_a_document_with_a_byte_order_mark(self):
        verdict = self.verdict("auto", b"\xef\xbb\xbf" + json.dumps(user_turn()).encode(), "--profile", "lenient")

        self.assertEqual((verdict["contract"], verdict["valid"]), ("request", True))

    def test_auto_minds_a_raised_size_limit(self):
        document = user_turn(Instruction="x" * (17 << 20))

        verdict = self.verdict("auto", document, "--max-size", str(20 << 20))

        self.assertEqual((verdict["contract"], verdict["valid"]), ("request", True))


class Options(TreatyTest):
    def test_lenient_repairs_what_strict_refuses_and_says_so(self):
        document = bridge_response(duration_seconds="1.5")

        strict, lenient = (self.verdict("bridge-response", document, "--profile", name) for name in ("strict", "lenient"))

        self.assertEqual((strict["profile"], strict["valid"], rules_of(strict["violations"])),
                         ("strict", False, ["BRS-10"]))
        self.assertEqual((lenient["profile"], lenient["valid"], lenient["violations"]), ("lenient", True, []))
        warning, = lenient["warnings"]
        self.assertEqual((warning["rule"], warning["where"], warning["repaired"]), ("BRS-10", "/duration_seconds", True))

    def test_lenient_refuses_what_has_no_obvious_repair(self):
        verdict = self.verdict("response", final(ToolCalls=[]), "--profile", "lenient", code=1)

        self.assertEqual(rules_of(verdict["violations"]), ["RES-12"])

    def test_an_option_takes_its_value_after_an_equals_sign(self):
        verdict = self.verdict("bridge-response", bridge_response(duration_seconds="1.5"), "--profile=lenient", code=0)

        self.assertEqual(verdict["profile"], "lenient")

    def test_extra_members_are_refused_for_producers_and_dropped_for_consumers(self):
        document = assistant(mood="fine", extra={"deep": [{"prompt": "x"}]})

        producer = self.verdict("assistant", document, code=1)
        consumer = self.verdict("assistant", document, "--role", "consumer", code=0)

        self.assertEqual(rules_of(producer["violations"]), ["ARL-02", "ARL-02", "ARL-03"])
        self.assertEqual((consumer["violations"], rules_of(consumer["warnings"])), ([], ["ARL-02", "ARL-02", "ARL-03"]))

    def test_an_answer_to_the_request_at_hand_passes(self):
        self.write(".agent-request.json", bridge_request())

        verdict = self.verdict("bridge-response", bridge_response(), "--request", ".agent-request.json", code=0)

        self.assertEqual((verdict["violations"], verdict["warnings"]), ([], []))

    def test_a_stale_answer_is_refused_in_both_profiles(self):
        self.write("request.json", bridge_request(request_id=OTHER_UUID))
        for profile in ("strict", "lenient"):
            with self.subTest(profile):
                verdict = self.verdict("bridge-response", bridge_response(), "--request", "request.json",
                                       "--profile", profile, code=1)
                violation, = verdict["violations"]
                self.assertEqual((violation["rule"], violation["where"]), ("BRS-12", "/request_id"))
                self.assertIn(OTHER_UUID, violation["message"])

    def test_a_request_that_cannot_be_used_is_wrong_usage(self):
        self.write("answer.json", bridge_response())
        self.write("no-json.json", "nonsense")
        self.write("no-id.json", user_turn())
        self.write("number.json", bridge_request(request_id=7))
        for name in ("missing.json", "no-json.json", "no-id.json", "number.json", "."):
            with self.subTest(name):
                ran = self.treaty("check", "bridge-response", "answer.json", "--request", name)
                self.assert_usage(ran, "--request", name)

    def test_a_directory_as_the_request_is_not_told_to_be_checked_recursively(self):
        self.write("answer.json", bridge_response())

        ran = self.treaty("check", "bridge-response", "answer.json", "--request", ".")

        self.assertIn("directory", ran.err)
        self.assertNotIn("--recursive", ran.err)

    def test_the_inner_document_is_read_as_asked(self):
        declared = {"content_type": "application/json"}
        cases = [("Fine.", {}, "auto", []), ("Fine.", {}, "json", ["BRS-13"]), ("Fine.", {}, "text", []),
                 ("Fine.", declared, "auto", ["BRS-13"]), ("Fine.", declared, "text", []),
                 ('{"a": 1}', declared, "auto", []), ('{"a": 1}', {}, "json", [])]
        for response, metadata, inner, rules in cases:
            with self.subTest(response=response, metadata=metadata, inner=inner):
                verdict = self.verdict("bridge-response", bridge_response(response=response, metadata=metadata),
                                       "--inner", inner)
                self.assertEqual(rules_of(verdict["violations"]), rules)


if __name__ == "__main__":
    unittest.main()
