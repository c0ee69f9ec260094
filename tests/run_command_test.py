"""Tests of `treaty run`: one turn in one process, with its files, tools, sessions and exit codes."""
import base64
import json
import os
import re
import signal
import subprocess
import unittest

from fake_provider import CLEAN
from gate import KEY, Reply, calling
from serving import ServingTest, configuration
from terminal import Terminal
from treaty_binary import BINARY, SECONDS, Ran

PNG = b"\x89PNG\r\n\x1a\n" + bytes(20)
IDS = re.compile(r"^session (\S+) · turn (\S+)", re.MULTILINE)


class RunTest(ServingTest):
    def environment(self, **more):
        return {**CLEAN, "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "xdg"), "OPENAI_API_KEY": KEY,
                **more}

    def on(self, *replies, agent=None, **members):
        """A gate, and a treaty.yaml whose agent asks it."""
        gate = self.gate(*replies)
        self.write("treaty.yaml", configuration(gate, agent, **members))
        return gate

    def go(self, *arguments, stdin=b"", **environment):
        return Ran(subprocess.run([BINARY, "run", *arguments], cwd=self.folder, env=self.environment(**environment),
                                  input=stdin, capture_output=True, timeout=SECONDS, check=False))

    def result(self, *arguments, code=0, **more):
        ran = self.go(*arguments, "--format", "json", **more)
        self.assertEqual(ran.code, code, ran)
        self.assert_keeps("invoke-result", ran.raw_out)
        return json.loads(ran.out)


class TheTurn(RunTest):
    def test_the_text_goes_to_stdout_and_the_ids_to_stderr(self):
        self.on(Reply("Good ", "morning."))

        ran = self.go("Hello")

        self.assertEqual((ran.code, ran.out), (0, "Good morning.\n"), ran)
        self.assertRegex(ran.err, IDS)
        self.assertIn("12 tokens in, 3 out", ran.err)

    def test_it_streams_unless_told_otherwise(self):
        gate = self.on()

        self.assertEqual(self.go("One").out, "You said: One\n")
        self.assertEqual(self.go("--no-stream", "Two").out, "You said: Two\n")

        self.assertEqual([call.streams for call in gate.calls], [True, False])

    def test_without_any_configuration_the_demo_answers(self):
        ran = self.go("Hello", OPENAI_API_KEY="")

        self.assertEqual(ran.code, 0, ran)
        self.assertIn("demo", ran.out)

    def test_a_text_may_come_from_standard_input(self):
        gate = self.on()

        self.go("-", stdin="Grüße\nan alle".encode())

        self.assertEqual(gate.calls[0].user, "Grüße\nan alle")

    def test_a_session_goes_on(self):
        gate = self.on()
        session, turn = IDS.search(self.go("One").err).groups()

        second = self.go("--session", session, "Two")

        self.assertEqual(IDS.search(second.err).group(1), session)
        self.assertNotEqual(IDS.search(second.err).group(2), turn)
        self.assertEqual(gate.calls[1].roles, ["system", "user", "assistant", "user"])

    def test_a_session_goes_on_under_serve(self):
        gate = self.on()
        session, _ = IDS.search(self.go("One", "--state-dir", "state").err).groups()
        server = self.server(configuration(gate), state=self.folder / "state")

        server.say(session, "t2", "Two")

        self.assertEqual(gate.calls[1].roles, ["system", "user", "assistant", "user"])

    def test_explicit_sessions_do_not_keep_a_first_turn_out(self):
        self.on(sessions={"open": "explicit"})

        self.assertEqual(self.go("One").code, 0)
        refused = self.go("--session", "nobody-opened-it", "One")

        self.assertEqual(refused.code, 1, refused)
        self.assertIn("session_not_found", refused.err)

    def test_an_agent_is_chosen_by_name(self):
        gate = self.on(agents={"second": {"system": "You are second.", "backends": [
            {"provider": "gate", "model": "small-2"}]}})

        self.assertEqual(self.go("--agent", "second", "Hello").code, 0)
        unknown = self.go("--agent", "third", "Hello")

        self.assertEqual(gate.calls[0].system, "You are second.")
        self.assertEqual(unknown.code, 1)
        self.assertIn("agent_not_found", unknown.err)

    def test_programs_get_the_whole_result(self):
        self.on(Reply("Fine."))

        result = self.result("Hello")

        self.assertEqual(result["Result"]["PrimaryOutputText"], "Fine.")
        self.assertEqual(result["Result"]["Kind"], "final")


