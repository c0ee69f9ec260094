"""Tests of `--fix` on answers that were written by hand: what has one reading is read, what has none is refused by name."""
import json
import os
import unittest

from bridging import BridgeTest
from treaty_binary import OTHER_UUID, UUID, as_bytes, bridge_request, bridge_response, without

REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"
MEMBERS = list(bridge_response())


def text_of(document, *changes):
    """The document as indented JSON, with pieces of its text replaced."""
    text = json.dumps(document, indent=2) + "\n"
    for old, new in changes:
        assert old in text, old
        text = text.replace(old, new)
    return text


class RepairTest(BridgeTest):
    def check_fix(self, content):
        """`treaty check bridge-response --fix` with the request at hand."""
        self.write("request.json", bridge_request())
        return self.treaty("check", "bridge-response", "--fix", "-", "--request", "request.json", stdin=content)

    def bridge_fix(self, content):
        """`treaty bridge check --fix` in the directory of the request."""
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, content)
        return self.bridge("check", "--fix")

    def kept(self):
        folder = self.work / ".treaty-bridge" / "quarantine"
        return [file.read_bytes() for file in folder.iterdir()] if folder.exists() else []

    def assert_read(self, content, *rules, **expected):
        """Both commands write the same answer, and the directory keeps the original."""
        ran = self.check_fix(content)
        self.assertEqual(ran.code, 0, ran)
        fixed = json.loads(ran.out)
        self.assertEqual(sorted(fixed), sorted(MEMBERS), ran)
        self.assertEqual({name: fixed[name] for name in expected}, expected)
        self.assertEqual((fixed["request_id"], fixed["version"]), (UUID, "1.0"))
        for rule in rules:
            self.assertIn(f"-: repaired {rule} ", ran.err)

        self.setUp()
        ran = self.bridge_fix(content)
        self.assertEqual(ran.code, 0, ran)
        response = self.response()
        self.assertEqual({name: response[name] for name in expected}, expected)
        self.assertEqual(self.kept(), [as_bytes(content)])
        self.assertEqual(self.bridge("check", "--fix").err, "", "a second time there is nothing to do")
        return response

    def doctor_says(self, content):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, content)
        fault = json.loads(self.bridge("doctor", "--format", "json").out)["faults"][0]
        return fault["code"], fault["mend"]

    def assert_refused(self, content, *names):
        """Both commands say which member has no single reading, and nothing is written."""
        ran = self.check_fix(content)
        self.assertEqual(ran.code, 1, ran)
        for name in names:
            self.assertIn(name, ran.err)

        self.setUp()
        ran = self.bridge_fix(content)
        self.assertEqual(ran.code, 1, ran)
        for name in names:
            self.assertIn(name, ran.out)
        self.assertEqual((self.work / RESPONSE).read_bytes(), as_bytes(content))
        self.assertEqual(self.kept(), [])


