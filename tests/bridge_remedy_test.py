"""Tests that `bridge doctor` says what `bridge check --fix` does about an answer, and that both know the journal."""
import json
import os
import subprocess
import unittest

from bridging import BridgeTest
from treaty_binary import BINARY, OTHER_UUID, SECONDS, UUID, as_bytes, bridge_request, bridge_response

THIRD_UUID = "11111111-2222-4333-8444-555555555555"
REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"


def request_name(phase):
    return f".agent-request-phase{phase}.json"


def response_name(phase):
    return f".agent-response-phase{phase}.json"


class RemedyTest(BridgeTest):
    def faults(self):
        return json.loads(self.bridge("doctor", "--format", "json").out)["faults"]

    def fault(self, code):
        found = [fault for fault in self.faults() if fault["code"] == code]
        self.assertEqual(len(found), 1, self.faults())
        return found[0]

    def fix(self, code=0):
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, code, ran)
        return ran

    def mend(self, fault):
        path = f"{BINARY.parent}{os.pathsep}{os.environ['PATH']}"
        ran = subprocess.run(["bash", "-c", fault["mend"]], cwd=self.work, env=self.environment(PATH=path),
                             stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False)
        self.assertEqual(ran.returncode, 0, ran)

    def files(self):
        return {path.name: path.read_bytes() for path in self.work.iterdir() if path.is_file()}

    def quarantined(self):
        return [entry["reason"] for entry in self.journal("file.quarantined")]

    def both_ways(self, arrange, code):
        """The files after the doctor's command, and after --fix in a directory like it; they are the same."""
        arrange()
        self.mend(self.fault(code))
        by_doctor = self.files()
        self.setUp()
        arrange()
        self.fix()
        self.assertEqual(self.files(), by_doctor)
        self.assertEqual([fault for fault in self.faults() if fault["severity"] == "trouble"], [])
        return by_doctor


class DeletedRequests(RemedyTest):
    """By the book, a host deletes the request after it was answered."""

    def assert_kept(self, content):
        codes = [fault["code"] for fault in self.faults() if fault["code"] != "quarantined"]
        self.assertEqual(codes, ["answer-ready"])
        self.assertEqual(self.bridge("check").code, 0)
        ran = self.fix()
        self.assertEqual(ran.err, "")
        self.assertEqual((self.work / RESPONSE).read_bytes(), content)
        self.assertEqual(self.quarantined(), [])

    def test_an_answer_that_the_journal_knows_is_no_orphan(self):
        self.put(REQUEST, bridge_request())
        self.assertEqual(self.bridge("respond", stdin=b"Fine.").code, 0)
        content = (self.work / RESPONSE).read_bytes()
        (self.work / REQUEST).unlink()

        self.assert_kept(content)
        report = json.loads(self.bridge("doctor", "--format", "json").out)
        self.assertEqual((report["standing"], report["content"]), ("answered", True))
        self.assertIn(UUID, report["faults"][0]["what"])

    def test_an_error_and_an_answer_of_an_agent_are_known_alike(self):
        self.put(REQUEST, bridge_request())
        self.assertEqual(self.bridge("respond", "--status", "error", "--error", "no access").code, 0)
        (self.work / REQUEST).unlink()
        self.assert_kept((self.work / RESPONSE).read_bytes())

        self.setUp()
        self.agent("Fine.")
        self.put(REQUEST, bridge_request())
        self.assertEqual(self.bridge("answer").code, 0)
        (self.work / REQUEST).unlink()
        self.assert_kept((self.work / RESPONSE).read_bytes())

    def test_an_answer_that_was_repaired_here_is_known(self):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, {"response": "Fine."})
        self.fix()
        (self.work / REQUEST).unlink()
        self.assert_kept((self.work / RESPONSE).read_bytes())

    def test_when_the_program_has_gone_on_nothing_is_left_to_say(self):
        self.agent("Fine.")
        ran = self.drive(self.program("if not RESUMED: ask()\nos.remove(name('request'))"))
        self.assertEqual(ran.code, 0, ran)
        report = json.loads(self.bridge("doctor", "--format", "json").out)
        self.assertEqual((report["standing"], report["faults"]), ("settled", []))
        self.fix()
        self.assertTrue((self.work / RESPONSE).exists())

    def test_an_answer_that_the_journal_does_not_know_is_put_away(self):
        self.put(REQUEST, bridge_request())
        self.assertEqual(self.bridge("respond", stdin=b"Fine.").code, 0)
        (self.work / REQUEST).unlink()
        self.put(RESPONSE, bridge_response(request_id=OTHER_UUID))

        self.assertEqual(self.fault("answer-orphaned")["mend"], "treaty bridge check --fix")
        self.assertEqual(self.bridge("check").code, 1)
        self.fix()
        self.assertEqual(self.quarantined(), ["orphaned"])


