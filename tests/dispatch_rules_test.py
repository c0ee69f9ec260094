"""Whole-binary tests of who is told what about dispatch: the rule that decided is in the events, in /v1/limits and in
the log; the words of providers and the budgets of other tenants are in none of them."""
import hashlib
import unittest

from dispatching import DOWN, DispatchTest, entries, refused
from gate import HOLD, Reply
from machine_serving import TWICE, MachineServingTest
from serving import user_turn

ONE_MODEL = [{"provider": "one", "model": "one-1"}, {"provider": "two", "model": "two-1"}]


class Rules(DispatchTest):
    def data(self, server, kind, session="s1"):
        return [data for one, data in self.diary(server, session) if one == kind]

    def decisions(self, server):
        return {pool["Provider"]: pool.get("Decision") for pool in server.get("/v1/limits").json["Pools"]}

    def test_a_failure_names_its_rules_everywhere(self):
        server = self.chain(self.gate(DOWN), self.gate(Reply("Fine.")))
        self.assertEqual(server.say().text, "Fine.")

        waiting, = self.data(server, "waiting")
        switched, = self.data(server, "switched")
        self.assertEqual((waiting["Rule"], switched["Rule"]), ("retry", "max_attempts"))
        decision = self.decisions(server)["one"]
        self.assertEqual((decision["Act"], decision["Rule"], decision["Reason"]),
                         ("switch", "max_attempts", switched["Reason"]))
        self.assertIsNone(self.decisions(server)["two"])
        self.assertIn("switches from backend one (one-1) to two (two-1): server_error again after 2 attempts "
                      "(rule max_attempts)", server.errors())

    def test_the_end_of_a_turn_names_who_answered_and_the_answer_does_not(self):
        server = self.chain(self.gate(DOWN), self.gate(Reply("Fine.")))
        answer = server.say()

        end, = self.data(server, "turn.completed")
        self.assertEqual((end["Backend"], end["Model"], end["ModelAnswered"], end["Attempts"]),
                         ("two", "two-1", "small-1-2026", 3))
        for name in ("two-1", "small-1-2026", "Attempts"):
            self.assertNotIn(name, str(answer.json))

    def test_a_timeout_of_the_gateway_names_the_key_that_limits_it(self):
        quick = [{**ONE_MODEL[0], "dispatch": {"first_token": "100ms"}}, ONE_MODEL[1]]
        silent = self.gate(Reply(HOLD, "Late."))
        server = self.chain(silent, self.gate(Reply("Fine.")), backends=quick)
        self.assertEqual(server.say().text, "Fine.")

        failed, = self.data(server, "attempt.failed")
        switched, = self.data(server, "switched")
        self.assertEqual((failed["ErrorCode"], failed["ErrorType"]), ("timeout", "FirstTokenTimeout"))
        self.assertEqual((switched["Rule"], switched["Reason"]),
                         ("timeout", "no piece of the answer came within 0.1 s"))
        silent.open()

    def test_the_words_of_a_provider_are_no_reason(self):
        words = "Upstream 10.0.0.7 timed out for SECRET."
        server = self.chain(self.gate(refused(504, message=words), refused(408, message=words)), self.gate("Fine."))
        self.assertEqual(server.say().text, "Fine.")

        told = [self.diary(server, "s1"), server.get("/v1/limits").json, server.errors()]
        self.assertNotIn("SECRET", str(told))
        self.assertEqual([one["ErrorCode"] for one in self.data(server, "attempt.failed")], ["timeout", "timeout"])
        self.assertNotIn("ErrorType", str(self.data(server, "attempt.failed")))

    def test_a_breaker_and_the_end_of_a_chain_are_in_the_log_with_their_rules(self):
        server = self.chain(self.gate(DOWN), dispatch={"max_attempts": 2, "breaker_failures": 2})
        self.assertEqual(server.say().code, "server_error")

        self.assertIn("opens the circuit breaker of backend one (one-1): it failed repeatedly (rule breaker)",
                      server.errors())
        self.assertIn("fails after backend one (one-1): server_error again after 2 attempts (rule max_attempts)",
                      server.errors())

    def test_a_tenant_does_not_see_what_another_one_has_left(self):
        names = {"acme": "a-key-of-acme", "gamma": "a-key-of-gamma"}
        server = self.chain(self.gate(Reply("Fine.", usage=(400, 100))), tenants={"gamma": {"budget": {"tokens_per_day": 500}}},
                            keys=[{"tenant": tenant, "sha256": hashlib.sha256(key.encode()).hexdigest()}
                                  for tenant, key in names.items()])
        asking = {"authorization": f"Bearer {names['gamma']}"}
        self.assertEqual(server.execute(user_turn("s1", "t1"), headers=asking).status, 200)
        self.assertEqual(server.execute(user_turn("s2", "t1"), headers=asking).code, "budget_exhausted")

        seen = server.get("/v1/limits", headers={"authorization": f"Bearer {names['acme']}"})
        self.assertEqual(seen.status, 200)
        self.assertNotIn("gamma", str(seen.json))
        self.assertNotIn("budget", str(seen.json["Pools"]))


class CacheKeys(DispatchTest):
    def test_each_session_has_a_key_of_its_own_and_keeps_it(self):
        gate = self.gate("Fine.")
        server = self.chain(gate)
        for session, turn in (("s1", "t1"), ("s2", "t1")):
            server.say(session, turn)
        follow = server.get("/v1/sessions/s1/turns").json["Turns"][-1]["TurnId"]
        self.assertEqual(server.say("s1", follow, "And more?").status, 200)

        first, other, again = (call.json["prompt_cache_key"] for call in gate.calls)
        self.assertEqual(first, again)
        self.assertNotEqual(first, other)
        self.assertNotIn("s1", first)
        self.assertLessEqual(len(first), 64)

    def test_cache_off_sends_none(self):
        gate = self.gate("Fine.")
        self.chain(gate, backends=entries(1, cache="off")).say()
        self.assertNotIn("prompt_cache_key", gate.calls[0].json)


class Machines(MachineServingTest):
    def test_what_dispatch_does_for_an_agent_of_a_machine_is_an_event_with_its_rule(self):
        failing = self.gate(DOWN)
        quick = {"dispatch": {"max_attempts": 2, "backoff": ["20ms"]}}
        writer = {"system": "Write.", "backends": [{"provider": "down", "model": "d", **quick},
                                                   {"provider": "gate", "model": "small-1"}]}
        _, server = self.behind(agents={"writer": writer}, providers={
            "down": {"kind": "openai", "base_url": failing.base_url, "key": "any"}})
        self.assertEqual(server.say().text, TWICE)

        notes = [data for kind, data in self.notes(server) if kind == "machine.dispatch"]
        self.assertEqual([(note["State"], note["Rule"]) for note in notes],
                         [("draft", "retry"), ("draft", "max_attempts")])
        self.assertGreater(notes[0]["Seconds"], 0)
        self.assertIn("switches from down (d) to gate (small-1)", notes[1]["Reason"])


if __name__ == "__main__":
    unittest.main()
