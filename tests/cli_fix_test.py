"""Tests of `treaty check --fix`: every repair of the lenient profile, and that nothing else changes."""
import json
import os
import stat
import unittest

from treaty_binary import (OTHER_UUID, UUID, TreatyTest, assistant, bridge_request, bridge_response, final,
                           invoke_result, rules_of, tool_continuation, user_turn)

# A document whose layout no program would write by itself.
ODD_ENVELOPE = """{ "request_id" :"%s",
\t"version":"1.0" , "status": "success","response"  :  %%s ,
  "error_message": null,   "error_type":null,
      "created_at": %%s,
  "duration_seconds":%%s,"metadata" : %%s }

""" % UUID


def envelope(response='"Fine."', created_at='"2025-11-24T14:22:45Z"', duration="1.5", metadata="{}"):
    return ODD_ENVELOPE % (response, created_at, duration, metadata)


class FixTest(TreatyTest):
    def fix(self, contract, text, *options):
        return self.treaty("check", contract, "--fix", "-", *options, stdin=text)

    def fix_in_place(self, contract, *names_and_options):
        return self.treaty("check", contract, "--fix", "--in-place", *names_and_options)

    def assert_repaired(self, contract, before, after, *rules, options=(), code=0):
        """On stdout, and in place if it is valid then, to the byte; a second time there is nothing left to do."""
        ran = self.fix(contract, before, *options)
        self.assertEqual(ran.out, after)
        self.assertEqual(ran.code, code, ran)
        told = [line.split()[2] for line in ran.err.splitlines() if line.startswith("-: repaired ")]
        self.assertEqual(told, list(rules))
        if code != 0:
            self.assert_untouched(contract, before, is_repairable=before != after, options=options)
            return

        self.write("a.json", before)
        ran = self.fix_in_place(contract, "a.json", *options)
        self.assertEqual(self.read("a.json").decode(), after)
        self.assertEqual((ran.code, ran.err.count("a.json: repaired ")), (0, len(rules)), ran)

        status = (self.folder / "a.json").stat()
        ran = self.fix_in_place(contract, "a.json", *options)
        again = (self.folder / "a.json").stat()
        self.assertEqual((again.st_ino, again.st_mtime_ns), (status.st_ino, status.st_mtime_ns))
        self.assertEqual((ran.code, ran.err), (0, ""))

    def assert_untouched(self, contract, text, *, is_repairable, options=()):
        """In place: a part of the repairs is never written."""
        self.write("a.json", text)
        status = (self.folder / "a.json").stat()

        ran = self.fix_in_place(contract, "a.json", *options)

        again = (self.folder / "a.json").stat()
        self.assertEqual(self.read("a.json").decode(), text)
        self.assertEqual((again.st_ino, again.st_mtime_ns), (status.st_ino, status.st_mtime_ns))
        self.assertEqual((ran.code, ran.err.count("repaired ")), (1, 0), ran)
        self.assertEqual(ran.err.count("a.json: left as it is"), 1 if is_repairable else 0, ran)
        self.assertIn("1 refused", ran.out)


