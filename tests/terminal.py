"""The binary on a terminal: what is typed, and what is on the screen."""
import os
import pty
import re
import select
import signal
import time

from fake_provider import CLEAN
from treaty_binary import BINARY, SECONDS


class Terminal:
    """A command on a terminal of its own."""

    def __init__(self, test, *words, **environment):
        self.pid, self.master = pty.fork()
        if self.pid == 0:
            os.chdir(test.folder)
            os.execve(BINARY, ["treaty", *words], {**CLEAN, "HOME": str(test.folder), **environment, "TERM": "xterm"})
        self.seen = ""
        test.addCleanup(self.close)

    def close(self):
        try:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
        except (ProcessLookupError, ChildProcessError):
            pass
        os.close(self.master)

    def type(self, text):
        os.write(self.master, text.encode())

    def until(self, pattern):
        """Reads until the pattern is on the screen; answers everything before and with it."""
        deadline = time.monotonic() + SECONDS
        while not (found := re.search(pattern, self.seen)):
            if not select.select([self.master], [], [], deadline - time.monotonic())[0]:
                raise AssertionError(f"{pattern!r} did not come: {self.seen!r}")
            try:
                self.seen += os.read(self.master, 65536).decode("utf-8", "replace")
            except OSError as closed:
                raise AssertionError(f"{pattern!r} did not come before the end: {self.seen!r}") from closed
        before, self.seen = self.seen[:found.end()], self.seen[found.end():]
        return before

    def ended(self):
        """The exit code, once everything is on the screen."""
        while True:
            try:
                piece = os.read(self.master, 65536)
            except OSError:
                break
            if not piece:
                break
            self.seen += piece.decode("utf-8", "replace")
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
