"""docs/guide/samples/adopt_flatmachines.py takes executions of FlatMachines along: they go on where they stood."""
import hashlib
import json
import sqlite3
import subprocess
import sys
import unittest

from treaty_binary import SAMPLES, SECONDS, TreatyTest

MACHINE = """\
spec: flatmachine
spec_version: "4.2.1"
data:
  name: order
  agents: {a: ./a.yml}
  states:
    ask: {agent: a, output_to_context: {answer: output.content}, transitions: [{to: judge}]}
    judge:
      agent: a
      output_to_context: {score: output.score}
      transitions: [{condition: output.score > 5, to: approve}, {to: ask}]
    approve: {wait_for: "orders/{{ context.order }}", output_to_context: {by: output.by}, transitions: [{to: done}]}
    done: {type: final, output: {answer: context.answer, by: context.by}}
"""
HASH = hashlib.sha256(MACHINE.encode()).hexdigest()


def snapshot(execution, event, state, step, **members):
    """As FlatMachines writes it."""
    return {"execution_id": execution, "machine_name": "order", "spec_version": "4.2.1", "current_state": state,
            "context": {"order": 7, "answer": "Tea."}, "step": step, "created_at": "2026-01-01T00:00:00+00:00",
            "event": event, "output": None, "total_api_calls": 1, "total_cost": 0.0, "parent_execution_id": None,
            "pending_launches": None, "waiting_channel": None, "tool_loop_state": None, "config_hash": HASH, **members}


def key_of(snap):
    return f"{snap['execution_id']}/step_{snap['step']:06d}_{snap['event']}.json"


class Moving(TreatyTest):
    def adopt(self, *arguments):
        return subprocess.run([sys.executable, SAMPLES / "adopt_flatmachines.py", *arguments], cwd=self.folder,
                              capture_output=True, text=True, timeout=SECONDS, check=False)

    def keep_in_directory(self, snap, digest=HASH):
        self.write(f".checkpoints/{key_of(snap)}", snap)
        self.write(f".checkpoints/{snap['execution_id']}/latest", key_of(snap))
        if digest:
            self.write(f".checkpoints/_configs/{digest}.yml", MACHINE)

    def resume(self, execution, script):
        self.write("script.json", script)
        ran = self.treaty("machine", "resume", execution, "--store", "moved", "--script", "script.json",
                          "--format", "json")
        return json.loads(ran.out)

    def test_an_execution_in_a_directory_goes_on_with_the_state_it_was_in(self):
        self.keep_in_directory(snapshot("e1", "execute", "ask", 1))

        moved = self.adopt(".checkpoints", "moved")
        ended = self.resume("e1", {"agents": {"a": ["Coffee.", {"score": 9}]}})

        self.assertEqual(moved.stdout, "treaty machine resume e1 --store moved\n", moved.stderr)
        self.assertEqual((ended["status"], ended["path"], ended["channel"]),
                         ("waiting", ["ask", "judge", "approve"], "orders/7"))

    def test_a_state_that_had_ended_is_not_repeated(self):
        self.keep_in_directory(snapshot("e1", "state_exit", "judge", 2, output={"score": 9}))

        self.adopt(".checkpoints", "moved")
        ended = self.resume("e1", {})

        self.assertEqual((ended["path"], ended["channel"]), (["judge", "approve"], "orders/7"))

    def test_executions_of_a_database_come_with_their_signals(self):
        waiting = snapshot("e 2", "waiting", "approve", 3, waiting_channel="orders/7")
        with sqlite3.connect(self.folder / "flatmachines.sqlite") as database:
            database.executescript(
                "CREATE TABLE machine_checkpoints (checkpoint_key TEXT PRIMARY KEY, execution_id TEXT,"
                " snapshot_json BLOB);"
                "CREATE TABLE machine_latest (execution_id TEXT PRIMARY KEY, latest_key TEXT);"
                "CREATE TABLE machine_configs (config_hash TEXT PRIMARY KEY, config_raw TEXT);"
                "CREATE TABLE signals (id TEXT PRIMARY KEY, channel TEXT, data_json TEXT);")
            database.execute("INSERT INTO machine_checkpoints VALUES (?, 'e 2', ?)",
                             (key_of(waiting), json.dumps(waiting).encode()))
            database.execute("INSERT INTO machine_latest VALUES ('e 2', ?)", (key_of(waiting),))
            database.execute("INSERT INTO machine_configs VALUES (?, ?)", (HASH, MACHINE))
            database.execute("INSERT INTO signals VALUES ('s', 'orders/7', '{\"by\": \"Ada\"}')")
        database.close()
        before = self.read("flatmachines.sqlite")

        moved = self.adopt("flatmachines.sqlite", "moved")

        self.assertEqual(moved.stdout.splitlines(),
                         ["treaty machine resume 'e 2' --store moved",
                          "treaty machine signal orders/7 '{\"by\": \"Ada\"}' --store moved"], moved.stderr)
        self.assertEqual(self.read("flatmachines.sqlite"), before)
        self.assertEqual(self.resume("e 2", {})["channel"], "orders/7")

    def test_what_has_ended_stays_where_it_is(self):
        self.keep_in_directory(snapshot("e1", "machine_end", "end", 4, output={"answer": "Tea."}))

        moved = self.adopt(".checkpoints", "moved")

        self.assertEqual((moved.stdout, moved.returncode, (self.folder / "moved").exists()), ("", 0, False))

    def test_a_text_that_is_not_kept_is_asked_for_by_name(self):
        self.keep_in_directory(snapshot("e1", "execute", "ask", 1, config_hash=None), digest=None)
        self.write("order.yml", MACHINE)

        refused, moved = self.adopt(".checkpoints", "moved"), self.adopt(".checkpoints", "moved", "order.yml")

        self.assertIn("name its file", refused.stderr)
        self.assertEqual((refused.returncode, moved.returncode), (1, 0))
        self.assertEqual(self.resume("e1", {"agents": {"a": ["Coffee.", {"score": 9}]}})["status"], "waiting")


if __name__ == "__main__":
    unittest.main()
