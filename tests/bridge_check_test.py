"""Tests of `treaty bridge check`: a request and its answer together, and the repairs of --fix."""
import datetime
import json
import os
import unittest

from bridging import DISK_FAULTS, BridgeTest
from serving import until
from treaty_binary import OTHER_UUID, UUID, as_bytes, bridge_request, bridge_response, rules_of, without

REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"


def now(seconds=0):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat()


class CheckTest(BridgeTest):
    def checked(self, *options, code=None):
        """The verdicts by document."""
        ran = self.bridge("check", *options, "--format", "json")
        if code is not None:
            self.assertEqual(ran.code, code, ran)
        return {verdict["document"]: verdict for verdict in map(json.loads, ran.out.splitlines())}

    def trouble(self, document):
        """Why there is no verdict by rules."""
        violation, = self.checked(code=1)[document]["violations"]
        self.assertEqual(violation["rule"], "INPUT")
        return violation["message"]

    def both(self, response=None, **request):
        self.put(REQUEST, bridge_request(**request))
        self.put(RESPONSE, bridge_response() if response is None else response)

    def make_old(self, name, seconds=10):
        changed = (self.work / name).stat().st_mtime - seconds
        os.utime(self.work / name, (changed, changed))

    def kept(self):
        folder = self.work / ".treaty-bridge" / "quarantine"
        return {file.name: file.read_bytes() for file in folder.iterdir()} if folder.exists() else {}

    def assert_fixed(self, content, reason, **request):
        """--fix keeps the original; answers what it said."""
        self.both(content, **request)
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, 0, ran)
        (name, bytes_kept), = self.kept().items()
        self.assertIn(f"-{reason}-", name)
        self.assertEqual(bytes_kept, as_bytes(content))
        self.assertIn(f"the original is kept as .treaty-bridge/quarantine/{name}", ran.err)
        again = self.bridge("check", "--fix")
        self.assertEqual((again.code, again.err), (0, ""), "a second time there is nothing to do")
        return ran


