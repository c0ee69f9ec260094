"""Whole-binary tests of limits: what a provider says about them is kept, and no more calls are refused than must be."""
import unittest

from dispatching import QUICK, DispatchTest, bucket, limited, refused, window
from gate import Reply
from serving import turn_path

INT64 = 2 ** 63 - 1
DAY = 86_400  # No client is told to stay away for longer.


class Storm(DispatchTest):
    def test_after_a_storm_of_refusals_everybody_is_answered_and_nobody_comes_back_early(self):
        gate = self.gate(lambda call: limited(Retry_After=1) if call.number <= 10 else Reply("Fine."), held=True)
        server = self.chain(gate)
        turns = [self.later(server.say, f"s{number}", "t1") for number in range(30)]
        last = gate.wait_for_calls(30)  # As many as may go before a limit is known.
        gate.open()

        self.assertEqual([turn.result().text for turn in turns], ["Fine."] * 30)
        self.assertEqual(gate.count, 40)
        self.assertGreaterEqual(gate.calls[30].at - last.at, 1)
        refusals = [data for number in range(30) for kind, data in self.diary(server, f"s{number}")
                    if kind == "attempt.failed"]
        self.assertEqual([one["Status"] for one in refusals], [429] * 10)

    def test_one_refusal_keeps_everybody_waiting_and_not_only_the_turn_that_met_it(self):
        gate = self.gate(limited(Retry_After=1), "Fine.")
        server = self.chain(gate)
        met = self.later(server.say, "s1", "t1")
        self.so_far(server, "s1", "waiting")
        other = server.say("s2", "t1")

        self.assertEqual((met.result().text, other.text), ("Fine.", "Fine."))
        self.assertEqual(gate.count, 3)
        for call in gate.calls[1:]:
            self.assertGreaterEqual(call.at - gate.calls[0].at, 1)
        # It may also wait for the other to be answered: one goes first to see whether the limit has passed.
        self.assertEqual(set(self.kinds(server, "s2")), {"waiting for one", "one completed", "turn.completed"})
        self.assertIn("a rate limit blocks the backend", self.reasons(server, "waiting", "s2")[0])

    def test_a_longer_wait_than_the_backoff_is_kept_and_a_shorter_one_does_not_shorten_it(self):
        gate = self.gate(limited(Retry_After_Ms=1200), limited(Retry_After_Ms=100), "Fine.")
        server = self.chain(gate, dispatch={"backoff": ["20ms", "1500ms"]})

        self.assertEqual(server.say().text, "Fine.")
        first, second, third = (call.at for call in gate.calls)
        self.assertGreaterEqual(second - first, 1.2)
        self.assertGreaterEqual(third - second, 1.5)

    def test_a_wait_in_the_words_of_the_message_is_kept(self):
        gate = self.gate(refused(429, "rate_limit_exceeded", "Please try again in 1.3s."), "Fine.")
        server = self.chain(gate)

        self.assertEqual(server.say().text, "Fine.")
        self.assertGreaterEqual(gate.calls[1].at - gate.calls[0].at, 1.3)

    def test_a_provider_that_always_refuses_without_a_wait_is_not_stormed(self):
        gate = self.gate(limited(Retry_After=0))
        server = self.chain(gate, dispatch={"max_attempts": 3})
        answer = server.say()

        self.assert_refused(answer, 429, "rate_limit")
        self.assertGreaterEqual(int(answer.headers["retry-after"]), 1)
        times = [call.at for call in gate.calls]
        self.assertEqual(len(times), 3)
        for before, after in zip(times, times[1:]):
            self.assertGreaterEqual(after - before, 1)

    def test_a_wait_that_comes_with_a_success_slows_nothing(self):
        gate = self.gate(Reply("Fine.", headers={"Retry_After": 3600}))
        server = self.chain(gate)
        for number in range(5):
            self.assertEqual(server.say(f"s{number}", "t1").text, "Fine.")
            self.assertEqual(self.kinds(server, f"s{number}"), ["one completed", "turn.completed"])

    def test_a_wait_beyond_max_wait_goes_to_the_next_backend_or_to_the_client(self):
        one, two = self.gate(limited(Retry_After=50)), self.gate("From two.")
        server = self.chain(one, two, dispatch={"max_wait": "10s"})
        self.assertEqual(server.say().text, "From two.")
        self.assertEqual(self.kinds(server), ["one failed", "switched to two", "two completed", "turn.completed"])
        self.assertIn("max_wait", self.reasons(server, "switched")[0])

        alone = self.chain(self.gate(limited(Retry_After=50)), dispatch={"max_wait": "10s"})
        answer = alone.say()
        self.assert_refused(answer, 429, "rate_limit")
        self.assertEqual(answer.headers["retry-after"], "50")

    def test_a_wait_beyond_the_deadline_is_told_at_once(self):
        server = self.chain(self.gate(limited(Retry_After=20)), agent={"deadline": "10s"})
        answer = server.say()
        self.assert_refused(answer, 429, "rate_limit")
        self.assertEqual(answer.headers["retry-after"], "20")


