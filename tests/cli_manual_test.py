"""Completions and the manual page: bash really completes, and everything that the help names is in each of them."""
import re
import shutil
import subprocess
import unittest

from treaty_binary import SECONDS, TreatyTest

OPTION = re.compile(r"^  (--[a-z-]+)", re.MULTILINE)
COMMAND = re.compile(r"^  ([a-z]+)  ", re.MULTILINE)


class ManualTest(TreatyTest):
    def printed(self, *words):
        ran = self.treaty(*words)
        self.assertEqual((ran.code, ran.err), (0, ""), ran)
        return ran.out

    def table(self):
        """The options of each command and of each verb ("bridge run"), as their help tells them."""
        commands = COMMAND.findall(self.printed("--help"))
        self.assertGreaterEqual(len(commands), 18)
        table = {}
        for command in commands:
            told = self.printed(command, "--help")
            table[command] = OPTION.findall(told)
            verbs = COMMAND.findall(told) if "\nCommands:\n" in told else []
            table.update({f"{command} {verb}": OPTION.findall(self.printed(command, verb, "--help")) for verb in verbs})
        self.assertIn("bridge doctor", table)
        return table


class Bash(ManualTest):
    def completed(self, *words):
        """What bash offers for the last of these words."""
        self.write("treaty.bash", self.printed("completion", "bash"))
        script = """
          source ./treaty.bash
          COMP_WORDS=("$@") COMP_CWORD=$(($# - 1))
          _treaty treaty "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
          for word in "${COMPREPLY[@]}"; do printf '%s\\n' "$word"; done"""
        ran = subprocess.run(["bash", "--norc", "-u", "-c", script, "bash", "treaty", *words], cwd=self.folder,
                             capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran)
        return ran.stdout.splitlines()

    def test_commands_are_completed(self):
        self.assertEqual(self.completed("ser"), ["serve"])
        self.assertEqual(self.completed("c"), ["chat", "check", "compose", "classify", "call", "config", "completion"])
        self.assertEqual(self.completed("help", "sess"), ["sessions"])
        self.assertEqual(self.completed("nothing"), [])

    def test_every_option_of_every_command_is_offered(self):
        for command, options in self.table().items():
            with self.subTest(command=command):
                self.assertEqual(self.completed(*command.split(), "--"), options)

    def test_the_values_of_an_option_are_offered(self):
        self.assertEqual(self.completed("check", "--profile", ""), ["strict", "lenient"])
        self.assertEqual(self.completed("check", "request", "--profile", "=", "l"), ["lenient"])
        self.assertEqual(self.completed("check", "request", "--profile", "="), ["strict", "lenient"])
        self.assertEqual(self.completed("chat", "--url", ""), [])

    def test_words_that_may_come_first_are_offered_there_and_nowhere_else(self):
        self.assertEqual(self.completed("sessions", ""), ["list", "show", "export", "prune"])
        self.assertEqual(self.completed("sessions", "--format", "json", "p"), ["prune"])
        self.assertEqual(self.completed("sessions", "show", ""), [])
        self.assertEqual(self.completed("check", "--fix", "inv"), ["invoke-result"])
        self.assertEqual(self.completed("completion", ""), ["bash", "zsh", "fish"])

    def test_files_and_directories_are_offered_where_they_belong(self):
        self.write("answer one.json", "{}")
        (self.folder / "answers").mkdir()
        self.assertEqual(sorted(self.completed("check", "response", "ans")), ["answer one.json", "answers"])
        self.assertEqual(sorted(self.completed("run", "--file", "ans")), ["answer one.json", "answers"])
        self.assertEqual(self.completed("serve", "--state-dir", "ans"), ["answers"])
        self.assertEqual(self.completed("run", "ans"), [])
        self.assertEqual(self.completed("bridge", "doctor", "--dir", "ans"), ["answers"])

    def test_verbs_are_completed_where_they_belong(self):
        self.assertEqual(self.completed("bridge", "do"), ["doctor"])
        self.assertEqual(self.completed("help", "bridge", "do"), ["doctor"])
        self.assertEqual(self.completed("bridge", "--"), ["--help"])
        self.assertEqual(self.completed("bridge", "doctor", "--format", ""), ["human", "json"])
        self.assertEqual(self.completed("bridge", "doctor", "do"), [])
        self.assertEqual(self.completed("bridge", "nothing", ""), [])

    def test_a_verb_and_files_are_offered_where_both_may_stand(self):
        self.write("wanted.txt", "")
        self.assertEqual(self.completed("limits", "wa"), ["watch", "wanted.txt"])
        self.assertEqual(self.completed("help", "limits", "w"), ["watch"])
        self.assertEqual(self.completed("limits", "--ndjson", "wan"), ["wanted.txt"])
        self.assertEqual(self.completed("limits", "watch", "--url", ""), [])
        self.assertEqual(self.completed("limits", "watch", "--format", ""), ["human", "json"])
        self.assertEqual(self.completed("limits", "watch", "wan"), [])
        self.assertEqual(self.completed("limits", "wanted.txt", "--pro"), ["--profile", "--provider"])

    def test_behind_two_dashes_stands_a_program_and_what_it_takes(self):
        self.write("prog-one", "")
        self.assertIn("bash", self.completed("bridge", "run", "--", "bas"))
        self.assertIn("prog-one", self.completed("bridge", "run", "--max-resumes", "3", "--", "prog-"))
        self.assertEqual(self.completed("bridge", "run", "--", "prog-one", "--"), [])
        self.assertEqual(self.completed("bridge", "run", "--", "bash", "prog"), ["prog-one"])

    def test_it_is_registered_with_bash(self):
        self.write("treaty.bash", self.printed("completion", "bash"))
        ran = subprocess.run(["bash", "--norc", "-c", "source ./treaty.bash; complete -p treaty"], cwd=self.folder,
                             capture_output=True, text=True, timeout=SECONDS, check=False)
        self.assertEqual(ran.stdout, "complete -F _treaty treaty\n", ran)


