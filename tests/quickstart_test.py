"""Tests that the quickstart is true: its commands are run in their order against a server on a free port.

A ```sh block is run in one shell; a ```text block after it is what it prints, `…` standing for any lines. A ```yaml
block is written to treaty.yaml. `make run` is the server that the test has started; a block of `sh not run` is not run.
"""
import pathlib
import re
import socket
import subprocess
import tempfile
import unittest

from docs_test import matches
from serving import CLEAN
from treaty_binary import BINARY, ROOT, SECONDS

PAGE = ROOT / "docs" / "guide" / "quickstart.md"
BLOCK = re.compile(r"^```(\S+)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NOT_RUN = re.compile(r"^```sh not run\n.*?^```$", re.MULTILINE | re.DOTALL)


def steps(page):
    """(kind, text, expected) of each block that does something; expected is None when nothing is shown."""
    found = []
    for kind, text in BLOCK.findall(NOT_RUN.sub("", page)):
        if kind == "text":
            found[-1][2] = text.splitlines()
        elif kind in ("sh", "yaml"):
            found.append([kind, text, None])
    return found


class Quickstart(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.environment = {**CLEAN, "HOME": folder.name, "XDG_STATE_HOME": folder.name, "LC_ALL": "C.UTF-8",
                            "PATH": f"{BINARY.parent}:/usr/local/bin:/usr/bin:/bin"}

    def start(self):
        """Starts the server as `make run` does, but on a free port."""
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        server = subprocess.Popen([BINARY, "serve", "--listen", f"127.0.0.1:{port}"], cwd=self.folder, text=True,
                                  env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)

        def end():
            server.terminate()
            server.wait(SECONDS)
            server.stdout.close()

        self.addCleanup(end)
        self.assertIn(f"127.0.0.1:{port}", server.stdout.readline())
        return port

    def test_every_command_does_what_the_page_says(self):
        page = PAGE.read_text(encoding="utf-8")
        port, compared = self.start(), 0
        for kind, text, expected in steps(page):
            if kind == "yaml":
                (self.folder / "treaty.yaml").write_text(text)
                continue
            if text.strip() == "make run":
                continue
            with self.subTest(text):
                ran = subprocess.run(["bash", "-e", "-o", "pipefail", "-c", text.replace("127.0.0.1:8088", f"127.0.0.1:{port}")],
                                     cwd=self.folder, env=self.environment, stdin=subprocess.DEVNULL, timeout=SECONDS,
                                     stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
                self.assertIn(ran.returncode, (0, 1), ran)
                self.assertIsNotNone(expected, "every command shows what it prints")
                self.assertTrue(matches(expected, ran.stdout.splitlines()), ran.stdout)
                compared += 1
        self.assertGreaterEqual(compared, 8)


class TheTestItself(unittest.TestCase):
    def test_it_finds_what_is_run_and_what_is_printed(self):
        page = "```sh\na\nb\n```\n\n```text\nc\n```\n```yaml\nd: 1\n```\n```sh not run\ne\n```\n```sh\nf\n```\n"

        self.assertEqual(steps(page), [["sh", "a\nb\n", ["c"]], ["yaml", "d: 1\n", None], ["sh", "f\n", None]])


if __name__ == "__main__":
    unittest.main()