class WrongSuffixes(RemedyTest):
    def test_an_answer_with_the_suffix_of_no_request_is_moved(self):
        answer = as_bytes(bridge_response())

        def arrange():
            self.put(request_name(2), bridge_request(phase=2))
            self.put(RESPONSE, answer)

        files = self.both_ways(arrange, "answer-other-phase")

        self.assertEqual(files[response_name(2)], answer)
        self.assertNotIn(RESPONSE, files)
        self.assertEqual(self.quarantined(), [])
        entry, = self.journal("answer.moved")
        self.assertEqual((entry["request_id"], entry["moved_to"]), (UUID, str(self.work / response_name(2))))
        self.assertIn(f"{RESPONSE} moved", self.bridge("log").out)

    def test_doctor_says_the_move_that_fix_makes(self):
        self.put(REQUEST, bridge_request())
        self.put(response_name(1), bridge_response())
        self.assertEqual(self.fault("answer-other-phase")["mend"], f"mv {response_name(1)} {RESPONSE}")
        self.assertIn(f"{response_name(1)}: moved to {RESPONSE}", self.fix().err)
        self.assertEqual(self.response(), bridge_response())

    def test_an_answer_in_the_place_of_another_waiting_phase_is_moved(self):
        answer = as_bytes(bridge_response())

        def arrange():
            self.put(request_name(1), bridge_request(request_id=OTHER_UUID, phase=1))
            self.put(response_name(1), answer)
            self.put(request_name(5), bridge_request(phase=5))

        arrange()
        self.mend(self.fault("answer-other-phase"))
        self.assertEqual(self.files()[response_name(5)], answer)
        self.setUp()
        arrange()
        self.fix()
        self.assertEqual(self.files()[response_name(5)], answer)
        self.assertNotIn(response_name(1), self.files())

    def test_a_broken_answer_with_the_wrong_suffix_is_moved_and_repaired(self):
        self.put(request_name(2), bridge_request(phase=2))
        self.put(RESPONSE, bridge_response(metadata=None, version=1.0))
        self.fix()
        self.assertEqual(self.response("-phase2"), bridge_response())

    def test_an_answer_whose_id_differs_in_letter_case_is_moved_and_repaired(self):
        for name in (RESPONSE, "agent_response.json"):
            with self.subTest(name):
                self.setUp()
                self.put(request_name(2), bridge_request(phase=2))
                self.put(name, bridge_response(request_id=UUID.upper()))
                self.fix()
                self.assertEqual(self.response("-phase2"), bridge_response())
                self.assertNotIn(name, self.files())

    def test_answers_that_have_changed_places_are_changed_back(self):
        ids = {1: UUID, 2: OTHER_UUID, 3: THIRD_UUID}
        for answered in ({1: 2, 2: 1}, {1: 2, 2: 3, 3: 1}):
            with self.subTest(answered):
                self.setUp()
                for phase, other in answered.items():
                    self.put(request_name(phase), bridge_request(request_id=ids[phase], phase=phase))
                    self.put(response_name(phase), bridge_response(request_id=ids[other], response=f"Part {other}."))
                self.assertEqual(self.fault_commands(), {"treaty bridge check --fix"})
                self.fix()
                for phase in answered:
                    self.assertEqual(self.response(f"-phase{phase}")["response"], f"Part {phase}.")
                self.assertEqual(self.quarantined(), [])

    def fault_commands(self):
        return {fault["mend"] for fault in self.faults() if fault["severity"] == "trouble"}

    def test_what_is_in_the_right_place_makes_way_unless_it_is_the_answer(self):
        for there, reason in ((bridge_response(request_id=THIRD_UUID), "foreign"),
                              (bridge_response(created_at="2025-11-23T00:00:00Z"), "stale"),
                              ("Nonsense.", "broken")):
            with self.subTest(reason):
                self.setUp()
                self.put(REQUEST, bridge_request())
                self.put(RESPONSE, there)
                self.put(response_name(4), bridge_response(response="The answer."))
                self.fix()
                self.assertEqual(self.response()["response"], "The answer.")
                self.assertEqual(self.quarantined(), [reason])

    def test_a_second_answer_is_put_away(self):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, bridge_response(response="First."))
        self.put(response_name(4), bridge_response(response="Second."))
        self.assertEqual(self.fault("answer-other-phase")["mend"], "treaty bridge check --fix")
        self.fix()
        self.assertEqual(self.response()["response"], "First.")
        self.assertEqual(self.quarantined(), ["orphaned"])

    def test_an_answer_under_another_name_is_moved(self):
        answer = as_bytes(bridge_response())

        def arrange():
            self.put(REQUEST, bridge_request())
            self.put("agent_response.json", answer)

        self.assertEqual(self.both_ways(arrange, "answer-misplaced"), {REQUEST: as_bytes(bridge_request()),
                                                                       RESPONSE: answer})

    def test_a_broken_file_makes_way_for_an_answer_under_another_name(self):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, bridge_response(status="done"))
        self.put("agent_response.json", bridge_response())
        self.fix()
        self.assertEqual(self.response(), bridge_response())
        self.assertEqual(self.quarantined(), ["broken"])

    def test_an_answer_in_the_place_of_another_request_is_not_moved(self):
        above = self.work.parent / RESPONSE
        above.with_name(REQUEST).write_bytes(as_bytes(bridge_request()))
        above.write_bytes(as_bytes(bridge_response()))
        self.put(REQUEST, bridge_request())
        self.assertNotIn("answer-misplaced", [fault["code"] for fault in self.faults()])
        self.fix()
        self.assertTrue(above.exists())
        self.assertFalse((self.work / RESPONSE).exists())

    def test_a_stale_answer_of_two_requests_with_one_id_is_put_away_once(self):
        self.put(REQUEST, bridge_request())
        self.put(request_name(8), bridge_request())
        self.put(RESPONSE, bridge_response(created_at="2001-01-01T00:00:00Z"))
        self.fix()
        self.assertEqual(self.quarantined(), ["stale"])
        self.assertFalse((self.work / RESPONSE).exists())

    def test_an_answer_that_is_older_than_the_request_is_not_moved(self):
        self.put(REQUEST, bridge_request())
        self.put("agent_response.json", bridge_response(created_at="2001-01-01T00:00:00Z"))
        self.assertNotIn("answer-misplaced", [fault["code"] for fault in self.faults()])
        self.fix()
        self.assertTrue((self.work / "agent_response.json").exists())

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_an_answer_of_another_user_is_not_moved(self):
        self.put(REQUEST, bridge_request())
        self.put("agent_response.json", bridge_response())
        os.chown(self.work / "agent_response.json", 65534, 65534)
        self.assertNotIn("answer-misplaced", [fault["code"] for fault in self.faults()])
        self.fix()
        self.assertFalse((self.work / RESPONSE).exists())