class Verdicts(CheckTest):
    def test_a_pair_in_order_is_told_as_treaty_check_tells_it(self):
        self.both()
        ran = self.bridge("check")
        self.assertEqual((ran.code, ran.err), (0, ""), ran)
        self.assertEqual(ran.out, f"{REQUEST}: ok (bridge-request)\n{RESPONSE}: ok (bridge-response, success)\n"
                                  "2 documents: all valid; 0 violations, 0 warnings\n")

    def test_every_phase_is_checked_and_files_are_named_by_the_directory(self):
        self.put(".agent-request-phase1.json", bridge_request(phase=1))
        self.put(".agent-response-phase1.json", bridge_response())
        self.put(".agent-request-phase10.json", bridge_request(phase=10, request_id=OTHER_UUID))
        ran = self.bridge("check", "--dir", "work", cwd=self.folder)
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual([line.split(":")[0] for line in ran.out.splitlines()[:-1]],
                         ["work/.agent-request-phase1.json", "work/.agent-response-phase1.json",
                          "work/.agent-request-phase10.json", "work/.agent-response-phase10.json"])
        self.assertIn("work/.agent-response-phase10.json: not there yet; the request waits\n", ran.out)

    def test_violations_of_both_are_told_with_their_rules(self):
        self.put(REQUEST, without(bridge_request(), "prompt"))
        self.put(RESPONSE, without(bridge_response(), "metadata"))
        verdicts = self.checked(code=1)
        self.assertEqual(rules_of(verdicts[REQUEST]["violations"]), ["BRQ-01"])
        self.assertEqual(rules_of(verdicts[RESPONSE]["violations"]), ["BRS-01"])
        ran = self.bridge("check")
        self.assertIn("error BRS-01: metadata is missing", ran.out)
        self.assertIn("2 documents: 2 refused; 2 violations, 0 warnings", ran.out)

    def test_the_five_documented_mistakes_are_told(self):
        renamed = {**without(bridge_response(), "response"), "result": "Fine."}
        for document, rules in ((renamed, ["BRS-01", "BRS-02"]),
                                (bridge_response(response={"a": 1}), ["BRS-06"]),
                                (without(bridge_response(), "error_type"), ["BRS-01"]),
                                (bridge_response(duration_seconds="1.5"), ["BRS-10"]),
                                (bridge_response(response=None), ["BRS-07"])):
            with self.subTest(rules):
                self.both(document)
                self.assertEqual(sorted(rules_of(self.checked(code=1)[RESPONSE]["violations"])), rules)

    def test_the_hint_for_a_missing_member_is_a_value_that_it_may_have(self):
        failure = bridge_response(status="error", response=None, error_message="It failed.")
        for document, name, hint in ((bridge_response(), "response", 'write the answer as a string; an empty answer is ""'),
                                     (bridge_response(), "error_message", "write null"),
                                     (failure, "response", "write null"),
                                     (failure, "error_message", "say what went wrong, as a string"),
                                     (bridge_response(), "metadata", "write an object; {} if there is nothing to add"),
                                     (bridge_response(), "duration_seconds", "write a number")):
            with self.subTest(name, status=document["status"]):
                self.both(without(document, name))
                finding, = self.checked(code=1)[RESPONSE]["violations"]
                self.assertEqual((finding["rule"], finding["where"]), ("BRS-01", f"/{name}"))
                self.assertIn(hint, finding["hint"])

    def test_an_answer_to_another_request_is_refused(self):
        self.both(bridge_response(request_id=OTHER_UUID))
        self.assertEqual(rules_of(self.checked(code=1)[RESPONSE]["violations"]), ["BRS-12"])

    def test_an_answer_that_is_older_than_its_request_is_refused(self):
        self.both(bridge_response(created_at="2025-11-23T14:22:45Z"))
        self.assertIn("is stale", self.trouble(RESPONSE))
        self.assertIn("stale", self.bridge("check").out)

    def test_a_second_is_allowed_for_those_who_write_whole_seconds(self):
        self.both(bridge_response(created_at="2025-11-24T14:22:05Z"), created_at="2025-11-24T14:22:05.999Z")
        self.checked(code=0)

    def test_an_answer_without_a_request_is_refused(self):
        self.put(RESPONSE, bridge_response())
        self.assertIn("without a request", self.trouble(RESPONSE))

    def test_torn_and_empty_files_are_refused(self):
        for content in (b"", b'{"request_id": "6f', b"\0" * 40):
            with self.subTest(content):
                self.both(content)
                self.assertTrue(self.trouble(RESPONSE))
                self.put(REQUEST, content)
                self.assertTrue(self.trouble(REQUEST))

    def test_carriage_returns_are_white_space(self):
        self.both(json.dumps(bridge_response(), indent=2).replace("\n", "\r\n"))
        self.checked(code=0)

    def test_a_response_file_that_is_no_place_for_an_answer_is_refused(self):
        self.put(REQUEST, bridge_request(response_file=".treaty-bridge/lock"))
        self.assertIn("response_file", self.trouble(REQUEST))

    def test_an_empty_directory_is_in_order(self):
        ran = self.bridge("check")
        self.assertEqual((ran.code, ran.out), (0, "no request and no answer is here\n"))
        self.assertEqual(list(self.work.iterdir()), [])

    def test_a_directory_that_is_not_there_is_told(self):
        ran = self.bridge("check", "--dir", "nowhere")
        self.assertEqual((ran.code, ran.out), (1, ""))
        self.assertIn("Next: ", ran.err)

    def test_without_fix_nothing_changes(self):
        self.both(b"\xef\xbb\xbf" + as_bytes(bridge_response()))
        self.checked(code=1)
        self.assertEqual(sorted(path.name for path in self.work.iterdir()), [REQUEST, RESPONSE])