class PartsOfAnEnvelope(RepairTest):
    def test_an_error_without_its_envelope_is_an_error(self):
        self.assert_read({"error_message": "no access", "error_type": "auth_error"}, "BRS-14", status="error",
                         response=None, error_message="no access", error_type="auth_error")
        self.assert_read({"error_message": "no access"}, "BRS-14", status="error", error_message="no access",
                         error_type=None, response=None)
        self.assert_read({"response": None, "error_message": "too slow", "error_type": "timeout"}, status="timeout",
                         error_type="timeout")
        self.assert_read({"response": "", "error_message": "no access"}, status="error", response="")

    def test_a_response_without_its_envelope_is_read(self):
        self.assert_read({"response": "Looks fine."}, "BRS-14", status="success", response="Looks fine.", metadata={})
        self.assert_read({"response": {"sections": []}}, "BRS-14", "BRS-06", status="success",
                         response='{"sections":[]}', metadata={"auto_wrapped": True})
        self.assert_read({"response": "x", "error_message": None, "error_type": "", "metadata": {"model": "m"}},
                         status="success", response="x", error_type=None, metadata={"model": "m"})

    def test_a_result_without_its_envelope_is_read(self):
        self.assert_read({"result": {"sections": [1]}}, "BRS-14", "BRS-02", "BRS-06", status="success",
                         response='{"sections":[1]}', metadata={"auto_wrapped": True})
        self.assert_read({"result": "Fine.", "version": 1.0}, status="success", response="Fine.")

    def test_an_output_of_an_agent_is_wrapped_as_before(self):
        for output in ({"sections": []}, {"result": "pass", "findings": []}, {"version": "2", "agents": []},
                       {"error": None, "score": 1}, {"error": False}, {"error": ""}, {"error": []},
                       {"passed": 10, "failed": 0, "errors": 0}):
            with self.subTest(output):
                response = self.assert_read(output, "BRS-14", status="success", metadata={"auto_wrapped": True})
                self.assertEqual(json.loads(response["response"]), output)

    def test_a_part_with_more_than_one_reading_is_refused_by_name(self):
        for content, names in (({"response": "Fine.", "error_message": "no access"}, ("response", "contradict")),
                               ({"error_type": "auth_error"}, ("error_message is missing",)),
                               ({"response": None}, ("status is missing", "error_message")),
                               ({"response": "a", "result": "b"}, ("no member result",)),
                               ({"response": "a", "sections": []}, ("no member sections",)),
                               ({"error": "no access"}, ("error",)),
                               ({"error": {"message": "no access"}}, ("error",)),
                               ({"error": True, "message": "no access"}, ("error",)),
                               ({"error": ["no access"]}, ("error",)), ({"error": 500}, ("error",)),
                               ({"Error": "no access"}, ("Error",)),
                               ({"is_error": True, "result": "no access"}, ("is_error",)),
                               ({"type": "result", "isError": True, "content": []}, ("isError",)),
                               ({"success": False}, ("success",)), ({"errors": ["no access"]}, ("errors",)),
                               ({"finish_reason": "error", "content": ""}, ("finish_reason",)),
                               ({"response": {"status": "error", "why": "no access"}}, ("status is missing", "response")),
                               ({"response": {"error_message": "no access", "error_type": "auth_error"}},
                                ("status is missing", "response")),
                               ({"result": {"error_message": "no access"}}, ("status is missing", "response itself")),
                               ({"errorMessage": "no access"}, ("errorMessage",)), ({"failed": True}, ("failed",)),
                               ({"finish_reason": "aborted", "content": "par"}, ("finish_reason",)),
                               ({"response": ""}, ("status is missing",))):
            with self.subTest(content):
                self.assert_refused(content, "BRS-14", *names)

    def test_a_failure_that_is_nested_is_refused_by_name(self):
        for content, name in (({"data": {"status": "error", "why": "no access"}}, "data.status"),
                              ({"output": {"data": {"is_error": True}}}, "output.data.is_error"),
                              ({"type": "result", "payload": {"error": {"message": "no access"}}}, "payload.error"),
                              ({"sections": [], "metadata": {"error": "no access"}}, "metadata.error")):
            with self.subTest(content):
                self.assert_refused(content, "BRS-14", f"{name} may be the agent's output or a report of its failure")
                self.assertFalse(self.verdict("bridge-response", content, "--profile", "lenient")["valid"])
        self.assert_refused({"response": {"data": {"success": False}}}, "status is missing", "response itself")

    def test_other_reports_of_a_failure_are_refused_by_name(self):
        for content, name in (({"status_code": 503, "detail": "overloaded"}, "status_code"),
                              ({"statusCode": "503"}, "statusCode"), ({"code": 500, "message": "Internal"}, "code"),
                              ({"code": -32603, "message": "Internal"}, "code"), ({"state": "failed"}, "state"),
                              ({"data": {"status": 502}}, "data.status"), ({"outcome": "Timeout"}, "outcome"),
                              ({"type": "error", "text": "x"}, "type"), ({"exit_code": 1, "stderr": "x"}, "exit_code"),
                              ({"message": "slow down", "type": "rate_limit_error", "code": "slow"}, "type"),
                              ({"name": "RateLimitError", "kind": "RateLimitError"}, "kind"),
                              ({"type": "result", "subtype": "error_max_turns", "is_error": False}, "subtype"),
                              ({"code": "INTERNAL_ERROR", "detail": "x"}, "code"), ({"err": "no access"}, "err"),
                              ({"error_code": 5, "detail": "x"}, "error_code"), ({"succeeded": False}, "succeeded"),
                              ({"is_success": False}, "is_success"), ({"Successful": False}, "Successful"),
                              ({"result": "error"}, "response itself")):
            with self.subTest(content):
                self.assert_refused(content, "BRS-14", name)
                self.assertFalse(self.verdict("bridge-response", content, "--profile", "lenient")["valid"])

    def test_a_failure_in_the_text_of_a_response_is_refused_however_it_is_written(self):
        report = '{"status": "error", "why": "no access"}'
        envelope = json.dumps({"request_id": UUID, "status": "success", "response": "x"})
        for text, reason in ((f"```json\n{report}\n```", "response itself may report a failure"),
                             (f"~~~\n{report}\n~~~\n", "response itself may report a failure"),
                             ('{"status": "error", "why": "no access",}', "response itself may report a failure"),
                             ('{"is_error": true, "why": "no\naccess"}', "response itself may report a failure"),
                             ("{'error': 'no access'}", "response itself may report a failure"),
                             (f"```json\n{envelope}\n```", "response is itself a whole envelope")):
            for content in ({"response": text}, {"result": text}):
                with self.subTest(content):
                    self.assert_refused(content, "status is missing", reason)

    def test_a_success_that_is_negated_in_other_words_is_refused(self):
        for value in (False, 0, 0.0, "false", "False", "no", "0"):
            for name in ("success", "ok"):
                with self.subTest(name=name, value=value):
                    self.assert_refused({name: value, "detail": "no access"}, "BRS-14", name)

    def test_a_success_that_is_affirmed_is_an_output(self):
        for output in ({"success": True, "x": 1}, {"ok": 1, "x": 1}, {"success": "yes"}, {"success": None, "x": 1}):
            with self.subTest(output):
                self.assert_read(output, "BRS-14", status="success", response=json.dumps(output, separators=(",", ":")))

    def test_what_only_looks_like_a_report_is_an_output(self):
        for output in ({"code": "print(1)"}, {"code": 200, "x": 1}, {"exit_code": 0, "x": 1}, {"type": "review"},
                       {"state": "done"}, {"result": "pass", "findings": []}, {"kind": "terror", "x": 1},
                       {"kind": "error handling", "x": 1}, {"type": "error-handling"}, {"kind": "failure_analysis"},
                       {"type": "timeout-config"}, {"code": "console.error"}, {"code": "NO_ERROR"},
                       {"type": "non-error"}, {"error_code": 0, "x": 1}, {"error_code": "0"}, {"errorCode": "OK"},
                       {"error_code": None}, {"succeeded": 0, "failed": 0}, {"successful": 0}, {"err": 0.02}):
            with self.subTest(output):
                self.assert_read(output, "BRS-14", status="success", response=json.dumps(output, separators=(",", ":")))

    def test_a_printed_dictionary_without_a_failure_is_an_output(self):
        for text in ("{'answer': 'ok', 'error': None}", "{'answer': 'ok', 'errors': []}", "{'x': 1, 'is_error': False}"):
            with self.subTest(text):
                self.assert_read({"response": text}, "BRS-14", status="success", response=text)

    def test_failures_in_a_list_are_what_the_agent_found(self):
        for output in ({"findings": [{"error": "unused variable"}]}, {"tests": [{"name": "a", "status": "failed"}]}):
            with self.subTest(output):
                self.assert_read(output, "BRS-14", status="success", response=json.dumps(output, separators=(",", ":")))

    def test_an_object_without_any_output_is_refused(self):
        for content in ({}, {"version": "1.0", "metadata": {}}, {"duration_seconds": 3}):
            with self.subTest(content):
                self.assert_refused(content, "BRS-14", "neither an envelope nor an output")
                self.assertFalse(self.verdict("bridge-response", content, "--profile", "lenient")["valid"])

    def test_a_repair_never_makes_up_a_request_id(self):
        for content in (b'{"response": "Fine."}', b'{"error_message": "no access"}', b'{"findings": []}'):
            with self.subTest(content):
                self.put(RESPONSE, content.decode())
                ran = self.treaty("check", "bridge-response", "--fix", "--in-place", str(self.work / RESPONSE))
                self.assertEqual(ran.code, 1, ran)
                self.assertIn("only the request has", ran.out + ran.err)
                self.assertIn("--request FILE", ran.out + ran.err)
                self.assertEqual((self.work / RESPONSE).read_bytes(), content)

    def test_the_lenient_profile_reads_them_alike(self):
        for content, valid, kind in (({"response": "text"}, True, "success"), ({"result": {}}, True, "success"),
                                     ({"error_message": "no", "error_type": "e"}, True, "error"),
                                     ({"error_message": "no", "error_type": "timeout"}, True, "timeout"),
                                     ({"response": "a", "error_message": "b"}, False, None)):
            with self.subTest(content):
                verdict = self.verdict("bridge-response", content, "--profile", "lenient")
                self.assertEqual(verdict["valid"], valid, verdict)
                self.assertEqual(verdict.get("kind"), kind)
                findings = verdict["warnings"] if valid else verdict["violations"]
                self.assertIn("BRS-14", [finding["rule"] for finding in findings])

    def test_doctor_does_not_make_a_success_of_a_failure(self):
        for content in ({"response": "a", "error_message": "b"}, {"error": "no access"}, {"success": False, "x": 1},
                        {"is_error": True, "why": "no access"}, {"errors": ["no access"]},
                        {}, {"data": {"status": "error", "why": "no access"}},
                        '{"error_message": "no access" "error_type": "x"}'):
            with self.subTest(content):
                self.assertEqual(self.doctor_says(content), ("answer-broken", "treaty bridge answer"))