class Attachments(RunTest):
    def test_files_are_artifacts_and_images_are_images(self):
        gate = self.on()
        self.write("notes/a.txt", "alpha")
        self.write("b.bin", b"\xff\x00binary")
        self.write("c.png", PNG)

        ran = self.go("--file", "notes/a.txt", "--file", "b.bin", "--image", "c.png", "Look.")

        self.assertEqual(ran.code, 0, ran)
        message = json.dumps(gate.calls[0].messages)
        self.assertIn("notes/a.txt", message)
        self.assertIn("alpha", message)
        self.assertIn("b.bin", message)
        self.assertIn("data:image/png;base64," + base64.b64encode(PNG).decode(), message)

    def test_a_file_from_elsewhere_has_a_path_inside(self):
        gate = self.on()
        outside = self.write("outside.txt", "alpha")

        self.assertEqual(self.go("--file", str(self.folder / outside), "Look.").code, 0)

        self.assertIn("outside.txt", json.dumps(gate.calls[0].messages))

    def test_a_file_alone_is_enough(self):
        self.on()
        self.write("a.txt", "alpha")

        self.assertEqual(self.go("--file", "a.txt").code, 0)

    def test_what_cannot_be_read_is_refused_before_anything_happens(self):
        self.on()
        self.write("a.txt", "no image")

        self.assert_usage(self.go("--file", "missing.txt", "Look."), "missing.txt")
        self.assert_usage(self.go("--image", "a.txt", "Look."), "a.txt", "PNG")
        self.assertFalse((self.folder / "xdg").exists())


class Tools(RunTest):
    def test_a_tool_is_run_and_the_turn_goes_on_until_its_end(self):
        gate = self.on(calling("a", "b"), calling("c", text="Once more."), Reply("Done."))

        ran = self.go("--tool", "look=cat", "Look.")

        self.assertEqual(ran.code, 0, ran)
        self.assertTrue(ran.out.endswith("Done.\n"), ran)
        self.assertEqual([identifier for identifier, _ in gate.calls[1].tool_results], ["a", "b"])
        self.assertIn('{"what": "a"}', gate.calls[1].tool_results[0][1])
        self.assertIn("→ look(", ran.err)

    def test_arguments_are_data_and_never_a_part_of_the_command(self):
        gate = self.on(Reply(calls=[("a", "look", {"what": "'; touch pwned; $(touch pwned) `touch pwned` \""})]),
                       Reply("Done."))

        ran = self.go("--tool", 'look=printf %s "$TREATY_TOOL_ARGUMENTS"', "Look.")

        self.assertEqual(ran.code, 0, ran)
        self.assertFalse((self.folder / "pwned").exists())
        self.assertIn("touch pwned", gate.calls[1].tool_results[0][1])

    def test_output_that_is_no_json_becomes_a_string_and_a_failure_its_words(self):
        gate = self.on(calling("a", "b"), Reply("Done."))

        self.go("--tool", """look=grep -q '"a"' && echo two words || { echo no such thing >&2; exit 3; }""", "Look.")

        (_, first), (_, second) = gate.calls[1].tool_results
        self.assertIn('"two words"', first)
        self.assertIn("no such thing", second)

    def test_a_tool_that_hangs_is_ended(self):
        gate = self.on(calling("a"), Reply("Done."))

        ran = self.go("--tool", "look=sleep 1000", "--tool-timeout", "0.2", "Look.")

        self.assertEqual(ran.code, 0, ran)
        self.assertIn("time limit", gate.calls[1].tool_results[0][1])

    def test_a_tool_without_a_command_fails_for_the_model_and_not_for_the_turn(self):
        gate = self.on(calling("a"), Reply("Done."))

        self.assertEqual(self.go("Look.").out.splitlines()[-1], "Done.")

        self.assertIn("cannot run the tool look", gate.calls[1].tool_results[0][1])

    def test_a_tool_that_the_agent_does_not_know_is_told(self):
        self.on(Reply("Done."))

        self.assertIn("declares no client tool loook", self.go("--tool", "loook=cat", "Look.").err)

    def test_words_that_make_no_sense(self):
        self.assert_usage(self.go("--tool", "look", "Look."), "--tool")
        self.assert_usage(self.go("--tool", "a b=c", "Look."), "--tool")
        self.assert_usage(self.go("--tool", "a=b", "--tool", "a=c", "Look."), "two commands")
        self.assert_usage(self.go("--tool", "a=b", "--tool-timeout", "soon", "Look."), "--tool-timeout")
        self.assert_usage(self.go(), "say something")
        self.assert_usage(self.go("two", "texts"), "quotes")
        self.assert_usage(self.go("--session", " ", "Hello"), "REQ-01")