class Minute(DispatchTest):
    def exhausted(self, reset="1s", **later):
        """A gate whose first answer says that nothing is left, and whose later ones say that half of it is."""
        used_up = Reply("First.", headers=window(10, 0, reset))
        return self.gate(lambda call: used_up if call.number == 1 else
                         Reply("Fine.", headers=window(10, 5, "1s")), **later)

    def test_the_next_turn_waits_for_the_window_and_says_so(self):
        gate = self.exhausted("2s")
        server = self.chain(gate)
        self.assertEqual(server.say("s1", "t1").text, "First.")
        self.assertEqual(server.say("s2", "t1").text, "Fine.")

        self.assertGreaterEqual(gate.calls[1].at - gate.calls[0].at, 2)
        self.assertEqual(self.kinds(server, "s2"), ["waiting for one", "one completed", "turn.completed"])
        (_, told), = [entry for entry in self.diary(server, "s2") if entry[0] == "waiting"]
        self.assertEqual((told["Backend"], told["Model"]), ("one", "one-1"))
        self.assertTrue(0 < told["Seconds"] <= 2, told)
        self.assertIn("window requests", told["Reason"])

    def test_those_who_wait_are_let_go_in_their_order(self):
        gate = self.exhausted("2s")
        server = self.chain(gate)
        server.say("first", "t1", "0")
        turns = []
        for number in range(1, 7):
            turns.append(self.later(server.say, f"s{number}", "t1", str(number)))
            self.so_far(server, f"s{number}", "waiting", "attempt.started")
        for turn in turns:
            self.assertEqual(turn.result().text, "Fine.")

        self.assertEqual([call.user for call in gate.calls], [str(number) for number in range(7)])

    def test_it_waits_though_there_is_another_backend(self):
        gate, other = self.exhausted(), self.gate("From two.")
        server = self.chain(gate, other)
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(2)], ["First.", "Fine."])
        self.assertEqual(other.count, 0)

    def test_one_that_does_not_reset_within_max_wait_is_left(self):
        gate, other = self.exhausted("50s"), self.gate("From two.")
        server = self.chain(gate, other, dispatch={"max_wait": "5s"})
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(2)], ["First.", "From two."])
        self.assertEqual(gate.count, 1)

    def test_a_turn_whose_deadline_comes_first_is_refused_at_once(self):
        gate = self.exhausted("50s")
        server = self.chain(gate, agent={"deadline": "5s"})
        server.say("s1", "t1")
        answer = server.say("s2", "t1")

        self.assert_refused(answer, 429, "rate_limit")
        self.assertIn(int(answer.headers["retry-after"]), range(40, 51))
        self.assertEqual(gate.count, 1)

    def test_a_window_of_tokens_holds_a_call_that_would_not_fit(self):
        small = {**window(1000, 1000, "1s"), **window(1000, 3, "2s", "Tokens")}
        plenty = {**window(1000, 1000, "1s"), **window(1000, 1000, "1s", "Tokens")}
        gate = self.gate(lambda call: Reply("Fine.", headers=small if call.number == 1 else plenty))
        server = self.chain(gate)
        server.say("s1", "t1")
        self.assertEqual(server.say("s2", "t1", "A long text. " * 20).text, "Fine.")

        self.assertGreaterEqual(gate.calls[1].at - gate.calls[0].at, 2)
        self.assertIn("window tokens", self.reasons(server, "waiting", "s2")[0])

    def test_a_turn_that_waits_can_be_cancelled_and_the_next_one_goes(self):
        gate = self.exhausted("3s")
        server = self.chain(gate)
        server.say("s1", "t1")
        waiting = self.later(server.say, "s2", "t1")
        self.so_far(server, "s2", "waiting")
        behind = self.later(server.say, "s3", "t1")
        self.so_far(server, "s3", "waiting")
        self.assertEqual(server.post(turn_path("s2", "t1", "/cancel")).status, 200)

        self.assert_refused(waiting.result(), 409, "turn_cancelled")
        self.assertEqual(self.kinds(server, "s2"), ["waiting for one", "turn.cancelled"])
        self.assertEqual(gate.count, 1)
        self.assertEqual(behind.result().text, "Fine.")
        self.assertEqual(gate.count, 2)


