"""Tests of GET /v1/limits and of the headers that a refusal by a limit has."""
import hashlib
import json
import re
import unittest

from gate import KEY, Reply
from serving import ServingTest, configuration, until

HOUR = {"x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "41",
        "x-ratelimit-reset-requests": "59m0s"}
EMPTY = {**HOUR, "x-ratelimit-remaining-requests": "0", "retry-after": "3540"}
LIMITED = (429, {"error": {"message": "Slow down.", "type": "requests", "code": "rate_limit_exceeded"}})
KEYS = [{"tenant": name, "sha256": hashlib.sha256(f"{name}-key".encode()).hexdigest()} for name in ("acme", "rival")]
TIMESTAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")


class LimitsTest(ServingTest):
    def limits(self, server, **headers):
        answer = server.get("/v1/limits", {name.replace("_", "-"): value for name, value in headers.items()})
        self.assertEqual((answer.status, answer.headers["cache-control"]), (200, "no-store"), answer)
        return answer.json

    def pool(self, server):
        """The only one there is."""
        pools = self.limits(server)["Pools"]
        self.assertEqual(len(pools), 1, pools)
        return pools[0]


class Pools(LimitsTest):
    def test_nobody_was_asked_and_there_are_no_pools(self):
        _, server = self.gated()

        told = self.limits(server)

        self.assertEqual((told["Pools"], told["Budgets"]), ([], []))
        self.assertRegex(told["At"], TIMESTAMP)

    def test_a_pool_has_the_windows_that_the_provider_told(self):
        _, server = self.gated(Reply("Yes.", headers=HOUR))
        server.say()

        pool = self.pool(server)

        self.assertEqual({name: pool[name] for name in ("Provider", "Model", "Free", "Waiting", "Running")},
                         {"Provider": "gate", "Model": "small-1", "Free": True, "Waiting": 0, "Running": 0})
        self.assertEqual(pool["Breaker"], {"State": "closed", "Failures": 0})
        self.assertNotIn("Obstacle", pool)
        window = pool["Windows"][0]
        self.assertEqual((window["Resource"], window["Limit"]), ("requests", 100))
        self.assertTrue(41 <= window["Remaining"] <= 100, window)
        self.assertTrue(0 < window["ResetsIn"] <= 3540, window)
        self.assertRegex(window["ResetsAt"], TIMESTAMP)

    def test_a_call_that_runs_is_counted(self):
        gate, server = self.gated(held=True)
        turn = self.later(server.say)
        gate.wait_for_calls(1)

        self.assertEqual(self.pool(server)["Running"], 1)

        gate.open()
        turn.result()
        self.assertEqual(self.pool(server)["Running"], 0)

    def test_a_pool_that_is_blocked_says_why_and_until_when(self):
        _, server = self.gated(Reply(error=LIMITED, headers=EMPTY), agent={"deadline": "20s"})
        server.say()

        pool = self.pool(server)

        self.assertFalse(pool["Free"])
        self.assertIn(pool["Obstacle"], ("window", "retry_after"))
        self.assertTrue(3000 < pool["NextFreeIn"] <= 3600, pool)
        self.assertTrue(3000 < pool["BlockedFor"] <= 3600, pool)
        self.assertEqual(pool["Windows"][0]["Remaining"], 0)

    def test_a_dead_provider_opens_its_breaker(self):
        gate, server = self.gated(
            agent={"dispatch": {"max_attempts": 2, "backoff": ["1ms"], "breaker_failures": 2, "breaker_open": "1h"}})
        gate.close()
        self.gates.remove(gate)
        server.say()

        breaker = self.pool(server)["Breaker"]

        self.assertEqual((breaker["State"], breaker["Failures"]), ("open", 2))
        self.assertTrue(3000 < breaker["ProbeIn"] <= 3600, breaker)

    def test_the_keys_of_providers_are_not_told(self):
        _, server = self.gated(Reply("Yes.", headers=HOUR))
        server.say()

        self.assertNotIn(KEY, server.get("/v1/limits").body.decode())

    def test_head_and_options_work_and_nothing_else(self):
        _, server = self.gated()
        self.assertEqual((server.ask("HEAD", "/v1/limits").status, server.ask("HEAD", "/v1/limits").body), (200, b""))
        self.assertEqual(server.ask("OPTIONS", "/v1/limits").headers["allow"], "GET, HEAD, OPTIONS")
        self.assertEqual(server.post("/v1/limits").status, 405)


