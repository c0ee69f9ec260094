"""Tests of the other commands: rules, schema, hash, compose, version, and help."""
import hashlib
import json
import os
import re
import shlex
import shutil
import subprocess
import unittest

from treaty_binary import (BINARY, EXAMPLES, SAMPLES, SECONDS, VALID, TreatyTest, rules_of)

COMMANDS = ("serve", "run", "chat", "bridge", "machine", "sessions", "check", "rules", "schema", "hash", "compose",
            "limits", "classify", "normalize", "call", "mock", "config", "version", "completion", "man")
CALLING_OUT = ("call", "mock", "serve")  # Their examples are tried where there is somebody on the other side.
CONTRACTS = tuple(VALID)
UUID4 = r"^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$"


class Rules(TreatyTest):
    def rules(self, *arguments):
        ran = self.treaty("rules", "--format", "jsonl", *arguments)
        self.assertEqual((ran.code, ran.err), (0, ""))
        return [json.loads(line) for line in ran.out.splitlines()]

    def test_every_rule_is_one_line_for_people_and_one_object_for_programs(self):
        listed = self.treaty("rules").out.splitlines()
        rules = self.rules()

        self.assertGreaterEqual(len(rules), 100)
        self.assertEqual([line.split()[0] for line in listed], [rule["id"] for rule in rules])
        self.assertEqual(len({rule["id"] for rule in rules}), len(rules))
        for rule in rules:
            self.assertRegex(rule["id"], r"^[A-Z]+-\d\d$")
            for name in ("contract", "effect", "rule", "source", "checked_by", "passes", "fails"):
                self.assertTrue(rule[name], (rule["id"], name))

    def findings(self, rule, document):
        """The verdict on an example, by the command line that the rule states."""
        files = {"FILE": document, "SUBMITTED": document, "PENDING": rule.get("pending"), "REQUEST": rule.get("request")}
        words = shlex.split(rule["checked_by"])[1:]
        arguments = [self.write(f"{word.lower()}.json", files[word]) if word in files else word for word in words]
        ran = self.treaty(*arguments, "--format", "json")
        self.assertIn(ran.code, (0, 1), (rule["id"], ran))
        return json.loads(ran.out)

    def test_every_example_that_passes_passes(self):
        for rule in self.rules():
            with self.subTest(rule["id"]):
                verdict = self.findings(rule, rule["passes"])
                self.assertEqual((verdict["valid"], verdict["violations"]), (True, []))
                self.assertNotIn(rule["id"], rules_of(verdict["warnings"]))

    def test_every_example_that_fails_fails_by_its_rule(self):
        for rule in self.rules():
            with self.subTest(rule["id"]):
                verdict = self.findings(rule, rule["fails"])
                violations, warnings = rules_of(verdict["violations"]), rules_of(verdict["warnings"])
                if rule["effect"] == "refuses":
                    self.assertIn(rule["id"], violations)
                elif rule["effect"] == "warns":
                    self.assertIn(rule["id"], warnings)
                elif rule["effect"] == "tells the kind":
                    self.assertNotEqual(verdict["kind"], self.findings(rule, rule["passes"])["kind"])
                else:
                    self.assertTrue(violations)

    def test_one_rule_is_told_with_its_source_and_its_examples(self):
        ran = self.treaty("rules", "RES-12")

        self.assertEqual(ran.code, 0)
        rule, = self.rules("RES-12")
        for part in ("RES-12", rule["rule"], rule["source"], rule["passes"], rule["fails"], rule["checked_by"]):
            self.assertIn(part, ran.out)

    def test_a_rule_is_found_in_any_case(self):
        self.assertEqual(self.treaty("rules", "res-12").out, self.treaty("rules", "RES-12").out)

    def test_a_family_and_a_contract_are_lists_of_rules(self):
        for what, ids in (("RES", "RES-"), ("response", "RES-"), ("tool", "TOOL-"), ("bridge-response", "BRS-"),
                          ("json", "JSON-")):
            with self.subTest(what):
                rules = self.rules(what)
                self.assertGreater(len(rules), 1)
                self.assertEqual([rule["id"] for rule in rules if not rule["id"].startswith(ids)], [])
                self.assertEqual(len(rules), len([rule for rule in self.rules() if rule["id"].startswith(ids)]))

    def test_every_contract_that_can_be_checked_has_rules(self):
        for contract in CONTRACTS:
            with self.subTest(contract):
                self.assertTrue(self.rules(contract))

    def test_markdown_is_a_table(self):
        lines = self.treaty("rules", "--format", "markdown").out.splitlines()

        self.assertEqual(lines[1], "|---|---|---|")
        self.assertEqual(len(lines) - 2, len(self.rules()))
        self.assertEqual([line for line in lines if len(re.findall(r"(?<!\\)\|", line)) != 4], [])

    def test_an_unknown_rule_is_wrong_usage(self):
        for what in ("RES-99", "respons", "R"):
            with self.subTest(what):
                self.assert_usage(self.treaty("rules", what), what)
        self.assert_usage(self.treaty("rules", "RES-12", "RES-10"), "one")


