"""Tests of `treaty bridge respond`: the envelope around an answer, and what is refused."""
import datetime
import json
import os
import subprocess
import unittest

from bridging import BridgeTest
from serving import until
from treaty_binary import BINARY, MIB, OTHER_UUID, SECONDS, UUID, Ran, as_bytes, bridge_request, bridge_response

REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"


def now(seconds=0):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat()


class RespondTest(BridgeTest):
    def asked(self, suffix="", **members):
        self.put(f".agent-request{suffix}.json", bridge_request(**{"created_at": now(-5), **members}))

    def respond(self, *options, stdin=b"Fine.", code=0, **more):
        ran = self.bridge("respond", *options, stdin=as_bytes(stdin), **more)
        self.assertEqual(ran.code, code, ran)
        return ran

    def refused(self, *options, words=(), code=1, **more):
        """Nothing is written, and it is told why."""
        before = {path: path.read_bytes() for path in self.work.rglob("*") if path.is_file()}
        ran = self.respond(*options, code=code, **more)
        self.assertEqual(ran.out, "")
        for word in words:
            self.assertIn(word, ran.err)
        self.assertEqual({path: path.read_bytes() for path in self.work.rglob("*") if path.is_file()}, before)
        return ran


class Envelopes(RespondTest):
    def test_a_text_becomes_a_success(self):
        self.asked()
        ran = self.respond(stdin="# Review\n\nLooks »fine«.\n")
        self.assertEqual(ran.out, f"{RESPONSE}: written; it answers {UUID}\n")
        response = self.response()
        self.assertEqual(response["response"], "# Review\n\nLooks »fine«.\n")
        self.assertEqual((response["request_id"], response["status"], response["error_message"],
                          response["error_type"], response["version"]), (UUID, "success", None, None, "1.0"))
        self.assertEqual(response["metadata"], {"answered_by": "treaty bridge respond"})
        self.assertGreaterEqual(response["duration_seconds"], 5)
        self.assertLess(response["duration_seconds"], 5000)

    def test_json_stays_the_text_that_it_is_and_is_declared(self):
        for text, declared in (('{"a":  1e400, "a": 2}\n', True), (" [1,\n2]", True), ('"text"', False), ("12", False),
                               ("null", False), ("{'a': 1}", False), ("[1,]", False), ("{}", True)):
            with self.subTest(text):
                self.asked()
                self.respond("--replace", stdin=text)
                response = self.response()
                self.assertEqual(response["response"], text)
                self.assertEqual(response["metadata"].get("content_type"), "application/json" if declared else None)

    def test_who_answered_is_in_the_metadata_and_in_the_journal(self):
        self.asked()
        self.respond("--agent", "me", "--model", "opus")
        self.assertEqual(self.response()["metadata"],
                         {"agent": "me", "model": "opus", "answered_by": "treaty bridge respond"})
        entry, = self.journal("answer.written")
        self.assertEqual((entry["agent"], entry["model"], entry["status"], entry["request_id"]),
                         ("me", "opus", "success", UUID))

    def test_an_error_has_its_message_and_its_type(self):
        self.asked()
        self.respond("--status", "error", "--error", "quota", "--error-type", "rate_limit", stdin=b"not read")
        response = self.response()
        self.assertEqual((response["status"], response["error_message"], response["error_type"], response["response"]),
                         ("error", "quota", "rate_limit", None))
        self.respond("--status", "error", "--error", "quota", "--replace")
        self.assertIsNone(self.response()["error_type"])

    def test_a_timeout_says_how_long_it_was_waited_unless_told_otherwise(self):
        self.asked(timeout_seconds=7)
        self.respond("--status", "timeout")
        response = self.response()
        self.assertEqual((response["status"], response["error_type"], response["error_message"]),
                         ("timeout", "timeout", "no answer within 7 s"))
        self.respond("--status", "timeout", "--error", "gone home", "--replace")
        self.assertEqual(self.response()["error_message"], "gone home")

    def test_what_there_was_before_it_failed_can_be_given_along(self):
        self.asked()
        self.put("half.md", "Half of it")
        self.respond("--status", "error", "--error", "cut off", "--text", "half.md")
        self.assertEqual(self.response()["response"], "Half of it")

    def test_it_can_be_printed_instead_and_nothing_is_touched(self):
        self.asked()
        ran = self.respond("--stdout", "--model", "opus")
        self.assert_keeps("bridge-response", ran.raw_out)
        self.assertEqual(json.loads(ran.out)["metadata"]["model"], "opus")
        self.assertEqual([path.name for path in self.work.iterdir()], [REQUEST])

    def test_an_empty_answer_has_to_be_meant(self):
        self.asked()
        self.put("empty.txt", "")
        for nothing in (b"", b" \n"):
            self.refused(stdin=nothing, words=["nothing on standard input", "Next: "])
            self.refused("--text", "-", stdin=nothing, words=["nothing on standard input"])
        self.respond("--text", "empty.txt")
        self.assertEqual(self.response()["response"], "")

    def test_a_byte_order_mark_is_no_part_of_the_text(self):
        self.asked()
        self.assertIn("byte order mark", self.respond(stdin=b'\xef\xbb\xbf{"a": 1}').err)
        self.assertEqual(self.response()["response"], '{"a": 1}')
        self.assertEqual(self.response()["metadata"]["content_type"], "application/json")

    def test_a_clock_behind_the_asker_s_makes_no_stale_answer(self):
        self.asked(created_at=now(3600))
        self.respond()
        self.assertEqual(self.response()["duration_seconds"], 0)
        self.assertEqual(self.bridge("check").code, 0)

    def test_a_text_of_16_mib_does_not_fit_with_its_envelope_but_nearly(self):
        self.asked()
        self.refused(stdin=b"a" * (16 * MIB), words=["JSON-03"])
        self.respond(stdin=b"a" * (16 * MIB - 4096))

    def test_control_characters_are_kept(self):
        self.asked()
        text = "".join(map(chr, range(1, 32))) + "\x7f\u2028\U0001f600\0"
        self.respond(stdin=text)
        self.assertEqual(self.response()["response"], text)


