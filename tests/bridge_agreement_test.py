"""Tests that `bridge answer`, `check`, `doctor`, `respond` and `watch` agree on what is answered, and on what to do."""
import datetime
import json
import os
import unittest

from bridging import BridgeTest
from treaty_binary import OTHER_UUID, UUID, bridge_request, bridge_response

REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"


def request_name(phase):
    return f".agent-request-phase{phase}.json"


def response_name(phase):
    return f".agent-response-phase{phase}.json"


class AgreementTest(BridgeTest):
    def faults(self):
        return json.loads(self.bridge("doctor", "--format", "json").out)["faults"]

    def commands(self):
        """What the doctor says, and what to do about it, by the code of the fault."""
        return {fault["code"]: fault["mend"] for fault in self.faults()}

    def fault(self, code):
        found = [fault for fault in self.faults() if fault["code"] == code]
        self.assertEqual(len(found), 1, self.faults())
        return found[0]


class UsedAgain(AgreementTest):
    """A request_id that is used for a new question, half a second after the answer to the old one."""

    def ask_again(self):
        self.put(REQUEST, bridge_request(created_at="2025-11-24T14:22:05Z"))
        self.assertEqual(self.bridge("respond", stdin=b"Old.").code, 0)
        answered = datetime.datetime.fromisoformat(self.response()["created_at"])
        later = (answered + datetime.timedelta(seconds=0.5)).isoformat()
        self.put(REQUEST, bridge_request(created_at=later, prompt="Something else?"))

    def test_answer_asks_and_doctor_and_check_say_that_it_waits(self):
        self.agent("New.")
        self.ask_again()

        report = json.loads(self.bridge("doctor", "--format", "json").out)
        self.assertEqual(report["standing"], "waiting")
        fault, = [one for one in report["faults"] if one["severity"] == "trouble"]
        self.assertEqual((fault["code"], fault["mend"]), ("answer-stale", "treaty bridge check --fix"))
        self.assertIn("answers an earlier question", fault["what"])
        ran = self.bridge("check")
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("is stale: it answers an earlier question", ran.out)
        self.assertEqual(self.bridge("answer").code, 0)
        self.assertEqual(self.response()["response"], "New.")
        self.assertEqual(self.bridge("check").code, 0)

    def test_fix_puts_the_old_answer_away(self):
        self.ask_again()
        ran = self.bridge("check", "--fix")
        self.assertIn("put away, it is stale", ran.err)
        self.assertFalse((self.work / RESPONSE).exists())
        self.assertEqual(self.commands()["request-waiting"], "treaty bridge answer")

    def test_respond_takes_the_new_question(self):
        self.ask_again()
        ran = self.bridge("respond", stdin=b"New.")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.response()["response"], "New.")

    def test_the_place_with_such_a_question_is_found(self):
        self.ask_again()
        below = self.work / "below"
        below.mkdir()
        self.assertEqual(self.bridge("respond", stdin=b"New.", cwd=below).code, 0)
        self.assertEqual(self.response()["response"], "New.")


