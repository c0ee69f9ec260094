"""What the tests of `treaty machine` share: machines as values, where executions are kept, running and resuming."""
import json
import os
import pathlib
import subprocess
import tempfile

from treaty_binary import BINARY, SECONDS, TreatyTest

# A process that is killed loses nothing that it wrote, wherever that is; memory spares the disk.
MEMORY = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None


def machine(states, **data):
    """A flatmachine file; keywords are members of `data`."""
    return {"spec": "flatmachine", "spec_version": "4.2.1", "data": {**data, "states": states}}


def to(state, condition=None):
    return {"transitions": [{"condition": condition, "to": state} if condition else {"to": state}]}


def final(**output):
    return {"type": "final", "output": output}


class MachineTest(TreatyTest):
    """A test with a folder in memory, in which the binary runs; no configuration but its own is read."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(dir=MEMORY)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {"XDG_STATE_HOME": str(self.folder / "state"), "TREATY_CONFIG": ""}

    def machine(self, *words, **more):
        return self.treaty("machine", *map(str, words), **{**self.environment, **more})

    def json_of(self, *words, code=0, **more):
        """The JSON lines of `treaty machine WORDS --format json`; one line: that object."""
        ran = self.machine(*words, "--format", "json", **more)
        self.assertEqual(ran.code, code, ran)
        told = [json.loads(line) for line in ran.out.splitlines()]
        return told[0] if len(told) == 1 else told

    def start(self, *words, **more):
        """The binary as a process that goes on; it ends with the test at the latest."""
        process = subprocess.Popen(
            [BINARY, "machine", *map(str, words)], cwd=self.folder, env={**os.environ, **self.environment},
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, **more)
        self.addCleanup(self.finish, process)
        return process

    @staticmethod
    def finish(process):
        if process.poll() is None:
            process.kill()
        process.communicate(timeout=SECONDS)

    def assert_told(self, ran, code, *words):
        """That exit code, and all of the words on stderr, without a trace of the program's inside."""
        self.assertEqual(ran.code, code, ran)
        for word in words:
            self.assertIn(word, ran.err)
        for trace in ("terminate called", "Traceback", "std::", "Sanitizer"):
            self.assertNotIn(trace, ran.err)
