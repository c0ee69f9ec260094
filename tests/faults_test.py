"""The sixteen provider faults on a chain of two, streamed and unstreamed, with a second that is shorter.

`make torture` runs the same faults in real time with the defaults (tests/torture_faults.py)."""
import json
import unittest

import faults
from fake_provider import chunk
from faults import (CONTEXT, FAULTS, LAST, OUTAGE, SCALE, SLACK, TEXT, WITH_NEXT, Fault, Provider, ask, chain, diary,
                    violations)
from serving import ServingTest


class FaultTest(ServingTest):
    def providers(self, fault):
        made = [Provider(play, SCALE, tokens) for play, tokens in
                ((fault.one, (100, 60)), (fault.two, (200, 70)))]
        self.gates.extend(made)
        return made

    def faulty(self, fault, goes_on=True, **members):
        """(server, its providers)."""
        providers = self.providers(fault)
        configured, agent = chain(fault, "f", goes_on, SCALE, [one.port for one in providers])
        return self.server({"providers": configured, "agents": {"default": {**agent, **members}}}), providers

    def assert_kept(self, fault, outcome, goes_on=True):
        self.assertEqual(violations(fault, outcome, goes_on, SLACK), [], outcome)

    def run_fault(self, name, streamed, goes_on=True):
        fault = next(one for one in FAULTS if one.name == name)
        server, providers = self.faulty(fault, goes_on)
        outcome = ask(server, providers, "r1", streamed, scale=SCALE)
        self.assert_kept(fault, outcome, goes_on)
        # Every call that a provider got is an attempt that was told.
        told = [one.json["Backend"] for one in diary(server, "r1", "attempt.started")]
        self.assertEqual(tuple(told.count(name) for name in ("f-one", "f-two")), outcome.asked())
        return fault, outcome


def add_fault(number, fault, streamed, goes_on):
    def test(self):
        _, outcome = self.run_fault(fault.name, streamed, goes_on)
        if not fault.leaves_text or goes_on or not streamed:
            self.assertEqual(outcome.asked(), fault.asked_when(streamed), outcome)
        else:
            self.assertEqual(outcome.asked(), (1, 0), outcome)

    how = "streamed" if streamed else "unstreamed"
    words = fault.name.replace(",", "").replace("-", " ").replace(" ", "_")
    test.__name__ = f"test_{number:02}_{words}_{how}" + ("" if goes_on else "_is_one_error_with_on_cut_fail")
    setattr(Faults, test.__name__, test)


class Faults(FaultTest):
    """One test for each fault: the whole answer, in time, and nobody hammered."""


for at, one_fault in enumerate(FAULTS, 1):
    if one_fault is OUTAGE:
        continue
    add_fault(at, one_fault, True, True)
    add_fault(at, one_fault, False, True)
    if one_fault.leaves_text:
        add_fault(at, one_fault, True, False)


class Outage(FaultTest):
    def test_twenty_requests_during_an_outage_are_answered_and_the_first_backend_is_used_again(self):
        server, providers = self.faulty(OUTAGE)
        one, two = providers
        during = self.at_once(20, lambda number: ask(server, providers, f"r{number}", number % 2 == 0, scale=SCALE))
        for outcome in during:
            self.assert_kept(OUTAGE, outcome)
        self.until(lambda: one.seconds() > 60, "the end of the outage")

        def is_used_again():
            number = len(one.calls) + len(two.calls)
            outcome = ask(server, providers, f"after{number}", False, scale=SCALE)
            self.assertEqual((outcome.text, outcome.errors), (TEXT, ()))
            return outcome.asked() == (1, 0)

        self.until(is_used_again, "the first backend")
        self.assertLess(one.seconds(), 60 + 30 + SLACK)

    def test_the_breaker_keeps_a_backend_that_is_down_from_being_asked(self):
        server, providers = self.faulty(OUTAGE)
        for number in range(20):
            ask(server, providers, f"r{number}", False, scale=SCALE)
            if providers[0].seconds() > 20:
                break
        self.assertLessEqual(providers[0].count, 8)