class Schemas(TreatyTest):
    def schema(self, *arguments):
        ran = self.treaty("schema", *arguments)
        self.assertEqual((ran.code, ran.err), (0, ""))
        return json.loads(ran.out)

    def test_without_an_argument_the_contracts_are_listed(self):
        ran = self.treaty("schema")

        self.assertEqual(ran.code, 0)
        self.assertEqual([line.split()[0] for line in ran.out.splitlines()], list(CONTRACTS))

    def test_every_contract_has_a_schema_that_names_its_members(self):
        for contract, document in VALID.items():
            with self.subTest(contract):
                schema = self.schema(contract)
                self.assertEqual(schema["$schema"], "https://json-schema.org/draft/2020-12/schema")
                self.assertLessEqual(set(document), set(schema["properties"]))
                self.assertLessEqual(set(schema.get("required", [])), set(schema["properties"]))

    def test_camel_case_is_the_same_schema_with_other_names(self):
        for contract in ("request", "response", "invoke-result"):
            with self.subTest(contract):
                pascal, camel = self.schema(contract), self.schema(contract, "--dialect", "camel")
                for part in ("properties", "required"):
                    lowered = [name[0].lower() + name[1:] for name in pascal.get(part, [])]
                    self.assertEqual(list(camel.get(part, [])), lowered)
                self.assertNotRegex(json.dumps(camel).replace(camel["title"], ""), r'"[A-Z][a-z]+[A-Za-z]*":')

    def test_names_in_snake_case_have_no_other_dialect(self):
        for contract in ("agent-result", "bridge-request", "bridge-response", "assistant"):
            with self.subTest(contract):
                self.assert_usage(self.treaty("schema", contract, "--dialect", "camel"), "dialect")

    def test_an_unknown_contract_is_wrong_usage(self):
        for arguments in (["requests"], ["auto"], ["continuation"], ["request", "response"],
                          ["request", "--dialect", "snake"]):
            with self.subTest(arguments=arguments):
                self.assert_usage(self.treaty("schema", *arguments))


