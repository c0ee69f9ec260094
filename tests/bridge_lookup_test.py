"""Tests of where `treaty bridge` looks for a request that is not in the current directory."""
import json
import os
import unittest

from bridging import BridgeTest
from treaty_binary import OTHER_UUID, UUID, bridge_request, bridge_response

REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"
STATE = ".agentecflow/state"
JOURNAL = ".treaty-bridge/journal.ndjson"


class LookupTest(BridgeTest):
    """The home is self.folder, and the current directory is work in it."""

    def ask(self, place, name=REQUEST, **members):
        self.write(f"{place}/{name}", bridge_request(**members))
        return self.folder / place

    def assert_found(self, ran, place):
        self.assertIn("there is no request in the current directory; using ", ran.err)
        self.assertIn(f"using {place}\n", ran.err)


class Commands(LookupTest):
    def test_answer_answers_where_the_program_keeps_its_state(self):
        self.agent("Fine.")
        place = self.ask(STATE)
        ran = self.bridge("answer")
        self.assertEqual(ran.code, 0, ran)
        self.assert_found(ran, place)
        self.assertEqual(json.loads((place / RESPONSE).read_bytes())["response"], "Fine.")
        self.assertEqual(list(self.work.iterdir()), [])

    def test_respond_check_doctor_and_log_look_there_too(self):
        place = self.ask(STATE)
        ran = self.bridge("respond", stdin=b"Fine.")
        self.assertEqual(ran.code, 0, ran)
        self.assert_found(ran, place)
        ran = self.bridge("check")
        self.assertEqual(ran.code, 0, ran)
        self.assert_found(ran, place)
        self.assertIn(f"{place}/{RESPONSE}: ok", ran.out)
        ran = self.bridge("doctor", "--format", "json")
        self.assert_found(ran, place)
        report = json.loads(ran.out)
        self.assertEqual((report["directory"], report["standing"]), (str(place), "answered"))
        ran = self.bridge("log")
        self.assertIn(f"there is no journal in the current directory; using {place}\n", ran.err)
        self.assertIn("answered: success", ran.out)
        self.assertEqual(list(self.work.iterdir()), [])

    def test_fix_mends_the_directory_that_was_found(self):
        place = self.ask(STATE)
        self.write(f"{STATE}/{RESPONSE}", {"response": "Fine."})
        ran = self.bridge("check", "--fix")
        self.assertEqual(ran.code, 0, ran)
        response = json.loads((place / RESPONSE).read_bytes())
        self.assertEqual((response["request_id"], response["response"]), (UUID, "Fine."))

    def test_the_commands_of_the_doctor_name_the_directory_that_was_found(self):
        place = self.ask(STATE)
        fault = json.loads(self.bridge("doctor", "--format", "json").out)["faults"][0]
        self.assertEqual(fault["mend"], f"treaty bridge answer --dir {place}")

    def test_a_named_directory_is_the_only_one(self):
        self.ask(STATE)
        ran = self.bridge("respond", "--dir", ".", stdin=b"Fine.")
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("there is no request in this directory", ran.err)
        self.assertEqual(self.bridge("check", "--dir", ".").out, "no request and no answer is here\n")
        self.assertEqual(json.loads(self.bridge("doctor", "--dir", ".", "--format", "json").out)["standing"], "idle")

    def test_a_request_in_the_current_directory_comes_first(self):
        self.ask(STATE)
        self.ask("work", request_id=OTHER_UUID)
        ran = self.bridge("respond", stdin=b"Fine.")
        self.assertEqual((ran.code, ran.err), (0, ""), ran)
        self.assertEqual(self.response()["request_id"], OTHER_UUID)

    def test_without_any_request_the_next_step_is_another_one(self):
        self.agent()
        for verb in ("answer", "respond"):
            ran = self.bridge(verb, stdin=b"Fine.")
            self.assertEqual(ran.code, 1, ran)
            self.assertIn("Next: run the program until it exits with 42", ran.err)