class Requests(FixTest):
    def test_a_byte_order_mark_is_taken_away(self):
        text = json.dumps(user_turn(), indent=1) + "\n"

        self.assert_repaired("request", "\ufeff" + text, text, "JSON-01")

    def test_a_context_id_is_taken_out_wherever_it_stands(self):
        results = '"ToolResults": [ {"ToolCallId":"a", "ExecutionMs":1,"ResultJson":"{}"} ]'
        ids = '"SessionId": "s",\n  "TurnId"  :"t"'
        extra = '"AgentContextId" : "a, \\"b\\"}"'
        cases = [("first", "{ %s,\n\n  %s,%s }\n" % (extra, ids, results), "{ %s,%s }\n" % (ids, results)),
                 ("in the middle", "{ %s, %s\n ,\t%s }\n" % (ids, extra, results), "{ %s\n ,\t%s }\n" % (ids, results)),
                 ("last", "{ %s, %s\n , %s\n}\n" % (ids, results, extra), "{ %s, %s\n}\n" % (ids, results))]
        for name, before, after in cases:
            with self.subTest(name):
                self.assert_repaired("request", before, after, "REQ-26")

    def test_both_context_ids_are_taken_out_wherever_they_stand(self):
        one, other = '"agentContextId": "a"', '"conversationContextId": "c"'
        left = ['"sessionId": "s"', '"turnId": "t"',
                '"toolResults": [{"toolCallId": "a", "executionMs": 1, "resultJson": "{}"}]']
        cases = [[one, other, *left], [*left, one, other], [left[0], one, other, *left[1:]], [one, *left, other],
                 [left[0], one, left[1], other, left[2]]]
        for members in cases:
            with self.subTest(members=members):
                self.assert_repaired("request", "{" + ", ".join(members) + "}\n", "{" + ", ".join(left) + "}\n",
                                     "REQ-26", "REQ-26")

    def test_a_context_id_is_taken_out_beside_one_other_member_and_the_rest_is_told(self):
        results = '"ToolResults": [{"ToolCallId": "a", "ExecutionMs": 1, "ResultJson": "{}"}]'
        for members in (['"AgentContextId": "a"', results], [results, '"AgentContextId": "a"']):
            with self.subTest(members=members):
                self.assert_repaired("request", "{" + ", ".join(members) + "}\n", "{" + results + "}\n", "REQ-26", code=1)

    def test_a_user_turn_keeps_its_context_ids(self):
        text = json.dumps(user_turn(AgentContextId="a")) + "\n"

        self.assert_repaired("request", text, text)

    def test_a_missing_time_is_put_in_in_the_dialect_of_the_document(self):
        cases = [('{"SessionId":"s","TurnId":"t","ToolResults":[{"ToolCallId":"a","ResultJson":"1"%s}]}\n',
                  ', "ExecutionMs": 0'),
                 ('{"sessionId":"s","turnId":"t","toolResults":[{"toolCallId":"a","resultJson":"1"%s\n}]}\n',
                  ', "executionMs": 0')]
        for text, time in cases:
            with self.subTest(time):
                self.assert_repaired("request", text % "", text % time, "TOOL-04")

    def test_a_null_for_the_time_becomes_zero(self):
        text = '{"SessionId":"s","TurnId":"t","ToolResults":[{"ExecutionMs" : %s, "ToolCallId":"a","ResultJson":"1"}]}\n'

        self.assert_repaired("request", text % "null", text % "0", "TOOL-04")

    def test_the_times_of_many_results_are_put_in_at_once(self):
        document = tool_continuation(*"abcdefgh")
        for result in document["ToolResults"]:
            del result["ExecutionMs"]

        ran = self.fix("request", document)

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual([result["ExecutionMs"] for result in json.loads(ran.out)["ToolResults"]], [0] * 8)
        self.assertEqual(ran.err.count("repaired TOOL-04"), 8)


class Responses(FixTest):
    RESULT = '{"ToolCallId": "a", "ResultJson": "1"}'

    def test_a_missing_time_in_a_final_is_put_in(self):
        before = json.dumps(final(ToolResults=[json.loads(self.RESULT)])) + "\n"

        self.assert_repaired("response", before, before.replace('"1"}', '"1", "ExecutionMs": 0}'), "TOOL-04")

    def test_a_missing_time_inside_an_invoke_result_is_put_in(self):
        before = json.dumps(invoke_result(final(ToolResults=[json.loads(self.RESULT)]))) + "\n"

        self.assert_repaired("invoke-result", before, before.replace('"1"}', '"1", "ExecutionMs": 0}'), "TOOL-04")

    def test_a_byte_order_mark_of_any_contract_is_taken_away(self):
        for contract, document in (("response", final()), ("invoke-result", invoke_result(final())), ("agent-result", {}),
                                   ("bridge-request", bridge_request()), ("bridge-response", bridge_response()),
                                   ("assistant", assistant())):
            with self.subTest(contract):
                text = json.dumps(document) + "\n"
                self.assert_repaired(contract, "\ufeff" + text, text, "JSON-01")


