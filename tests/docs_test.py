"""Tests that keep the documentation true: every command of a ```console block is run, and its output compared.

A line that begins with `$ ` is a command; a `\\` at its end continues it on the next line. What follows is the output
that it has, stdout and stderr as they come; a line of just `…` stands for any number of lines. A command without output
below it is run for its exit code alone, which must be 0 or 1. Each block begins in a fresh copy of what the documents
may name: README.md, examples/ and docs/guide/samples/. White space at the end of a line does not count.
"""
import dataclasses
import difflib
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

from treaty_binary import BINARY, ROOT, SECONDS

COPIED = ("README.md", "examples", "docs/guide/samples")
NOT_RUN = ("make", "git", "sudo")
ANY_LINES = "…"
FENCE = re.compile(r"^(?P<indent> *)(?P<mark>`{3,}|~{3,})(?P<tag>.*)$")


@dataclasses.dataclass
class Command:
    file: str
    line: int
    text: str
    expected: list

    @property
    def place(self):
        return f"{self.file}:{self.line}: $ {self.text}"


def console_blocks(file, text):
    """Yields the commands of each ```console block."""
    opening, block = None, []
    for number, line in enumerate(text.splitlines(), 1):
        fence = FENCE.match(line)
        if opening is None:
            if fence:
                opening, block = fence, []
        elif fence and fence["mark"].startswith(opening["mark"]) and not fence["tag"].strip():
            if opening["tag"].split()[:1] == ["console"]:
                yield commands_of(file, block)
            opening = None
        else:
            block.append((number, line.removeprefix(opening["indent"])))
    if opening is not None:
        raise ValueError(f"{file}: a fence is not closed")


def commands_of(file, lines):
    commands, continued = [], False
    for number, line in lines:
        if continued:
            commands[-1].text += "\n" + line
        elif line.startswith("$ "):
            commands.append(Command(file, number, line[2:], []))
        elif commands:
            commands[-1].expected.append(line.rstrip())
        else:
            raise ValueError(f"{file}:{number}: output stands before the first command")
        continued = commands[-1].text.endswith("\\") if continued or line.startswith("$ ") else False
    return commands


def matches(expected, output):
    """Whether the lines are those expected."""
    pattern = "".join(r"(?:.*\n)*?" if line == ANY_LINES else re.escape(line) + r"\n" for line in expected)
    return re.fullmatch(pattern, "".join(line + "\n" for line in output)) is not None


def fault_of(command, folder):
    """What is wrong with a command's stated output; nothing when it is true."""
    environment = {**os.environ, "PATH": f"{BINARY.parent}{os.pathsep}{os.environ['PATH']}", "LC_ALL": "C.UTF-8"}
    ran = subprocess.run(["bash", "-c", command.text], cwd=folder, env=environment, stdin=subprocess.DEVNULL,
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=SECONDS, check=False)
    output = [line.rstrip() for line in ran.stdout.decode("utf-8", "replace").splitlines()]
    while output and not output[-1]:
        output.pop()
    expected = command.expected[:]
    while expected and not expected[-1]:
        expected.pop()
    if not expected:
        return None if ran.returncode in (0, 1) else f"exit {ran.returncode}\n" + "\n".join(output)
    if ran.returncode < 0 or ran.returncode >= 126:
        return f"exit {ran.returncode}\n" + "\n".join(output)
    if matches(expected, output):
        return None
    place = f"{command.file}:{command.line}"
    return "\n".join(difflib.unified_diff(expected, output, place, "what it prints", lineterm=""))


def run_block(root, commands):
    """The faults of a block's commands, each with its place."""
    faults = []
    with tempfile.TemporaryDirectory() as folder:
        for name in COPIED:
            source, target = pathlib.Path(root, name), pathlib.Path(folder, name)
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target)
            elif source.exists():
                shutil.copyfile(source, target)
        for command in commands:
            if command.text.split()[:1] and command.text.split()[0] in NOT_RUN:
                continue
            fault = fault_of(command, folder)
            if fault:
                faults.append(f"{command.place}\n{fault}")
    return faults