class Repairs(CheckTest):
    def test_a_byte_order_mark_is_taken_away(self):
        whole = as_bytes(bridge_response())
        ran = self.assert_fixed(b"\xef\xbb\xbf" + whole, "repaired")
        self.assertEqual((self.work / RESPONSE).read_bytes(), whole)
        self.assertIn("JSON-01", ran.err)

    def test_what_the_lenient_profile_repairs_is_repaired_and_nothing_else(self):
        self.assert_fixed(bridge_response(response={"ok": True}, duration_seconds="2", created_at="2025-11-24T14:22:45"),
                          "repaired")
        self.assertEqual(self.response(), bridge_response(response='{"ok":true}', duration_seconds=2,
                                                          created_at="2025-11-24T14:22:45Z",
                                                          metadata={"auto_wrapped": True}))

    def test_a_bare_output_gets_the_envelope_of_its_request(self):
        self.assert_fixed({"findings": [1, 2]}, "repaired")
        response = self.response()
        self.assertEqual((response["request_id"], response["response"]), (UUID, '{"findings":[1,2]}'))
        self.assertEqual(response["metadata"], {"auto_wrapped": True})

    def test_repairs_are_journalled(self):
        self.assert_fixed({"findings": []}, "repaired")
        entry, = self.journal("answer.repaired")
        self.assertEqual(entry["file"], str(self.work / RESPONSE))
        self.assertIn("BRS-14", entry["repairs"][0])
        self.assertTrue(os.path.exists(entry["kept_as"]))

    def test_foreign_stale_and_orphaned_answers_are_put_away(self):
        for reason, change in (("foreign", {"request_id": OTHER_UUID}), ("stale", {"created_at": "2025-11-23T00:00:00Z"})):
            with self.subTest(reason):
                self.setUp()
                self.assert_fixed(bridge_response(**change), reason)
                self.assertFalse((self.work / RESPONSE).exists())
                self.assertEqual([entry["reason"] for entry in self.journal("file.quarantined")], [reason])
        self.setUp()
        self.put(RESPONSE, bridge_response())
        self.assertEqual(self.bridge("check", "--fix").code, 0)
        self.assertEqual([entry["reason"] for entry in self.journal("file.quarantined")], ["orphaned"])

    def test_a_time_without_a_zone_that_is_yesterday_s_is_stale(self):
        self.assert_fixed(bridge_response(created_at="2025-11-23T14:22:45"), "stale")

    def test_a_torn_answer_is_put_away_when_nobody_can_be_writing_it_any_more(self):
        self.both(b'{"request_id"')
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, 1, ran)
        self.assertEqual((self.work / RESPONSE).read_bytes(), b'{"request_id"')
        self.make_old(RESPONSE)
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(list(self.kept().values()), [b'{"request_id"'])

    def test_what_has_no_single_repair_stays_as_it_is(self):
        for document in ({**bridge_response(), "result": "Also fine."}, bridge_response(status="ok"),
                         bridge_response(response=None), "# A text\n"):
            with self.subTest(document):
                self.both(document)
                ran = self.bridge("check", "--fix")
                self.assertEqual(ran.code, 1, ran)
                self.assertEqual((self.work / RESPONSE).read_bytes(), as_bytes(document))
                self.assertEqual(self.kept(), {})

    def test_a_version_and_a_context_of_a_request_that_have_one_reading_are_repaired(self):
        faults = ({**bridge_request(), "version": 1.0}, {**bridge_request(), "version": 1},
                  {**bridge_request(), "version": None}, without(bridge_request(), "version"),
                  {**bridge_request(), "context": None})
        for request in faults:
            with self.subTest(request):
                self.put(REQUEST, request)
                self.assertEqual(self.bridge("check").code, 1)
                self.assertEqual(self.treaty("check", "bridge-request", "--profile", "lenient", REQUEST).code, 1)
                ran = self.bridge("check", "--fix")
                self.assertEqual(ran.code, 0, ran)
                fixed = self.document(REQUEST)
                self.assertEqual((fixed["version"], fixed.get("context", {}), fixed["prompt"]),
                                 ("1.0", {}, request["prompt"]))
                self.setUp()

    def test_a_version_of_a_request_that_has_no_single_reading_is_refused(self):
        for version in (2, True, [], "", 10.0):
            with self.subTest(version):
                self.put(REQUEST, {**bridge_request(), "version": version})
                self.assertEqual(self.bridge("check", "--fix").code, 1)
                self.assertEqual(self.document(REQUEST)["version"], version)

    def test_a_request_is_repaired_where_there_is_one_way(self):
        self.put(REQUEST, b"\xef\xbb\xbf" + as_bytes(bridge_request()))
        self.put(RESPONSE, bridge_response(duration_seconds="3"))
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual([entry["event"] for entry in self.journal()], ["request.repaired", "answer.repaired"])
        self.assertEqual(len(self.kept()), 2)

    def test_a_request_that_cannot_be_repaired_and_its_answer_stay(self):
        self.put(REQUEST, bridge_request(prompt=""))
        self.put(RESPONSE, bridge_response(request_id=OTHER_UUID))
        self.assertEqual(self.bridge("check", "--fix").code, 1)
        self.assertEqual(self.kept(), {})
        self.assertTrue((self.work / RESPONSE).exists())

    def test_a_response_file_of_somebody_else_s_stays(self):
        for content in ({"name": "package"}, b'{"torn": ', "A text."):
            with self.subTest(content):
                self.put(REQUEST, bridge_request(response_file="package.json"))
                self.put("package.json", content)
                self.make_old("package.json")
                self.assertEqual(self.bridge("check", "--fix").code, 1)
                self.assertEqual((self.work / "package.json").read_bytes(), as_bytes(content))

    def test_an_answer_in_the_place_that_the_request_names_is_repaired_there(self):
        self.put(REQUEST, bridge_request(response_file="out/answer.json"))
        self.put("out/answer.json", bridge_response(duration_seconds="3"))
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.document("out/answer.json")["duration_seconds"], 3)

    def test_rights_of_the_file_are_kept(self):
        self.both({"bare": True})
        (self.work / RESPONSE).chmod(0o600)
        self.assertEqual(self.bridge("check", "--fix").code, 0)
        self.assertEqual((self.work / RESPONSE).stat().st_mode & 0o777, 0o600)

    def test_another_driver_keeps_the_directory(self):
        gate = self.agent("Fine.", held=True)
        child = self.start("run", "--", *self.program("if not RESUMED: ask()"))
        until(lambda: gate.count == 1)
        ran = self.bridge("check", "--fix")
        self.assertEqual((ran.code, ran.out), (75, ""), ran)
        self.assertIn("drives this directory", ran.err)
        self.assertEqual(self.bridge("check").code, 0, "looking needs no lock")
        gate.release()
        self.assertEqual(self.ended(child).code, 0)

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_whatever_fails_on_the_way_nothing_is_lost_and_the_next_fix_mends_it(self):
        content = as_bytes({"findings": []})
        for error in ("ENOSPC", "SHORT", "EIO", "KILL"):
            for step in range(100):
                with self.subTest(f"{error} at {step}"):
                    self.both(content)
                    ran = self.bridge("check", "--fix", **self.faults(f"{error} any {step}", f"{self.work}/*"))

                    self.assertIn(ran.code, (0, 69, -9), ran)
                    files = [path.read_bytes() for path in self.work.rglob("*") if path.is_file()]
                    self.assertIn(content, files, ran)
                    self.assertIn((self.work / RESPONSE).read_bytes()[:1], (b"{",))
                    if ran.code != 0:
                        self.assertEqual(self.bridge("check", "--fix").code, 0)
                    self.response()
                if ran.code == 0:
                    break
            self.assertGreater(step, 3)


if __name__ == "__main__":
    unittest.main()