class Refusals(LimitsTest):
    def test_a_429_says_which_limit_and_when_to_come_back(self):
        _, server = self.gated(Reply(error=LIMITED, headers=EMPTY), agent={"deadline": "20s"})

        answer = server.say()

        self.assert_refused(answer, 429, "rate_limit")
        self.assertTrue(3000 < int(answer.headers["retry-after"]) <= 3600, answer)
        name = self.pool(server)["Windows"][0]["Name"]
        self.assertRegex(answer.headers["ratelimit"], rf'^"{name}";r=0;t=3[0-9]{{3}}$')
        self.assertRegex(answer.headers["ratelimit-policy"], rf'^"{name}";q=100(;w=\d+)?$')

    def test_who_comes_next_is_told_the_same_without_a_call(self):
        gate, server = self.gated(Reply(error=LIMITED, headers=EMPTY), agent={"deadline": "20s"})
        server.say("s1")

        answer = server.say("s2")

        self.assert_refused(answer, 429, "rate_limit")
        self.assertEqual(gate.count, 1)
        self.assertTrue(3000 < int(answer.headers["retry-after"]) <= 3600, answer)
        self.assertRegex(answer.headers["ratelimit"], r'^".+";r=0;t=3[0-9]{3}$')

    def test_an_answer_without_a_limit_has_no_such_headers(self):
        _, server = self.gated(Reply("Yes.", headers=HOUR))

        answer = server.say()

        self.assertEqual(answer.status, 200)
        self.assertEqual({"ratelimit", "ratelimit-policy", "retry-after"} & answer.headers.keys(), set())


class Budgets(LimitsTest):
    def test_a_budget_shows_what_is_spent_and_set_aside(self):
        gate, server = self.gated(Reply("Yes.", usage=(120, 30)), agent={"budget": {"tokens_per_day": 100000}},
                                  held=True)
        turn = self.later(server.say)
        gate.wait_for_calls(1)
        running = self.limits(server)["Budgets"]
        gate.open()
        turn.result()
        done = self.limits(server)["Budgets"]

        self.assertEqual([(one["Scope"], one["Name"], one["TokensPerDay"]) for one in running + done],
                         [("agent", "default", 100000)] * 2)
        self.assertGreater(running[0]["TokensReserved"], 0)
        self.assertEqual(running[0]["TokensSpent"], 0)
        self.assertEqual((done[0]["TokensReserved"], done[0]["TokensSpent"]), (0, 150))
        self.assertRegex(done[0]["ResetsAt"], r"T00:00:00\.000Z$")
        self.assertTrue(0 < done[0]["ResetsIn"] <= 86400, done)
        self.assertNotIn("DollarsPerDay", done[0])

    def test_a_tenant_does_not_see_the_budgets_of_others(self):
        gate = self.gate()
        budgets = {name: {"budget": {"tokens_per_day": 5000}} for name in ("acme", "rival")}
        server = self.server(configuration(gate, {"budget": {"tokens_per_day": 9000}}, tenants=budgets, keys=KEYS))

        told = self.limits(server, Authorization="Bearer acme-key")

        self.assertEqual([(one["Scope"], one["Name"]) for one in told["Budgets"]],
                         [("agent", "default"), ("tenant", "acme")])
        self.assertNotIn("rival", json.dumps(told))
        self.assertEqual(server.get("/v1/limits").status, 401)

    def test_past_the_budget_the_answer_says_when_the_day_ends(self):
        _, server = self.gated(Reply("Yes.", usage=(900, 90)), agent={"budget": {"tokens_per_day": 1000}})
        server.say()

        answer = server.say("s2", "t1")

        self.assert_refused(answer, 429, "budget_exhausted")
        self.assertTrue(0 < int(answer.headers["retry-after"]) <= 86400, answer)
        self.assertRegex(answer.headers["ratelimit"], r'^"tokens_per_day";r=\d+;t=\d+$')
        self.assertEqual(answer.headers["ratelimit-policy"], '"tokens_per_day";q=1000;w=86400')


class Watched(LimitsTest):
    def test_the_command_shows_what_the_server_tells(self):
        _, server = self.gated(Reply("Yes.", headers=HOUR), agent={"budget": {"tokens_per_day": 100000}})
        server.say()
        until(lambda: self.pool(server)["Running"] == 0)

        ran = self.treaty("limits", "watch", "--once", "--url", f"http://127.0.0.1:{server.port}")

        self.assertEqual((ran.code, ran.err), (0, ""), ran)
        self.assertIn("gate · small-1  free · 0 waiting · 0 running\n", ran.out)
        self.assertRegex(ran.out, r"\n  requests +\d+ / 100 ")
        self.assertIn("budget of agent default", ran.out)
        self.assertIn("99,985 / 100,000  15 spent, 0 reserved", ran.out)


if __name__ == "__main__":
    unittest.main()
