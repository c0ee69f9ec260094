"""Tests of `treaty bridge run`: programs that ask, are answered and resumed, and programs that do it wrong."""
import hashlib
import json
import os
import unittest

from bridging import DISK_FAULTS, RELEASE_NOTES, REVIEW, TWO_PHASES, BridgeTest
from gate import HOLD, Reply, calling
from serving import configuration
from terminal import Terminal
from treaty_binary import OTHER_UUID, UUID, bridge_request, bridge_response


class TheLoop(BridgeTest):
    def test_the_examples_are_driven_to_their_end(self):
        gate = self.agent(lambda call: f"Answer {call.number}")
        self.put("draft.txt", "Teh moon.\n")
        self.put("changes.txt", "bridge: Add it\n")
        for program, results in ((REVIEW, ["draft.txt.review.md"]), (RELEASE_NOTES, ["release-notes.md"])):
            with self.subTest(program[0]):
                before = gate.count

                ran = self.drive(program)

                self.assertEqual(ran.code, 0, ran)
                self.assertEqual(gate.count - before, 2)
                self.assertIn(f"Answer {gate.count}", "".join(
                    path.read_text() for path in self.work.glob("*.md") if path.name in results))

    def test_every_step_is_in_the_journal_and_the_program_s_exit_is_the_exit(self):
        self.agent("One.", "Two.")

        ran = self.drive(self.program(TWO_PHASES + "sys.exit(3)\n"))

        self.assertEqual(ran.code, 3, ran)
        self.assertEqual((self.work / "result.txt").read_text(), "One. / Two.")
        self.assertEqual([entry["event"] for entry in self.journal()],
                         ["run.started", "program.started", "program.exited", "request.asked", "answer.written",
                          "program.started", "program.exited", "request.asked", "answer.written",
                          "program.started", "program.exited", "run.ended"])
        self.assertEqual([entry["resume"] for entry in self.journal("program.started")], [False, True, True])
        self.assertEqual([entry["code"] for entry in self.journal("program.exited")], [42, 42, 3])
        self.assertEqual(self.journal("run.ended")[0]["exit"], 3)

    def test_the_program_has_the_driver_s_streams_and_one_resume(self):
        self.agent()
        program = self.program("""
print(json.dumps(sys.argv[1:]), flush=True)
sys.stderr.write("err\\n")
if not RESUMED:
    ask()
print(sys.stdin.read())
""")

        ran = self.drive([*program, "--dir", "x", "--", "[a]"], stdin=b"typed")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(ran.out.splitlines(), ['["--dir", "x", "--", "[a]"]',
                                                '["--dir", "x", "--", "[a]", "--resume"]', "typed"])
        self.assertEqual(ran.err.count("err\n"), 2)

    def test_a_resume_of_one_s_own_is_not_doubled_and_keeps_what_waits(self):
        gate = self.agent("Late.")
        self.put(".agent-request.json", bridge_request(created_at="2026-01-01T00:00:00Z"))

        ran = self.drive([*self.program("""
write("argv.json", sys.argv[1:])
if answer() is None:
    sys.exit(42)
"""), "--resume"])

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.document("argv.json"), ["--resume"])
        self.assertEqual(self.response()["request_id"], UUID)
        self.assertEqual(gate.count, 1)

    def test_the_model_gets_the_prompt_and_the_context(self):
        gate = self.agent()

        ran = self.drive(self.program("""
if not RESUMED:
    ask(prompt="Look at ünïcode.", context={"files": ["a.py"], "depth": 2})
"""))

        self.assertEqual(ran.code, 0, ran)
        self.assertIn("Look at ünïcode.", gate.calls[0].user)
        self.assertIn("a.py", gate.calls[0].user)
        self.assertIn("context.json", gate.calls[0].user)

    def test_the_agent_is_the_one_that_is_wanted_else_the_request_s_else_the_default_one(self):
        gate = self.agent(agents={name: {"system": f"You are {name}.",
                                         "backends": [{"provider": "gate", "model": "small-1"}]}
                                  for name in ("reviewer", "writer")})
        asks = self.program("if not RESUMED:\n    ask(agent_name=sys.argv[1])\n")
        for name, options, system in (("reviewer", [], "You are reviewer."), ("nobody", [], "You are brief."),
                                      ("reviewer", ["--agent", "writer"], "You are writer.")):
            with self.subTest(name=name, options=options):
                ran = self.drive([*asks, name], *options)

                self.assertEqual(ran.code, 0, ran)
                self.assertIn(system, gate.calls[-1].system)

    def test_client_tools_are_run_by_commands(self):
        gate = self.agent(calling("a"), "Seen.")

        ran = self.drive(self.program("if not RESUMED:\n    ask()\n"), "--tool", "look=echo a tree")

        self.assertEqual(ran.code, 0, ran)
        self.assertIn("a tree", gate.calls[1].tool_results[0][1])
        self.assertEqual(self.response()["response"], "Seen.")

    def test_several_requests_at_once_are_all_answered(self):
        gate = self.agent(lambda call: call.user.upper())

        ran = self.drive(self.program("""
if not RESUMED:
    for phase in (1, 2, 3):
        write(name("request", f"-phase{phase}"), request(phase=phase, prompt=f"part {phase}"))
    sys.exit(42)
write("result.json", [answer(f"-phase{phase}")["response"] for phase in (1, 2, 3)])
"""))

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.document("result.json"), ["PART 1", "PART 2", "PART 3"])
        self.assertEqual(gate.count, 3)

    def test_it_works_on_a_server_by_its_address(self):
        gate = self.gate("From afar.")
        secret = hashlib.sha256(b"secret").hexdigest()
        server = self.server(configuration(gate, keys=[{"tenant": "acme", "sha256": secret}],
                                           sessions={"open": "explicit"}))

        ran = self.drive(self.program("if not RESUMED:\n    ask(agent_name='nobody')\nprint(answer()['response'])\n"),
                         "--url", f"http://127.0.0.1:{server.port}", "--key-env", "SERVER_KEY", SERVER_KEY="secret")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(ran.out, "From afar.\n")
        metadata = self.response()["metadata"]
        self.assertEqual((metadata["backend"], metadata["model"]), ("gate", "small-1"))

    def test_a_server_that_is_not_there_leaves_the_request_waiting(self):
        program = self.program("if not RESUMED:\n    ask()\nprint(answer()['response'])\n")

        ran = self.drive(program, "--url", "http://127.0.0.1:1")

        self.assertEqual(ran.code, 69, ran)
        self.assertFalse((self.work / ".agent-response.json").exists())
        self.agent("Now.")
        self.assertEqual(self.drive(program).out, "Now.\n")
        self.assertEqual([entry["resume"] for entry in self.journal("program.started")], [False, True])