class AskedAgain(AgreementTest):
    """A request in the same words, created after it was answered: the answer is stale, and only --replace asks again."""

    def ask_again(self):
        self.put(REQUEST, bridge_request(created_at="2025-11-24T14:22:05Z"))
        self.assertEqual(self.bridge("answer").code, 0)
        later = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(hours=1)
        self.put(REQUEST, bridge_request(created_at=later.isoformat()))

    def test_every_command_says_the_same_of_it(self):
        gate = self.agent("First.", "Again.")
        self.ask_again()
        words = f"answers this question as it was asked before, and {REQUEST} asks the same again"

        fault = self.fault("answer-stale")
        self.assertIn(f"{RESPONSE} {words}", fault["what"])
        self.assertEqual(fault["mend"], "treaty bridge answer --replace")
        ran = self.bridge("check")
        self.assertEqual(ran.code, 1, ran)
        self.assertIn(f"is stale: it {words}", ran.out)
        ran = self.bridge("answer")
        self.assertEqual(ran.code, 75, ran)
        self.assertIn("was answered before", ran.err)
        self.assertIn(f"{RESPONSE} answers this question as it was asked before", ran.err)
        self.assertIn("--replace", ran.err)
        self.assertEqual(gate.count, 1)

    def test_the_command_of_the_doctor_answers_it(self):
        self.agent("First.", "Again.")
        self.ask_again()
        self.assertEqual(self.bridge("answer", "--replace").code, 0)
        self.assertEqual(self.response()["response"], "Again.")
        self.assertEqual(self.bridge("check").code, 0)
        self.assertEqual(self.bridge("doctor").code, 0)

    def test_fix_puts_the_answer_away_and_the_same_command_is_next(self):
        self.agent("First.")
        self.ask_again()
        self.assertIn("put away, it is stale", self.bridge("check", "--fix").err)
        self.assertEqual(self.commands()["answer-gone"], "treaty bridge answer --replace")


class Places(AgreementTest):
    """An answer that is not where its program looks: `check` finds what `doctor` finds, in the same words."""

    def assert_agreed(self, code, *files):
        """The doctor's finding is what `check` says of these files; answers what `check` prints."""
        what = self.fault(code)["what"]
        ran = self.bridge("check")
        self.assertEqual(ran.code, 1, ran)
        for file in files:
            text, = [line for line in ran.out.splitlines() if line.startswith(f"{file}: error:")]
            self.assertIn(text.replace(": error:", ""), what)
        return ran.out

    def test_a_wrong_suffix_with_the_right_id(self):
        self.put(request_name(2), bridge_request(phase=2))
        self.put(RESPONSE, bridge_response())
        out = self.assert_agreed("answer-other-phase", RESPONSE)
        self.assertIn(f"{RESPONSE}: error: answers {request_name(2)}, whose answer belongs in {response_name(2)}", out)
        self.assertIn(f"{response_name(2)}: not there; the answer is in {RESPONSE}\n", out)

    def test_an_answer_in_the_place_of_another_phase(self):
        self.put(request_name(1), bridge_request(phase=1))
        self.put(request_name(2), bridge_request(request_id=OTHER_UUID, phase=2))
        self.put(response_name(2), bridge_response())
        self.assertNotIn("BRS-12", self.assert_agreed("answer-other-phase", response_name(2)))

    def test_an_answer_whose_request_has_one_already(self):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, bridge_response())
        self.put(response_name(4), bridge_response(response="Another."))
        self.assert_agreed("answer-other-phase", response_name(4))

    def test_two_answers_that_were_swapped(self):
        self.put(request_name(1), bridge_request(phase=1))
        self.put(request_name(2), bridge_request(request_id=OTHER_UUID, phase=2))
        self.put(response_name(1), bridge_response(request_id=OTHER_UUID))
        self.put(response_name(2), bridge_response())
        self.assertIn("two answers are in each other's place", self.fault("answer-other-phase")["what"])
        verdicts = [json.loads(line) for line in self.bridge("check", "--format", "json").out.splitlines()]
        said = {verdict["document"]: verdict["violations"][0]["message"] for verdict in verdicts
                if verdict["violations"]}
        self.assertEqual(said, {response_name(one): f"answers {request_name(other)}, whose answer belongs in "
                                f"{response_name(other)}" for one, other in ((1, 2), (2, 1))})

    def test_an_answer_under_another_name(self):
        self.put(REQUEST, bridge_request())
        self.put("agent_response.json", bridge_response())
        out = self.assert_agreed("answer-misplaced", "agent_response.json")
        self.assertIn(f"{RESPONSE}: not there; the answer is in agent_response.json\n", out)
        self.assertEqual(self.bridge("check", "--fix").code, 0)


