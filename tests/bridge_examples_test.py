"""Tests of the programs that ask an agent: examples/bridge/ and the guide's recipe, driven by hand."""
import json
import os
import shutil
import subprocess
import sys
import unittest

from serving import DISK_FAULTS
from treaty_binary import BINARY, EXAMPLES, OTHER_UUID, SAMPLES, SECONDS, Ran, TreatyTest, bridge_response

REVIEW = [sys.executable, EXAMPLES / "bridge" / "review.py", "draft.txt"]
RELEASE_NOTES = [BINARY.parent / "examples" / "release_notes", "changes.txt"]
RECIPE = [sys.executable, SAMPLES / "bridge_recipe.py"]


class Programs(TreatyTest):
    """Each test is about all three, unless it says otherwise."""

    def setUp(self):
        super().setUp()
        self.write("draft.txt", "Teh moon makes tides.\n")
        self.write("changes.txt", "bridge: Add it\n")

    def run_program(self, program, *arguments):
        return Ran(subprocess.run([*program, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL, timeout=SECONDS,
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False))

    def request(self, phase):
        return json.loads(self.read(f".agent-request-phase{phase}.json"))

    def answer(self, phase, text="Fine.", **members):
        request = self.request(phase)
        self.write(os.path.relpath(request["response_file"], self.folder.resolve()),
                   bridge_response(request_id=request["request_id"], created_at=request["created_at"], response=text,
                                   **members))

    def answer_failure(self, phase, status="error", message="It broke."):
        self.answer(phase, None, status=status, error_message=message, error_type=status)

    def each(self):
        for program in (REVIEW, RELEASE_NOTES, RECIPE):
            with self.subTest(program[0] if len(program) > 1 and program[1] == "changes.txt" else program[1]):
                for left in self.folder.glob(".*"):
                    shutil.rmtree(left) if left.is_dir() else left.unlink()
                yield program

    def assert_asks(self, ran, phase):
        self.assertEqual(ran.code, 42, ran)
        verdict, = self.verdicts("bridge-request", f".agent-request-phase{phase}.json", code=0)
        self.assertEqual(verdict["warnings"], [])

    def test_two_phases_are_asked_answered_and_resumed(self):
        for program in self.each():
            self.assert_asks(self.run_program(program), 1)
            self.answer(1, "Teh")
            self.assert_asks(self.run_program(program, "--resume"), 2)
            self.assertIn("Teh", self.request(2)["prompt"])
            self.answer(2, "The moon makes tides.")

            ran = self.run_program(program, "--resume")

            self.assertEqual(ran.code, 0, ran)

    def test_the_review_and_the_notes_are_files_in_the_end(self):
        for program, name, text in ((REVIEW, "draft.txt.review.md", "# Findings\n\n- Teh\n\n# Revised\n\nThe moon.\n"),
                                    (RELEASE_NOTES, "release-notes.md", "The moon.\n")):
            self.run_program(program)
            self.answer(1, "Teh")
            self.run_program(program, "--resume")
            self.answer(2, "The moon.")
            self.run_program(program, "--resume")

            self.assertEqual(self.read(name).decode(), text)

    def test_the_recipe_prints_the_last_answer(self):
        self.run_program(RECIPE)
        self.answer(1, "Springs\nNeaps")
        self.run_program(RECIPE, "--resume")
        self.answer(2, "Tides — an overview")

        self.assertEqual(self.run_program(RECIPE, "--resume").out, "Tides — an overview\n")

    def test_the_recipe_is_short(self):
        text = (SAMPLES / "bridge_recipe.py").read_text("utf-8")
        recipe = text[text.index("import"):text.index("\noutline")]

        self.assertLessEqual(len([line for line in recipe.splitlines() if line.strip()]), 12)

    def test_the_answer_belongs_beside_the_request_by_its_whole_path(self):
        for program in self.each():
            self.run_program(program)

            self.assertEqual(self.request(1)["response_file"], str(self.folder.resolve() / ".agent-response-phase1.json"))

    def test_without_an_answer_it_needs_an_agent_still(self):
        for program in self.each():
            self.run_program(program)

            self.assert_asks(self.run_program(program, "--resume"), 1)

    def test_an_answer_to_another_request_is_none(self):
        for program in self.each():
            self.run_program(program)
            self.answer(1)
            self.write(".agent-response-phase1.json", bridge_response(request_id=OTHER_UUID, response="Foreign."))

            ran = self.run_program(program, "--resume")

            self.assert_asks(ran, 1)
            self.assertFalse((self.folder / ".agent-request-phase2.json").exists())

    def test_half_an_answer_is_none(self):
        for program in (REVIEW, RELEASE_NOTES):
            with self.subTest(program[0]):
                self.run_program(program)
                self.answer(1)
                whole = self.read(".agent-response-phase1.json")
                self.write(".agent-response-phase1.json", whole[:len(whole) // 2])

                self.assert_asks(self.run_program(program, "--resume"), 1)

    def test_an_error_ends_it_and_is_told(self):
        for program in self.each():
            self.run_program(program)
            self.answer_failure(1)

            ran = self.run_program(program, "--resume")

            self.assertEqual(ran.code, 1, ran)
            self.assertIn("It broke.", ran.err)

    def test_after_a_timeout_it_is_worth_another_try(self):
        for program in (REVIEW, RELEASE_NOTES):
            with self.subTest(program[0]):
                self.run_program(program)
                self.answer_failure(1, "timeout", "Too slow.")

                ran = self.run_program(program, "--resume")

                self.assertEqual(ran.code, 75, ran)
                self.assertIn("Too slow.", ran.err)

    def test_the_review_asks_again_after_an_error_under_another_id(self):
        self.run_program(REVIEW)
        first = self.request(1)
        self.answer_failure(1)
        self.run_program(REVIEW, "--resume")

        self.assert_asks(self.run_program(REVIEW, "--resume"), 1)

        self.assertNotEqual(self.request(1)["request_id"], first["request_id"])

    def test_a_new_run_does_not_take_the_answers_of_the_last_one(self):
        for program in (REVIEW, RELEASE_NOTES):
            with self.subTest(program[0]):
                self.run_program(program)
                self.answer(1)

                self.assert_asks(self.run_program(program), 1)

    def test_resuming_goes_on_with_the_input_as_it_was(self):
        for program, name in ((REVIEW, "draft.txt"), (RELEASE_NOTES, "changes.txt")):
            self.run_program(program)
            self.answer(1)
            self.write(name, "Something else.\n")

            self.assert_asks(self.run_program(program, "--resume"), 2)

    def test_resumed_before_there_was_a_state_it_begins(self):
        for program in self.each():
            self.assert_asks(self.run_program(program, "--resume"), 1)

    def test_a_request_that_was_taken_away_is_asked_anew(self):
        for program in self.each():
            self.run_program(program)
            (self.folder / ".agent-request-phase1.json").unlink()

            self.assert_asks(self.run_program(program, "--resume"), 1)

    def test_wrong_usage_asks_nobody(self):
        for program in (REVIEW, RELEASE_NOTES):
            ran = self.run_program(program[:-1])

            self.assertEqual(ran.code, 2, ran)
            self.assertIn("usage: ", ran.err)
            self.assertFalse((self.folder / ".agent-request-phase1.json").exists())

    def test_a_directory_that_cannot_be_written_is_not_42(self):
        self.write(".agent-request-phase1.json/in_the_way", "")

        ran = self.run_program(RELEASE_NOTES)

        self.assertEqual(ran.code, 1, ran)
        self.assertIn("no agent can be asked", ran.err)

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_a_full_disk_is_not_42_and_leaves_nothing_half(self):
        self.write("control", "ENOSPC write")

        ran = self.run_program(["env", f"LD_PRELOAD={DISK_FAULTS}", "DISK_FAULTS_FILES=.agent-*",
                                f"DISK_FAULTS_CONTROL={self.folder / 'control'}", *RELEASE_NOTES])

        self.assertEqual(ran.code, 1, ran)
        self.assertIn("No space left on device", ran.err)
        self.assertEqual(list(self.folder.glob(".agent-*")), [])


if __name__ == "__main__":
    unittest.main()
