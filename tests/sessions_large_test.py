"""Whole-binary tests of large sessions: lists read little, branches and deletions are small steps, kill -9 leaves no half."""
import http.client
import json
import pathlib
import signal
import sqlite3
import threading
import unittest

from serving import DISK_FAULTS, ServingTest, configuration

MEGABYTE = 1 << 20
LARGEST_LOG = 40 * MEGABYTE
MOST_WRITES = 100  # Hiding a session takes fewer; each page in the log takes two.
WRITES_OF_PARTS = 1500  # A part of a branch, of about a megabyte, takes some 500.


def peak(server):
    """The most bytes of memory that the server ever had."""
    for line in pathlib.Path(f"/proc/{server.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    raise AssertionError("no VmHWM")


class LargeSessionsTest(ServingTest):
    """The turns are the server's own; what makes them large is written beside it."""

    def change(self, server, sql, *rows):
        with sqlite3.connect(server.state / "treaty.db", timeout=60) as journal:
            journal.executemany(sql, rows)
        journal.close()

    def value(self, server, sql):
        journal = sqlite3.connect(server.state / "treaty.db", timeout=60)
        try:
            return journal.execute(sql).fetchone()[0]
        finally:
            journal.close()

    def rows(self, server):
        return {table: self.value(server, f"SELECT count(*) FROM {table}")
                for table in ("sessions", "turns", "names", "requests", "answers", "contexts", "hidden_sessions")}

    def say_much(self, server, turns, session="s1"):
        """Turns whose answers have a megabyte more than the model said. Names the last one."""
        turn = ""
        for number in range(turns):
            turn = f"t{number}"
            self.assertEqual(server.say(session, turn, f"Question {number}.").status, 200)
        self.change(server, "UPDATE answers SET body = body || ?", (" " * MEGABYTE,))
        self.checkpoint(server)
        return turn

    def checkpoint(self, server):
        """The log of the store is empty again."""
        journal = sqlite3.connect(server.state / "treaty.db", timeout=60, isolation_level=None)
        journal.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        journal.close()

    def log_size(self, server):
        return (server.state / "treaty.db-wal").stat().st_size

    def branch(self, server, turn, session="s1"):
        return server.post(f"/v1/sessions/{session}/branch", {"TurnId": turn})


class Lists(LargeSessionsTest):
    def test_a_list_of_sessions_reads_none_of_their_solution_contexts(self):
        _, server = self.gated()
        for number in range(12):
            self.assertEqual(server.say(f"s{number}", "t1").status, 200)
        self.change(server, "INSERT OR REPLACE INTO contexts SELECT id, 1, ? FROM sessions", ("c" * 8 * MEGABYTE,))
        self.change(server, "UPDATE sessions SET context_at = 1", ())
        before = peak(server)

        for path in ("/v1/sessions", "/v1/sessions/s1", "/v1/sessions/s1/turns", "/v1/sessions/s1/turns/t1"):
            with self.subTest(path=path):
                answer = server.get(path)
                self.assertEqual(answer.status, 200)
                self.assertNotIn(b"cccc", answer.body)

        self.assertEqual(len(server.get("/v1/sessions").json["Sessions"]), 12)
        self.assertLess(peak(server) - before, 8 * MEGABYTE)

    def test_the_command_line_lists_without_contexts_and_shows_one(self):
        self.write("treaty.yaml", {"agents": {"default": {}}})
        ran = self.treaty("run", "Hello.", "--state-dir", "state", "--format", "json")
        self.assertEqual(ran.code, 0, ran)
        with sqlite3.connect(self.folder / "state" / "treaty.db") as journal:
            journal.execute("INSERT INTO contexts SELECT id, 1, 'We write C++.' FROM sessions")
            journal.execute("UPDATE sessions SET context_at = 1")
        journal.close()

        listed = json.loads(self.treaty("sessions", "list", "--state-dir", "state", "--format", "json").out)
        session, = listed["Sessions"]
        shown = json.loads(self.treaty("sessions", "show", session["SessionId"], "--state-dir", "state",
                                       "--format", "json").out)
        exported = self.treaty("sessions", "export", session["SessionId"], "--state-dir", "state").out

        self.assertNotIn("SolutionContextText", session)
        self.assertEqual(shown["SolutionContextText"], "We write C++.")
        self.assertEqual(json.loads(exported.splitlines()[0])["SolutionContextText"], "We write C++.")


class Branches(LargeSessionsTest):
    def test_a_branch_of_a_large_session_is_whole_and_its_log_stays_small(self):
        _, server = self.gated()
        last = self.say_much(server, 60)

        branched = self.branch(server, last)

        self.assertEqual(branched.status, 201, branched)
        session = branched.json["SessionId"]
        self.assertLess(self.log_size(server), LARGEST_LOG)
        self.assertEqual(self.value(server, "SELECT count(*) FROM answers WHERE length(body) > 1000000"), 120)
        copied = server.turn(session, last).json["Result"]["Result"]
        self.assertEqual((copied["SessionId"], copied["PrimaryOutputText"]), (session, "You said: Question 59."))

    def test_a_branch_that_kill_9_interrupts_is_never_seen_in_part_and_cleaned_up(self):
        _, server = self.gated()
        last = self.say_much(server, 60)
        before = self.rows(server)
        answers = []

        def ask():
            try:
                answers.append(self.branch(server, last))
            except (OSError, http.client.HTTPException):
                pass

        branching = threading.Thread(target=ask)
        branching.start()
        self.until(lambda: answers or self.value(server, "SELECT count(*) FROM hidden_sessions"), "the branch to begin")
        server.process.send_signal(signal.SIGKILL)
        branching.join()
        server.restart()

        sessions = server.get("/v1/sessions").json["Sessions"]
        self.assertEqual(len(sessions), 1 + len(answers))
        self.assertEqual({session["TurnCount"] for session in sessions}, {60})
        expected = {table: count * len(sessions) for table, count in before.items()}
        self.until(lambda: self.rows(server) == expected, "the half branch to be cleaned up")
        self.assertEqual(self.branch(server, last).status, 201)

    def test_the_answers_of_a_branch_are_renamed_however_they_are_spaced(self):
        _, server = self.gated()
        first = server.say("s1", "t1", 'Say "SessionId": "s1".')
        spaced = json.dumps(first.json, indent=1, ensure_ascii=False)
        self.change(server, "UPDATE answers SET body = ?", (spaced,))

        session = self.branch(server, "t1").json["SessionId"]

        renamed = {**first.json, "Result": {**first.result, "SessionId": session}}
        self.assertIn(json.dumps(renamed, indent=1, ensure_ascii=False).encode(), server.turn(session, "t1").body)


class Deletions(LargeSessionsTest):
    def test_a_large_session_that_is_deleted_leaves_nothing_and_its_log_stays_small(self):
        _, server = self.gated()
        self.say_much(server, 60)
        server.say("s2", "t1")

        self.assertEqual(server.ask("DELETE", "/v1/sessions/s1").status, 204)

        self.assertEqual(server.get("/v1/sessions/s1").status, 404)
        left = {"sessions": 1, "turns": 1, "names": 3, "requests": 1, "answers": 1, "contexts": 0, "hidden_sessions": 0}
        self.until(lambda: self.rows(server) == left, "its rows to be deleted")
        self.assertLess(self.log_size(server), LARGEST_LOG)

    def test_what_a_killed_prune_has_left_is_deleted_by_the_server_beside_it(self):
        _, server = self.gated()
        self.say_much(server, 5)
        self.change(server, "INSERT INTO hidden_sessions SELECT id, 0 FROM sessions", ())
        self.change(server, "DELETE FROM sessions", ())

        self.until(lambda: not any(self.rows(server).values()), "the rest to be deleted")
        self.assertEqual(server.say("s1", "t1").status, 200)

    def test_what_kill_9_leaves_of_a_deleted_session_is_deleted_after_the_restart(self):
        _, server = self.gated()
        self.say_much(server, 5)
        self.change(server, "INSERT INTO hidden_sessions SELECT id, 0 FROM sessions", ())
        self.change(server, "DELETE FROM sessions", ())

        server.restart()

        self.assertEqual(server.get("/v1/sessions/s1").status, 404)
        self.until(lambda: not any(self.rows(server).values()), "the rest to be deleted")

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_a_session_that_is_hidden_is_deleted_though_the_disk_is_full_from_then_on(self):
        server = self.server(configuration(self.gate()), faults=True)
        self.say_much(server, 5)

        for writes in range(MOST_WRITES):  # The first that are enough to hide it are not enough for more.
            server.disk(f"ENOSPC write {writes}")
            deleted = server.ask("DELETE", "/v1/sessions/s1")
            if deleted.status == 204:
                break
            self.assertEqual((deleted.status, deleted.code), (503, "store_unavailable"), deleted)
            self.assertEqual(server.get("/v1/sessions/s1").status, 200)

        self.assertEqual(deleted.status, 204, deleted)
        self.assertEqual(server.get("/v1/sessions/s1").status, 404)
        self.assertEqual(self.value(server, "SELECT count(*) FROM hidden_sessions"), 1)
        self.assertEqual(self.value(server, "SELECT count(*) FROM turns"), 5)
        server.disk()
        self.until(lambda: not any(self.rows(server).values()), "the rows to be deleted")

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_half_a_branch_on_a_full_disk_is_deleted_when_there_is_room_again(self):
        server = self.server(configuration(self.gate()), faults=True)
        last = self.say_much(server, 10)
        before = self.rows(server)

        server.disk(f"ENOSPC write {WRITES_OF_PARTS}")
        refused = self.branch(server, last)

        self.assert_refused(refused, 503, "store_unavailable")
        self.assertEqual(self.value(server, "SELECT count(*) FROM hidden_sessions"), 1)
        server.disk()
        self.until(lambda: self.rows(server) == before, "half the branch to be deleted")
        self.assertEqual(self.branch(server, last).status, 201)

    def test_prune_beside_a_running_server_deletes_in_steps_and_keeps_the_log_small(self):
        _, server = self.gated()
        for session in ("s1", "s2", "s3"):
            self.say_much(server, 10, session)
        self.change(server, "UPDATE sessions SET updated_at = 1000", ())
        self.change(server, "UPDATE turns SET updated_at = 1000", ())

        ran = self.treaty("sessions", "prune", "--older-than", "30d", "--state-dir", server.state)

        self.assertEqual((ran.code, ran.out), (0, "deleted 3 sessions with 30 turns\n"), ran)
        self.assertFalse(any(self.rows(server).values()))
        self.assertLess(self.log_size(server), LARGEST_LOG)
        self.assertEqual(server.say("s1", "t1").status, 200)


if __name__ == "__main__":
    unittest.main()
