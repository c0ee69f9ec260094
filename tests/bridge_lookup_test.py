"""Tests of where `treaty bridge` looks for a request that is not in the current directory."""
import json
import os
import unittest

from bridging import BridgeTest
from treaty_binary import OTHER_UUID, UUID, bridge_request, bridge_response

REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"
STATE = ".agentecflow/state"


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


class Runs(LookupTest):
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
