"""Tests of what `treaty bridge run`, `answer` and `watch` give back: the agent's own text, and word of every wait."""
import base64
import json
import os
import select
import signal
import unittest

from bridging import BridgeTest
from dispatching import DOWN, refused
from gate import KEY, Reply, calling
from serving import configuration, turn_path, until
from treaty_binary import UUID, bridge_request
from watching import WatchTest, request

BASE64 = base64.b64encode(bytes(range(256)) * 12).decode()[:4_000]
TEXTS = {
    "a JSON object": '{"a":1}',
    "JSON over several lines": '{\n  "agents": ["one", "two"]\n}\n',
    "a JSON array": "[1, 2, 3]",
    "a fence without a tag": '```\n{"a": 1}\n```',
    "base64": BASE64,
    "a data URL": f"See data:image/png;base64,{BASE64} there.",
    "white space around it": "\n\t  Indented.  \n\n",
    "more than 1 MiB": "All work and no play.\n" * 60_000,
    "other scripts and quotes": 'Ünïcode "quoted" \\ back\u2028slash \U0001f600',
}
ASKS = "if not RESUMED:\n    ask()\n"


class TheAgentsOwnText(BridgeTest):
    def server_options(self, gate):
        server = self.server(configuration(gate))
        return ["--url", f"http://127.0.0.1:{server.port}"]

    def assert_all_come_back(self, gate, *options):
        for what, text in TEXTS.items():
            with self.subTest(what):
                gate.replies = [Reply(text)]

                ran = self.drive(self.program(ASKS), *options)

                self.assertEqual(ran.code, 0, ran)
                response = self.response()
                self.assertEqual((response["status"], response["response"]), ("success", text))
                self.assertNotIn("user_warnings", json.dumps(response["metadata"]))

    def test_it_comes_back_byte_for_byte(self):
        self.assert_all_come_back(self.agent("…"))

    def test_it_comes_back_byte_for_byte_from_a_server(self):
        gate = self.gate("…")
        self.assert_all_come_back(gate, *self.server_options(gate))

    def test_answer_gives_json_that_the_program_can_load(self):
        gate = self.agent('{"a":1}')
        for options in ([], self.server_options(gate)):
            with self.subTest(options=options):
                (self.work / ".agent-response.json").unlink(missing_ok=True)
                self.put(".agent-request.json", bridge_request(request_id=f"{UUID[:-1]}{len(options)}"))

                self.assertEqual(self.bridge("answer", *options).code, 0)

                self.assertEqual(json.loads(self.response()["response"]), {"a": 1})

    def test_an_empty_answer_is_an_error(self):
        gate = self.agent("…")
        for options in ([], self.server_options(gate)):
            for text in ("", " \n\t "):
                with self.subTest(text=text, options=options):
                    gate.replies = [Reply(text)]
                    (self.work / ".agent-response.json").unlink(missing_ok=True)
                    self.put(".agent-request.json", bridge_request(request_id=f"{UUID[:-2]}{len(options)}{len(text)}"))

                    ran = self.bridge("answer", *options)

                    self.assertEqual(ran.code, 1, ran)
                    response = self.response()
                    self.assertEqual((response["status"], response["response"], response["error_type"]),
                                     ("error", None, "server_error"))
                    self.assertIn("empty answer", response["error_message"])
                    self.assertIs(response["metadata"]["retryable"], True)

    def test_an_answer_cut_at_its_length_says_so(self):
        self.agent(Reply("Half an ans", finish="length"))

        self.drive(self.program(ASKS))

        response = self.response()
        self.assertEqual((response["status"], response["response"]), ("success", "Half an ans"))
        self.assertEqual(response["metadata"]["agent_result"]["finish_reason"], "length")
        self.assertIn("length limit", json.dumps(response["metadata"]["agent_result"]["metadata"]))

    def test_after_tools_it_is_the_last_text(self):
        gate = self.agent(calling("a", text="Let me look."), '{"seen": true}')
        for options in ([], self.server_options(gate)):
            with self.subTest(options=options):
                gate.replies = [lambda call: Reply('{"seen": true}') if call.tool_results else
                                calling("a", text="Let me look.")]

                ran = self.drive(self.program(ASKS), "--tool", "look=echo a tree", *options)

                self.assertEqual(ran.code, 0, ran)
                self.assertEqual(self.response()["response"], '{"seen": true}')

    def test_secrets_are_still_masked(self):
        self.agent(f'{{"key": "{KEY}"}}')

        self.drive(self.program(ASKS))

        self.assertEqual(self.response()["status"], "success")
        self.assertNotIn(KEY, json.dumps(self.response()))

    def test_the_server_shows_the_agent_s_own_text_beside_the_sealed_one(self):
        gate = self.gate('{"a":1}')
        server = self.server(configuration(gate))
        self.put(".agent-request.json", bridge_request())
        self.assertEqual(self.bridge("answer", "--url", f"http://127.0.0.1:{server.port}").code, 0)
        asked = self.journal("request.asked")[0]

        result = server.get(turn_path(asked["session_id"], asked["turn_id"], "/agent-result"))

        self.assertEqual(result.status, 200)
        self.assert_keeps("agent-result", result.body)
        self.assertEqual(result.json["content"], '{"a":1}')
        sealed = server.turn(asked["session_id"], asked["turn_id"]).json["Result"]
        self.assertIn("```json", sealed["Result"]["PrimaryOutputText"])