def documents(root):
    files = [root / "README.md", root / "CONTRIBUTING.md", root / "ARCHITECTURE.md", *sorted((root / "docs").rglob("*.md"))]
    return [file for file in files if file.exists()]


class Documentation(unittest.TestCase):
    def test_every_command_prints_what_the_documents_say(self):
        for file in documents(ROOT):
            name = str(file.relative_to(ROOT))
            for commands in console_blocks(name, file.read_text(encoding="utf-8")):
                with self.subTest(f"{name}:{commands[0].line}" if commands else name):
                    faults = run_block(ROOT, commands)
                    if faults:
                        self.fail("\n" + "\n".join(faults))


class TheTestItself(unittest.TestCase):
    """It is only worth something when it can fail."""

    def faults(self, *lines):
        text = "\n".join(["Text.", "", "```console", *lines, "```", ""])
        return [fault for commands in console_blocks("a.md", text) for fault in run_block(ROOT, commands)]

    def test_true_output_passes(self):
        self.assertEqual(self.faults("$ printf 'a\\nb \\n'; echo c >&2", "a", "b", "c", "$ echo d", "d", ""), [])

    def test_false_output_is_told_with_file_line_and_difference(self):
        fault, = self.faults("$ true", "$ printf 'a\\nb\\n'", "a", "c")

        self.assertTrue(fault.startswith("a.md:5: $ printf"), fault)
        self.assertIn("-c\n+b", fault)

    def test_output_that_is_missing_or_left_over_is_false(self):
        self.assertEqual(len(self.faults("$ echo a", "a", "b", "$ printf 'a\\nb\\n'", "a")), 2)

    def test_an_ellipsis_stands_for_any_lines(self):
        self.assertEqual(self.faults("$ seq 5", "1", "…", "5", "$ seq 2", "…", "1", "2", "…"), [])
        self.assertEqual(len(self.faults("$ seq 5", "1", "…", "4")), 1)

    def test_without_output_the_exit_code_counts(self):
        self.assertEqual(self.faults("$ false", "$ true"), [])
        self.assertEqual(len(self.faults("$ exit 2", "$ treaty-that-is-not-there", "$ kill -9 $$")), 3)

    def test_a_command_that_crashes_is_false_whatever_it_prints(self):
        self.assertEqual(len(self.faults("$ echo a; kill -6 $$", "a")), 1)

    def test_the_binary_under_test_is_what_runs(self):
        version = subprocess.run([BINARY, "version"], capture_output=True, text=True, check=True).stdout.strip()

        self.assertEqual(self.faults("$ command -v treaty", str(BINARY), "$ treaty version", version), [])

    def test_commands_that_need_the_machine_are_not_run(self):
        self.assertEqual(self.faults("$ make run", "nonsense", "$ git status", "nonsense", "$ sudo true", "nonsense"), [])

    def test_a_command_goes_on_after_a_backslash(self):
        self.assertEqual(self.faults("$ echo a \\", "    b", "a b"), [])

    def test_other_blocks_are_left_alone(self):
        text = "```sh\n$ echo a\nb\n```\n\n````md\n```console\n$ echo a\nb\n```\n````\n"

        self.assertEqual(list(console_blocks("a.md", text)), [])

    def test_a_block_in_a_list_is_found(self):
        commands, = console_blocks("a.md", "1. Text.\n\n   ```console\n   $ echo a\n     a\n   ```\n")

        self.assertEqual([(command.text, command.expected, command.line) for command in commands], [("echo a", ["  a"], 4)])

    def test_a_block_changes_nothing_for_the_next(self):
        text = "```console\n$ rm -r examples docs\n```\n\n```console\n$ ls -d examples docs\ndocs\nexamples\n```\n"

        self.assertEqual([fault for commands in console_blocks("a.md", text) for fault in run_block(ROOT, commands)], [])
        self.assertTrue((ROOT / "examples").is_dir())


if __name__ == "__main__":
    unittest.main()
