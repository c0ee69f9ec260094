"""Whole-binary tests of budgets: set aside before a call, settled after it, never overspent."""
import datetime
import hashlib
import sqlite3
import unittest

from dispatching import DOWN, DispatchTest
from gate import Reply
from serving import turn_path, user_turn

DAY = 86_400
ANSWERED = "one-1, small-1-2026"  # Gates answer under the second name, whatever was asked.
PRICES = f"""prices:
  - {{provider: openai, models: [{ANSWERED}], from: 2020-01-01, input: 1000.0, output: 2000.0}}
"""


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


def bound_of(call):
    """The most tokens that an answer to this call may have."""
    return call.json.get("max_completion_tokens", call.json.get("max_tokens"))


class Provider:
    """A provider that takes all that it may: of input a token for four bytes, of output what the bound allows."""

    def __init__(self, most=10 ** 9):
        self.most, self.spent = most, []

    def __call__(self, call):
        size = sum(len(str(message.get("content") or "")) for message in call.messages) + len(str(call.json["tools"]))
        usage = size // 4, min(bound_of(call), self.most)
        self.spent.append(sum(usage))
        return Reply("Fine.", usage=usage)


class BudgetTest(DispatchTest):
    def setUp(self):
        super().setUp()
        now = datetime.datetime.now(datetime.timezone.utc)
        if (now + datetime.timedelta(minutes=2)).date() != now.date():
            self.skipTest("a day and its budgets end in the middle of this")

    def assert_spent(self, answer, scope):
        self.assert_refused(answer, 429, "budget_exhausted", "the " + scope.replace(":", " "))
        self.assertTrue(1 <= int(answer.headers["retry-after"]) <= DAY, answer)

    def spending(self, server, scope="agent:default"):
        """(tokens, reserved tokens, picodollars) of a scope, as the store has them."""
        database, = server.databases()
        connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
        try:
            row = connection.execute("SELECT sum(tokens), sum(reserved_tokens), sum(picodollars) FROM spending "
                                     "WHERE scope = ?", (scope,)).fetchone()
        finally:
            connection.close()
        return row


