"""Whole-binary tests of failures: what is tried again, what goes to another backend, who is left alone."""
import json
import unittest

from dispatching import BROKEN, DOWN, QUICK, DispatchTest, entries, limited, refused
from gate import Reply
from serving import turn_path

TOO_LONG = refused(400, "context_length_exceeded", "This model's maximum context length is 10 tokens.")
FILTERED = refused(400, "content_filter", "Not that.")
WRONG = refused(400, None, "Not like this.", "invalid_request_error")
NO_KEY = refused(401, "invalid_api_key")
NO_MODEL = refused(404, "model_not_found")
NO_MONEY = refused(429, "insufficient_quota", "You exceeded your current quota.")
SLOW = refused(504, message="Too slow.")


class Retry(DispatchTest):
    def test_what_passes_by_itself_is_tried_again(self):
        gate = self.gate(DOWN, SLOW, refused(529, message="Overloaded."), "Fine.")
        server = self.chain(gate)

        self.assertEqual(server.say().text, "Fine.")
        self.assertEqual(gate.count, 4)
        self.assertEqual(self.kinds(server),
                         3 * ["one failed", "waiting for one"] + ["one completed", "turn.completed"])

    def test_the_waits_between_attempts_are_the_backoffs_and_the_last_one_stays(self):
        gate = self.gate(DOWN, DOWN, DOWN, DOWN, "Fine.")
        server = self.chain(gate, dispatch={"backoff": ["50ms", "300ms"], "jitter": 0.5})
        server.say()

        times = [call.at for call in gate.calls]
        for place, least in enumerate((0.05, 0.3, 0.3, 0.3)):
            self.assertGreaterEqual(times[place + 1] - times[place], least)
        told = [data["Seconds"] for kind, data in self.diary(server) if kind == "waiting"]
        self.assertTrue(0.05 <= told[0] <= 0.077, told)
        for wait in told[1:]:
            self.assertTrue(0.3 <= wait <= 0.452, told)

    def test_max_attempts_end_it(self):
        gate = self.gate(DOWN)
        server = self.chain(gate, dispatch={"max_attempts": 3, "breaker_failures": 0})
        self.assert_refused(server.say(), 502, "server_error")
        self.assertEqual(gate.count, 3)

    def test_the_deadline_ends_it(self):
        gate = self.gate(DOWN)
        server = self.chain(gate, dispatch={"backoff": ["1h"]}, agent={"deadline": "3s"})
        self.assert_refused(server.say(), 502, "server_error")
        self.assertEqual(gate.count, 1)

    def test_what_does_not_pass_is_not_tried_again(self):
        for reply, status, code in ((NO_KEY, 502, "auth_error"), (NO_MODEL, 503, "model_unavailable"),
                                    (NO_MONEY, 429, "rate_limit"), (TOO_LONG, 422, "context_length"),
                                    (FILTERED, 422, "content_filter"), (WRONG, 502, "invalid_request")):
            with self.subTest(code=code):
                gate = self.gate(reply)
                self.assert_refused(self.chain(gate).say(), status, code)
                self.assertEqual(gate.count, 1)

    def test_a_provider_may_say_itself_whether_to_try_again(self):
        gate = self.gate(refused(400, None, "Busy.", X_Should_Retry="true"), "Fine.")
        self.assertEqual(self.chain(gate).say().text, "Fine.")
        gate = self.gate(refused(503, None, "Gone for good.", X_Should_Retry="false"), "Fine.")
        self.assert_refused(self.chain(gate).say(), 502, "server_error")
        self.assertEqual(gate.count, 1)

    def test_a_turn_in_its_backoff_can_be_cancelled(self):
        gate = self.gate(DOWN)
        server = self.chain(gate, dispatch={"backoff": ["100s"]})
        running = self.later(server.say)
        self.so_far(server, "s1", "waiting")
        self.assertEqual(server.post(turn_path("s1", "t1", "/cancel")).status, 200)

        self.assert_refused(running.result(), 409, "turn_cancelled")
        self.assertEqual(gate.count, 1)

    def test_the_same_call_is_made_in_every_attempt(self):
        gate = self.gate(DOWN, DOWN, "Fine.")
        server = self.chain(gate)
        server.say("s1", "t1", "Exactly this.")
        bodies = [json.dumps(call.json, sort_keys=True) for call in gate.calls]
        self.assertEqual(len(set(bodies)), 1)

    def test_a_tool_round_is_tried_again_with_its_results(self):
        gate = self.gate(Reply(calls=[("a", "look", {"what": "a"})]), DOWN, "Seen.")
        server = self.chain(gate)
        first = server.say("s1", "t1")
        self.assertEqual(server.submit("s1", "t1", first.calls).text, "Seen.")
        self.assertEqual(gate.calls[1].tool_results, gate.calls[2].tool_results)
        self.assertEqual(gate.count, 3)