class Places(BridgeTest):
    """Clients see the name of a backend, and no path of the server's file system."""

    def test_an_answer_by_a_script_shows_no_path(self):
        self.write("play.yaml", "replies: [Fine.]\n")
        server = self.server({"agents": {"default": {"mode": "General", "backends": [{"script": "play.yaml"}]}}})
        self.put(".agent-request.json", bridge_request())
        self.assertEqual(self.bridge("answer", "--url", f"http://127.0.0.1:{server.port}").code, 0)
        asked = self.journal("request.asked")[0]
        session, turn = asked["session_id"], asked["turn_id"]

        result = server.get(turn_path(session, turn, "/agent-result"))
        with server.events(session, 0) as events:
            told = "".join(event.data for event in events.until("turn.completed"))

        self.assertEqual(self.response()["metadata"]["backend"], "script:play.yaml")
        self.assertEqual(result.json["metadata"]["backend"], "script:play.yaml")
        self.assertIn("script:play.yaml", told)
        shown = [json.dumps(self.response()), result.body.decode(), told, server.turn(session, turn).body.decode(),
                 server.get("/v1/limits").body.decode(), server.get("/metrics").body.decode()]
        for text in shown:
            self.assertNotIn(str(self.folder), text)

    def test_the_answer_of_the_demo_is_announced(self):
        self.write("treaty.yaml", "{}\n")
        self.put(".agent-request.json", bridge_request())
        ran = self.bridge("answer", OPENAI_API_KEY="")
        self.assertIn("treaty bridge answer: agent default: the built-in demo, since no key of a provider is set", ran.err)


class WatchedText(WatchTest):
    def test_a_watch_gives_the_agent_s_own_text(self):
        gate, directory, watch = self.gated_watch("…")
        for number, text in enumerate(TEXTS.values()):
            gate.replies = [Reply(text)]
            asked = directory.ask(request(), f"-phase{number}")

            self.assertEqual(directory.await_response(asked, f"-phase{number}")["response"], text)

        gate.replies = [Reply("")]
        asked = directory.ask(request(), "-phase99")
        self.assertEqual(directory.await_response(asked, "-phase99")["status"], "error")
        self.assertEqual(watch.leave(), 0)

    def test_a_watch_tells_waits_and_models_that_are_not_followed(self):
        gate, directory, watch = self.gated_watch("Fine.")
        directory.ask(request(model="large-9"))
        watch.await_told("names the model large-9")
        self.assertEqual(watch.next_answer()["requested_model"], "large-9")
        self.assertEqual(watch.leave(), 0)

        slow = self.directory("slow")
        patient = configuration(gate, {"dispatch": {"backoff": ["50s"], "max_attempts": 2}})
        gate.replies = [DOWN]
        waits = self.watch(patient, slow, arguments=["--grace", "0"]).start()
        slow.ask()
        waits.await_told(f"{slow.request_file()}: waiting for gate: server_error: trying again in 5")
        self.assertEqual(waits.leave(), 0)


