"""Budgets on a disk that fails: wherever a process is cut off, nothing that was answered is unpaid."""
import os
import pathlib
import sqlite3
import unittest

from treaty_binary import BINARY, TreatyTest

DISK_FAULTS = os.environ.get("TREATY_DISK_FAULTS") or str(BINARY.parent / "libdisk_faults.so")
KILLED = -9
MOST = 600  # More operations on files than one turn takes.
AGENT = "agents: {default: {backends: [{scripted: demo}], budget: {tokens_per_day: %d}}}\n"
PLENTY = 100_000_000


@unittest.skipUnless(pathlib.Path(DISK_FAULTS).exists(), "libdisk_faults.so is not built")
class BudgetFaultsTest(TreatyTest):

    def setUp(self):
        super().setUp()
        self.answered = 0

    def run_turn(self, fault="", tokens=PLENTY):
        """One turn in-process, on a disk that does what `fault` says."""
        self.write("treaty.yaml", AGENT % tokens)
        self.write("control", fault)
        ran = self.treaty("run", "Hello.", "--state-dir", "state", "--format", "json",
                          LD_PRELOAD=DISK_FAULTS, DISK_FAULTS_FILES="treaty.db*",
                          DISK_FAULTS_CONTROL=str(self.folder / "control"))
        if ran.code == 0:
            self.answered += 1
        return ran

    def rows(self, sql):
        journal = sqlite3.connect(self.folder / "state" / "treaty.db")
        try:
            return journal.execute(sql).fetchall()
        finally:
            journal.close()

    def spent(self):
        """Tokens spent, set aside, and calls, of all days: midnight may come in between."""
        return self.rows("SELECT coalesce(sum(tokens), 0), coalesce(sum(reserved_tokens), 0), coalesce(sum(calls), 0)"
                         " FROM spending")[0]

    def test_killed_before_any_operation_nothing_answered_is_unpaid_and_nothing_stays_set_aside(self):
        self.assertEqual(self.run_turn().code, 0)
        price, _, _ = self.spent()
        self.assertGreater(price, 0)
        for operation in range(MOST):
            ran = self.run_turn(f"KILL any {operation}")
            if ran.code == 0:
                break
            self.assertEqual(ran.code, KILLED, ran)
        else:
            self.fail("a turn takes more operations than expected")
        self.assertEqual(self.run_turn().code, 0)

        tokens, reserved, calls = self.spent()
        self.assertGreater(calls, self.answered)  # Some were cut off after something was set aside for them.
        self.assertGreaterEqual(tokens, calls * price)
        self.assertEqual(reserved, 0)
        self.assertEqual(self.rows("SELECT count(*) FROM reservations UNION ALL SELECT count(*) FROM shares"),
                         [(0,), (0,)])

    def test_on_a_full_disk_nothing_is_set_aside_and_then_it_goes_on(self):
        self.assertEqual(self.run_turn().code, 0)
        price, _, _ = self.spent()
        for fault in ("ENOSPC write", "EIO fsync", "SHORT write"):
            with self.subTest(fault=fault):
                self.assertNotIn(self.run_turn(fault).code, (0, KILLED, -6, -11))
        self.assertEqual(self.run_turn().code, 0)
        self.assertEqual(self.spent(), (2 * price, 0, 2))

    def test_past_the_budget_a_turn_is_refused_and_nothing_is_counted(self):
        self.assertEqual(self.run_turn().code, 0)
        before = self.spent()
        ran = self.run_turn(tokens=1)
        self.assertNotEqual(ran.code, 0, ran)
        self.assertIn("budget_exhausted", ran.out + ran.err)
        self.assertEqual(self.spent(), before)


if __name__ == "__main__":
    unittest.main()