class Tokens(BudgetTest):
    def test_twenty_turns_at_once_never_spend_more_than_there_is(self):
        provider = Provider(most=200)
        gate = self.gate(provider)
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 2000}}, workers=2)
        answers = self.at_once(20, lambda number: server.say(f"s{number}", "t1"))

        self.assertLessEqual(sum(provider.spent), 2000)
        fine = [answer for answer in answers if answer.status == 200]
        self.assertEqual(len(fine), len(provider.spent))
        self.assertGreaterEqual(len(fine), 5)  # All but the rest, for which no call is worth while, is used.
        for answer in answers:
            if answer.status != 200:
                self.assert_spent(answer, "agent:default")
        self.assertEqual(self.spending(server)[:2], (sum(provider.spent), 0))

    def test_a_call_may_not_answer_more_than_is_left(self):
        gate = self.gate(Reply("Fine.", usage=(12, 3)))
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}})
        server.say("s1", "t1")
        server.say("s2", "t1")
        bounds = [bound_of(call) for call in gate.calls]
        self.assertLess(bounds[0], 1000)
        self.assertLess(bounds[1], 1000 - 15)
        self.assertGreater(bounds[1], 500)

    def test_a_request_that_never_fits_is_not_sent_to_midnight(self):
        gate = self.gate()
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}})
        refusal = server.say("s1", "t1", "word " * 400)
        self.assertEqual((refusal.status, refusal.code, gate.count), (429, "budget_exhausted", 0))
        self.assertNotIn("retry-after", refusal.headers)
        self.assertIn("raise tokens_per_day", server.errors())

    def test_what_an_entry_says_about_its_output_bounds_it_too(self):
        gate = self.gate()
        backends = [{"provider": "one", "model": "one-1", "max_output_tokens": 50}]
        server = self.chain(gate, backends=backends, agent={"budget": {"tokens_per_day": 100_000}})
        server.say()
        self.assertEqual(bound_of(gate.calls[0]), 50)

    def test_past_it_nobody_is_asked_and_the_other_agent_goes_on(self):
        gate = self.gate(Reply("Fine.", usage=(500, 600)))
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}}, agents={
            "free": {"backends": [{"provider": "one", "model": "one-1"}]}})
        self.assertEqual(server.say("s1", "t1").text, "Fine.")
        for number in range(2, 5):
            self.assert_spent(server.say(f"s{number}", "t1"), "agent:default")
        self.assertEqual(gate.count, 1)
        self.assertEqual(self.kinds(server, "s2"), ["given_up", "turn.failed"])
        self.assertEqual(server.say("s9", "t1", AgentContextId="free").text, "Fine.")

    def test_it_is_spent_after_a_restart_too(self):
        gate = self.gate(Reply("Fine.", usage=(500, 600)))
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}})
        server.say("s1", "t1")
        server.restart()
        self.assert_spent(server.say("s2", "t1"), "agent:default")
        self.assertEqual(gate.count, 1)

    def test_what_was_set_aside_by_a_process_that_was_killed_counts_as_spent(self):
        gate = self.gate(held=True)
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}})
        self.begin(server)
        gate.wait_for_calls(1)
        server.kill9()
        gate.open()
        server.start()
        self.assert_spent(server.say("s2", "t1"), "agent:default")
        self.assertEqual(gate.count, 1)
        self.assertGreater(sum(self.spending(server)[:2]), 900)

    def begin(self, server):
        """A turn whose client will lose its server."""
        connection = server.connection()
        self.addCleanup(connection.close)
        connection.request("POST", "/v1/agent/execute", str(user_turn("s1", "t1")).replace("'", '"'),
                           {"Content-Type": "application/json"})

    def test_failed_attempts_without_usage_cost_nothing(self):
        gate = self.gate(DOWN, DOWN, Reply("Fine.", usage=(12, 3)))
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}})
        self.assertEqual(server.say("s1", "t1").text, "Fine.")
        self.assertEqual(self.spending(server)[:2], (15, 0))

    def test_failed_attempts_with_usage_cost_what_they_say(self):
        gate = self.gate(Reply("Half.", finish="error", usage=(100, 20)), Reply("Fine.", usage=(12, 3)))
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 5000}})
        server.say("s1", "t1")
        self.assertEqual(self.spending(server)[:2], (135, 0))

    def test_a_call_that_is_cut_has_cost_its_input(self):
        gate = self.gate(held=True)
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 5000}, "deadline": "500ms"})
        self.assert_refused(server.say("s1", "t1"), 504, "timeout")
        spent, reserved, _ = self.spending(server)
        self.assertTrue(0 < spent < 1000, spent)
        self.assertEqual(reserved, 0)

    def test_turns_at_the_end_of_a_budget_wait_for_what_others_give_back(self):
        gate = self.gate(Reply("Fine.", usage=(12, 3)), held=True)
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}})
        first = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)  # All is set aside for this one.
        second = self.later(server.say, "s2", "t1")
        self.so_far(server, "s2", "turn.accepted")
        gate.open()
        self.assertEqual((first.result().text, second.result().text), ("Fine.", "Fine."))

    def test_a_turn_that_waits_for_others_can_be_cancelled(self):
        gate = self.gate(Reply("Fine.", usage=(12, 3)), held=True)
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}})
        first = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)
        second = self.later(server.say, "s2", "t1")
        self.so_far(server, "s2", "turn.accepted")
        self.assertEqual(server.post(turn_path("s2", "t1", "/cancel")).status, 200)
        self.assert_refused(second.result(), 409, "turn_cancelled")
        gate.open()
        self.assertEqual(first.result().text, "Fine.")
        self.assertEqual(gate.count, 1)
        self.assertEqual(self.spending(server)[:2], (15, 0))


    def test_a_turn_is_cancelled_also_while_its_budget_is_written(self):
        gate = self.gate(held=True)
        server = self.chain(gate, dispatch={"breaker_failures": 0},
                            agent={"budget": {"tokens_per_day": 10 ** 9}, "deadline": "30s"})
        for number in range(20):  # At whatever moment of the write the request comes.
            session = f"s{number}"
            turn = self.later(server.say, session)
            while server.post(turn_path(session, "t1", "/cancel"), {}).status != 200:
                pass
            self.assert_refused(turn.result(), 409, "turn_cancelled")
        reserved = self.until(lambda: self.spending(server)[1] == 0 or None)
        self.assertTrue(reserved)

    def test_a_refused_call_uses_up_nothing_that_others_need(self):
        gate = self.gate(Reply("Fine.", usage=(500, 500)), Reply("Fine."))
        server = self.chain(gate, agent={"budget": {"tokens_per_day": 1000}})
        server.say("s0")
        for number in range(1, 6):
            self.assert_spent(server.say(f"s{number}"), "agent:default")
        self.assertEqual(gate.count, 1)
        pool, = server.get("/v1/limits").json["Pools"]
        self.assertEqual((pool["Running"], pool["Waiting"]), (0, 0))