class Hour(DispatchTest):
    def test_it_switches_though_the_reset_is_near(self):
        one, two = self.gate(Reply("First.", headers=bucket("hour", 100, 0, 20))), self.gate("From two.")
        server = self.chain(one, two)
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(3)],
                         ["First.", "From two.", "From two."])
        self.assertEqual(one.count, 1)
        self.assertEqual(self.kinds(server, "s1"), ["switched to two", "two completed", "turn.completed"])
        self.assertIn("requests_per_hour", self.reasons(server, "switched", "s1")[0])

    def test_without_another_backend_it_waits_within_the_deadline_whatever_max_wait_says(self):
        gate = self.gate(Reply("First.", headers=bucket("hour", 100, 0, 2)),
                         Reply("Fine.", headers=bucket("hour", 100, 99, 3600)))
        server = self.chain(gate, dispatch={"max_wait": "500ms"})
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(2)], ["First.", "Fine."])
        self.assertGreaterEqual(gate.calls[1].at - gate.calls[0].at, 2)
        self.assertEqual(self.kinds(server, "s1"), ["waiting for one", "one completed", "turn.completed"])

    def test_without_another_backend_and_time_the_client_is_told_when_to_come_back(self):
        gate = self.gate(Reply("First.", headers=bucket("hour", 100, 0, 1800)))
        server = self.chain(gate)
        server.say("s1", "t1")
        answer = server.say("s2", "t1")

        self.assert_refused(answer, 429, "rate_limit")
        self.assertIn(int(answer.headers["retry-after"]), range(1700, 1801))
        self.assertEqual(gate.count, 1)
        self.assertEqual(self.kinds(server, "s2"), ["given_up", "turn.failed"])

    def test_a_refusal_by_an_hours_window_switches_at_once(self):
        one = self.gate(limited(Retry_After=2, **bucket("hour", 100, 0, 1800)))
        two = self.gate("From two.")
        server = self.chain(one, two)
        self.assertEqual(server.say().text, "From two.")
        self.assertEqual((one.count, two.count), (1, 1))


class Day(DispatchTest):
    def test_it_switches_and_the_next_turn_does_not_even_ask(self):
        one = self.gate(limited(**bucket("day", 1000, 0, 40_000)))
        two = self.gate("From two.")
        server = self.chain(one, two)
        for number in range(4):
            self.assertEqual(server.say(f"s{number}", "t1").text, "From two.")
        self.assertEqual((one.count, two.count), (1, 4))
        self.assertEqual(self.kinds(server, "s0"), ["one failed", "switched to two", "two completed", "turn.completed"])
        self.assertEqual(self.kinds(server, "s1"), ["switched to two", "two completed", "turn.completed"])

    def test_the_last_of_the_days_calls_is_used(self):
        one = self.gate(lambda call: Reply("From one.", headers=bucket("day", 2, 2 - call.number, 40_000)))
        two = self.gate("From two.")
        server = self.chain(one, two)
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(3)],
                         ["From one.", "From one.", "From two."])

    def test_without_another_backend_the_client_is_told_when_to_come_back(self):
        gate = self.gate(Reply("First.", headers=bucket("day", 1000, 0, 40_000)))
        server = self.chain(gate)
        server.say("s1", "t1")
        answer = server.say("s2", "t1")

        self.assert_refused(answer, 429, "rate_limit")
        self.assertIn(int(answer.headers["retry-after"]), range(39_900, 40_001))
        self.assertRegex(answer.headers["ratelimit"], r'^"requests_per_day";r=0;t=(399\d\d|40000)$')
        self.assertEqual(answer.headers["ratelimit-policy"], '"requests_per_day";q=1000;w=86400')
        self.assertEqual(gate.count, 1)

    def test_the_same_provider_under_another_model_is_another_pool(self):
        gate = self.gate(lambda call: limited(**bucket("day", 1000, 0, 40_000)) if call.json["model"] == "large"
                         else Reply("From the small one."))
        server = self.chain(gate, backends=[{"provider": "one", "model": name} for name in ("large", "small")])
        for number in range(3):
            self.assertEqual(server.say(f"s{number}", "t1").text, "From the small one.")
        self.assertEqual([call.json["model"] for call in gate.calls], ["large", "small", "small", "small"])

    def test_two_entries_for_the_same_model_are_one_pool(self):
        gate, other = self.gate(limited(**bucket("day", 1000, 0, 40_000))), self.gate("From two.")
        server = self.chain(gate, other, agents={"second": {"dispatch": QUICK, "backends": [
            {"provider": "one", "model": "one-1", "temperature": 0}, {"provider": "two", "model": "other"}]}})
        self.assertEqual(server.say("s1", "t1").text, "From two.")
        self.assertEqual(server.say("s2", "t1", AgentContextId="second").text, "From two.")
        self.assertEqual(gate.count, 1)