class Switch(DispatchTest):
    def test_what_another_may_do_better_goes_to_it_at_once(self):
        for reply in (NO_KEY, NO_MODEL, NO_MONEY):
            one, two = self.gate(reply), self.gate("From two.")
            server = self.chain(one, two)
            self.assertEqual(server.say().text, "From two.")
            self.assertEqual((one.count, two.count), (1, 1))
            self.assertEqual(self.kinds(server), ["one failed", "switched to two", "two completed", "turn.completed"])

    def test_what_another_would_refuse_too_goes_to_nobody(self):
        for reply, status, code in ((TOO_LONG, 422, "context_length"), (FILTERED, 422, "content_filter"),
                                    (WRONG, 502, "invalid_request")):
            one, two = self.gate(reply), self.gate("From two.")
            self.assert_refused(self.chain(one, two).say(), status, code)
            self.assertEqual((one.count, two.count), (1, 0))

    def test_exhausted_attempts_go_to_the_next_and_the_chain_has_an_end(self):
        one, two, three = self.gate(DOWN), self.gate(DOWN), self.gate(DOWN)
        server = self.chain(one, two, three, dispatch={"max_attempts": 2})
        self.assert_refused(server.say(), 502, "server_error")
        self.assertEqual([gate.count for gate in (one, two, three)], [2, 2, 2])
        self.assertEqual([word for word in self.kinds(server) if word.startswith("switched")],
                         ["switched to two", "switched to three"])

    def test_every_backend_is_asked_for_its_own_model(self):
        one, two = self.gate(NO_MODEL), self.gate("From two.")
        self.chain(one, two).say()
        self.assertEqual((one.calls[0].json["model"], two.calls[0].json["model"]), ("one-1", "two-1"))

    def test_preference_comes_before_the_place_in_the_list(self):
        one, two = self.gate("From one."), self.gate("From two.")
        backends = entries(2)
        backends[0]["preference"], backends[1]["preference"] = 7, 3
        self.assertEqual(self.chain(one, two, backends=backends).say().text, "From two.")

    def test_an_entry_with_a_condition_is_asked_for_that_alone(self):
        failures = {"long": TOO_LONG, "down": NO_KEY, "bad": FILTERED}
        first = self.gate(lambda call: failures.get(call.user, Reply("Small.")))
        large = self.gate("Large.")
        backends = entries(2)
        backends[1]["on"] = ["context_length"]
        server = self.chain(first, large, backends=backends)

        self.assertEqual(server.say("s1", "t1", "short").text, "Small.")
        self.assertEqual(server.say("s2", "t1", "long").text, "Large.")
        self.assertEqual(self.kinds(server, "s2"), ["one failed", "switched to two", "two completed", "turn.completed"])
        self.assert_refused(server.say("s3", "t1", "down"), 502, "auth_error")
        self.assert_refused(server.say("s4", "t1", "bad"), 422, "content_filter")
        self.assertEqual((first.count, large.count), (4, 1))

    def test_a_condition_is_looked_for_past_others(self):
        one, two, three = self.gate(TOO_LONG), self.gate("From two."), self.gate("From three.")
        backends = entries(3)
        backends[2]["on"] = ["context_length", "content_filter"]
        server = self.chain(one, two, three, backends=backends)
        self.assertEqual(server.say().text, "From three.")
        self.assertEqual(two.count, 0)

    def test_equals_share_the_calls_by_their_weights(self):
        heavy, light = self.gate("Heavy."), self.gate("Light.")
        backends = entries(2, preference=1)
        backends[0]["weight"] = 9
        server = self.chain(heavy, light, backends=backends)
        for number in range(60):
            server.say(f"s{number}", "t1")
        self.assertEqual(heavy.count + light.count, 60)
        self.assertGreater(heavy.count, light.count)

    def test_each_of_two_equals_is_asked_and_stands_in_for_the_other(self):
        one, two = self.gate("From one."), self.gate(NO_KEY)
        server = self.chain(one, two, backends=entries(2, preference=1), dispatch={"breaker_failures": 0})
        for number in range(40):
            self.assertEqual(server.say(f"s{number}", "t1").text, "From one.")
        self.assertEqual(one.count, 40)
        self.assertTrue(0 < two.count < 40, two.count)