class BridgeResponses(FixTest):
    def test_a_response_that_is_no_string_is_encoded(self):
        cases = [('{"a": [1, "é\\n", null]}', '{"a":[1,"é\\n",null]}'), ("[ 1 , 2 ]", "[1,2]"), ("[]", "[]"),
                 ("{}", "{}"), ("7", "7"), ("-0.5", "-0.5"), ("true", "true"), ("false", "false")]
        for value, text in cases:
            with self.subTest(value):
                encoded = json.dumps(text, ensure_ascii=False)
                self.assert_repaired("bridge-response", envelope(response=value),
                                     envelope(response=encoded, metadata='{"auto_wrapped": true}'), "BRS-06")

    def test_encoding_keeps_numbers_as_they_were_written(self):
        for number in ("123456789012345678901234567890", "0.1000000000000000055511151231257827", "1.10", "1E2"):
            with self.subTest(number):
                ran = self.fix("bridge-response", envelope(response='{"n": %s}' % number))
                self.assertEqual(json.loads(ran.out)["response"].replace(" ", ""), '{"n":%s}' % number)

    def test_the_note_of_encoding_goes_into_the_metadata_as_they_are(self):
        cases = [('{"a": 1}', '{"a": 1, "auto_wrapped": true}'), ("{ }", '{"auto_wrapped": true }'),
                 ('{\n    "a": {}\n  }', '{\n    "a": {}, "auto_wrapped": true\n  }'),
                 ('{"auto_wrapped": true}', '{"auto_wrapped": true}'),
                 ('{"auto_wrapped": false}', '{"auto_wrapped": true}')]
        for before, after in cases:
            with self.subTest(before):
                self.assert_repaired("bridge-response", envelope(response="7", metadata=before),
                                     envelope(response='"7"', metadata=after), "BRS-06")

    def test_a_time_without_a_zone_is_read_as_utc(self):
        for time in ("2025-11-24T14:22:45", "2025-11-24T14:22:45.123456", "2025-11-24T14:22"):
            with self.subTest(time):
                self.assert_repaired("bridge-response", envelope(created_at=f'"{time}"'), envelope(created_at=f'"{time}Z"'),
                                     "BRS-09")

    def test_a_duration_in_quotes_loses_them(self):
        for text, number in (('"39.2"', "39.2"), ('" 1.5 "', "1.5"), ('"0.001"', "0.001")):
            with self.subTest(text):
                self.assert_repaired("bridge-response", envelope(duration=text), envelope(duration=number), "BRS-10")
        for text, number in (('"5"', 5), ('"1e3"', 1000)):
            with self.subTest(text):
                ran = self.fix("bridge-response", envelope(duration=text))
                self.assertEqual((ran.code, json.loads(ran.out)["duration_seconds"]), (0, number))

    def test_a_duration_that_is_no_number_is_left_for_a_person(self):
        for text in ('"fast"', '""', '"-1"', '"inf"', '"nan"', '"1e999"', '"0x10"', "null", "-1"):
            with self.subTest(text):
                self.assert_repaired("bridge-response", envelope(duration=text), envelope(duration=text), code=1)

    def test_all_repairs_of_one_document_are_made_at_once(self):
        self.assert_repaired("bridge-response", "\ufeff" + envelope("[1]", '"2025-11-24T14:22:45"', '"2.5"', '{"k": 1}'),
                             envelope('"[1]"', '"2025-11-24T14:22:45Z"', "2.5", '{"k": 1, "auto_wrapped": true}'),
                             "JSON-01", "BRS-06", "BRS-09", "BRS-10")

    def test_a_bare_output_is_wrapped_for_the_request_at_hand(self):
        self.write("request.json", bridge_request())
        self.write("a.json", '{\n  "verdict": "approve", "score": 0.5\n}\n')

        ran = self.fix_in_place("bridge-response", "a.json", "--request", "request.json")

        self.assertEqual(ran.code, 0, ran)
        self.assertIn("a.json: repaired BRS-14", ran.err)
        wrapped = json.loads(self.read("a.json"))
        self.assertEqual(list(wrapped), list(bridge_response()))
        self.assertEqual(json.loads(wrapped["response"]), {"verdict": "approve", "score": 0.5})
        self.assertEqual((wrapped["request_id"], wrapped["status"], wrapped["metadata"]),
                         (UUID, "success", {"auto_wrapped": True}))
        before = self.read("a.json")
        ran = self.fix_in_place("bridge-response", "a.json", "--request", "request.json")
        self.assertEqual((ran.code, ran.err, self.read("a.json")), (0, "", before))

    def test_a_bare_output_on_stdout_is_an_envelope_that_passes(self):
        self.write("request.json", bridge_request())

        ran = self.fix("bridge-response", '{"verdict": "approve"}', "--request", "request.json")

        verdict = self.verdict("bridge-response", ran.raw_out, "--request", "request.json", code=0)
        self.assertEqual(verdict["warnings"], [])

    def test_a_stale_answer_is_repaired_but_stays_refused(self):
        self.write("request.json", bridge_request(request_id=OTHER_UUID))

        self.assert_repaired("bridge-response", envelope(duration='"2.5"'), envelope(duration="2.5"), "BRS-10",
                             options=("--request", "request.json"), code=1)

    def test_a_repair_hides_no_other_fault(self):
        self.write("request.json", bridge_request())
        cases = [("a name twice", envelope(response='{"a": 1, "a": 2}'), "JSON-02"),
                 ("half a pair", envelope(response='["\\ud800"]'), "JSON-04"),
                 ("a number too large", envelope(response="[1e999]"), "JSON-05"),
                 ("a name twice in a bare output", '{"a": 1, "a": 2}\n', "JSON-02")]
        for name, text, rule in cases:
            with self.subTest(name):
                ran = self.fix("bridge-response", text, "--request", "request.json")
                self.assertEqual(ran.code, 1, ran)
                self.assertIn(f"error {rule}", ran.err)