class Tenants(BudgetTest):
    KEYS = {"acme": "a-key-of-acme", "other": "a-key-of-other"}

    def test_a_tenant_has_a_budget_of_its_own_for_all_agents(self):
        gate = self.gate(Reply("Fine.", usage=(100, 100)))
        keys = [{"tenant": name, "sha256": hashlib.sha256(key.encode()).hexdigest()} for name, key in self.KEYS.items()]
        server = self.chain(gate, keys=keys, tenants={"acme": {"budget": {"tokens_per_day": 500}}}, agents={
            "second": {"backends": [{"provider": "one", "model": "one-1"}]}})

        def say(tenant, session, **members):
            return server.execute(user_turn(session, "t1", **members), headers=bearer(self.KEYS[tenant]))

        self.assertEqual(say("acme", "s1").status, 200)
        self.assertEqual(say("acme", "s2", AgentContextId="second").status, 200)
        self.assert_spent(say("acme", "s3"), "tenant:acme")
        self.assert_spent(say("acme", "s4", AgentContextId="second"), "tenant:acme")
        self.assertEqual(say("other", "s1").status, 200)
        self.assertEqual(gate.count, 3)

    def test_without_keys_everybody_is_local(self):
        gate = self.gate(Reply("Fine.", usage=(500, 500)))
        server = self.chain(gate, tenants={"local": {"budget": {"tokens_per_day": 1000}}})
        self.assertEqual(server.say("s1", "t1").status, 200)
        self.assert_spent(server.say("s2", "t1"), "tenant:local")


class Dollars(BudgetTest):
    """A thousand dollars for a million tokens of input, two thousand for one of output."""

    def priced(self, dollars, *replies, prices=PRICES):
        self.write("prices.yaml", prices)
        gate = self.gate(*replies)
        return gate, self.chain(gate, agent={"budget": {"dollars_per_day": dollars}}, prices="prices.yaml")

    def test_what_calls_cost_is_counted_to_the_last(self):
        _, server = self.priced(10, Reply("Fine.", usage=(12, 3)))
        server.say("s1", "t1")
        server.say("s2", "t1")
        self.assertEqual(self.spending(server)[2], 2 * (12 * 10 ** 9 + 3 * 2 * 10 ** 9))
        done = [data for kind, data in self.diary(server) if kind == "attempt.completed"]
        self.assertAlmostEqual(done[0]["Cost"], 0.018)

    def test_an_answer_under_a_name_without_a_price_costs_what_the_model_does_that_was_asked(self):
        prices = PRICES.replace(ANSWERED, "one-1")
        _, server = self.priced(10, Reply("Fine.", usage=(12, 3)), prices=prices)
        server.say("s1", "t1")
        self.assertEqual(self.spending(server)[2], 12 * 10 ** 9 + 3 * 2 * 10 ** 9)
        done = [data for kind, data in self.diary(server) if kind == "attempt.completed"]
        self.assertNotIn("Cost", done[0])  # What nobody has said is not told.

    def test_past_it_nobody_is_asked(self):
        gate, server = self.priced(1, Reply("Fine.", usage=(400, 400)))
        self.assertEqual(server.say("s1", "t1").status, 200)
        self.assert_spent(server.say("s2", "t1"), "agent:default")
        self.assertEqual(gate.count, 1)

    def test_twenty_turns_at_once_never_spend_more_than_there_is(self):
        provider = Provider(most=100)
        _, server = self.priced(2.5, provider)
        answers = self.at_once(20, lambda number: server.say(f"s{number}", "t1"))
        spent = self.spending(server)[2]
        self.assertLessEqual(spent, 2.5 * 10 ** 12)
        self.assertGreater(spent, 10 ** 12)
        self.assertTrue({answer.status for answer in answers} <= {200, 429}, answers)

    def test_a_model_without_a_price_is_a_problem_of_the_configuration(self):
        self.write("treaty.yaml", "providers: {openai: {}}\nagents:\n  default:\n"
                                  "    backends: [{provider: openai, model: nobody-knows}]\n"
                                  "    budget: {dollars_per_day: 1}\n")
        ran = self.treaty("config", "check", OPENAI_API_KEY="any")
        self.assertEqual(ran.code, 78, ran)
        self.assertIn("nobody-knows", ran.out + ran.err)


if __name__ == "__main__":
    unittest.main()