class Dead(DispatchTest):
    """A provider at whose port nobody listens."""

    def dead_and_alive(self, **dispatch):
        door = self.closed_door()
        two = self.gate("From two.")
        return door, two, self.chain(door.getsockname()[1], two, dispatch=dispatch)

    def test_it_is_left_after_the_second_knock(self):
        _, two, server = self.dead_and_alive()
        self.assertEqual(server.say().text, "From two.")
        self.assertEqual(self.kinds(server), ["one failed", "waiting for one", "one failed", "switched to two",
                                              "two completed", "turn.completed"])
        self.assertIn("server_error again after 2 attempts", self.reasons(server, "switched")[0])

    def test_alone_it_is_knocked_at_as_often_as_any(self):
        door = self.closed_door()
        server = self.chain(door.getsockname()[1], dispatch={"max_attempts": 4})
        self.assert_refused(server.say(), 502, "server_error")
        self.assertEqual(self.kinds(server).count("one failed"), 4)

    def test_after_five_failures_nobody_knocks_until_a_probe_finds_it_alive(self):
        door, two, server = self.dead_and_alive(breaker_open="3s")
        for number in range(3):
            self.assertEqual(server.say(f"s{number}", "t1").text, "From two.")
        opened = self.kinds(server, "s2")
        self.assertEqual(opened[:2], ["one failed", "breaker.opened at one"])
        self.assertNotIn("one failed", opened[2:])
        self.assertEqual(server.say("s3", "t1").text, "From two.")
        self.assertEqual(self.kinds(server, "s3"), ["switched to two", "two completed", "turn.completed"])
        self.assertIn("circuit breaker", self.reasons(server, "switched", "s3")[0])

        one = self.gate("From one.", door=door)
        turns = iter(range(4, 10_000))

        def is_back():
            self.session = f"s{next(turns)}"
            return server.say(self.session, "t1").text == "From one."

        self.until(is_back, "the probe")
        self.assertEqual(one.count, 1)
        self.assertEqual(self.kinds(server, self.session), ["one completed", "breaker.closed at one", "turn.completed"])
        self.assertEqual(server.say("last", "t1").text, "From one.")

    def test_answers_about_keys_models_and_the_call_itself_do_not_open_it(self):
        for failure, status, code in ((NO_KEY, 502, "auth_error"), (NO_MODEL, 503, "model_unavailable"),
                                      (NO_MONEY, 429, "rate_limit"), (WRONG, 502, "invalid_request"),
                                      (TOO_LONG, 422, "context_length"), (FILTERED, 422, "content_filter")):
            with self.subTest(code):
                gate = self.gate(failure, failure, failure, "Fine.")
                server = self.chain(gate, dispatch={"breaker_failures": 2, "breaker_open": "50s"})
                for number in range(3):
                    self.assert_refused(server.say(f"s{number}", "t1"), status, code)
                    self.assertNotIn("breaker.opened at one", self.kinds(server, f"s{number}"))
                self.assertEqual(server.say("s3", "t1").text, "Fine.")
                self.assertEqual(gate.count, 4)

    def test_a_probe_that_fails_leaves_it_alone_for_as_long_again(self):
        one, two = self.gate(BROKEN), self.gate("From two.")
        server = self.chain(one, two, dispatch={"breaker_failures": 2, "breaker_open": "1s"})
        turns = iter(range(10_000))
        self.until(lambda: server.say(f"s{next(turns)}", "t1") and one.count >= 4, "the second probe")
        times = [call.at for call in one.calls]
        self.assertGreaterEqual(times[2] - times[1], 1)
        self.assertGreaterEqual(times[3] - times[2], 1)

    def test_one_probe_at_a_time(self):
        one, two = self.gate(lambda call: BROKEN if call.number <= 2 else Reply("From one.")), self.gate("From two.")
        server = self.chain(one, two, dispatch={"breaker_failures": 2, "breaker_open": "10ms"})
        for number in range(2):
            server.say(f"s{number}", "t1")
        one.held = True
        turns = iter(range(2, 10_000))
        probes = []

        def probe_is_there():
            probes.append(self.later(server.say, f"p{next(turns)}", "t1"))
            return self.until(lambda: one.count == 3 or probes[-1].done(), "a probe or an answer") and one.count == 3

        self.until(probe_is_there, "the probe")
        for number in range(5):
            self.assertEqual(server.say(f"q{number}", "t1").text, "From two.")
        self.assertEqual(one.count, 3)
        one.open()
        self.assertEqual(probes[-1].result().text, "From one.")

    def test_turns_that_wait_in_a_backoff_go_on_elsewhere_when_it_opens(self):
        one, two = self.gate(lambda call: DOWN if call.user == "wait" else BROKEN), self.gate("From two.")
        server = self.chain(one, two, dispatch={"backoff": ["9s"], "breaker_failures": 3})
        waiting = self.later(server.say, "s1", "t1", "wait")
        self.so_far(server, "s1", "waiting")
        for number in range(2, 4):
            server.say(f"s{number}", "t1", "break")

        self.assertEqual(waiting.result().text, "From two.")
        self.assertEqual(self.kinds(server, "s1"), ["one failed", "waiting for one", "switched to two", "two completed",
                                                    "turn.completed"])

    def test_without_another_backend_it_is_waited_for(self):
        gate = self.gate(BROKEN, BROKEN, "Fine.")
        server = self.chain(gate, dispatch={"breaker_failures": 2, "breaker_open": "1s"})
        for number in range(2):
            self.assert_refused(server.say(f"s{number}", "t1"), 502, "server_error")
        self.assertEqual(server.say("s2", "t1").text, "Fine.")
        self.assertGreaterEqual(gate.calls[2].at - gate.calls[1].at, 1)
        self.assertEqual(self.kinds(server, "s2"), ["waiting for one", "one completed", "breaker.closed at one",
                                                    "turn.completed"])

    def test_without_another_backend_and_time_the_client_is_told_when_to_come_back(self):
        gate = self.gate(BROKEN)
        server = self.chain(gate, dispatch={"breaker_failures": 2, "breaker_open": "50s", "max_wait": "5s"})
        for number in range(2):
            server.say(f"s{number}", "t1")
        answer = server.say("s2", "t1")
        self.assert_refused(answer, 502, "server_error")
        self.assertIn(int(answer.headers["retry-after"]), range(30, 51))
        self.assertEqual(gate.count, 2)

    def test_neither_limits_nor_faults_of_the_call_open_it(self):
        replies = {"limit": limited(Retry_After_Ms=1), "long": TOO_LONG, "filter": FILTERED, "wrong": WRONG}
        gate = self.gate(lambda call: replies.get(call.user, Reply("Fine.")))
        server = self.chain(gate, dispatch={"max_attempts": 1, "breaker_failures": 2, "breaker_open": "1h"})
        for number, text in enumerate(3 * ["limit"] + 2 * ["long"] + 2 * ["filter"] + 2 * ["wrong"]):
            server.say(f"s{number}", "t1", text)
        self.assertEqual(server.say("last", "t1").text, "Fine.")

    def test_a_success_between_failures_begins_the_count_anew(self):
        gate = self.gate(lambda call: BROKEN if call.number % 3 else Reply("Fine."))
        server = self.chain(gate, dispatch={"breaker_failures": 3, "breaker_open": "1h"})
        codes = [server.say(f"s{number}", "t1").status for number in range(12)]
        self.assertEqual(codes, 4 * [502, 502, 200])