class OtherShells(ManualTest):
    def assert_parses(self, shell, script):
        if shutil.which(shell) is None:
            return
        self.write("script", script)
        ran = subprocess.run([shell, "-n", "script"], cwd=self.folder, capture_output=True, text=True, timeout=SECONDS,
                             check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""), ran)

    @staticmethod
    def zsh_block(script, command):
        """What zsh does for a command itself, without the verbs that it may have beside."""
        block = script
        for depth, name in enumerate(command.split()):
            indent = " " * (4 + 4 * depth)
            block = re.search(rf"^{indent}{name}\)\n(.*?)^{indent}  ;;", block, re.MULTILINE | re.DOTALL).group(1)
        own = re.match(r" +if \(\( CURRENT == 2 \)\) \|\| .*\n((?:.*\n)*?) +return\n", block)
        return own.group(1) if own else block

    def test_zsh_knows_every_option_of_every_command(self):
        script = self.printed("completion", "zsh")
        self.assertTrue(script.startswith("#compdef treaty\n"))
        self.assert_parses("zsh", script)
        for command, options in self.table().items():
            with self.subTest(command=command):
                if command in ("bridge", "machine"):  # A choice of verbs, which come after it.
                    self.assertIn(f"\n    {command})\n      local -a verbs\n", script)
                    continue
                block = self.zsh_block(script, command)
                self.assertEqual(re.findall(r"^ +'\*?(--[a-z-]+)=?\[", block, re.MULTILINE), options)
                for line in block.splitlines()[1:]:
                    self.assertRegex(line, r"^ +'(?:[^']|'\\'')*'(?: \\)?$")

    def test_fish_knows_every_option_of_every_command(self):
        script = self.printed("completion", "fish")
        self.assert_parses("fish", script)
        for command, options in self.table().items():
            with self.subTest(command=command):
                *before, name = command.split()
                place = f"'__treaty_is_first {before[0]}'" if before else "__treaty_has_none"
                self.assertIn(f"complete -c treaty -n {place} -a {name} -d '", script)
                beside = r"(?:; and not __treaty_is [a-z ]+)*"
                self.assertEqual(re.findall(rf"^complete -c treaty -n '__treaty_is {command}{beside}' -l (\S+) -d '",
                                            script, re.MULTILINE), [option[2:] for option in options])

    def test_a_shell_has_to_be_named(self):
        for words in ([], ["tcsh"], ["bash", "zsh"]):
            self.assert_usage(self.treaty("completion", *words), "bash, zsh or fish")


class ManPage(ManualTest):
    def test_every_command_has_its_options_and_examples(self):
        page = self.printed("man").replace("\\-", "-").replace("\\e", "\\").replace("\\(dq", '"')
        for command, options in self.table().items():
            with self.subTest(command=command):
                section = re.search(rf'^\.SS "treaty {command}\b(.*?)^\.S[SH]', page, re.MULTILINE | re.DOTALL).group(1)
                self.assertEqual(re.findall(r"^\\fB(--[a-z-]+)\\fR", section, re.MULTILINE) + ["--help"], options)
                help_text = self.printed(*command.split(), "--help")
                for example in re.findall(r"^  (treaty .*)$", help_text, re.MULTILINE):
                    self.assertIn(f"\n{example}\n", section)

    def test_it_has_the_sections_that_a_manual_has(self):
        page = self.printed("man")
        self.assertEqual(re.findall(r"^\.SH (.*)$", page, re.MULTILINE),
                         ["NAME", "SYNOPSIS", "DESCRIPTION", "COMMANDS", "EXIT STATUS", "ENVIRONMENT", "FILES"])
        for line in page.splitlines():
            self.assertNotRegex(line, r"^\.(?!TH|SH|SS|TP|PP|RS|RE|EX|EE)", "a line that roff would obey")

    @unittest.skipUnless(shutil.which("groff"), "groff is not installed")
    def test_it_is_set_without_a_warning(self):
        ran = subprocess.run(["groff", "-man", "-Tutf8", "-Kutf8", "-ww", "-z"], input=self.printed("man").encode(),
                             capture_output=True, timeout=SECONDS, check=False)
        self.assertEqual((ran.returncode, ran.stderr), (0, b""), ran)


if __name__ == "__main__":
    unittest.main()