def content_hash(text):
    """The ContentHash of a text, written down once more."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    cut = [line.encode("utf-16-le")[:1000].decode("utf-16-le", "replace") for line in lines]
    return hashlib.sha256("".join(line + "\n" for line in cut).encode()).hexdigest()


class Hashes(TreatyTest):
    def test_a_text_is_hashed_line_by_line(self):
        for text in ("", "one\ntwo\n", "no end", "a\r\nb\rc\n", "x" * 501, "é" * 700 + "\nß", "😀" * 251, "a" + "😀" * 251,
                     "\n\n"):
            with self.subTest(text[:9]):
                ran = self.treaty("hash", "--hex", "-", stdin=text)
                self.assertEqual((ran.code, ran.out), (0, content_hash(text) + "\n"))

    def test_what_is_not_text_is_hashed_byte_by_byte(self):
        raw = b"\x89PNG\r\n\x1a\n\xff\x00" + bytes(range(256))
        self.write("a.png", raw)

        self.assertEqual(self.treaty("hash", "--hex", "a.png").out, hashlib.sha256(raw).hexdigest() + "\n")

    def test_without_hex_the_name_stands_beside_the_digest(self):
        self.write("a b.txt", "x")
        self.write("c.txt", "y")

        ran = self.treaty("hash", "a b.txt", "c.txt", "-", stdin="z")

        self.assertEqual(ran.out, f"{content_hash('x')}  a b.txt\n{content_hash('y')}  c.txt\n{content_hash('z')}  -\n")

    def test_a_missing_file_does_not_keep_the_others_from_being_hashed(self):
        self.write("a.txt", "x")
        self.write("b.txt", "y")

        ran = self.treaty("hash", "--hex", "a.txt", "missing.txt", "b.txt")

        self.assertEqual((ran.code, ran.out), (1, f"{content_hash('x')}\n{content_hash('y')}\n"))
        self.assertIn("missing.txt: cannot be read", ran.err)

    def test_a_directory_is_refused_without_advice_that_does_not_fit(self):
        ran = self.treaty("hash", ".")

        self.assertEqual((ran.code, ran.out), (1, ""))
        self.assertIn("directory", ran.err)
        self.assertNotIn("--recursive", ran.err)

    def test_no_file_is_wrong_usage(self):
        self.assert_usage(self.treaty("hash"), "file")


class Composing(TreatyTest):
    SIX = ["assistant_message", "action_taken", "next_steps", "confidence_level", "trace_id", "response_version"]

    def compose(self, document, *options):
        ran = self.treaty("compose", *options, stdin=document)
        self.assertEqual(ran.code, 0, ran)
        response = json.loads(ran.out)
        self.assertEqual(list(response), self.SIX)
        return response

    def test_every_state_has_its_template(self):
        task = {"task_type": "review", "parameters": {"message": "the plan"}, "priority": "high"}
        cases = [({"task": task}, "I've created a review task for you: the plan.", "Created review task with priority high."),
                 ({"task": {**task, "parameters": {"datetime": "noon"}}}, "I've scheduled your review for noon.",
                  "Scheduled review at noon."),
                 ({"task": task, "execution_status": {"deferred": True}},
                  "I've noted that down but haven't scheduled it yet.", "Deferred task creation."),
                 ({"execution_status": {"status": "error", "error": "no room"}},
                  "I encountered an issue while processing your request.", "Failed to execute task: no room."),
                 ({"execution_status": {"status": "clarification_needed"}},
                  "I need a bit more information to proceed. Could you provide more details?", "Requested clarification."),
                 ({}, "I processed your request.", "Processed request.")]
        for document, message, action in cases:
            with self.subTest(message):
                response = self.compose(document)
                self.assertEqual((response["assistant_message"], response["action_taken"]), (message, action))

    def test_strict_takes_zero_for_a_value_and_compat_goes_on(self):
        document = {"task": {"task_type": "review", "confidence": 0, "priority": None}}

        strict, compat = self.compose(document), self.compose(document, "--profile", "compat")

        self.assertEqual((strict["confidence_level"], strict["action_taken"]),
                         ("low", "Created review task with priority normal."))
        self.assertEqual((compat["confidence_level"], compat["action_taken"]),
                         ("high", "Created review task with priority None."))

    def test_strict_keeps_leaks_out_and_compat_does_not(self):
        document = {"execution_status": {"status": "error", "error": "cannot open /etc/app/secrets.yaml"}}

        self.assertEqual(self.compose(document)["action_taken"], "Failed to execute task: unknown error.")
        self.assertIn("/etc/app", self.compose(document, "--profile", "compat")["action_taken"])

    def test_a_trace_is_kept_or_made(self):
        self.assertEqual(self.compose({"task": {"trace_id": "t-1"}})["trace_id"], "t-1")
        made = [self.compose({"task": {"trace_id": 7}})["trace_id"] for _ in range(2)]
        self.assertRegex(made[0], UUID4)
        self.assertNotEqual(*made)

    def test_whatever_comes_in_strict_writes_what_a_producer_may(self):
        hostile = [{"task": {"task_type": value, "priority": value, "parameters": {"message": value, "datetime": other}},
                    "execution_status": {"status": status, "error": value, "clarification_prompt": value,
                                         "trace_id": other},
                    "summary": {"summary": value}, "routing": value}
                   for value in (None, "", "  ", 0, 7, True, [], ["x"], {}, {"a": 1}, "/home/me/.ssh/id_rsa",
                                 "API_KEY=abcdefgh12345678", "sk-ant-" + "x1" * 12,
                                 "Traceback (most recent call last):\n  File \"a.py\", line 1\nE: x")
                   for other in (None, "noon", " ", 5)
                   for status in (None, "error", "clarification_needed", "done")]
        lines = "\n".join(map(json.dumps, [*hostile, [], "x", None, 3, {"task": []}]))

        ran = self.treaty("compose", "--ndjson", stdin=lines)

        self.assertEqual(len(ran.out.splitlines()), len(hostile) + 5)
        verdicts = self.verdicts("assistant", "--ndjson", "-", stdin=ran.raw_out)
        self.assertEqual([verdict for verdict in verdicts if not verdict["valid"]][:3], [])

    def test_every_line_is_answered_even_one_that_is_not_json(self):
        lines = '{"task": {"task_type": "a"}}\nnot JSON\n{"task": {"task_type": "b"}}'

        ran = self.treaty("compose", "--ndjson", stdin=lines)

        actions = [json.loads(line)["action_taken"] for line in ran.out.splitlines()]
        self.assertEqual(actions, ["Created a task with priority normal.", "Processed request.",
                                   "Created b task with priority normal."])
        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.err, r"(?m)^-:2: is not JSON")

    def test_explain_tells_state_confidence_and_trace_on_stderr(self):
        self.write("task.json", {"task": {"task_type": "review", "confidence": 0.6}, "routing": {"trace_id": "t-1"}})

        ran = self.treaty("compose", "--explain", "task.json")

        self.assertEqual(json.loads(ran.out)["confidence_level"], "medium")
        for pattern in (r"state task_created: .*task\.task_type", r"confidence_level medium: task\.confidence",
                        r"trace_id: routing\.trace_id"):
            self.assertRegex(ran.err, r"(?m)^task\.json: " + pattern)

    def test_a_file_that_cannot_be_read_ends_with_1(self):
        for name in ("missing.json", "."):
            for options in ([], ["--ndjson"]):
                with self.subTest(name, options=options):
                    ran = self.treaty("compose", name, *options)
                    self.assertEqual((ran.code, ran.out), (1, ""))
                    self.assertTrue(ran.err.startswith(name + ": "), ran)

    def test_two_files_are_wrong_usage(self):
        self.assert_usage(self.treaty("compose", "a.json", "b.json"), "one file")


class Help(TreatyTest):
    def test_no_arguments_print_the_overview_and_end_with_2(self):
        ran = self.treaty()

        self.assertEqual((ran.code, ran.out), (2, ""))
        self.assertIn("Usage: treaty COMMAND", ran.err)

    def test_the_overview_lists_every_command(self):
        for word in ("--help", "-h", "help"):
            with self.subTest(word):
                ran = self.treaty(word)
                self.assertEqual(ran.code, 0)
                self.assertEqual(tuple(re.findall(r"^  (\w+)  +\S", ran.out, re.MULTILINE)), COMMANDS)

    def test_every_command_has_help_with_usage_options_and_examples(self):
        for command in COMMANDS:
            with self.subTest(command):
                ran = self.treaty(command, "--help")
                self.assertEqual((ran.code, ran.err), (0, ""))
                for part in (f"Usage: treaty {command}", "Options:", "Examples:", f"\n  treaty {command}"):
                    self.assertIn(part, ran.out)
                self.assertLess(max(map(len, ran.out.splitlines())), 101)

    def test_every_example_of_the_help_works(self):
        shutil.copytree(EXAMPLES, self.folder / "examples")
        for target, source in ((".agent-request.json", EXAMPLES / "bridge" / ".agent-request.json"),
                               (".agent-response.json", EXAMPLES / "bridge" / ".agent-response.json"),
                               ("answer.json", EXAMPLES / "response-final.json"),
                               ("task.json", SAMPLES / "compose-input.json"),
                               ("pending.json", EXAMPLES / "response-client-tool-continuation.json"),
                               ("submitted.json", EXAMPLES / "request-tool-continuation.json")):
            shutil.copyfile(source, self.folder / target)
        for name in ("report.pdf", "src/main.cpp", "tasks.ndjson", "parameters.json", "arguments.json"):
            self.write(name, "{}\n")
        exchange = {"provider": "openai", "endpoint": "chat_completions", "response": {
            "status": 429, "headers": {"retry-after": "1"}, "body": '{"error":{"message":"Slow down."}}'}}
        self.write("answer.txt", "HTTP/1.1 429 Too Many Requests\nretry-after: 1\n\n{}")
        self.write("answers.ndjson", '{"status":429,"headers":{"retry-after":"1"},"body":"{}"}\n')
        self.write("exchange.json", exchange)
        self.write("recordings/exchange.json", exchange)
        for name in ("notes.md", "more.txt", "questions.txt"):
            self.write(name, "Hello.\n")
        self.write("deploy/treaty.yaml", "listen: 127.0.0.1:8088\n")
        home = {**os.environ, "XDG_STATE_HOME": str(self.folder / "state")}
        subprocess.run([BINARY, "run", "--session", "s1", "Hello."], cwd=self.folder, env=home, stdin=subprocess.DEVNULL,
                       capture_output=True, timeout=SECONDS, check=True)
        examples = [line.strip() for command in COMMANDS if command not in CALLING_OUT
                    for line in self.treaty(command, "--help").out.partition("Examples:")[2].splitlines()
                    if line.startswith("  treaty ")]
        self.assertGreater(len(examples), len(COMMANDS))
        for example in examples:
            with self.subTest(example):
                command = example.replace("treaty", shlex.quote(str(BINARY)), 1)
                ran = subprocess.run(["bash", "-c", command], cwd=self.folder, env=home, stdin=subprocess.DEVNULL,
                                     capture_output=True, timeout=SECONDS, check=False)
                self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_an_unknown_command_suggests_the_nearest(self):
        for word, meant in (("chek", "check"), ("hsah", "hash"), ("rule", "rules"), ("scheme", "schema")):
            with self.subTest(word):
                self.assert_usage(self.treaty(word), f'"{word}"', meant)

    def test_an_unknown_command_like_no_other_suggests_none(self):
        ran = self.treaty("xyzzy")

        self.assert_usage(ran, '"xyzzy"')
        self.assertNotIn("did you mean", ran.err)

    def test_an_unknown_option_is_wrong_usage(self):
        for command in COMMANDS:
            with self.subTest(command):
                self.assert_usage(self.treaty(command, "--wrong"), f"treaty {command}", "--wrong")

    def test_the_version_is_the_projects(self):
        ran = self.treaty("version")

        self.assertRegex(ran.out, r"^treaty \d+\.\d+\.\d+\n$")
        version = ran.out.split()[1]
        self.assertEqual(json.loads(self.treaty("version", "--format", "json").out), {"name": "treaty", "version": version})
        self.assertEqual(self.treaty("--version").out, ran.out)

    def test_the_version_takes_no_argument(self):
        self.assert_usage(self.treaty("version", "extra"))


if __name__ == "__main__":
    unittest.main()