class AssistantResponses(FixTest):
    ODD = """{ "assistant_message" :%s,
\t"action_taken":%s , "next_steps"  : %s,
  "confidence_level":%s,"trace_id":%s,   "response_version":%s }

"""
    GOOD = ['"It is done."', '"Did it."', '[ "Look" ]', '"high"', '"t-1"', '"v1"']

    def odd(self, **members):
        names = ["assistant_message", "action_taken", "next_steps", "confidence_level", "trace_id", "response_version"]
        return self.ODD % tuple(members.get(name, good) for name, good in zip(names, self.GOOD))

    def test_what_cannot_be_used_becomes_the_fallback_of_the_contract(self):
        cases = [("ARL-04", "assistant_message", ("7", "null", '" "', '""', "[]"), '"I processed your request."'),
                 ("ARL-04", "action_taken", ("{}", "true", '"\\t"'), '"Processed request."'),
                 ("ARL-05", "next_steps", ('"Look"', "null", "{}"), "[]"),
                 ("ARL-06", "confidence_level", ('"certain"', "0.9", "null", '"High"'), '"medium"'),
                 ("ARL-08", "response_version", ('"v2"', "1", "null"), '"v1"')]
        for rule, member, values, fallback in cases:
            for value in values:
                with self.subTest(member, value=value):
                    self.assert_repaired("assistant", self.odd(**{member: value}), self.odd(**{member: fallback}), rule)

    def test_steps_of_which_one_cannot_be_used_become_none(self):
        self.assert_repaired("assistant", self.odd(next_steps='["Look", " ", 7]'), self.odd(next_steps="[]"),
                             "ARL-05", "ARL-05")

    def test_a_trace_id_that_cannot_be_used_is_made(self):
        for value in ("81", "null", '" "'):
            with self.subTest(value):
                ran = self.fix("assistant", self.odd(trace_id=value))
                self.assertEqual(ran.code, 0, ran)
                made = json.loads(ran.out)["trace_id"]
                self.assertRegex(made, "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
                self.assertEqual(ran.out, self.odd(trace_id=f'"{made}"'))

    def test_each_document_gets_a_trace_id_of_its_own(self):
        for name in ("a.json", "b.json"):
            self.write(name, assistant(trace_id=None))

        self.assertEqual(self.fix_in_place("assistant", "a.json", "b.json").code, 0)

        made = {json.loads(self.read(name))["trace_id"] for name in ("a.json", "b.json")}
        self.assertEqual(len(made), 2)

    def test_what_is_missing_is_added_in_the_order_of_the_contract(self):
        for text in ("{}", '{ "trace_id" : "t-1" }', '{"action_taken":"Did it.","confidence_level":"low"}'):
            with self.subTest(text):
                ran = self.fix("assistant", text + "\n")
                self.assertEqual(ran.code, 0, ran)
                given, made = json.loads(text), json.loads(ran.out)
                self.assertLessEqual(given.items(), made.items())
                wanted = {"assistant_message": "I processed your request.", "action_taken": "Processed request.",
                          "next_steps": [], "confidence_level": "medium", "trace_id": made["trace_id"],
                          "response_version": "v1"}
                self.assertEqual(made, {**wanted, **given})
                self.assertEqual(list(made), [*given, *(name for name in wanted if name not in given)])
                self.assertEqual(ran.err.count("repaired ARL-01"), 6 - len(given))

    def test_texts_that_leak_and_extra_members_are_left_for_a_person(self):
        for members, rule in (({"action_taken": "Answered by gpt-4o."}, "ARL-09"), ({"mood": "fine"}, "ARL-02")):
            with self.subTest(rule):
                text = json.dumps(assistant(**members)) + "\n"
                self.assert_repaired("assistant", text, text, code=1)

    def test_a_consumer_makes_nothing_up(self):
        text = self.odd(response_version='"v2"')

        self.assert_repaired("assistant", text, text, options=("--role", "consumer"), code=1)


class Leftovers(FixTest):
    def test_what_has_no_repair_is_left_as_it_was_and_told(self):
        text = json.dumps(final(ToolCalls=[]), indent=3) + "\n"
        self.write("a.json", text)

        ran = self.fix_in_place("response", "a.json")

        self.assertEqual((ran.code, self.read("a.json").decode()), (1, text))
        self.assertIn("error RES-12", ran.out)

    def test_on_stdout_the_rest_is_told_on_stderr(self):
        text = json.dumps(bridge_response(duration_seconds="2.5", status="done")) + "\n"

        ran = self.fix("bridge-response", text)

        self.assertEqual((ran.code, ran.out), (1, text.replace('"2.5"', "2.5")))
        self.assertIn("repaired BRS-10", ran.err)
        self.assertIn("error BRS-05", ran.err)

    def test_what_is_not_json_is_printed_as_it_was(self):
        ran = self.fix("request", "nonsense\n")

        self.assertEqual((ran.code, ran.out), (1, "nonsense\n"))
        self.assertIn("error JSON-01", ran.err)

    def test_a_document_that_ends_without_a_line_end_is_printed_without_one(self):
        text = json.dumps(user_turn())

        self.assertEqual(self.fix("request", "\ufeff" + text).out, text)

    def test_bytes_that_are_not_utf8_are_kept(self):
        raw = b'{"SessionId": "\xff", "TurnId": "t", "Instruction": "x"}\n'

        ran = self.treaty("check", "request", "--fix", "-", stdin=b"\xef\xbb\xbf" + raw)

        self.assertEqual((ran.code, ran.raw_out), (1, raw))

    def test_a_document_that_is_too_large_is_not_cut(self):
        text = json.dumps(user_turn()) + "\n"

        ran = self.fix("request", text, "--max-size", "20")

        self.assertEqual(ran.code, 1)
        self.assertIn(ran.out, ("", text))
        self.assertIn("JSON-03", ran.err)

    def test_auto_tells_what_is_to_be_repaired(self):
        self.assert_repaired("auto", envelope(duration='"2.5"'), envelope(duration="2.5"), "BRS-10")

    def test_verdicts_after_a_repair_in_place_are_those_of_the_file(self):
        self.write("good.json", bridge_response(duration_seconds="2"))
        self.write("bad.json", bridge_response(duration_seconds="2", status="done"))
        before = self.read("bad.json")

        verdicts = self.verdicts("bridge-response", "--fix", "--in-place", "good.json", "bad.json", "missing.json", code=1)

        self.assertEqual([(verdict["document"], rules_of(verdict["violations"])) for verdict in verdicts],
                         [("good.json", []), ("bad.json", ["BRS-05"]), ("missing.json", ["INPUT"])])
        self.assertEqual(rules_of(verdicts[1]["warnings"]), ["BRS-10"])
        self.assertEqual(json.loads(self.read("good.json"))["duration_seconds"], 2)
        self.assertEqual(self.read("bad.json"), before)

    def test_a_file_that_stays_refused_is_left_as_it_is(self):
        text = json.dumps(bridge_response(duration_seconds="2", status="done"), indent=1)
        for name, content in (("one repair", text), ("a fence", f"```json\n{text}\n```\n"),
                              ("a comma", text[:-2] + ",\n}"), ("a byte order mark", "\ufeff" + text)):
            with self.subTest(name):
                self.assert_untouched("bridge-response", content, is_repairable=True)

    def test_places_in_a_file_that_is_left_as_it_is_are_those_of_the_file(self):
        self.write("a.json", '{"error_message":\n"no",\n"status": "done", "duration_seconds": "2"}\n')

        ran = self.fix_in_place("bridge-response", "a.json")

        self.assertIn("a.json:3:11: error BRS-05", ran.out)


class Files(FixTest):
    BROKEN = bridge_response(duration_seconds="2.5")

    def test_a_file_keeps_its_mode(self):
        for mode in (0o600, 0o640, 0o664, 0o755):
            with self.subTest(oct(mode)):
                self.write("a.json", self.BROKEN)
                os.chmod(self.folder / "a.json", mode)
                self.assertEqual(self.fix_in_place("bridge-response", "a.json").code, 0)
                self.assertEqual(stat.S_IMODE((self.folder / "a.json").stat().st_mode), mode)
                self.assertNotIn(b'"2.5"', self.read("a.json"))

    @unittest.skipUnless(os.geteuid() == 0, "only root may give files away")
    def test_a_file_keeps_its_owner(self):
        self.write("a.json", self.BROKEN)
        os.chown(self.folder / "a.json", 4321, 8765)

        self.fix_in_place("bridge-response", "a.json")

        status = (self.folder / "a.json").stat()
        self.assertEqual((status.st_uid, status.st_gid), (4321, 8765))

    def test_a_link_stays_a_link_and_its_file_is_repaired(self):
        self.write("there/real.json", self.BROKEN)
        os.symlink("there/real.json", self.folder / "link.json")

        ran = self.fix_in_place("bridge-response", "link.json")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(os.readlink(self.folder / "link.json"), "there/real.json")
        self.assertEqual(json.loads(self.read("there/real.json"))["duration_seconds"], 2.5)

    def test_nothing_else_is_left_in_the_directory(self):
        self.write("t/a.json", self.BROKEN)

        self.fix_in_place("bridge-response", "t/a.json")

        self.assertEqual(os.listdir(self.folder / "t"), ["a.json"])

    def test_directories_and_globs_are_repaired_too(self):
        for name in ("t/a.json", "t/x/b.json", "c1.json", "c2.json"):
            self.write(name, self.BROKEN)

        ran = self.fix_in_place("bridge-response", "--recursive", "t", "c*.json")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(ran.err.count("repaired BRS-10"), 4)

    def test_fix_without_in_place_leaves_the_file_alone(self):
        self.write("a.json", self.BROKEN)
        before = self.read("a.json")

        self.treaty("check", "bridge-response", "--fix", "a.json")

        self.assertEqual(self.read("a.json"), before)

    def test_what_cannot_be_meant_is_wrong_usage(self):
        self.write("a.json", self.BROKEN)
        self.write("b.json", self.BROKEN)
        cases = [(("--in-place", "a.json"), "--fix"), (("--fix", "a.json", "b.json"), "--in-place"),
                 (("--fix", "--ndjson", "a.json"), "--ndjson"), (("--fix", "--in-place", "--ndjson", "a.json"), "--ndjson")]
        for arguments, word in cases:
            with self.subTest(arguments=arguments):
                self.assert_usage(self.treaty("check", "bridge-response", *arguments), word)
        self.assertEqual(json.loads(self.read("a.json")), self.BROKEN)

    def test_standard_input_has_no_place_to_be_repaired_in(self):
        ran = self.treaty("check", "bridge-response", "--fix", "--in-place", "-", stdin=self.BROKEN)

        self.assertEqual(os.listdir(self.folder), [])
        self.assert_usage(ran, "--in-place")

    def test_a_file_that_is_not_there_is_named(self):
        for name in ("missing.json", "missing-*.json"):
            with self.subTest(name):
                ran = self.treaty("check", "bridge-response", "--fix", name)
                self.assertEqual((ran.code, ran.out), (1, ""), ran)
                self.assertIn(name, ran.err)

    def test_a_pattern_that_matches_nothing_is_not_passed_over(self):
        self.write("a.json", bridge_response())

        ran = self.treaty("check", "bridge-response", "--fix", "a.json", "missing-*.json")

        self.assertNotEqual(ran.code, 0)
        self.assertIn("missing-*.json", ran.err)


if __name__ == "__main__":
    unittest.main()