class Waits(BridgeTest):
    def told(self, child, text):
        """Waits until the process has written it to stderr, then interrupts it."""
        seen = bytearray()

        def is_there():
            if select.select([child.stderr], [], [], 0.05)[0]:
                seen.extend(os.read(child.stderr.fileno(), 65_536))
            return text in seen.decode()

        until(is_there, f"{text!r} on stderr")
        child.send_signal(signal.SIGINT)
        self.ended(child)

    def failing(self, **dispatch):
        gate = self.gate(DOWN)
        self.write("treaty.yaml", configuration(gate, {"dispatch": dispatch}))
        return gate

    def ask_again(self, number, **members):
        (self.work / ".agent-response.json").unlink(missing_ok=True)
        self.put(".agent-request.json", bridge_request(request_id=f"{UUID[:-1]}{number}", phase=1, **members))

    def test_a_breaker_that_other_processes_opened_is_told(self):
        gate = self.failing(max_attempts=1, breaker_failures=2, breaker_open="50s")
        for number in range(2):
            self.ask_again(number)
            self.assertEqual(self.bridge("answer").code, 1)
        self.ask_again(2)

        self.told(self.start("answer"), "treaty bridge answer: phase 1: waiting for gate: the backend failed repeatedly, "
                                        "and its circuit breaker is open for")

        self.assertEqual(gate.count, 2)

    def test_a_backoff_is_told_by_run_and_answer_also_from_a_server(self):
        self.failing(max_attempts=2, backoff=["50s"])
        server = self.server(json.loads((self.folder / "treaty.yaml").read_text()))
        asks = self.program("if not RESUMED:\n    ask(phase=1)\n")
        line = "phase 1: waiting for gate: server_error: trying again in 5"
        for options in ([], ["--url", f"http://127.0.0.1:{server.port}"]):
            with self.subTest(options=options):
                self.ask_again(len(options))
                self.told(self.start("answer", *options), f"treaty bridge answer: {line}")
                self.told(self.start("run", "--fresh", *options, "--", *asks), f"treaty bridge run: {line}")

    def test_a_request_that_was_not_answered_in_time_says_how_the_last_attempt_failed(self):
        self.failing(max_attempts=9, backoff=["50s"])
        self.ask_again(0, timeout_seconds=1)
        self.assertEqual(self.bridge("answer").code, 1)
        error = self.response()["error_message"]
        self.assertIn("did not answer within 1 second; the last attempt that failed: gate (small-1): server_error 503", error)

    def test_a_short_wait_is_not_told(self):
        gate = self.gate(DOWN, "Fine.")
        self.write("treaty.yaml", configuration(gate, {"dispatch": {"max_attempts": 2, "backoff": ["10ms"]}}))
        self.ask_again(0)

        ran = self.bridge("answer")

        self.assertEqual((ran.code, gate.count), (0, 2), ran)
        self.assertNotIn("waiting", ran.err)

    def test_a_refused_key_is_an_answer_at_once_however_often(self):
        gate = self.gate(refused(401, "invalid_api_key"))
        self.write("treaty.yaml", configuration(gate, {"dispatch": {"breaker_failures": 2, "breaker_open": "50s"}}))
        for number in range(4):
            self.ask_again(number)

            ran = self.bridge("answer")

            self.assertEqual((ran.code, gate.count), (1, number + 1), ran)
            self.assertEqual(self.response()["error_type"], "auth_error")
            self.assertNotIn("waiting", ran.err)

    def test_a_model_that_is_not_followed_is_told_and_in_the_answer_and_the_journal(self):
        self.agent("Fine.")
        for model, is_told in (("large-9", True), ("small-1", False)):
            with self.subTest(model):
                ran = self.drive(self.program(f"if not RESUMED:\n    ask(phase=1, model={model!r})\n"))

                self.assertEqual(ran.code, 0, ran)
                self.assertEqual("treaty bridge run: phase 1: the request names the model large-9" in ran.err, is_told)
                metadata = self.response()["metadata"]
                self.assertEqual(metadata["model"], "small-1")
                self.assertEqual(metadata.get("requested_model"), model if is_told else None)
                self.assertEqual(self.journal("answer.written")[-1].get("requested_model"), model if is_told else None)