class WhichRequest(RespondTest):
    def test_the_one_that_waits_is_meant(self):
        self.asked("-phase1", phase=1, request_id=OTHER_UUID)
        self.put(".agent-response-phase1.json", bridge_response(request_id=OTHER_UUID, created_at=now()))
        self.asked("-phase2", phase=2)
        self.assertIn(".agent-response-phase2.json: written", self.respond().out)
        self.assertEqual(self.response("-phase2")["request_id"], UUID)

    def test_of_several_one_has_to_be_chosen(self):
        self.asked("-phase1", phase=1, phase_name="plan")
        self.asked("-phase2", phase=2, request_id=OTHER_UUID)
        ran = self.refused(code=2, words=["--phase N", "--request FILE", ".agent-request-phase1.json (phase 1 (plan))",
                                          ".agent-request-phase2.json (phase 2)"])
        self.assertIn("Try: treaty bridge respond --help", ran.err)
        self.respond("--phase", "2")
        self.assertEqual(self.response("-phase2")["request_id"], OTHER_UUID)
        self.respond("--request", "work/.agent-request-phase1.json", cwd=self.folder)
        self.assertEqual(self.response("-phase1")["request_id"], UUID)

    def test_the_directory_may_be_named_along_with_its_request(self):
        self.asked()
        self.respond("--dir", "work", "--request", f"work/{REQUEST}", cwd=self.folder)
        self.response()
        self.refused("--dir", "..", "--request", REQUEST, code=2, words=["another directory"])
        self.refused("--phase", "1", "--request", REQUEST, code=2, words=["not both"])

    def test_a_request_of_another_name_is_good_for_printing(self):
        self.put("copy.json", bridge_request())
        self.assertEqual(json.loads(self.respond("--request", "copy.json", "--stdout").out)["request_id"], UUID)
        self.refused("--request", "copy.json", code=2, words=["--stdout"])
        self.put("broken.json", {})
        self.refused("--request", "broken.json", "--stdout", words=["BRQ-01"])
        self.refused("--request", "nowhere.json", "--stdout", words=["is not there"])

    def test_the_answer_goes_where_the_request_says(self):
        self.asked(response_file=str(self.folder / "elsewhere.json"))
        self.respond()
        self.assertEqual(json.loads((self.folder / "elsewhere.json").read_bytes())["request_id"], UUID)
        self.assertFalse((self.work / RESPONSE).exists())

    def test_nothing_is_asked(self):
        self.refused(words=["there is no request", "Next: "])
        self.put(RESPONSE, bridge_response())
        self.refused(words=["there is no request"])
        self.asked()
        self.refused("--phase", "3", words=["no request of phase 3 waits; these do"])

    def test_a_broken_request_cannot_be_answered(self):
        self.put(REQUEST, bridge_request(prompt=""))
        self.refused(words=["BRQ-01", "doctor"])

    def test_an_answer_is_not_replaced_unasked_and_never_lost(self):
        self.asked()
        self.respond(stdin="One.")
        self.refused(stdin="Two.", words=["already answered", "--replace"])
        self.respond("--replace", stdin="Two.")
        self.assertEqual(self.response()["response"], "Two.")
        self.assertEqual(json.loads(self.quarantined()["replaced"])["response"], "One.")

    def test_what_is_no_answer_goes_to_quarantine(self):
        for reason, content in (("broken", "# A text"), ("foreign", bridge_response(request_id=OTHER_UUID)),
                                ("stale", bridge_response(created_at="2025-01-01T00:00:00Z")), ("torn", "{")):
            with self.subTest(reason):
                self.asked()
                self.put(RESPONSE, content)
                self.respond()
                self.assertEqual(self.quarantined()[reason], as_bytes(content))
                self.response()

    def test_a_directory_that_is_not_there(self):
        self.refused("--dir", "nowhere", words=["nowhere", "Next: "])