class WrappedEnvelopes(RepairTest):
    def test_an_envelope_that_is_all_of_another_object_is_unwrapped(self):
        for name in ("response", "agent_response", "result"):
            with self.subTest(name):
                self.assert_read({name: bridge_response()}, "BRS-14", status="success", metadata=bridge_response()["metadata"],
                                 response=bridge_response()["response"])
        failed = bridge_response(status="error", response=None, error_message="no access")
        self.assert_read({"agent_response": failed}, "BRS-14", status="error", error_message="no access")
        self.assert_read({"response": without(bridge_response(), "metadata")}, "BRS-14", "BRS-01", status="success")

    def test_a_part_of_an_envelope_that_is_all_of_another_object_is_unwrapped(self):
        for name in ("agent_response", "data"):
            with self.subTest(name):
                self.assert_read({name: {"response": "Fine."}}, "BRS-14", status="success", response="Fine.")
        self.assert_read({"agent_response": {"error_message": "no access"}}, "BRS-14", status="error", response=None,
                         error_message="no access")

    def test_an_object_with_more_than_a_part_of_an_envelope_is_an_output(self):
        for output in ({"data": {"response": "x", "score": 1}}, {"data": {"result": "x"}}, {"data": {"version": "1.0"}},
                       {"metadata": {"response": "x"}, "x": 1}):
            with self.subTest(output):
                self.assert_read(output, "BRS-14", status="success", response=json.dumps(output, separators=(",", ":")))

    def test_the_lenient_profile_reads_it_and_the_strict_one_names_it(self):
        content = {"agent_response": bridge_response()}
        self.assertEqual(self.verdict("bridge-response", content, "--profile", "lenient")["kind"], "success")
        finding, = self.verdict("bridge-response", content)["violations"]
        self.assertEqual((finding["rule"], finding["message"]),
                         ("BRS-14", "the envelope is wrapped in another object, as agent_response"))

    def test_one_that_answers_another_request_is_put_away(self):
        ran = self.bridge_fix({"response": bridge_response(request_id=OTHER_UUID)})
        self.assertIn("put away, it is foreign", ran.err)

    def test_an_envelope_among_other_members_is_refused_by_name(self):
        for content, name in (({"agent_response": bridge_response(), "x": 1}, "agent_response is a whole envelope"),
                              ({"response": bridge_response(), "metadata": {}}, "response is itself a whole envelope"),
                              ({"response": json.dumps(bridge_response())}, "response is itself a whole envelope")):
            with self.subTest(name):
                self.assert_refused(content, "BRS-14", name)