class NewQuestions(BridgeTest):
    """A request_id that is used again, with other words and a later created_at."""

    def setUp(self):
        super().setUp()
        self.calls = self.agent(lambda call: f"To: {call.user}")

    def asked(self, prompt, created_at):
        self.put(".agent-request.json", bridge_request(prompt=prompt, created_at=created_at))

    def test_answer_answers_them_whether_or_not_the_old_answer_is_there(self):
        for number, removes in enumerate((True, False)):
            with self.subTest(removes=removes):
                self.asked(f"First {number}?", f"2026-01-0{2 * number + 1}T00:00:00Z")
                self.assertEqual(self.bridge("answer").code, 0)
                if removes:
                    (self.work / ".agent-response.json").unlink()
                self.asked(f"Second {number}?", f"2026-01-0{2 * number + 2}T00:00:00Z")

                ran = self.bridge("answer")

                self.assertEqual(ran.code, 0, ran)
                self.assertEqual(self.response()["response"], f"To: Second {number}?")

    def test_answer_still_refuses_the_same_words_and_older_requests(self):
        self.asked("First?", "2026-01-02T00:00:00Z")
        self.assertEqual(self.bridge("answer").code, 0)
        (self.work / ".agent-response.json").unlink()
        for prompt, created_at in (("First?", "2026-01-03T00:00:00Z"), ("Second?", "2026-01-01T00:00:00Z")):
            with self.subTest(prompt):
                self.asked(prompt, created_at)

                ran = self.bridge("answer")

                self.assertEqual(ran.code, 75, ran)
        self.assertEqual(self.calls.count, 1)

    def test_run_answers_them_and_stops_at_the_same_words(self):
        ran = self.drive(self.program(f"""
step = count()
if step == 2:
    write("first.txt", answer()["response"])
if step == 3:
    write("second.txt", answer()["response"])
ask(request_id={UUID!r}, prompt="First?" if step == 1 else "Second?")
"""))

        self.assertEqual(ran.code, 75, ran)
        self.assertEqual((self.work / "first.txt").read_text(), "To: First?")
        self.assertEqual((self.work / "second.txt").read_text(), "To: Second?")
        self.assertEqual(self.calls.count, 2)

    def test_an_id_that_was_answered_long_ago_is_free_for_a_new_question(self):
        self.put(".treaty-bridge/journal.ndjson", json.dumps(
            {"at": "2026-01-01T00:00:00Z", "event": "answer.written", "request_id": UUID, "status": "success",
             "file": str(self.work / ".agent-response.json")}) + "\n")
        self.asked("Second?", "2026-02-01T00:00:00Z")

        ran = self.bridge("answer")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.response()["response"], "To: Second?")


class WatchedQuestions(WatchTest):
    def test_a_watch_answers_a_new_question_under_an_old_id(self):
        gate, directory, watch = self.gated_watch(lambda call: f"To: {call.user}")
        first = directory.ask(request("First?", created_at="2026-01-01T00:00:00Z"))
        self.assertEqual(watch.next_answer()["request_id"], first["request_id"])
        directory.ask({**first, "prompt": "Second?", "created_at": "2026-01-02T00:00:00Z"})

        self.assertEqual(watch.next_answer()["request_id"], first["request_id"])

        self.assertEqual(directory.response()["response"], "To: Second?")
        self.assertEqual(gate.count, 2)
        self.assertEqual(watch.leave(), 0)


class Pruning(BridgeTest):
    OLD = "20200101T000000.000-stale-0b8de6c2.agent-response.json"

    def entry(self, event, at="2020-01-01T00:00:00Z", **members):
        return json.dumps({"at": at, "event": event, **members}) + "\n"

    def test_old_entries_and_files_go_and_an_interrupted_run_stays(self):
        self.agent("Fine.")
        program = self.program("if not RESUMED:\n    ask()\n")
        young = self.OLD.replace("2020", "2999")
        self.put(f".treaty-bridge/quarantine/{self.OLD}", "{}")
        self.put(f".treaty-bridge/quarantine/{young}", "{}")
        self.put(".treaty-bridge/journal.ndjson",
                 self.entry("run.started", command=["./other"]) + self.entry("run.ended", final=True, exit=0)
                 + self.entry("run.started", command=program) + self.entry("program.started", pid=0, resume=False))

        ran = self.drive(program)

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual([entry["event"] for entry in self.journal()][:3],
                         ["run.started", "program.started", "run.continued"])
        self.assertEqual(self.journal("run.started")[0]["command"], program)
        self.assertEqual(sorted(os.listdir(self.work / ".treaty-bridge" / "quarantine")), [young])

    def test_a_journal_stays_small_however_often_it_is_used(self):
        self.agent("Fine.")
        line = self.entry("file.quarantined", at="2999-01-01T00:00:00Z", problem="x" * 1_000)
        self.put(".treaty-bridge/journal.ndjson", line * 5_000)
        self.put(".agent-request.json", bridge_request())

        self.assertEqual(self.bridge("answer").code, 0)

        self.assertLess((self.work / ".treaty-bridge" / "journal.ndjson").stat().st_size, 3 << 20)
        self.assertEqual(self.journal()[-1]["event"], "answer.written")


if __name__ == "__main__":
    unittest.main()