class Progress(BridgeTest):
    def test_in_a_pipe_there_is_a_line_for_each_phase(self):
        self.agent("One.", "Two.")

        ran = self.drive(self.program(TWO_PHASES))

        self.assertRegex(ran.err, r"^treaty bridge run: phase 1 · agent default · \d+\.\d s · 12 tokens in, 3 out · "
                                  r"success\ntreaty bridge run: phase 2 .* success\n$")

    def test_on_a_terminal_the_seconds_count(self):
        gate = self.agent(Reply(HOLD, "There."))
        program = self.program("if not RESUMED:\n    ask(phase=4, phase_name='plan')\n")

        terminal = Terminal(self, "bridge", "run", "--", *program, **self.environment())
        terminal.until(r"phase 4 \(plan\) · agent default · 0\.\d s")
        terminal.until(r"\r\x1b\[Kphase 4 \(plan\) · agent default · 0\.[1-9] s")
        gate.release()
        terminal.until(r"phase 4 \(plan\) · agent default · \d\.\d s · 12 tokens in, 3 out · success\r\n")
        self.assertEqual(terminal.ended(), 0)


class RulesLearnt(BridgeTest):
    """A row of the table each, in its order."""

    def test_the_answer_is_where_the_program_looks_wherever_the_driver_stands(self):
        self.agent("Here.")
        program = self.program("""
os.chdir(os.environ["TREATY_BRIDGE_DIR"])
if not RESUMED:
    ask(response_file=os.path.abspath("deep/answer.json"))
print(read("deep/answer.json")["response"])
""")
        (self.work / "deep").mkdir()

        ran = self.drive(program, "--dir", "work", cwd=self.folder)

        self.assertEqual((ran.code, ran.out), (0, "Here.\n"), ran)
        self.assertFalse((self.folder / ".agent-response.json").exists())

    def test_an_answer_that_somebody_wrote_wrong_is_kept_apart_and_the_agent_is_asked(self):
        wrong = {"result": "dict(result='x')", "an object": "{'response': {'a': 1}}", "a string": "{'duration_seconds': '1'}"}
        for what, change in wrong.items():
            with self.subTest(what):
                gate = self.agent("Right.")

                ran = self.drive(self.program(f"""
if not RESUMED:
    asked = request()
    write(name("response"), {{**response(request_id=asked["request_id"]), **{change}}})
    write(name("request"), asked)
    sys.exit(42)
print(answer()["response"])
"""))

                self.assertEqual((ran.code, ran.out, gate.count), (0, "Right.\n", 1), ran)
                self.assertIn("broken", self.quarantined())

    def test_members_that_are_missing_and_bare_output_are_no_answer_either(self):
        for text in ('{"status": "success", "response": "x"}', '{"sections": ["a"]}', '{"request_id": "', "", "[]"):
            with self.subTest(text):
                gate = self.agent("Right.")

                ran = self.drive(self.program(f"""
if not RESUMED:
    write(name("response"), {text!r})
    ask()
print(answer()["response"])
"""))

                self.assertEqual((ran.code, ran.out, gate.count), (0, "Right.\n", 1), ran)
                self.assertIn(text.encode(), self.quarantined().values())

    def test_a_program_that_asks_the_same_again_is_stopped_and_its_answer_kept(self):
        gate = self.agent(Reply(error=(400, {"error": {"message": "No.", "type": "invalid_request_error"}})))

        ran = self.drive(self.program(f"ask(request_id={UUID!r})\n"))

        self.assertEqual(ran.code, 75, ran)
        self.assertIn("asks again what has been answered", ran.err)
        self.assertIn(UUID, ran.err)
        self.assertEqual(self.response()["status"], "error")
        self.assertEqual(gate.count, 1)
        self.assertEqual(self.journal("run.ended")[0]["reason"], "same_request")

    def test_one_that_deletes_its_answer_and_asks_the_same_again_is_stopped_too(self):
        gate = self.agent("Take it.")

        ran = self.drive(self.program(f"""
if RESUMED:
    os.unlink(name("response"))
ask(request_id={UUID!r})
"""))

        self.assertEqual((ran.code, gate.count), (75, 1), ran)
        self.assertIn("its answer was removed", ran.err)

    def test_a_program_that_was_corrected_after_it_asked_the_same_again_is_run_again(self):
        gate = self.agent("Take it.")
        repeats = self.program(f"""
if RESUMED:
    write(name("request"), request(request_id={UUID!r}, created_at=now(60)))
    sys.exit(42)
ask(request_id={UUID!r})
""")

        ran = self.drive(repeats)
        self.assertEqual((ran.code, gate.count), (75, 1), ran)
        self.assertIn("is older than the request", ran.err)
        self.assertEqual(self.drive(repeats).code, 75)

        self.program('print(answer()["response"])')
        ran = self.drive(repeats)
        self.assertEqual((ran.code, ran.out, gate.count), (0, "Take it.\n", 1), ran)

    def test_a_success_with_null_is_no_answer(self):
        gate = self.agent("Words.")

        ran = self.drive(self.program("""
if not RESUMED:
    asked = request()
    write(name("response"), response(request_id=asked["request_id"], response=None))
    write(name("request"), asked)
    sys.exit(42)
print(answer()["response"])
"""))

        self.assertEqual((ran.code, ran.out, gate.count), (0, "Words.\n", 1), ran)

    def test_a_program_that_never_stops_asking_is_stopped_after_five_answers_of_a_phase(self):
        gate = self.agent()

        ran = self.drive(self.program("ask(phase=2, prompt=f'Again {count()}.')\n"))

        self.assertEqual(ran.code, 75, ran)
        self.assertIn("phase 2 was answered 5 times", ran.err)
        self.assertEqual(gate.count, 5)
        self.assertEqual(self.drive(self.program("ask(phase=2)\n"), "--fresh", "--max-resumes", "2").code, 75)
        self.assertEqual(gate.count, 7)

    def test_resumes_are_counted_for_each_phase(self):
        gate = self.agent()

        ran = self.drive(self.program("""
starts = count()
if starts > 12:
    sys.exit(0)
ask(phase=(starts + 2) // 3, prompt=f"Question {starts}.")
"""), "--max-resumes", "3")

        self.assertEqual((ran.code, gate.count), (0, 12), ran)

    def test_the_answer_of_one_phase_is_never_the_answer_of_another(self):
        gate = self.agent(lambda call: f"For {call.user}")

        ran = self.drive(self.program("""
told = answer()
asked = read(name("request"))
if told is None:
    ask(phase=1, prompt="one")
if asked["phase"] == 1:
    ask(phase=5, prompt="five")
write("result.json", [asked["phase"], told["response"], told["request_id"] == asked["request_id"]])
"""))

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.document("result.json"), [5, "For five", True])
        self.assertEqual(gate.count, 2)
        self.assertIn(b"For one", self.quarantined()["foreign"])

    def test_yesterday_s_answer_is_not_today_s(self):
        gate = self.agent("Today.")
        self.put(".agent-request.json", bridge_request())
        self.put(".agent-response.json", bridge_response(response="Yesterday."))

        ran = self.drive(self.program(f"""
if not RESUMED:
    assert answer() is None
    ask(request_id={UUID!r})
print(answer()["response"])
"""))

        self.assertEqual((ran.code, ran.out, gate.count), (0, "Today.\n", 1), ran)
        self.assertIn(b"Yesterday.", b"".join(path.read_bytes() for path in
                                               (self.work / ".treaty-bridge" / "quarantine").iterdir()))

    def test_an_answer_from_before_the_question_is_stale_even_under_its_id(self):
        gate = self.agent("New.")

        ran = self.drive(self.program("""
if not RESUMED:
    asked = request()
    write(name("response"), response(request_id=asked["request_id"], created_at=now(-86400)))
    write(name("request"), asked)
    sys.exit(42)
print(answer()["response"])
"""))

        self.assertEqual((ran.code, ran.out, gate.count), (0, "New.\n", 1), ran)
        self.assertIn(b"By hand.", self.quarantined()["stale"])

    def test_an_agent_s_error_reaches_the_program_the_journal_and_the_screen(self):
        self.agent(Reply(error=(401, {"error": {"message": "Bad key.", "code": "invalid_api_key"}})))

        ran = self.drive(self.program("if not RESUMED:\n    ask()\nprint(json.dumps(answer()))\nsys.exit(9)\n"))

        told = json.loads(ran.out)
        self.assertEqual((ran.code, told["status"], told["response"]), (9, "error", None), ran)
        self.assertEqual(told["error_type"], "auth_error")
        self.assertEqual((told["metadata"]["retryable"], told["metadata"]["status_code"]), (False, 401))
        self.assertEqual(self.journal("answer.written")[0]["status"], "error")
        self.assertIn("error auth_error", ran.err)

    def test_timeout_seconds_is_the_deadline(self):
        gate = self.agent(Reply(HOLD, "Too late."))

        ran = self.drive(self.program("if not RESUMED:\n    ask(timeout_seconds=1)\nprint(json.dumps(answer()))\n"))

        told = json.loads(ran.out)
        self.assertEqual((told["status"], told["error_type"], told["response"]), ("timeout", "timeout", None), ran)
        self.assertIn("within 1 second", told["error_message"])
        gate.wait_for_gone()

    def test_a_second_driver_leaves_at_once(self):
        gate = self.agent(Reply(HOLD, "First."))
        program = self.program("if not RESUMED:\n    ask()\n")
        first = self.start("run", "--", *program)
        gate.wait_for_calls(1)

        second = self.drive(program)
        third = self.bridge("answer")

        self.assertEqual((second.code, third.code), (75, 75), second)
        self.assertIn(f"process {first.pid} (treaty bridge run", second.err)
        gate.release()
        self.assertEqual(self.ended(first).code, 0)
        self.assertEqual(gate.count, 1)

    def test_a_dead_driver_s_lock_is_taken_over(self):
        self.agent()
        for text in ('{"pid": 999999999, "started": "1", "boot": "x"}', '{"pid": %d, "started": "1"}' % os.getpid(),
                     "nonsense", ""):
            with self.subTest(text):
                self.put(".treaty-bridge/lock", text)

                self.assertEqual(self.drive(self.program("pass\n")).code, 0)

    def test_the_lock_of_a_living_process_holds_however_it_was_taken(self):
        self.agent()
        self.put(".treaty-bridge/lock", json.dumps({"pid": os.getpid(), "command": "mine"}))

        self.assertEqual(self.drive(self.program("pass\n")).code, 75)

    def test_the_program_s_exit_code_is_passed_through_and_recorded(self):
        self.agent()
        for code in (0, 1, 2, 75, 255):
            with self.subTest(code):
                self.assertEqual(self.drive(self.program(f"sys.exit({code})\n")).code, code)
                self.assertEqual(self.journal("program.exited")[-1]["code"], code)
                self.assertEqual(self.journal("run.ended")[-1], {**self.journal("run.ended")[-1], "exit": code,
                                                                 "final": True, "reason": "exited"})

    def test_a_program_that_is_killed_ends_as_a_shell_would_tell_it(self):
        self.agent()

        ran = self.drive(self.program("os.kill(os.getpid(), 9)\n"))

        self.assertEqual(ran.code, 137, ran)
        self.assertEqual(self.journal("program.exited")[0]["signal"], 9)

    def test_the_answer_says_who_gave_it(self):
        self.agent(Reply("Mine.", headers={"x_request_id": "req-77"}))

        ran = self.drive(self.program("if not RESUMED:\n    ask()\n"))

        self.assertEqual(ran.code, 0, ran)
        metadata = self.response()["metadata"]
        self.assertEqual({name: metadata[name] for name in ("agent", "backend", "model", "input_tokens",
                                                            "output_tokens", "provider_request_id")},
                         {"agent": "default", "backend": "gate", "model": "small-1", "input_tokens": 12,
                          "output_tokens": 3, "provider_request_id": "req-77"})