class Places(LookupTest):
    def found(self, cwd=None, **environment):
        """The directory that doctor looks at, without the home."""
        ran = self.bridge("doctor", "--format", "json", cwd=cwd, **environment)
        return os.path.relpath(json.loads(ran.out)["directory"], self.folder)

    def test_the_home_of_the_programs_comes_before_the_user_s_own(self):
        self.ask(STATE)
        self.ask("flow/state")
        self.assertEqual(self.found(AGENTECFLOW_HOME=self.folder / "flow"), "flow/state")
        self.assertEqual(self.found(), STATE)
        self.assertEqual(self.found(AGENTECFLOW_HOME=self.folder / "nowhere"), STATE)

    def test_the_directories_above_come_after_the_state(self):
        deep = self.work / "a" / "b"
        deep.mkdir(parents=True)
        self.ask("work")
        self.assertEqual(self.found(cwd=deep), "work")
        self.ask(STATE)
        self.assertEqual(self.found(cwd=deep), STATE)

    def test_nothing_is_looked_for_above_a_repository_or_the_home(self):
        deep = self.work / "a" / "b"
        deep.mkdir(parents=True)
        self.ask("work")
        (self.work / "a" / ".git").mkdir()
        self.assertEqual(json.loads(self.bridge("doctor", "--format", "json", cwd=deep).out)["directory"], ".")
        self.assertEqual(json.loads(self.bridge("doctor", "--format", "json", cwd=deep, HOME=deep).out)["directory"],
                         ".")
        (self.work / "a" / ".git").rmdir()
        self.assertEqual(self.found(cwd=deep), "work")

    def test_a_request_that_waits_comes_before_one_that_is_answered(self):
        self.ask(STATE)
        self.write(f"{STATE}/{RESPONSE}", bridge_response())
        self.ask(".", request_id=OTHER_UUID)
        self.assertEqual(self.found(), ".")

    @unittest.skipUnless(os.geteuid() == 0, "only root can give files away")
    def test_a_request_of_another_user_is_not_taken(self):
        place = self.ask(STATE)
        os.chown(place / REQUEST, 65534, 65534)
        ran = self.bridge("respond", stdin=b"Fine.")
        self.assertEqual(ran.code, 1, ran)
        self.assertFalse((place / RESPONSE).exists())

    def test_a_link_is_not_followed(self):
        self.write("request.json", bridge_request())
        (self.folder / STATE).mkdir(parents=True)
        (self.folder / STATE / REQUEST).symlink_to(self.folder / "request.json")
        self.assertEqual(self.bridge("respond", stdin=b"Fine.").code, 1)


class SettledRequests(LookupTest):
    """A request whose answer was taken is nobody's concern any more."""

    def settle(self, place, request_id=OTHER_UUID):
        """A program there has asked, and has taken its answer."""
        self.ask(place, request_id=request_id)
        self.assertEqual(self.bridge("respond", "--dir", self.folder / place, stdin=b"Old.").code, 0)
        with (self.folder / place / JOURNAL).open("a") as journal:
            journal.write('{"at":"2026-01-01T00:00:00Z","event":"program.started","pid":1,"resume":true}\n')

    def looked_at(self, cwd):
        """The directory that each command reports on."""
        doctor = json.loads(self.bridge("doctor", "--format", "json", cwd=cwd).out)["directory"]
        return doctor, self.bridge("check", cwd=cwd), self.bridge("log", cwd=cwd)

    def test_all_commands_look_at_the_same_directory_before_and_after_an_answer(self):
        self.settle(STATE)
        place = self.ask("p")
        deep = place / "x" / "y"
        deep.mkdir(parents=True)
        for verb in ("before", "after"):
            with self.subTest(verb):
                doctor, check, log = self.looked_at(deep)
                self.assertEqual(doctor, str(place))
                self.assert_found(check, place)
                self.assertIn(f"{place}/{REQUEST}: ok", check.out)
                self.assertIn(f"using {place}\n", log.err)
                if verb == "before":
                    self.assert_found(self.bridge("respond", stdin=b"Fine.", cwd=deep), place)

    def test_an_answer_that_waits_for_its_program_is_looked_for_in_the_project_first(self):
        self.ask(STATE, request_id=OTHER_UUID)
        self.write(f"{STATE}/{RESPONSE}", bridge_response(request_id=OTHER_UUID))
        place = self.ask("p")
        (place / "x").mkdir()
        self.assert_found(self.bridge("respond", stdin=b"Fine.", cwd=place / "x"), place)
        self.assert_found(self.bridge("check", cwd=place / "x"), place)

    def test_an_empty_directory_has_nothing_to_do_with_it(self):
        self.settle(STATE)
        before = (self.folder / STATE / JOURNAL).read_bytes()
        ran = self.bridge("check", "--fix")
        self.assertEqual((ran.code, ran.out, ran.err), (0, "no request and no answer is here\n", ""), ran)
        self.assertEqual((self.folder / STATE / JOURNAL).read_bytes(), before)
        report = json.loads(self.bridge("doctor", "--format", "json").out)
        self.assertEqual((report["directory"], report["faults"]), (".", []))

    def test_the_log_of_a_directory_with_a_request_is_its_own(self):
        self.settle(STATE)
        self.ask("work")
        ran = self.bridge("log")
        self.assertEqual((ran.code, ran.out, ran.err), (0, "nothing has happened here yet\n", ""), ran)

    def test_the_doctor_names_no_settled_request_nearby(self):
        self.settle("work/below")
        self.assertEqual(json.loads(self.bridge("doctor", "--format", "json").out)["faults"], [])
        self.ask("work/below", ".agent-request-phase2.json", request_id=UUID)
        fault, = json.loads(self.bridge("doctor", "--format", "json").out)["faults"]
        self.assertEqual(fault["code"], "request-elsewhere")
        self.assertIn(".agent-request-phase2.json", fault["what"])