class DocumentedMistakes(RepairTest):
    def test_result_is_read_as_response(self):
        self.assert_read({**without(bridge_response(), "response"), "result": "Fine."}, "BRS-02", response="Fine.",
                         status="success")
        self.assert_read({**without(bridge_response(), "response"), "result": {"a": 1}}, "BRS-02", "BRS-06",
                         response='{"a":1}', metadata={"auto_wrapped": True})

    def test_a_fence_around_the_envelope_is_removed(self):
        envelope = text_of(bridge_response())
        for fenced in (f"```json\n{envelope}```\n", f"```\n{envelope}```", f"~~~~ json\r\n{envelope}\n~~~~\n\n",
                       f"\n````JSON\n{envelope}````\n", f"\ufeff```json\n{envelope}```\n"):
            with self.subTest(fenced[:8]):
                self.assert_read(fenced, "JSON-01", response="Fine.")

    def test_a_fence_around_a_part_of_the_envelope_is_removed(self):
        self.assert_read('```json\n{"response": "Fine."}\n```\n', "JSON-01", "BRS-14", response="Fine.")

    def test_a_fence_around_the_output_of_an_agent_is_removed(self):
        for fenced in ('```json\n{"sections": []}\n```\n', '~~~\n{"sections": [],}\n~~~', '\ufeff```\n{"sections":[]}\n```'):
            with self.subTest(fenced):
                self.assert_read(fenced, "JSON-01", "BRS-14", status="success", response='{"sections":[]}',
                                 metadata={"auto_wrapped": True})

    def test_a_fence_does_not_hide_a_failure(self):
        for report, name in (('{"is_error": true}', "is_error"), ('{"data": {"status": "error"}}', "data.status")):
            with self.subTest(report):
                fenced = f"```json\n{report}\n```\n"
                self.assert_refused(fenced, "BRS-14", name)
                self.assertEqual(self.doctor_says(fenced), ("answer-broken", "treaty bridge answer"))

    def test_prose_around_a_fence_has_no_single_reading(self):
        self.assert_refused(f"Here it is:\n```json\n{text_of(bridge_response())}```\n", "JSON-01")

    def test_an_answer_in_utf_16_is_written_as_utf_8(self):
        answer = bridge_response(response="Füße 🦶")
        text = json.dumps(answer, ensure_ascii=False) + "\n"
        for encoding in ("utf-16", "utf-16-le", "utf-16-be"):
            with self.subTest(encoding):
                self.assert_read(text.encode(encoding), "JSON-01", response="Füße 🦶")
        fenced = f"```json\r\n{text}```\r\n".encode("utf-16")
        self.assert_read(fenced, "JSON-01", response="Füße 🦶")

    def test_an_answer_in_utf_16_is_called_so_by_all_commands(self):
        words = "looks like UTF-16; save it as UTF-8"
        for text, fixed in ((as_bytes(bridge_response()).decode().encode("utf-16"), 0), ("Fine.".encode("utf-16"), 1)):
            with self.subTest(text):
                self.put(REQUEST, bridge_request())
                self.put(RESPONSE, text)
                path = self.work / RESPONSE
                os.utime(path, (1e9, 1e9))
                self.assertIn(words, self.bridge("check").out)
                self.assertIn(words, self.bridge("doctor").out)
                ran = self.bridge("check", "--fix")
                self.assertEqual(ran.code, fixed, ran)
                self.assertNotIn("torn", ran.err)
                self.assertTrue(path.exists())

    def test_half_an_answer_in_utf_16_is_torn(self):
        text = as_bytes(bridge_response()).decode().encode("utf-16")
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, text[:len(text) // 2])
        os.utime(self.work / RESPONSE, (1e9, 1e9))
        self.assertIn("put away, it is torn", self.bridge("check", "--fix").err)

    def test_a_version_that_is_a_number_is_quoted(self):
        for version in ("1.0", "1", "null", '"1"'):
            with self.subTest(version):
                self.assert_read(text_of(bridge_response(), ('"1.0"', version)), "BRS-04", response="Fine.")
        for version in ("2.0", "10", "-1.0", "1e0", '"v1"'):
            with self.subTest(version):
                self.assert_refused(text_of(bridge_response(), ('"1.0"', version)), "BRS-04")

    def test_metadata_that_is_null_is_empty(self):
        self.assert_read(bridge_response(metadata=None), "BRS-11", metadata={})
        self.assert_read(bridge_response(metadata=None, response=[1]), "BRS-11", metadata={"auto_wrapped": True},
                         response="[1]")
        self.assert_refused(bridge_response(metadata="none"), "BRS-11")

    def test_an_empty_error_of_a_success_is_null(self):
        self.assert_read(bridge_response(error_message="", error_type=" "), "BRS-07", error_message=None,
                         error_type=None)
        self.assert_refused(bridge_response(error_message="no access"), "BRS-07", "error_message")
        self.assert_refused(bridge_response(status="error", response=None, error_message=""), "BRS-08", "error_message")

    def test_a_trailing_comma_is_removed(self):
        text = text_of(bridge_response(response=None, metadata={"list": [1, 2]}),
                       ('"response": null', '"response": {"a": [1, 2,], "b": ", }",}'), ("2\n    ]", "2,\n    ],"),
                       ("}\n}", "},\n}"))
        self.assert_read(text, "JSON-01", response='{"a":[1,2],"b":", }"}',
                         metadata={"list": [1, 2], "auto_wrapped": True})
        for wrong in ("{,}", '{"response": "a",,}', '{"response": [,]}', '{"response": }'):
            with self.subTest(wrong):
                self.assert_refused(wrong, "JSON-01")

    def test_raw_control_characters_of_a_string_are_escaped(self):
        text = "# Title\n\n\tA line.\r\n```\ncode\n```\nThe end.\x01\x1b"
        raw = text_of(bridge_response(response="TEXT"), ("TEXT", text))
        self.assert_read(raw, "JSON-04", response=text)
        many = "\n".join(f"line {number}" for number in range(500))
        self.assert_read(text_of(bridge_response(response="TEXT"), ("TEXT", many)), response=many)

    def test_a_request_id_that_differs_only_in_letter_case_is_repaired(self):
        upper = bridge_response(request_id=UUID.upper())
        self.assert_read(upper, "BRS-12", response="Fine.")
        self.assertEqual(self.doctor_says(upper), ("answer-repairable", "treaty bridge check --fix"))
        ran = self.bridge("check")
        self.assertEqual(ran.code, 1, ran)
        self.assertIn(f'BRS-12: request_id differs from that of the request, "{UUID}", only in letter case', ran.out)
        self.write("request.json", bridge_request())
        for profile in ("strict", "lenient"):
            verdict = self.verdict("bridge-response", upper, "--request", "request.json", "--profile", profile)
            self.assertEqual([finding["rule"] for finding in verdict["violations"]], ["BRS-12"])

    def test_only_a_uuid_may_differ_in_letter_case(self):
        self.put(REQUEST, bridge_request(request_id="review-1"))
        self.put(RESPONSE, bridge_response(request_id="Review-1"))
        self.assertIn("put away, it is foreign", self.bridge("check", "--fix").err)

    def test_missing_members_with_one_possible_value_are_supplied(self):
        for name, value in (("request_id", UUID), ("version", "1.0"), ("status", "success"), ("error_message", None),
                            ("error_type", None), ("metadata", {}), ("duration_seconds", 0)):
            with self.subTest(name):
                self.assert_read(without(bridge_response(), name), "BRS-01", response="Fine.", **{name: value})
        self.assert_read({"status": "success", "response": "{}"}, "BRS-01", status="success", response="{}")
        self.assert_read({"status": "error", "error_message": "no access"}, status="error", response=None,
                         error_type=None, error_message="no access")
        self.assert_read({"status": "timeout", "error_message": "too slow"}, status="timeout", error_type="timeout")
        self.assert_read({"request_id": UUID, "error_message": "no access"}, status="error")
        self.assert_read(bridge_response(request_id=""), "BRS-03", response="Fine.")

    def test_missing_members_with_several_values_are_refused_by_name(self):
        for content, name in (({"status": "success"}, "response is missing"),
                              ({"status": "error"}, "error_message is missing"),
                              ({"request_id": UUID}, "status is missing"),
                              ({"request_id": UUID, "response": "a", "error_message": "b"}, "status is missing"),
                              ({"status": "success", "sections": []}, "response is missing"),
                              ({"status": "done", "response": "a"}, "there is no status")):
            with self.subTest(content):
                self.assert_refused(content, name)

    def test_without_the_request_the_id_of_an_envelope_is_refused_by_name(self):
        ran = self.treaty("check", "bridge-response", "--fix", "-", stdin={"status": "success", "response": "a"})
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("request_id is missing, and only the request has it (--request FILE)", ran.err)

    def test_all_of_them_in_one_file_are_mended(self):
        text = ('\ufeff```json\n{"status": "success", "result": {"text": "one\ntwo", "list": [1,],},\n'
                '"version": 1.0, "error_message": "", "metadata": null, "duration_seconds": "2.5",\n'
                '"created_at": "2025-11-24T14:22:45",}\n```\n')
        response = self.assert_read(text, "JSON-01", "JSON-04", "BRS-01", "BRS-02", "BRS-04", "BRS-06", "BRS-07",
                                    "BRS-09", "BRS-10", "BRS-11")
        self.assertEqual(response, bridge_response(
            response='{"text":"one\\ntwo","list":[1]}', duration_seconds=2.5, metadata={"auto_wrapped": True}))

    def test_what_needs_no_repair_stays_as_it_was_written(self):
        text = text_of(bridge_response(response="1.50 \u00e9"), ("1.5,", "1.50,"))
        before = text.replace('"metadata": {}', '"metadata": null')
        self.assertEqual(self.check_fix(before).out, text)

    def test_other_profiles_go_on_refusing_them(self):
        for profile in ("strict", "lenient"):
            for content in (without(bridge_response(), "error_type"), bridge_response(metadata=None),
                            {**without(bridge_response(), "response"), "result": "x"}, bridge_response(version=1.0),
                            bridge_response(error_message=""), text_of(bridge_response(), ("}\n}", "},\n}"))):
                with self.subTest(profile=profile, content=content):
                    self.assertFalse(self.verdict("bridge-response", content, "--profile", profile)["valid"])

    def test_doctor_names_the_repair_and_its_command_makes_it(self):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, '```json\n{"status": "success", "result": "a\nb",}\n```\n')
        fault = json.loads(self.bridge("doctor", "--format", "json").out)["faults"][0]
        self.assertEqual((fault["code"], fault["mend"]), ("answer-repairable", "treaty bridge check --fix"))
        self.assertEqual(self.bridge("check", "--fix").code, 0)
        self.assertEqual(self.response()["response"], "a\nb")

    def test_an_answer_without_a_time_that_is_older_than_its_request_is_stale(self):
        self.put(RESPONSE, {"response": "Of an earlier run."})
        self.put(REQUEST, bridge_request(created_at="2099-01-01T00:00:00Z"))
        self.assertEqual(self.bridge("check", "--fix").code, 0)
        self.assertEqual([entry["reason"] for entry in self.journal("file.quarantined")], ["stale"])

    def test_an_answer_in_a_place_that_the_request_names_is_mended_there(self):
        self.put(REQUEST, bridge_request(response_file="out.json"))
        self.put("out.json", "```json\n" + text_of(bridge_response(), ("{}\n}", "{},\n}")) + "```\n")
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.document("out.json"), bridge_response())

    def test_a_broken_answer_to_another_request_is_put_away(self):
        text = text_of(bridge_response(request_id="0b8de6c2-51f7-4a3e-9c44-7d2f1e6ab905"), ("{}\n}", "{},\n}"))
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, text)
        fault = json.loads(self.bridge("doctor", "--format", "json").out)["faults"][0]
        self.assertEqual((fault["code"], fault["mend"]), ("answer-foreign", "treaty bridge check --fix"))
        self.assertEqual(self.bridge("check", "--fix").code, 0)
        self.assertEqual([entry["reason"] for entry in self.journal("file.quarantined")], ["foreign"])


if __name__ == "__main__":
    unittest.main()