class Accounting(FaultTest):
    def accounted(self, streamed):
        fault = FAULTS[15]  # The first attempt reports usage and fails, the second fails without, the third answers.
        providers = self.providers(fault)
        configured, agent = chain(fault, "f", True, SCALE, [one.port for one in providers])
        self.write("prices.yaml", {"prices": [
            {"provider": kind, "models": ["small-1-2026", "f-one-model", "f-two-model"], "from": "2025-01-01", "input": 1000, "output": 10000}
            for kind in ("openai", "mistral")]})
        agent["budget"] = {"tokens_per_day": 100_000, "dollars_per_day": 100}
        server = self.server({"providers": configured, "agents": {"default": agent},
                              "prices": str(self.folder / "prices.yaml")})
        outcome = ask(server, providers, "r1", streamed, scale=SCALE)
        cost = (300 * 1000 + 130 * 10000) / 1e6

        self.assertEqual((outcome.text, outcome.asked()), (TEXT, (2, 1)))
        self.assertEqual((outcome.usage["PromptTokens"], outcome.usage["CompletionTokens"]), (300, 130), outcome)
        spent, = server.get("/v1/limits").json["Budgets"]
        self.assertEqual((spent["TokensSpent"], spent["TokensReserved"]), (430, 0), spent)
        self.assertAlmostEqual(spent["DollarsSpent"], cost)
        attempts = [one.json for one in diary(server, "r1", "attempt.failed", "attempt.completed")]
        self.assertEqual([(one.get("InputTokens"), one.get("OutputTokens")) for one in attempts],
                         [(100, 60), (None, None), (200, 70)])
        self.assertAlmostEqual(sum(one.get("Cost", 0) for one in attempts), cost)

    def test_failed_attempts_are_known_after_kill_9_once_text_has_left(self):
        def stuck(exchange):
            exchange.begin()
            exchange.say(" ".join(faults.WORDS[:5]))
            exchange.wait(100)
        server, _ = self.faulty(Fault("stuck", faults.refusing(503), stuck))
        with server.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
            server.restart()
        self.until(lambda: server.state_of("s1", "t1") == "failed", "the end of the turn")
        kinds = [event.event for event in diary(server, "s1")]
        self.assertEqual(kinds.count("attempt.failed"), 2, kinds)
        self.assertLess(kinds.index("switched"), kinds.index("turn.recovered"))
        self.assertEqual(len(kinds), len({event.id for event in diary(server, "s1")}), kinds)

    def test_failed_attempts_are_told_once_when_the_turn_ends(self):
        server, providers = self.faulty(Fault("down", faults.refusing(503)))
        ask(server, providers, "r1", True, scale=SCALE)
        kinds = [event.event for event in diary(server, "r1")]
        self.assertEqual((kinds.count("attempt.failed"), kinds.count("attempt.completed")), (2, 1), kinds)

    def test_arguments_and_thoughts_that_were_cut_count_for_the_budget(self):
        arguments = {"tool_calls": [{"index": 0, "id": "c", "function": {"name": "look", "arguments": "x" * 40_000}}]}
        for delta in (arguments, {"reasoning_content": "x" * 40_000}):
            def cut(exchange, delta=delta):
                exchange.begin()
                exchange.send(chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None}]))
            provider = Provider(cut, SCALE)
            self.gates.append(provider)
            server = self.server({
                "providers": {"one": {"kind": "openai", "base_url": provider.base_url, "key": "k"}},
                "agents": {"default": {"backends": [{"provider": "one", "model": "m"}], "dispatch": {"max_attempts": 1},
                                       "budget": {"tokens_per_day": 100_000}}}})
            self.assertEqual(ask(server, [provider], "r1", True, scale=SCALE).errors, ("server_error",))
            spent, = server.get("/v1/limits").json["Budgets"]
            self.assertGreater(spent["TokensSpent"], 10_000)

    def test_a_continuation_does_not_take_more_than_the_budget_has(self):
        def cut_long(exchange):
            exchange.begin()
            exchange.say("word " * 4000)
        providers = self.providers(Fault("long", cut_long))
        configured, agent = chain(Fault("long", cut_long), "f", True, SCALE, [one.port for one in providers])
        agent["budget"] = {"tokens_per_day": 12_000}
        server = self.server({"providers": configured, "agents": {"default": agent}})
        outcome = ask(server, providers, "r1", True, scale=SCALE)
        self.assertEqual((outcome.errors, outcome.asked()), (("budget_exhausted",), (1, 0)), outcome)

    def test_usage_and_cost_are_those_of_all_attempts_streamed(self):
        self.accounted(True)

    def test_usage_and_cost_are_those_of_all_attempts_unstreamed(self):
        self.accounted(False)