class Moves(RemedyTest):
    def test_a_misplaced_answer_is_moved_although_its_directory_is_missing(self):
        place = self.work / "out" / "answer.json"
        for command in (None, ("check", "--fix")):
            with self.subTest(command):
                self.put(REQUEST, bridge_request(response_file=str(place)))
                self.put(RESPONSE, bridge_response())
                fault = self.fault("answer-misplaced")
                self.assertEqual(fault["mend"], f"mkdir -p {place.parent} && mv {RESPONSE} {place}")
                if command:
                    self.assertEqual(self.bridge(*command).code, 0)
                else:
                    self.mend(fault)
                self.assertEqual(json.loads(place.read_text())["response"], "Fine.")
                self.setUp()
                place = self.work / "out" / "answer.json"

    def test_an_answer_without_a_directory_names_the_command_that_makes_it(self):
        gate = self.agent("Fine.")
        place = self.work / "out" / "answer.json"
        self.put(REQUEST, bridge_request(response_file=str(place)))
        ran = self.bridge("answer")
        self.assertEqual((ran.code, gate.count), (69, 0), ran)
        self.assertIn(f"Next: mkdir -p {place.parent}\n", ran.err)

    def test_a_file_that_is_put_aside_never_replaces_another_one(self):
        self.put("notes.txt", b"kept now")
        self.put("notes.txt.old", b"kept before")
        for name in (f"{REQUEST}.old", f"{REQUEST}.2.old"):
            self.put(name, bridge_request(prompt=name))
        self.put(REQUEST, bridge_request(response_file="notes.txt"))
        self.agent("Fine.")
        fault = self.fault("answer-place-taken")
        self.assertTrue(fault["mend"].startswith("mv notes.txt notes.txt.2.old && "), fault)
        self.mend(fault)
        self.assertEqual((self.work / "notes.txt.old").read_bytes(), b"kept before")
        self.assertEqual((self.work / "notes.txt.2.old").read_bytes(), b"kept now")

        self.put(REQUEST, bridge_request(prompt=""))
        self.mend(self.fault("request-broken"))
        self.assertIn(f'"{REQUEST}.2.old"', (self.work / f"{REQUEST}.2.old").read_text())
        self.assertIn('"prompt": ""', (self.work / f"{REQUEST}.3.old").read_text())


if __name__ == "__main__":
    unittest.main()
