"""The journal on a disk that fails: whatever is cut off, and wherever, what was answered stays."""
import json
import os
import pathlib
import sqlite3
import unittest

from treaty_binary import BINARY, TreatyTest

DISK_FAULTS = os.environ.get("TREATY_DISK_FAULTS") or str(BINARY.parent / "libdisk_faults.so")
KILLED = -9
MOST = 400  # More operations on files than one turn takes.


@unittest.skipUnless(pathlib.Path(DISK_FAULTS).exists(), "libdisk_faults.so is not built")
class StoreFaultsTest(TreatyTest):

    def setUp(self):
        super().setUp()
        self.answered = []

    def run_turn(self, fault=""):
        """One turn in-process, on a disk that does what `fault` says."""
        (self.folder / "control").write_text(fault)
        ran = self.treaty("run", "Hello.", "--state-dir", "state", "--format", "json",
                          LD_PRELOAD=DISK_FAULTS, DISK_FAULTS_FILES="treaty.db*",
                          DISK_FAULTS_CONTROL=str(self.folder / "control"))
        if ran.code == 0:
            self.answered.append(json.loads(ran.out))
        return ran

    def exported(self):
        """Every answer in the journal, read by the program itself."""
        listed = self.treaty("sessions", "list", "--state-dir", "state", "--format", "json", "--limit", "100000")
        self.assertEqual(listed.code, 0, listed)
        answers = []
        for session in json.loads(listed.out)["Sessions"]:
            ran = self.treaty("sessions", "export", session["SessionId"], "--state-dir", "state")
            self.assertEqual(ran.code, 0, ran)
            lines = [json.loads(line) for line in ran.out.splitlines()]
            answers += [line["Answer"] for line in lines if line["Kind"] == "answer"]
        return answers

    def check_whole(self):
        journal = sqlite3.connect(self.folder / "state" / "treaty.db")
        try:
            self.assertEqual(journal.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        finally:
            journal.close()

    def check_answered(self):
        self.check_whole()
        kept = self.exported()
        for answer in self.answered:
            self.assertIn(answer, kept)

    def test_killed_before_any_operation_on_its_files_nothing_answered_is_lost(self):
        for operation in range(MOST):
            ran = self.run_turn(f"KILL any {operation}")
            if ran.code == 0:
                break
            self.assertEqual(ran.code, KILLED, ran)
        else:
            self.fail("a turn takes more operations than expected")
        self.assertGreater(operation, 10)
        self.assertEqual(self.run_turn().code, 0)
        self.check_answered()

    def test_a_disk_that_fails_is_told_and_the_next_turn_is_answered(self):
        self.assertEqual(self.run_turn().code, 0)
        for fault in ("ENOSPC write", "EIO write", "EIO fsync", "SHORT write", "EROFS any", "EIO any 3", "EIO any 6"):
            with self.subTest(fault=fault):
                ran = self.run_turn(fault)
                self.assertNotIn(ran.code, (0, KILLED, -6, -11), ran)
                self.assertTrue(ran.err or "store_unavailable" in ran.out, ran)
                self.assertEqual(self.run_turn().code, 0)
        self.check_answered()


if __name__ == "__main__":
    unittest.main()