class OneFinding(AgreementTest):
    """An answer with several readings: one finding, about the member that decides."""

    def test_fix_and_doctor_name_the_member_that_treaty_check_names(self):
        cases = (({"request_id": UUID, "response": "Fine.", "error_message": "no access"}, "status"),
                 ({"error": "no access"}, "error"),
                 ({"request_id": UUID, "status": "success"}, "response"))
        for document, member in cases:
            with self.subTest(member):
                self.setUp()
                self.put(REQUEST, bridge_request())
                self.put(RESPONSE, document)
                alone = self.treaty("check", "bridge-response", "--fix", f"work/{RESPONSE}")
                fixed = self.bridge("check", "--fix")
                self.assertEqual(fixed.code, 1, fixed)
                finding, = [line for line in fixed.out.splitlines() if ": error " in line]
                self.assertIn(member, finding)
                self.assertNotIn("warning", fixed.out.replace("0 warnings", ""))
                self.assertIn(f"work/{finding}", alone.err.splitlines())
                self.assertIn("Next: treaty bridge answer", fixed.err)
                what = self.fault("answer-broken")["what"]
                self.assertIn(finding.split(": ", 2)[2], what)
                self.assertNotIn("more", what)


class WhatMends(AgreementTest):
    def test_a_request_whose_answer_is_in_another_place_is_not_asked_again(self):
        self.put(request_name(1), bridge_request(phase=1))
        self.put(request_name(2), bridge_request(request_id=OTHER_UUID, phase=2))
        self.put(response_name(2), bridge_response())

        commands = self.commands()

        self.assertEqual(commands, {"answer-other-phase": f"mv {response_name(2)} {response_name(1)}"})

    def test_two_answers_to_one_request_are_both_kept(self):
        self.put(request_name(1), bridge_request(phase=1))
        self.put(request_name(2), bridge_request(request_id=OTHER_UUID, phase=2))
        self.put(".agent-response.json", bridge_response(response="The one."))
        self.put(response_name(2), bridge_response(response="The other."))

        mends = [fault["mend"] for fault in self.faults()]
        self.assertIn("treaty bridge check --fix", mends)
        self.assertEqual([mend for mend in mends if "mv " in mend], [])
        self.bridge("check", "--fix")
        kept = "".join(file.read_text() for file in self.work.rglob("*.json") if file.is_file())
        self.assertIn("The one.", kept)
        self.assertIn("The other.", kept)

    def test_nor_is_one_whose_place_has_a_broken_answer(self):
        self.put(request_name(1), bridge_request(phase=1))
        self.put(response_name(1), bridge_response(status="done"))
        self.put(request_name(2), bridge_request(request_id=OTHER_UUID, phase=2))
        self.put(response_name(2), bridge_response(response="The answer."))

        self.assertEqual(set(self.commands().values()), {"treaty bridge check --fix"})
        self.bridge("check", "--fix")
        self.assertEqual(self.response("-phase1")["response"], "The answer.")

    def test_a_file_of_something_else_makes_way_for_the_answer(self):
        self.put(request_name(1), bridge_request(phase=1, response_file="notes.json"))
        self.put("notes.json", {"name": "something else"})
        self.put(request_name(2), bridge_request(request_id=OTHER_UUID, phase=2))
        self.put(response_name(2), bridge_response())

        mend = "mv notes.json notes.json.old && treaty bridge check --fix"
        self.assertEqual({self.commands()[code] for code in ("answer-place-taken", "answer-other-phase")}, {mend})
        self.bridge("check", "--fix")
        self.assertEqual(self.document("notes.json"), {"name": "something else"})
        self.assertEqual(self.document(response_name(2)), bridge_response())

    def test_swapped_answers_are_one_finding_with_both_files(self):
        self.put(request_name(1), bridge_request(phase=1))
        self.put(request_name(2), bridge_request(request_id=OTHER_UUID, phase=2))
        self.put(response_name(1), bridge_response(request_id=OTHER_UUID, response="Two."))
        self.put(response_name(2), bridge_response(response="One."))

        fault = self.fault("answer-other-phase")
        self.assertEqual(fault["what"], "two answers are in each other's place: "
                         f"{response_name(1)} answers {request_name(2)}, and {response_name(2)} answers {request_name(1)}")
        self.assertEqual(fault["mend"], "treaty bridge check --fix")
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(ran.err, f"{response_name(1)}: exchanged with {response_name(2)}: each answered the request "
                         "of the other\n")
        self.assertEqual([self.response(f"-phase{phase}")["response"] for phase in (1, 2)], ["One.", "Two."])
        self.assertEqual({entry["request_id"] for entry in self.journal("answer.moved")}, {UUID, OTHER_UUID})

    def test_an_error_that_stays_is_not_asked_again(self):
        def error(error_type, **metadata):
            self.put(REQUEST, bridge_request())
            self.put(RESPONSE, bridge_response(status="error", response=None, error_message="It failed.",
                                               error_type=error_type, metadata=metadata))
            return self.fault("answer-error")

        self.assertEqual(error("rate_limit", retryable=True)["mend"], "treaty bridge answer --replace")
        self.assertEqual(error("rate_limit")["mend"], "treaty bridge answer --replace")
        refused = error("auth_error", retryable=False)
        self.assertEqual(refused["mend"], None)
        self.assertIn("correct the key", refused["why"])
        self.assertIn("ask for less at once", error("context_length", retryable=False)["why"])
        self.assertIn("the cause that the message names", error("disk", retryable=False)["why"])

    def test_an_answer_that_was_broken_later_is_asked_for_again_with_replace(self):
        self.agent("Again.")
        self.put(REQUEST, bridge_request())
        self.assertEqual(self.bridge("respond", stdin=b"First.").code, 0)
        self.put(RESPONSE, bridge_response(status="done"))

        self.assertEqual(self.commands()["answer-broken"], "treaty bridge answer --replace")
        ran = self.bridge("answer")
        self.assertEqual(ran.code, 75, ran)
        self.assertIn("is no longer that answer", ran.err)
        self.assertEqual(self.bridge("answer", "--replace").code, 0)
        self.assertEqual(self.response()["response"], "Again.")