class BadInput(BridgeTest):
    def setUp(self):
        super().setUp()
        self.calls = self.agent("Fine.")

    def test_42_without_a_request_is_a_failure(self):
        ran = self.drive(self.program("sys.exit(42)\n"))

        self.assertEqual(ran.code, 1, ran)
        self.assertIn("no request in", ran.err)
        self.assertIn("Next:", ran.err)

    def test_a_request_that_was_left_by_somebody_else_does_not_count_as_one(self):
        self.put(".agent-request.json", bridge_request())

        self.assertEqual(self.drive(self.program("sys.exit(42)\n")).code, 1)
        self.assertEqual(self.calls.count, 0)

    def test_a_broken_request_is_told_with_its_rule_and_nobody_is_asked(self):
        broken = {"BRQ-01": '{**request(), "prompt": " "}', "BRQ-02": '{**request(), "timeout_seconds": 0}',
                  "JSON-0": '"\\ufeff" + json.dumps(request())', "ends in the middle": 'json.dumps(request())[:-5]',
                  "empty": '""', "response_file": '{**request(), "response_file": ".agent-request.json"}'}
        for word, content in broken.items():
            with self.subTest(word):
                ran = self.drive(self.program(f"write(name('request'), {content})\nsys.exit(42)\n"))

                self.assertEqual(ran.code, 1, ran)
                self.assertIn(word, ran.err)
        self.assertEqual(self.calls.count, 0)

    def test_crlf_is_white_space(self):
        ran = self.drive(self.program("""
if not RESUMED:
    with open(name("request"), "wb") as file:
        file.write(json.dumps(request(), indent=2).replace("\\n", "\\r\\n").encode())
    sys.exit(42)
"""))

        self.assertEqual((ran.code, self.calls.count), (0, 1), ran)

    def test_an_answer_that_appears_while_the_program_runs_is_taken_when_it_is_one(self):
        ran = self.drive(self.program("""
if not RESUMED:
    asked = request()
    write(name("request"), asked)
    write(name("response"), response(request_id=asked["request_id"]))
    sys.exit(42)
print(answer()["response"])
"""))

        self.assertEqual((ran.code, ran.out, self.calls.count), (0, "By hand.\n", 0), ran)
        self.assertEqual(len(self.journal("answer.found")), 1)

    def test_a_foreign_answer_that_appears_is_kept_apart(self):
        ran = self.drive(self.program(f"""
if not RESUMED:
    write(name("response"), response(request_id={OTHER_UUID!r}))
    ask()
print(answer()["response"])
"""))

        self.assertEqual((ran.code, ran.out), (0, "Fine.\n"), ran)
        self.assertIn("foreign", self.quarantined())

    def test_a_file_that_never_was_an_answer_is_not_overwritten(self):
        self.put("notes.txt", "precious")

        ran = self.drive(self.program("if not RESUMED:\n    ask(response_file='notes.txt')\n"))

        self.assertEqual(ran.code, 1, ran)
        self.assertIn("notes.txt", ran.err)
        self.assertEqual((self.work / "notes.txt").read_text(), "precious")
        self.assertEqual(self.calls.count, 0)

    def test_an_answer_of_another_directory_is_not_pushed_aside(self):
        elsewhere = self.folder / "elsewhere.json"
        program = self.program(f"""
if not RESUMED:
    ask(phase=1, response_file={str(elsewhere)!r})
if read(name("request"))["phase"] == 1:
    ask(phase=2, response_file={str(elsewhere)!r})
""")
        elsewhere.write_text(json.dumps(bridge_response(request_id=OTHER_UUID)))

        self.assertEqual(self.drive(program).code, 1)
        self.assertEqual(json.loads(elsewhere.read_text())["request_id"], OTHER_UUID)
        elsewhere.unlink()
        ran = self.drive(program)  # What was written from here is its own.
        self.assertEqual((ran.code, self.calls.count), (0, 2), ran)

    def test_a_place_that_does_not_exist_is_told(self):
        ran = self.drive(self.program("if not RESUMED:\n    ask(response_file='/nowhere/at/all.json')\n"))

        self.assertEqual(ran.code, 69, ran)
        self.assertIn("/nowhere/at/all.json", ran.err)

    def test_wrong_usage_and_wrong_places_have_no_side_effect(self):
        for arguments, code in ((["run"], 2), (["run", "--max-resumes", "0", "--", "true"], 2),
                                (["run", "--nonsense", "--", "true"], 2), (["run", "--dir", "nowhere", "--", "true"], 1),
                                (["run", "--agent", "nobody", "--", "true"], 78),
                                (["run", "--url", "ftp://x", "--", "true"], 2), (["answer", "extra"], 2)):
            with self.subTest(arguments):
                ran = self.bridge(*arguments)

                self.assertEqual(ran.code, code, ran)
                self.assertEqual(list(self.work.iterdir()), [])

    def test_a_program_that_cannot_be_started_is_told_as_shells_do(self):
        self.put("plain", "x")

        self.assertEqual(self.drive(["./nowhere"]).code, 127)
        self.assertEqual(self.drive(["./plain"]).code, 126)

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_a_disk_that_is_full_or_not_ours_is_told_and_the_run_goes_on_later(self):
        program = self.program("if not RESUMED:\n    ask()\nprint(answer()['response'])\n")
        for error, files in (("ENOSPC write", ".agent-response*"), ("ENOSPC fsync", ".agent-response*"),
                             ("EACCES name", ".agent-response*"), ("ENOSPC write 3", "journal.ndjson"),
                             ("EACCES name", ".treaty-bridge:*/.treaty-bridge/*")):
            with self.subTest(error=error, files=files):
                ran = self.drive(program, "--fresh", **self.faults(error, files))

                self.assertEqual(ran.code, 69, ran)
                self.assertEqual(list(self.work.glob(".agent-response*")), [])
                self.assertEqual(self.drive(program).out, "Fine.\n")
                for left in self.work.glob(".agent-*"):
                    left.unlink()


