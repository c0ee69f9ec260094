"""Tests that the curl line of the README gets the answer that stands below it."""
import json
import re
import subprocess
import unittest

from fake_provider import CLEAN
from treaty_binary import BINARY, ROOT, SECONDS, UUID, TreatyTest


class Readme(TreatyTest):
    def test_the_gateway_answers_as_printed(self):
        page = (ROOT / "README.md").read_text(encoding="utf-8")
        command, printed = re.search(r"^```sh\n(curl .*?)^```\n\n```json\n(.*?)^```$", page, re.MULTILINE | re.DOTALL).groups()
        server = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--format", "json"], cwd=self.folder,
                                  env={**CLEAN, "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder)},
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait, SECONDS)
        self.addCleanup(server.terminate)
        address = json.loads(server.stdout.readline())["url"]
        self.assertIn("http://127.0.0.1:8088/", command)

        ran = subprocess.run(["bash", "-c", command.replace("http://127.0.0.1:8088", address)], env=CLEAN, check=True,
                             capture_output=True, timeout=SECONDS)

        answer, expected = json.loads(ran.stdout), json.loads(printed)
        self.assertEqual(len(answer["ResultId"]), len(UUID))
        answer.pop("ResultId")
        expected.pop("ResultId")
        self.assertEqual(answer, expected)
        self.assertEqual(list(answer), list(expected))

    def test_it_is_short(self):
        self.assertLessEqual(len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()), 120)


if __name__ == "__main__":
    unittest.main()
