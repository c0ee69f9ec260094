"""`treaty sessions`: looks into a journal that is there, and makes none that is not."""
import json
import sqlite3
import unittest

from terminal import Terminal
from treaty_binary import TreatyTest

TENANT = "local"


class SessionsTest(TreatyTest):
    """The journal is made by the program itself; only its times are turned back."""

    def sessions(self, *words, **more):
        return self.treaty("sessions", *words, "--state-dir", "state", **more)

    def say(self, text="Hello."):
        ran = self.treaty("run", text, "--state-dir", "state", "--format", "json")
        self.assertEqual(ran.code, 0, ran)

    def names(self):
        ran = self.sessions("list", "--format", "json")
        self.assertEqual(ran.code, 0, ran)
        return [session["SessionId"] for session in json.loads(ran.out)["Sessions"]]

    def grow_old(self):
        with sqlite3.connect(self.folder / "state" / "treaty.db") as journal:
            journal.execute("UPDATE sessions SET updated_at = 1000")
            journal.execute("UPDATE turns SET updated_at = 1000")
        journal.close()

    def test_without_a_journal_every_verb_says_so_and_makes_none(self):
        for words in (["list"], ["show", "s1"], ["export", "s1"], ["prune", "--older-than", "1d"]):
            with self.subTest(words=words):
                ran = self.sessions(*words)
                self.assertEqual(ran.code, 69, ran)
                self.assertIn("treaty serve", ran.err)
                self.assertEqual(ran.out, "")
                self.assertFalse((self.folder / "state").exists())

    def test_wrong_words_are_refused_before_anything_is_opened(self):
        for words in ([], ["lst"], ["show"], ["show", "a", "b"], ["list", "a"], ["prune"],
                      ["prune", "--older-than", "soon"], ["list", "--dry-run"], ["list", "--format", "xml"]):
            with self.subTest(words=words):
                ran = self.sessions(*words)
                self.assertEqual(ran.code, 2, ran)
                self.assertTrue(ran.err.startswith("treaty sessions:"), ran)

    def test_a_wrong_configuration_is_told(self):
        self.write("treaty.yaml", "agents: 7\n")
        ran = self.sessions("list")
        self.assertEqual(ran.code, 78, ran)
        self.assertIn("treaty.yaml", ran.err)

    def test_a_file_that_is_no_journal_is_told_with_its_path(self):
        self.write("state/treaty.db", b"x" * 5000)
        ran = self.sessions("list")
        self.assertEqual(ran.code, 69, ran)
        self.assertIn("treaty.db", ran.err)
        self.assertEqual(self.read("state/treaty.db"), b"x" * 5000)

    def test_list_and_show_tell_of_sessions_and_their_turns(self):
        self.say()
        self.say()
        names = self.names()
        self.assertEqual(len(names), 2)
        listed = self.sessions("list", "--limit", "1")
        self.assertIn(names[0], listed.out)
        self.assertNotIn(names[1], listed.out)
        shown = self.sessions("show", names[1], "--format", "json")
        session = json.loads(shown.out)
        self.assertEqual(session["Tenant"], TENANT)
        self.assertEqual([turn["State"] for turn in session["TurnList"]], ["completed"])
        self.assertIn(session["TurnList"][0]["TurnId"], self.sessions("show", names[1]).out)

    def test_limit_must_be_a_number(self):
        self.say()
        for limit in ("0", "-1", "many", "1x"):
            with self.subTest(limit=limit):
                self.assertEqual(self.sessions("list", f"--limit={limit}").code, 2)

    def test_export_has_every_request_and_answer_as_they_were(self):
        self.say("What is exported?")
        name, = self.names()
        ran = self.sessions("export", name)
        self.assertEqual(ran.code, 0, ran)
        session, request, answer = map(json.loads, ran.out.splitlines())
        self.assertEqual(session["Kind"], "session")
        self.assertEqual(session["SessionId"], name)
        self.assertEqual(request["Kind"], "request")
        self.assertIn("What is exported?", json.dumps(request["Request"]))
        self.assertEqual(answer["Kind"], "answer")
        self.assertIn("Successful", answer["Answer"])

    def test_an_export_cannot_command_a_terminal_and_a_pipe_gets_every_byte(self):
        self.say("one\u009b2Jtwo\u202ethree")
        name, = self.names()
        terminal = Terminal(self, "sessions", "export", name, "--state-dir", "state")
        self.assertEqual(terminal.ended(), 0)

        self.assertIn("one?2Jtwo?three", terminal.seen)
        self.assertNotRegex(terminal.seen, "[\u0080-\u009f\u202e\x1b]")
        self.assertIn("one\u009b2Jtwo\u202ethree", self.sessions("export", name).out)

    def test_a_session_that_is_not_there_is_told(self):
        self.say()
        for words in (["show", "nowhere"], ["export", "nowhere"], ["show", self.names()[0], "--tenant", "acme"]):
            with self.subTest(words=words):
                ran = self.sessions(*words)
                self.assertEqual(ran.code, 1, ran)
                self.assertEqual(ran.out, "")

    def test_prune_deletes_what_is_old_and_a_dry_run_only_counts_it(self):
        self.say()
        self.say()
        self.grow_old()
        self.say()
        dry = self.sessions("prune", "--older-than", "30d", "--dry-run")
        self.assertEqual((dry.code, dry.out), (0, "would delete 2 sessions with 2 turns\n"))
        self.assertEqual(len(self.names()), 3)
        others = self.sessions("prune", "--older-than", "30d", "--tenant", "acme")
        self.assertEqual(others.out, "deleted 0 sessions with 0 turns\n")
        wet = self.sessions("prune", "--older-than", "30d", "--format", "json")
        self.assertEqual(json.loads(wet.out), {"Sessions": 2, "Turns": 2, "DryRun": False})
        self.assertEqual(len(self.names()), 1)


if __name__ == "__main__":
    unittest.main()