class Absurd(DispatchTest):
    """Windows that make no sense: turns go on."""

    ABSURD = {
        "more left than there is": window(10, 5000, "1s"),
        "a reset in the past": window(10, 0, "2001-01-01T00:00:00Z"),
        "a reset below nothing": window(10, 3, -5),
        "83 hours": window(1000, 999, "83h0m0s"),
        "the largest numbers": window(INT64, INT64, INT64),
        "numbers that are too large": window("9" * 40, "9" * 40, "9" * 40),
        "the smallest numbers": window(-INT64 - 1, -INT64 - 1, -INT64 - 1),
        "no numbers": window("lots", "plenty", "soon"),
        "nothing": window("", "", ""),
        "fractions": window("10.5", "3.7", "0.2"),
        "a limit alone": {"X_Ratelimit_Limit_Requests": 10},
        "a reset alone": {"X_Ratelimit_Reset_Requests": "3600s"},
        "a limit of nothing with something left": window(0, 5, "1s"),
        "words": window("NaN", "inf", "-inf"),
        "tokens for a nanosecond": window(INT64, INT64 - 1, "1ns", "Tokens"),
    }

    def test_turns_go_on_whatever_the_windows_say(self):
        gate = self.gate(lambda call: Reply("Fine.", headers=self.ABSURD[call.json["model"]]))
        agents = {f"a{number}": {"backends": [{"provider": "one", "model": name}]}
                  for number, name in enumerate(self.ABSURD)}
        server = self.chain(gate, agents=agents)
        for agent, name in zip(agents, self.ABSURD):
            for turn in range(2):
                with self.subTest(name, turn=turn):
                    session = f"{agent}-{turn}"
                    self.assertEqual(server.say(session, "t1", AgentContextId=agent).status, 200)
                    self.assertEqual(self.kinds(server, session), ["one completed", "turn.completed"])
        self.assertEqual(gate.count, 2 * len(self.ABSURD))

    def test_an_exhausted_window_of_83_hours_switches_or_is_told(self):
        one, two = self.gate(Reply("First.", headers=window(10, 0, "83h0m0s"))), self.gate("From two.")
        server = self.chain(one, two)
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(2)], ["First.", "From two."])

        alone = self.chain(self.gate(Reply("First.", headers=window(10, 0, "83h0m0s"))))
        alone.say("s1", "t1")
        answer = alone.say("s2", "t1")
        self.assert_refused(answer, 429, "rate_limit")
        self.assertEqual(int(answer.headers["retry-after"]), DAY)

    def test_a_wait_of_centuries_is_told_as_a_wait(self):
        one, two = self.gate(limited(Retry_After=INT64)), self.gate("From two.")
        server = self.chain(one, two)
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(2)], ["From two."] * 2)
        self.assertEqual(one.count, 1)

        alone = self.chain(self.gate(limited(Retry_After="9" * 30)))
        for turn in range(2):
            answer = alone.say(f"s{turn}", "t1")
            self.assert_refused(answer, 429, "rate_limit")
            self.assertEqual(int(answer.headers["retry-after"]), DAY)

    def test_windows_that_disagree_from_answer_to_answer(self):
        told = [window(10, 9, "1s"), window(1000, 2, "900s"), window(3, 3, "83h0m0s"), window(10, 1, "1ms"), {},
                bucket("minute", 5, 5, 60), bucket("minute", 500_000, 1, 1), window(INT64, 7, "0s")]
        gate = self.gate(lambda call: Reply("Fine.", headers=told[call.number % len(told)]))
        server = self.chain(gate, agent={"deadline": "20s"})
        for number in range(2 * len(told)):
            self.assertEqual(server.say(f"s{number}", "t1").text, "Fine.")
        self.assertEqual(gate.count, 2 * len(told))


if __name__ == "__main__":
    unittest.main()
