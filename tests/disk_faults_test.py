"""The disk that fails on command (tests/disk_faults): that it catches what it says, and counts it."""
import json
import os
import struct
import subprocess
import sys
import unittest

from serving import DISK_FAULTS
from treaty_binary import SECONDS, TreatyTest, bridge_response

KILLED = -9
NAMES = 5  # Where changes of names are counted.

# Every change of names that a program of Python makes, a line each.
CHANGES = """\
import os
os.mkdir("meant")
os.close(os.open("meant/a", os.O_CREAT | os.O_WRONLY))
os.link("meant/a", "meant/b")
os.rename("meant/b", "meant/c")
os.replace("meant/c", "meant/b")
os.unlink("meant/b")
os.remove("meant/a")
os.rmdir("meant")
"""


@unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
class DiskFaultsTest(TreatyTest):
    def variables(self, fault, files, **more):
        (self.folder / "control").write_text(fault)
        (self.folder / "counts").unlink(missing_ok=True)
        return {"LD_PRELOAD": DISK_FAULTS, "DISK_FAULTS_FILES": files,
                "DISK_FAULTS_CONTROL": str(self.folder / "control"),
                "DISK_FAULTS_COUNTS": str(self.folder / "counts"), **more}

    def python(self, program, fault="", files="meant:*/meant/*", **more):
        return subprocess.run([sys.executable, "-c", program], cwd=self.folder, timeout=SECONDS, check=False,
                              stderr=subprocess.PIPE, text=True,
                              env={**os.environ, **self.variables(fault, files, **more)})

    def counts(self):
        return struct.unpack("8Q", self.read("counts")[:64])

    def test_every_change_of_a_name_is_counted(self):
        ran = self.python(CHANGES)

        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertEqual(self.counts()[NAMES], len(CHANGES.splitlines()) - 1)

    def test_each_of_them_fails_as_it_is_told_to(self):
        for skip, line in enumerate(CHANGES.splitlines()[1:]):
            with self.subTest(line=line):
                ran = self.python(CHANGES, f"EACCES name {skip}")

                self.assertEqual(ran.returncode, 1)
                self.assertIn("Permission denied", ran.stderr)
                self.assertIn(f"line {skip + 2},", ran.stderr)
                self.python("import shutil; shutil.rmtree('meant', ignore_errors=True)")

    def test_it_kills_before_the_change_and_any_stands_for_names_too(self):
        for operation in ("name", "any"):
            ran = self.python(CHANGES, f"KILL {operation} 1")

            self.assertEqual(ran.returncode, KILLED, ran.stderr)
            self.assertEqual(list((self.folder / "meant").iterdir()), [])
            (self.folder / "meant").rmdir()

    def test_writes_are_not_changes_of_names(self):
        self.assertEqual(self.python(CHANGES, "KILL write").returncode, 0)
        self.assertEqual(self.python(CHANGES, "KILL fsync").returncode, 0)

    def test_files_and_programs_that_are_not_meant_are_left_alone(self):
        self.assertEqual(self.python(CHANGES, "KILL name", files="other:*/meant").returncode, KILLED)
        self.assertEqual(self.python(CHANGES, "KILL name", files="other").returncode, 0)
        self.assertEqual(self.python(CHANGES, "KILL name", DISK_FAULTS_PROGRAM="treaty").returncode, 0)
        self.assertEqual(self.python(CHANGES, "KILL name", DISK_FAULTS_PROGRAM="python*").returncode, KILLED)

    def test_a_file_that_the_binary_replaces_is_made_and_renamed(self):
        before = "\ufeff" + json.dumps(bridge_response())  # The mark is taken away.
        files = "a.json*"
        for fault, code, left in (("", 0, 1), ("KILL name", KILLED, 1), ("KILL name 1", KILLED, 2)):
            with self.subTest(fault=fault):
                self.write("a.json", before)

                ran = self.treaty("check", "bridge-response", "--fix", "--in-place", "a.json",
                                  **self.variables(fault, files))

                self.assertEqual(ran.code, code, ran)
                self.assertEqual(len(list(self.folder.glob("a.json*"))), left)
        self.assertEqual(self.counts()[NAMES], 1)


if __name__ == "__main__":
    unittest.main()