class NothingToDo(AgreementTest):
    def test_nothing_is_left_where_nothing_is_asked(self):
        self.agent("Fine.")
        for arguments in (["answer"], ["answer", "--replace"], ["answer", "--phase", "3"], ["check"],
                          ["check", "--fix"], ["doctor"], ["respond"], ["log"]):
            with self.subTest(arguments):
                self.bridge(*arguments)
                self.assertEqual(os.listdir(self.work), [])

    def test_nor_where_everything_is_answered(self):
        self.agent("Fine.")
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, bridge_response())
        ran = self.bridge("answer")
        self.assertEqual(ran.code, 1, ran)
        self.assertEqual(sorted(os.listdir(self.work)), [REQUEST, RESPONSE])


class DamagedJournal(AgreementTest):
    def test_lines_that_are_no_entries_survive_the_pruning(self):
        folder = self.work / ".treaty-bridge"
        folder.mkdir()
        old = b'{"at":"2020-01-01T00:00:00Z","event":"run.continued"}\n'
        edited, torn = b'{"at": "2020-01-01T00:00:00Z", "event": oops\xff}\r\n', b'{"at":"2020-01-02T00:00:00Z","ev'
        (folder / "journal.ndjson").write_bytes(old + edited + old + torn)
        self.put(REQUEST, bridge_request())

        self.assertEqual(self.bridge("respond", stdin=b"Fine.").code, 0)

        lines = (folder / "journal.ndjson").read_bytes().split(b"\n")
        self.assertEqual(lines[:2], [edited[:-1], torn])
        self.assertEqual(json.loads(lines[2])["event"], "answer.written")
        self.assertIn("2 damaged lines", self.fault("journal-damaged")["what"])


if __name__ == "__main__":
    unittest.main()