class Concurrency(DispatchTest):
    def test_no_more_calls_run_at_a_time_than_may(self):
        gate = self.gate("Fine.", held=True)
        server = self.chain(gate, dispatch={"max_concurrent": 2}, workers=2)
        turns = [self.later(server.say, f"s{number}", "t1") for number in range(8)]
        gate.wait_for_calls(2)
        waiting = [number for number in range(8)
                   if self.so_far(server, f"s{number}", "waiting", "attempt.started")[-1][0] == "waiting"]
        self.assertEqual((len(waiting), gate.count), (6, 2))
        for done in range(1, 7):
            gate.release()
            gate.wait_for_calls(2 + done)
            self.assertEqual(gate.count, 2 + done)
        gate.open()
        self.assertEqual([turn.result().text for turn in turns], ["Fine."] * 8)

    def test_it_counts_for_all_agents_that_ask_the_same(self):
        gate = self.gate("Fine.", held=True)
        backends = [{"provider": "one", "model": "one-1"}]
        server = self.chain(gate, dispatch={"max_concurrent": 1}, agents={
            "second": {"backends": backends, "dispatch": {**QUICK, "max_concurrent": 1}}})
        first = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)
        second = self.later(server.say, "s2", "t1", AgentContextId="second")
        self.assertEqual(self.so_far(server, "s2", "waiting")[-1][0], "waiting")
        self.assertEqual(gate.count, 1)
        gate.open()
        self.assertEqual((first.result().text, second.result().text), ("Fine.", "Fine."))