class LargerModel(FaultTest):
    def test_a_larger_model_answers_what_does_not_fit(self):
        fault = faults.Fault("context length", faults.refusing(400, **CONTEXT))
        providers = self.providers(fault)
        configured, agent = chain(fault, "f", True, SCALE, [one.port for one in providers])
        agent["backends"][1]["on"] = ["context_length"]
        server = self.server({"providers": configured, "agents": {"default": agent}})
        outcome = ask(server, providers, "r1", True, scale=SCALE)

        self.assertEqual((outcome.text, outcome.asked()), (TEXT, (1, 1)), outcome)


class EndMarkers(FaultTest):
    """A stream that has a finish reason is complete; one that has neither that nor an end marker was cut."""

    def test_a_provider_that_keeps_the_connection_open_after_the_finish_reason_is_not_waited_for(self):
        def open_end(exchange):
            exchange.begin()
            exchange.say(exchange.text)
            exchange.end(done=False)
            exchange.wait(120)

        server, providers = self.faulty(faults.Fault("open end", open_end))
        outcome = ask(server, providers, "r1", True, scale=SCALE)
        self.assertEqual((outcome.text, outcome.deltas, outcome.asked()), (TEXT, TEXT, (1, 0)), outcome)
        self.assertLess(outcome.seconds, 25 + SLACK)

    def test_all_words_without_a_finish_reason_are_a_cut_answer(self):
        everything = faults.Fault("neither", faults.cut(60), leaves_text=True)
        server, providers = self.faulty(everything, goes_on=False)
        outcome = ask(server, providers, "r1", True, scale=SCALE)
        self.assertEqual((outcome.errors, outcome.results, outcome.text), (("server_error",), 1, ""), outcome)

    def test_all_words_without_a_finish_reason_are_not_doubled_by_the_fallback(self):
        everything = faults.Fault("neither", faults.cut(60), leaves_text=True)
        server, providers = self.faulty(everything)
        outcome = ask(server, providers, "r1", True, scale=SCALE)
        self.assertEqual((outcome.errors, outcome.text, outcome.deltas), ((), TEXT, TEXT), outcome)


class Defaults(FaultTest):
    def test_nothing_but_the_length_of_a_second_is_configured_here(self):
        """With the defaults written out the configuration is the same as without them."""
        providers, agent = chain(FAULTS[0], "f", True, 1, [1, 2])
        shown = []
        for written in (False, True):
            if written:
                for entry, defaults in zip(agent["backends"], (WITH_NEXT, LAST)):
                    entry["dispatch"] = faults.patience(defaults, 1)
            self.write("treaty.yaml", json.dumps({"providers": providers, "agents": {"default": agent}}))
            ran = self.treaty("config", "show", "treaty.yaml", "--format", "json", OPENAI_API_KEY="k",
                              MISTRAL_API_KEY="k")
            self.assertEqual(ran.code, 0, ran)
            backends = json.loads(ran.out)["agents"]["default"]["backends"]
            shown.append([entry["dispatch"] for entry in backends])
        self.assertEqual(shown[0], shown[1])


if __name__ == "__main__":
    unittest.main()
