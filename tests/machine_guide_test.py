"""Tests that docs/guide/machines.md is true: its files are written, its commands run in their order, in one directory.

A block with a file's name behind its language is that file. A ```sh block is run in one shell; the ```text block after
it is what it prints, stdout and stderr together: `…` stands for the rest of a line, or for any lines where it stands
alone. A block of `sh not run` is not run.
"""
import json
import pathlib
import re
import subprocess
import tempfile
import unittest

from mock_server import Mock
from serving import CLEAN
from treaty_binary import BINARY, ROOT, SECONDS

PAGE = ROOT / "docs" / "guide" / "machines.md"
DRAWINGS = {"machine.svg": "treaty machine graph patient.yml",
            "machine-path.svg": "treaty machine run patient.yml --script bad-day.yml --store runs --id day > run.txt; "
                                "treaty machine graph patient.yml --execution day --store runs"}
BLOCK = re.compile(r"^```([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def steps(page):
    """[kind, text, expected] of each block that does something; kind is `sh` or the name of a file."""
    found = []
    for tag, text in BLOCK.findall(page):
        words = tag.split()
        if words == ["text"]:
            found[-1][2] = text
        elif words == ["sh"]:
            found.append(["sh", text, ""])
        elif len(words) == 2:
            found.append([words[1], text, None])
    return found


def matches(expected, output):
    lines = (r"(?:.*\n)*?" if line == "…" else re.escape(line).replace("…", ".*") + r"\n"
             for line in expected.splitlines())
    return re.fullmatch("".join(lines), output) is not None


def clean_environment(folder):
    return {**CLEAN, "HOME": str(folder), "XDG_STATE_HOME": str(folder / "state"), "LC_ALL": "C.UTF-8",
            "PATH": f"{BINARY.parent}:/usr/local/bin:/usr/bin:/bin"}


class Guide(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write_files(self):
        for kind, text, _ in steps(PAGE.read_text(encoding="utf-8")):
            if kind != "sh":
                (self.folder / kind).write_text(text, encoding="utf-8")

    def run_shell(self, text, **environment):
        return subprocess.run(["bash", "-c", text], cwd=self.folder,
                              env={**clean_environment(self.folder), **environment},
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              timeout=SECONDS, check=False, text=True, encoding="utf-8")

    def test_every_command_prints_what_the_page_says(self):
        compared = 0
        for kind, text, expected in steps(PAGE.read_text(encoding="utf-8")):
            if kind != "sh":
                (self.folder / kind).write_text(text, encoding="utf-8")
                continue
            with self.subTest(text):
                ran = self.run_shell(text)
                self.assertTrue(matches(expected, ran.stdout), f"exit {ran.returncode}\n{ran.stdout}")
                compared += 1
        self.assertGreaterEqual(compared, 20)

    def test_the_pictures_are_what_graph_draws(self):
        self.write_files()
        for name, command in DRAWINGS.items():
            with self.subTest(name):
                self.assertEqual(self.run_shell(command).stdout,
                                 (ROOT / "docs" / "guide" / name).read_text(encoding="utf-8"),
                                 f"draw it anew: {command} > docs/guide/{name}")

    def test_the_loop_runs_on_a_provider_as_well(self):
        self.write_files()
        (self.folder / "treaty.yaml").unlink()  # The provider of the environment is the usual one.
        mock = Mock(self.folder, ["--quiet"])  # Its numbers are small: the critic is never content.
        self.addCleanup(mock.stop)

        ran = self.run_shell("treaty machine run writer.yml --input '{\"topic\": \"tea\"}' --format json",
                             OPENAI_BASE_URL=f"http://127.0.0.1:{mock.port}/v1", OPENAI_API_KEY="any")

        report = json.loads(ran.stdout)
        self.assertEqual(report["path"], ["write", "review"] * 4 + ["done"])
        self.assertIn("Write about tea.", report["output"]["draft"])
        self.assertEqual((report["calls"], report["output"]["score"]), (8, 1))

    def test_the_samples_are_those_of_the_page(self):
        self.write_files()
        for sample in (ROOT / "docs" / "guide" / "samples" / "machines").iterdir():
            self.assertEqual(sample.read_text(encoding="utf-8"),
                             (self.folder / sample.name).read_text(encoding="utf-8"), sample.name)

    def test_the_examples_run_as_they_are(self):
        mock = Mock(self.folder, ["--quiet"])
        self.addCleanup(mock.stop)
        address = f"http://127.0.0.1:{mock.port}/v1"
        for name, question in (("writer", {"topic": "tea"}), ("patient", {"question": "Why?"})):
            with self.subTest(name):
                file = ROOT / "examples" / "machines" / f"{name}.yml"
                ran = self.run_shell(f"treaty machine run {file} --input '{json.dumps(question)}' --format json",
                                     OPENAI_BASE_URL=address, OPENAI_API_KEY="any",
                                     CEREBRAS_BASE_URL=address, CEREBRAS_API_KEY="any")
                report = json.loads(ran.stdout)
                self.assertEqual((report["status"], "error" in report["output"]), ("completed", False), report)


class Reference(unittest.TestCase):
    page = (ROOT / "docs" / "reference" / "machines.md").read_text(encoding="utf-8")

    def test_its_cpp_is_that_of_the_example_which_is_compiled(self):
        example = (ROOT / "examples" / "hooks" / "careful_machine.cpp").read_text(encoding="utf-8")
        snippets = [text for tag, text in BLOCK.findall(self.page) if tag == "cpp"]
        self.assertEqual(len(snippets), 2)
        for snippet in snippets:
            self.assertIn(snippet, example)

    def test_it_has_every_rule_and_every_section_that_the_code_cites(self):
        for number in range(1, 23):
            self.assertIn(f"| MCH-{number:02} |", self.page)
        self.assertEqual(re.findall(r"^## (\d+)\.", self.page, re.MULTILINE), [str(n) for n in range(1, 12)])

    def test_it_has_every_error_of_the_runner(self):
        sources = "".join(file.read_text(encoding="utf-8")
                          for file in (ROOT / "src" / "treaty" / "machines" / "run").glob("*.[ch]*"))
        codes = set(re.findall(r'(?:fail|make_error)\(\s*"([a-z_]+)"', sources))
        self.assertGreaterEqual(len(codes), 12)
        for code in codes:
            self.assertIn(f"`{code}`", self.page)


class TheTestItself(unittest.TestCase):
    def test_it_finds_files_commands_and_what_they_print(self):
        page = "```yaml a.yml\nb: 1\n```\n\n```sh\nc\n```\n\n```text\nd\n```\n```sh not run\ne\n```\n```sh\nf\n```\n"

        self.assertEqual(steps(page), [["a.yml", "b: 1\n", None], ["sh", "c\n", "d\n"], ["sh", "f\n", ""]])

    def test_an_ellipsis_stands_for_what_differs_and_for_nothing_else(self):
        self.assertTrue(matches("id …\n…\nend\n", "id 7\nx\ny\nend\n"))
        self.assertTrue(matches("", ""))
        self.assertFalse(matches("id …\n", "id 7\nmore\n"))
        self.assertFalse(matches("", "unexpected\n"))


if __name__ == "__main__":
    unittest.main()