class Honesty(DispatchTest):
    def test_every_attempt_is_in_the_diary_with_its_end(self):
        one, two = self.gate(DOWN), self.gate(Reply("Fine.", headers={"X_Request_Id": "req-7"}))
        server = self.chain(one, two, dispatch={"max_attempts": 2})
        server.say()
        diary = self.diary(server)
        attempts = [(kind, data["Backend"], data["Model"], data["Attempt"])
                    for kind, data in diary if kind.startswith("attempt.")]
        self.assertEqual(attempts, [
            ("attempt.started", "one", "one-1", 1), ("attempt.failed", "one", "one-1", 1),
            ("attempt.started", "one", "one-1", 2), ("attempt.failed", "one", "one-1", 2),
            ("attempt.started", "two", "two-1", 1), ("attempt.completed", "two", "two-1", 1)])
        failed = [data for kind, data in diary if kind == "attempt.failed"][0]
        self.assertEqual((failed["ErrorCode"], failed["Status"], failed["Retryable"]), ("server_error", 503, True))
        done = [data for kind, data in diary if kind == "attempt.completed"][0]
        self.assertEqual((done["InputTokens"], done["OutputTokens"], done["RequestId"]), (12, 3, "req-7"))
        for kind, data in diary:
            if kind in ("attempt.failed", "attempt.completed"):
                self.assertGreaterEqual(data["Milliseconds"], 0)

    def test_the_diary_survives_a_restart(self):
        one, two = self.gate(NO_KEY), self.gate("Fine.")
        server = self.chain(one, two)
        server.say()
        before = self.diary(server)
        server.restart()
        self.assertEqual(self.diary(server), before)

    def test_the_usage_of_failed_attempts_counts(self):
        broken = Reply("Half an answer.", finish="error", usage=(100, 20))
        gate = self.gate(broken, Reply("Fine.", usage=(12, 3)))
        server = self.chain(gate)
        answer = server.say()
        self.assertEqual(answer.text, "Fine.")
        self.assertEqual(answer.result["Usage"], {"PromptTokens": 112, "CompletionTokens": 23, "TotalTokens": 135})
        failed, = [data for kind, data in self.diary(server) if kind == "attempt.failed"]
        self.assertEqual((failed["InputTokens"], failed["OutputTokens"]), (100, 20))


if __name__ == "__main__":
    unittest.main()