class Refusals(RespondTest):
    def test_wrong_usage_is_told(self):
        self.asked()
        for options, word in ((["--status", "error"], "--error MESSAGE"),
                              (["--error", "x"], "--status error"),
                              (["--error-type", "x"], "--status error"),
                              (["--status", "error", "--error", " "], "--error is empty"),
                              (["--status", "timeout", "--error-type", "auth_error"], "timeout is timeout"),
                              (["--status", "maybe"], "--status"),
                              (["file.txt"], "no arguments")):
            with self.subTest(options):
                self.assert_usage(self.refused(*options, code=2), word)

    def test_what_has_an_envelope_already_is_refused(self):
        self.asked()
        self.refused(stdin=bridge_response(), words=["envelope already", "jq"])
        self.respond(stdin={"status": "fine"})

    def test_bytes_that_are_no_text_are_refused(self):
        self.asked()
        self.refused(stdin=b"caf\xe9", words=["UTF-8", "iconv"])

    def test_what_is_too_large_is_refused(self):
        self.asked()
        self.refused(stdin=b"a" * (16 * MIB + 1), words=["16 MiB"])

    def test_a_text_that_is_not_there_is_refused(self):
        self.asked()
        self.refused("--text", "nowhere.md", words=["nowhere.md"])
        self.refused("--text", ".", words=["directory"])

    def test_another_driver_has_the_directory(self):
        gate = self.agent("Fine.", held=True)
        child = self.start("run", "--", *self.program("if not RESUMED: ask()"))
        until(lambda: gate.count == 1)
        self.assertIn("drives this directory", self.refused(code=75).err)
        self.respond("--stdout")
        gate.release()
        self.assertEqual(self.ended(child).code, 0)

    def test_a_request_that_changes_while_the_answer_is_read_is_not_answered_by_it(self):
        self.asked()
        os.mkfifo(self.folder / "pipe")
        child = self.start("respond", "--text", str(self.folder / "pipe"))
        with open(self.folder / "pipe", "wb") as pipe:  # Opens when the text is being read.
            self.asked(request_id=OTHER_UUID)
            pipe.write(b"Fine.")
        ran = self.ended(child)
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("changed meanwhile", ran.err)
        self.assertFalse((self.work / RESPONSE).exists())

    def test_an_answer_of_somebody_else_s_file_is_refused(self):
        self.asked(response_file="package.json")
        self.put("package.json", {"name": "x"})
        self.assertIn("no answer", self.respond(code=1).err)
        self.assertEqual(self.document("package.json"), {"name": "x"})


class Guidance(RespondTest):
    def test_a_phase_that_does_not_wait_is_refused_with_those_that_do(self):
        self.asked(phase=3, phase_name="review")
        ran = self.respond("--phase", "9", code=1)
        self.assertIn(f"no request of phase 9 waits; these do: {REQUEST} (phase 3 (review))", ran.err)
        self.assertNotIn("there is no request", ran.err)

    def test_a_phase_without_a_request_is_refused_with_those_that_are_answered(self):
        self.asked(phase=3, phase_name="review")
        self.respond("--phase", "3")
        ran = self.respond("--phase", "two", code=1)
        self.assertIn(f"there is no request of phase two; the requests here are answered: {REQUEST} (phase 3", ran.err)

    def test_a_request_file_that_does_not_exist_is_named(self):
        self.asked(phase=3)
        ran = self.respond("--request", ".agent-request-phase9.json", code=1)
        self.assertIn(".agent-request-phase9.json does not exist", ran.err)

    def test_a_text_that_a_failure_leaves_out_is_told(self):
        self.asked()
        text = self.folder / "part.txt"
        text.write_text("Half of it.")
        with text.open("rb") as stdin:
            ran = Ran(subprocess.run([BINARY, "bridge", "respond", "--status", "timeout"], cwd=self.work, stdin=stdin,
                                     env=self.environment(), capture_output=True, timeout=SECONDS, check=False))
        self.assertEqual(ran.code, 0, ran)
        self.assertIn("standard input is not read; --text - adds it as the response", ran.err)
        self.assertEqual(self.respond("--status", "timeout", "--replace", stdin=b"").err, "")


if __name__ == "__main__":
    unittest.main()