class Answer(BridgeTest):
    """`treaty bridge answer`, for hosts that drive the loop themselves."""

    def test_it_answers_the_request_that_waits(self):
        gate = self.agent("Done.")
        self.put(".agent-request.json", bridge_request())

        ran = self.bridge("answer")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual((self.response()["response"], self.response()["request_id"]), ("Done.", UUID))
        again = self.bridge("answer")
        self.assertEqual((again.code, gate.count), (1, 1), again)
        self.assertIn("--resume", again.err)

    def test_an_agent_that_failed_is_an_answer_and_a_failure(self):
        self.agent(Reply(error=(400, {"error": {"message": "No."}})), "Better.")
        self.put(".agent-request.json", bridge_request())

        self.assertEqual(self.bridge("answer").code, 1)
        self.assertEqual(self.response()["status"], "error")
        self.assertEqual(self.bridge("answer", "--replace").code, 0)
        self.assertEqual(self.response()["response"], "Better.")
        self.assertIn("replaced", self.quarantined())

    def test_nothing_to_answer_is_told(self):
        self.agent()

        ran = self.bridge("answer")

        self.assertEqual(ran.code, 1, ran)
        self.assertIn("no request waits", ran.err)

    def test_a_request_whose_answer_was_taken_is_not_answered_again_by_itself(self):
        gate = self.agent("Once.")
        self.put(".agent-request.json", bridge_request())
        self.bridge("answer")
        (self.work / ".agent-response.json").unlink()

        self.assertEqual(self.bridge("answer").code, 75)
        self.assertEqual(gate.count, 1)
        self.assertEqual(self.bridge("answer", "--replace").code, 0)

    def test_of_several_the_phase_says_which(self):
        self.agent(lambda call: call.user)
        for phase in (1, 2):
            self.put(f".agent-request-phase{phase}.json",
                     bridge_request(request_id=f"{UUID[:-1]}{phase}", phase=phase, prompt=f"part {phase}"))

        self.assertEqual(self.bridge("answer", "--phase", "2").code, 0)

        self.assertEqual(self.response("-phase2")["response"], "part 2")
        self.assertFalse((self.work / ".agent-response-phase1.json").exists())


if __name__ == "__main__":
    unittest.main()
