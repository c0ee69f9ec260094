"""Whole-binary tests of machines and their sessions: whoever deletes a session deletes the executions that ran for it."""
import sqlite3
import unittest

from machine_serving import MachineServingTest, asking, final, machine

TABLES = ("machine_checkpoints", "machine_latest", "machine_journal", "execution_leases", "signals")

# A machine with a child, and one that it launches.
CHILD = machine("child", {"ask": asking("writer", "Child: {{ input.message }}", "text", "done"),
                          "done": final("{{ context.text }}")})
SIDE = machine("side", {"ask": asking("editor", "Side: {{ input.message }}", "text", "done"),
                        "done": final("{{ context.text }}")})
FAMILY = machine("family", {
    "work": {"machine": "child", "input": {"message": "{{ input.message }}"}, "launch": "side",
             "launch_input": {"message": "{{ input.message }}"},
             "output_to_context": {"text": "{{ output.content }}"}, "transitions": [{"to": "done"}]},
    "done": final("{{ context.text }}")}, machines={"child": CHILD, "side": SIDE})


class Sessions(MachineServingTest):
    def rows(self, server):
        """How many rows each table of machines has."""
        journal = sqlite3.connect(server.state / "treaty.db", timeout=60)
        try:
            return {table: journal.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES}
        finally:
            journal.close()

    def change(self, server, *statements):
        with sqlite3.connect(server.state / "treaty.db", timeout=60) as journal:
            for statement in statements:
                journal.execute(statement)
        journal.close()

    def ended(self, server):
        """How many executions have come to their end."""
        journal = sqlite3.connect(server.state / "treaty.db", timeout=60)
        try:
            return journal.execute("SELECT count(*) FROM machine_latest l JOIN execution_leases e USING (execution_id) "
                                   "WHERE l.latest_key LIKE '%machine_end%' AND e.owner_id = ''").fetchone()[0]
        finally:
            journal.close()

    def test_a_session_that_is_deleted_takes_its_executions_along(self):
        _, server = self.behind(states=FAMILY)
        self.assertEqual(server.say("s1").status, 200)
        self.until(lambda: self.ended(server) == 3, "the launched machine to end")
        self.assertEqual(server.say("s2").status, 200)
        self.until(lambda: self.ended(server) == 6, "the other launched machine to end")

        self.assertEqual(server.ask("DELETE", "/v1/sessions/s1").status, 204)

        self.until(lambda: self.ended(server) == 3, "the executions of the first session to be deleted")
        self.assertEqual(server.ask("DELETE", "/v1/sessions/s2").status, 204)
        self.until(lambda: not any(self.rows(server).values()), "everything to be deleted")

    def test_a_session_that_is_pruned_takes_its_executions_along(self):
        _, server = self.behind(states=FAMILY)
        server.say("s1")
        self.until(lambda: self.ended(server) == 3, "the launched machine to end")
        self.change(server, "UPDATE sessions SET updated_at = 1000", "UPDATE turns SET updated_at = 1000")

        ran = self.treaty("sessions", "prune", "--older-than", "30d", "--state-dir", server.state)

        self.assertEqual((ran.code, ran.out), (0, "deleted 1 session with 1 turn\n"), ran)
        self.assertFalse(any(self.rows(server).values()), self.rows(server))

    def test_a_launched_machine_that_runs_ends_with_its_session(self):
        states = {"go": {"launch": "side", "launch_input": {"message": "{{ input.message }}"},
                         "transitions": [{"to": "done"}]}, "done": final("Gone.")}
        gate, server = self.behind(states=machine("launches", states, machines={"side": SIDE}), held=True)
        self.assertEqual(server.say("s1").text, "Gone.")
        self.until(lambda: gate.count == 1, "the launched machine to ask")

        self.assertEqual(server.ask("DELETE", "/v1/sessions/s1").status, 204)
        gate.open()
        self.assertEqual(server.say("s2").text, "Gone.")
        self.until(lambda: gate.count == 2 and self.ended(server) == 2, "the machine of another session to end")

        self.until(lambda: self.rows(server)["machine_latest"] == 2, "what the first session had to be deleted")

    def test_a_session_whose_machine_runs_is_not_pruned(self):
        states = {"go": {"launch": "side", "launch_input": {"message": "{{ input.message }}"},
                         "transitions": [{"to": "done"}]}, "done": final("Gone.")}
        gate, server = self.behind(states=machine("launches", states, machines={"side": SIDE}), held=True)
        server.say("s1")
        self.until(lambda: gate.count == 1, "the launched machine to ask")
        self.change(server, "UPDATE sessions SET updated_at = 1000", "UPDATE turns SET updated_at = 1000")

        ran = self.treaty("sessions", "prune", "--older-than", "30d", "--state-dir", server.state)

        self.assertEqual((ran.code, ran.out), (0, "deleted 0 sessions with 0 turns\n"), ran)
        gate.open()
        self.until(lambda: self.ended(server) == 2, "the launched machine to end")


if __name__ == "__main__":
    unittest.main()
