"""A journal of an older version: read as it is, brought up to date by whoever writes."""
import json
import sqlite3
import unittest

from serving import ServingTest, user_turn
from treaty_binary import TreatyTest


def change(state, sql):
    journal = sqlite3.connect(state / "treaty.db")
    try:
        journal.executescript(sql)
    finally:
        journal.close()


def make_first_version(state):
    """What was added since is taken away again: the first version had nothing else."""
    tables = ("spending", "reservations", "shares", "pools", "machine_checkpoints", "machine_latest",
              "machine_journal", "execution_leases", "signals", "work_pool", "hidden_sessions")
    columns = ("requests DROP COLUMN format", "answers DROP COLUMN format", "answers DROP COLUMN result")
    change(state, "".join(f"DROP TABLE {table};" for table in tables) +
           "".join(f"ALTER TABLE {column};" for column in columns) + "PRAGMA user_version = 1")


class StoreVersionsTest(TreatyTest):

    def setUp(self):
        super().setUp()
        self.say("Hello.")
        self.newest = self.version()
        self.make_first_version()

    def say(self, text):
        ran = self.treaty("run", text, "--state-dir", "state", "--format", "json")
        self.assertEqual(ran.code, 0, ran)

    def make_first_version(self):
        make_first_version(self.folder / "state")

    def change(self, sql):
        change(self.folder / "state", sql)

    def version(self):
        journal = sqlite3.connect(self.folder / "state" / "treaty.db")
        try:
            return journal.execute("PRAGMA user_version").fetchone()[0]
        finally:
            journal.close()

    def sessions(self):
        ran = self.treaty("sessions", "list", "--state-dir", "state", "--format", "json")
        self.assertEqual(ran.code, 0, ran)
        return [session["SessionId"] for session in json.loads(ran.out)["Sessions"]]

    def test_it_is_read_as_it_is(self):
        session, = self.sessions()
        for verb, word in (("show", "completed"), ("export", "Hello.")):
            with self.subTest(verb=verb):
                ran = self.treaty("sessions", verb, session, "--state-dir", "state")
                self.assertEqual(ran.code, 0, ran)
                self.assertIn(word, ran.out)
        self.assertEqual(self.version(), 1)

    def test_a_turn_brings_it_up_to_date_and_keeps_what_is_there(self):
        before = self.sessions()
        self.say("Again.")
        self.assertEqual(self.version(), self.newest)
        self.assertEqual(len(self.sessions()), 2)
        self.assertTrue(set(before) < set(self.sessions()))

    def test_pruning_brings_it_up_to_date_first(self):
        self.change("UPDATE sessions SET updated_at = 1000; UPDATE turns SET updated_at = 1000")
        ran = self.treaty("sessions", "prune", "--older-than", "1d", "--state-dir", "state")
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.version(), self.newest)
        self.assertEqual(self.sessions(), [])


class OldAnswers(ServingTest):
    def test_an_answer_from_before_formats_had_names_is_told_again_byte_for_byte(self):
        gate, server = self.gated()
        request = user_turn("s1", "t1", "Hello.")
        first = server.execute(request)
        server.kill9()
        make_first_version(server.state)
        server.restart()

        again = server.execute(request)
        camel = server.execute({name[0].lower() + name[1:]: value for name, value in request.items()})

        self.assertEqual((again.status, again.body), (200, first.body))
        self.assertEqual(json.loads(camel.body)["result"]["primaryOutputText"], first.text)
        self.assertEqual(gate.count, 1)


if __name__ == "__main__":
    unittest.main()