class Runs(LookupTest):
    def run_without_request(self, cwd=None):
        fault, = [fault for fault in json.loads(self.bridge("doctor", "--format", "json", cwd=cwd).out)["faults"]
                  if fault["code"] == "run-without-request"]
        return fault["mend"]

    def test_the_request_of_another_program_is_not_the_one_that_is_missing(self):
        self.agent("Fine.")
        for answered in (False, True):
            with self.subTest(answered=answered):
                place = self.ask("p")
                deep = place / "x" / "y"
                deep.mkdir(parents=True, exist_ok=True)
                if answered:
                    self.assertEqual(self.bridge("respond", stdin=b"Fine.", cwd=deep).code, 0)
                ran = self.drive(self.program("sys.exit(42)"), cwd=deep)
                self.assertEqual(ran.code, 1, ran)
                self.assertIn("there is no request in", ran.err)
                self.assertNotIn(f"--dir {place}", ran.err)
                self.assertEqual(self.run_without_request(deep), "treaty bridge log")

    def test_a_request_that_is_written_again_during_the_run_is_named(self):
        self.agent("Fine.")
        place = self.ask("p")
        deep = place / "x" / "y"
        deep.mkdir(parents=True)
        program = self.program("os.chdir('../..')\nif not RESUMED: ask()")
        ran = self.drive(program, cwd=deep)
        self.assertIn(f"its request is in {place}", ran.err)
        self.assertIn(f"treaty bridge run --dir {place} ", self.run_without_request(deep))

        self.assertEqual(self.bridge("respond", stdin=b"By hand.", cwd=place).code, 0)
        self.assertEqual(self.run_without_request(deep), "treaty bridge log")  # Its answer is not to be put away.

    def test_run_says_where_the_program_asks_and_the_command_for_it(self):
        self.agent("Fine.")
        program = self.program(f"""
place = os.path.expanduser("~/{STATE}")
os.makedirs(place, exist_ok=True)
os.chdir(place)
if not RESUMED: ask()
print(answer()["response"])
""")
        ran = self.drive(program, "--max-resumes", "9")
        self.assertEqual(ran.code, 1, ran)
        place = self.folder / STATE
        self.assertIn(f"its request is in {place}", ran.err)
        next_step, = [line for line in ran.err.splitlines() if "Next: treaty bridge run " in line]
        self.assertIn(f"--dir {place} ", next_step)
        self.assertIn("--max-resumes 9 ", next_step)
        self.assertIn(f"-- {program[0]}", next_step)
        fault, = [fault for fault in json.loads(self.bridge("doctor", "--format", "json").out)["faults"]
                  if fault["code"] == "run-without-request"]
        self.assertIn(f"treaty bridge run --dir {place} ", fault["mend"])

        ran = self.drive(program, "--dir", place)
        self.assertEqual((ran.code, ran.out), (0, "Fine.\n"), ran)

    def test_a_request_that_was_answered_long_ago_is_not_the_program_s(self):
        self.agent()
        self.ask(STATE)
        self.write(f"{STATE}/{RESPONSE}", bridge_response())
        ran = self.drive(self.program("sys.exit(42)"))
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("there is no request in", ran.err)
        self.assertNotIn(UUID, ran.err)


if __name__ == "__main__":
    unittest.main()
