"""Tests that the mock and the call of the README work as they are printed there, on a port that is free."""
import re
import socket
import subprocess
import unittest

from treaty_binary import BINARY, ROOT, SECONDS


def printed_commands():
    blocks = re.findall(r"^```sh\n(.*?)^```$", (ROOT / "README.md").read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    return next(block for block in blocks if "treaty mock" in block)


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Readme(unittest.TestCase):
    def test_the_call_reads_what_the_mock_answers(self):
        port = str(free_port())
        commands = printed_commands().replace("4010", port)
        commands = commands.replace("treaty mock --quiet &", f"treaty mock --quiet --port {port} > ready &\n"
                                    "until [ -s ready ] || ! kill -0 $!; do :; done")
        self.assertIn("until", commands)

        ran = subprocess.run(["bash", "-c", "cd $(mktemp -d)\n" + commands + "\nkill $!; wait $!; rm -r $PWD"],
                             capture_output=True, text=True, timeout=SECONDS, check=False,
                             env={"PATH": f"{BINARY.parent}:/usr/bin:/bin", "HOME": "/nonexistent"})

        self.assertEqual(ran.stdout, "You said: Hello\n", ran)
        self.assertRegex(ran.stderr, r"openai gpt-4o · \d+ tokens in, \d+ out")


if __name__ == "__main__":
    unittest.main()