class Resuming(RunTest):
    """A turn that somebody else has left waiting for its tools."""

    def left_waiting(self, *replies):
        """Session s1, whose turn t1 waits for the calls a and b; the server that it came from has gone."""
        gate = self.on(calling("a", "b"), *replies)
        server = self.server(configuration(gate), state=self.folder / "xdg" / "treaty")
        server.say("s1", "t1", "Look.")
        server.kill9()
        return gate

    def test_without_a_text_the_turn_goes_on_with_the_tools_that_are_given(self):
        gate = self.left_waiting(Reply("Done."))

        ran = self.go("--session", "s1", "--tool", "look=cat")

        self.assertEqual((ran.code, ran.out), (0, "Done.\n"), ran)
        self.assertEqual(IDS.search(ran.err).groups(), ("s1", "t1"))
        self.assertEqual([identifier for identifier, _ in gate.calls[1].tool_results], ["a", "b"])

    def test_programs_get_the_result_of_the_turn_that_went_on(self):
        self.left_waiting(Reply("Done."))

        self.assertEqual(self.result("--session", "s1", "--tool", "look=cat")["Result"]["TurnId"], "t1")

    def test_without_its_tools_the_turn_is_told_and_left_alone(self):
        gate = self.left_waiting(Reply("Done."))

        for words in (["--session", "s1"], ["--session", "s1", "--tool", "other=cat"], ["--session", "s1", "Hello"]):
            with self.subTest(words=words):
                ran = self.go(*words)
                self.assertEqual((ran.code, ran.out), (1, ""), ran)
                self.assertIn('turn t1 of session s1 waits for the results of\n  look({"what": "a"})\n', ran.err)
                self.assertIn("Next: treaty run --session s1 --tool NAME=COMMAND", ran.err)
                self.assertIn("/cancel", ran.err)

        self.assertEqual(gate.count, 1)
        self.assertEqual(self.go("--session", "s1", "--tool", "look=cat").out, "Done.\n")

    def test_programs_get_the_refusal_of_a_text_and_the_calls_that_wait(self):
        self.left_waiting()

        refused = self.result("--session", "s1", "Hello", code=1)
        waiting = self.result("--session", "s1", code=1)

        self.assertEqual(refused["Errors"][0]["ErrorCode"], "turn_in_progress")
        self.assertEqual([call["ToolCallId"] for call in waiting["Result"]["ToolCalls"]], ["a", "b"])

    def test_on_a_terminal_the_results_are_typed(self):
        gate = self.left_waiting(Reply("Done."))
        terminal = Terminal(self, "run", "--session", "s1", **self.environment())
        for word in ("blue", "green"):
            terminal.until("result of look .*› ")
            terminal.type(word + "\n")
        terminal.until("Done.")

        self.assertEqual(terminal.ended(), 0)
        self.assertEqual([json.loads(text) for _, text in gate.calls[1].tool_results], ["blue", "green"])

    def test_a_session_in_which_nothing_waits_wants_a_text(self):
        self.on(Reply("Fine."))
        self.go("--session", "s1", "Hello")

        for session in ("s1", "unknown"):
            ran = self.go("--session", session)
            self.assertEqual((ran.code, ran.out), (1, ""), ran)
            self.assertIn(f"Next: say something: treaty run --session {session} TEXT", ran.err)


class Failures(RunTest):
    def test_a_failure_that_passes_says_try_later_and_one_for_good_does_not(self):
        self.on(Reply(error=(500, {"error": {"message": "Broken."}})), agent={"max_rounds": 1})
        later = self.go("Hello")
        self.assertEqual((later.code, later.out), (75, ""), later)

        self.on(Reply(error=(400, {"error": {"message": "Wrong."}})))
        never = self.go("Hello")
        self.assertEqual(never.code, 1, never)
        self.assertIn("treaty run: ", never.err)

    def test_programs_get_the_failure_as_a_result(self):
        self.on(Reply(error=(400, {"error": {"message": "Wrong."}})))

        result = self.result("Hello", code=1)

        self.assertIs(result["Successful"], False)

    def test_a_bad_configuration(self):
        self.write("treaty.yaml", "agents: 5\n")

        ran = self.go("Hello")

        self.assertEqual(ran.code, 78, ran)
        self.assertIn("treaty.yaml:1:", ran.err)

    def test_a_journal_that_cannot_be_used(self):
        self.write("file", b"")

        ran = self.go("--state-dir", "file/below", "Hello", OPENAI_API_KEY="")

        self.assertEqual(ran.code, 69, ran)
        self.assertIn("--state-dir", ran.err)

    def start(self, *arguments):
        process = subprocess.Popen([BINARY, "run", *arguments], cwd=self.folder, env=self.environment(),
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.stdout.close)
        self.addCleanup(process.stderr.close)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def test_an_interrupt_cancels_the_turn(self):
        gate = self.gate(held=True)
        self.write("treaty.yaml", configuration(gate))
        process = self.start("--session", "s1", "Hello")
        gate.wait_for_calls(1)

        process.send_signal(signal.SIGINT)

        self.assertEqual(process.wait(SECONDS), 130)
        gate.open()
        server = self.server(configuration(gate), state=self.folder / "xdg" / "treaty")
        turn, = server.get("/v1/sessions/s1/turns").json["Turns"]
        self.assertEqual(turn["State"], "cancelled")
        self.assertEqual(gate.count, 1)

    def test_an_interrupt_while_a_tool_runs_ends_the_tool_and_cancels_the_turn(self):
        self.on(calling("a"))
        process = self.start("--session", "s1", "--tool", "look=echo $$ > pid.new; mv pid.new pid; sleep 1000", "Hello")
        self.until((self.folder / "pid").exists, "a running tool")

        process.send_signal(signal.SIGINT)

        self.assertEqual(process.wait(SECONDS), 130)
        with self.assertRaises(ProcessLookupError):
            os.kill(int(self.read("pid")), 0)
        self.assertIn("cancelled", process.stderr.read().decode())


if __name__ == "__main__":
    unittest.main()
