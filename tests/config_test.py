"""`treaty config` as a whole binary: check and show, their exits, and that no secret leaves."""
import hashlib
import json
import os
import unittest

from serving import ServingTest
from treaty_binary import ROOT, TreatyTest

DEMO = [{"scripted": "demo"}]
SECRET = "hunter2-very-secret"
HASH = hashlib.sha256(SECRET.encode()).hexdigest()
# What a provider's key or address in the tester's own environment would change.
NEUTRAL = {name: "" for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL", "_TOKEN", "_HOST", "_ENDPOINT"))}


class ConfigTest(TreatyTest):
    def config(self, *arguments, **environment):
        neutral = {**NEUTRAL, "TREATY_CONFIG": "", "TREATY_LISTEN": "", "XDG_STATE_HOME": str(self.folder / "state")}
        return self.treaty("config", *arguments, **{**neutral, **environment})


class Check(ConfigTest):
    def test_without_a_file_the_defaults_are_in_order(self):
        ran = self.config("check")
        self.assertEqual(ran.code, 0, ran)
        self.assertIn("no treaty.yaml here, the defaults: in order, 1 agent", ran.out)
        self.assertIn("the built-in demo", ran.out)

    def test_the_file_of_this_folder_is_checked(self):
        self.write("treaty.yaml", "workers: many\n")
        ran = self.config("check")
        self.assertEqual(ran.code, 78, ran)
        self.assertEqual(ran.out, "")
        self.assertEqual(ran.err, "treaty.yaml:1:10: expected a whole number, 0 to 1024\n")

    def test_a_file_may_be_named_in_three_ways(self):
        self.write("other.yaml", "listen: 127.0.0.1:1\n")
        for ran in (self.config("check", "other.yaml"), self.config("check", "--config", "other.yaml"),
                    self.config("check", TREATY_CONFIG="other.yaml")):
            self.assertEqual(ran.code, 0, ran)
            self.assertIn("other.yaml: in order", ran.out)
            self.assertIn("listens on 127.0.0.1:1", ran.out)

    def test_problems_are_told_to_programs(self):
        self.write("treaty.yaml", "lisen: x\nhttp: {max_body: 1}\n")
        ran = self.config("check", "--format", "json")
        self.assertEqual(ran.code, 78, ran)
        told = json.loads(ran.out)
        self.assertEqual(told["file"], "treaty.yaml")
        self.assertIs(told["valid"], False)
        self.assertEqual([(p["line"], p["column"]) for p in told["problems"]], [(1, 1), (2, 18)])
        self.assertEqual(told["problems"][0]["hint"], "did you mean listen?")

    def test_in_order_is_told_to_programs(self):
        told = json.loads(self.config("check", "--format", "json").out)
        self.assertEqual(told, {"file": None, "valid": True, "problems": []})

    def test_a_file_that_cannot_be_read_is_no_configuration(self):
        (self.folder / "folder").mkdir()
        for path, word in (("missing.yaml", "No such file"), ("folder", "is a directory")):
            ran = self.config("check", path)
            self.assertEqual(ran.code, 78, ran)
            self.assertIn(f"{path}: ", ran.err)
            self.assertIn(word, ran.err)

    def test_bytes_that_are_no_yaml_are_refused_with_their_place(self):
        for content in (b"\xff\xfe", b"a: [", b"a: b: c", b"listen: \x00", b"&a [*a]", b"!!python/x 1"):
            self.write("treaty.yaml", content)
            ran = self.config("check", limited=True)
            self.assertEqual(ran.code, 78, ran)
            self.assertRegex(ran.err, r"^treaty\.yaml:\d+:\d+: ")

    def test_an_address_that_others_can_reach_needs_keys(self):
        ran = self.config("check", "--listen", "0.0.0.0:8088")
        self.assertEqual(ran.code, 78, ran)
        self.assertIn("--listen: an address that others can reach needs keys", ran.err)
        self.write("treaty.yaml", {"keys": [{"tenant": "acme", "sha256": HASH}]})
        self.assertEqual(self.config("check", "--listen", "0.0.0.0:8088").code, 0)

    def test_the_key_in_the_environment_chooses_the_provider(self):
        ran = self.config("check", GROQ_API_KEY=SECRET)
        self.assertEqual(ran.code, 0, ran)
        self.assertIn("since GROQ_API_KEY is set", ran.out)
        self.assertNotIn(SECRET, ran.out + ran.err)

    def test_the_examples_are_in_order(self):
        ran = self.config("check", str(ROOT / "examples" / "treaty.yaml"))
        self.assertEqual(ran.code, 0, ran)

    def test_mistakes_of_dispatch_and_budgets_are_told_with_their_places(self):
        self.write("treaty.yaml", """\
providers:
  main: {kind: openai, key: any, dispatch: {max_wait: 25h}}
agents:
  default:
    dispatch: {max_atempts: 3}
    backends:
      - {provider: main, model: own-tune, weight: 0, dispatch: {backoff: []}}
      - {provider: main, on: [timeot]}
    on_cut: stop
    budget: {dollars_per_day: 2.50}
tenants: {acme: {budget: {}}}
""")
        ran = self.config("check")
        self.assertEqual(ran.code, 78, ran)
        self.assertEqual(ran.out, "")
        told = [line.removeprefix("treaty.yaml:") for line in ran.err.splitlines()]
        self.assertEqual([line.split(": ")[0] for line in told],
                         ["2:55", "5:16", "7:51", "7:74", "8:31", "9:13", "10:31", "11:11", "11:26"], ran)
        for line, words in zip(told, (
                "from 0s to 24h", "did you mean max_attempts?", "1 to 1000", "1 to 20 durations",
                "did you mean timeout?", "expected fail or continue", "nobody knows what own-tune of main costs",
                "everybody is the tenant local", "a budget needs")):
            self.assertIn(words, line)

    def test_a_server_does_not_start_with_a_budget_that_nobody_can_count(self):
        self.write("treaty.yaml", {
            "store": "sqlite:turns.db",
            "providers": {"main": {"kind": "openai", "key": "any"}},
            "agents": {"default": {"backends": [{"provider": "main", "model": "own-tune"}],
                                   "budget": {"dollars_per_day": 1}}}})
        ran = self.treaty("serve", **NEUTRAL)
        self.assertEqual(ran.code, 78, ran)
        self.assertIn("nobody knows what own-tune of main costs", ran.err)
        self.assertFalse((self.folder / "turns.db").exists())

    def test_a_price_of_ones_own_makes_dollars_countable(self):
        self.write("prices.yaml", {"prices": [{"provider": "openai", "models": ["own-tune"], "from": "2025-01-01",
                                               "input": 1, "output": 2}]})
        self.write("treaty.yaml", {
            "prices": "prices.yaml",
            "providers": {"main": {"kind": "openai", "key": "any"}},
            "agents": {"default": {"backends": [{"provider": "main", "model": "own-tune"}],
                                   "budget": {"dollars_per_day": 1}}}})
        ran = self.config("check")
        self.assertEqual(ran.code, 0, ran)

    def test_no_secret_is_in_any_message(self):
        self.write("treaty.yaml", f"""
listen: ${{SECRET}}
store: postgres://user:{SECRET}@host/db
workers: ${{SECRET}}
keys: [{{tenant: "${{SECRET}}", sha256: {SECRET}}}, {SECRET}]
providers:
  a: {{kind: openai, key: {SECRET}, base_url: "http://user:{SECRET}@host"}}
  b: {{kind: "${{SECRET}}", key: "${{SECRET}}", timeout: "${{SECRET}}"}}
  c: {{kind: openai, key: any, dispatch: {{max_wait: "${{SECRET}}", max_attempts: "${{SECRET}}", backoff: ["${{SECRET}}"]}}}}
agents:
  other:
    backends: [{{provider: c, model: "${{SECRET}}", preference: "${{SECRET}}", on: ["${{SECRET}}"], dispatch: {{jitter: "${{SECRET}}"}}}}]
    on_cut: "${{SECRET}}"
    budget: {{tokens_per_day: "${{SECRET}}", dollars_per_day: 1}}
  default: {{mode: 1, backends: [{{provider: "${{SECRET}}"}}, {{script: "${{SECRET}}"}}], tools: [{{name: "${{SECRET}}!"}}, {{name: "${{SECRET}}!"}}], max_rounds: "${{SECRET}}", deadline: "${{SECRET}}"}}
sessions: {{open: "${{SECRET}}", initial: "${{SECRET}}"}}
http: {{max_body: "${{SECRET}}"}}
prices: "${{SECRET}}"
tenants: {{acme: {{budget: {{dollars_per_day: "${{SECRET}}"}}}}, beta: {{budget: {{tokens_per_day: 1}}}}}}
""")
        ran = self.config("check", SECRET=SECRET)
        self.assertEqual(ran.code, 78, ran)
        self.assertGreater(len(ran.err.splitlines()), 24, ran)
        self.assertNotIn(SECRET, ran.err)


class Show(ConfigTest):
    def test_what_is_shown_is_a_configuration_that_shows_the_same(self):
        self.write("treaty.yaml", {
            "providers": {"main": {"kind": "openai", "key": SECRET}},
            "agents": {"default": {"system": "Two\nlines: \"all\" for 5$$", "backends": [{"provider": "main"}]}}})
        once = self.config("show")
        self.assertEqual(once.code, 0, once)
        self.assertNotIn(SECRET, once.out)
        self.write("again.yaml", once.out)
        again = self.config("show", "again.yaml")
        self.assertEqual(again.out, once.out, again)

    def test_every_entry_of_a_chain_has_its_whole_policy_written_out(self):
        self.write("treaty.yaml", {
            "providers": {"main": {"kind": "openai", "key": SECRET,
                                   "dispatch": {"max_wait": "0s", "jitter": 0.5, "max_attempts": 1}}},
            "agents": {"default": {
                "dispatch": {"max_attempts": 2, "backoff": "1s"},
                "backends": [{"provider": "main", "dispatch": {"backoff": ["1.5s", "0s"], "breaker_failures": 0}},
                             {"scripted": "demo", "preference": 1, "weight": 9, "on": "timeout"}],
                "on_cut": "continue",
                "budget": {"tokens_per_day": 10 ** 15, "dollars_per_day": 0.25}}},
            "tenants": {"local": {"budget": {"dollars_per_day": 1000000}}}})
        ran = self.config("show", "--format", "json")
        self.assertEqual(ran.code, 0, ran)
        shown = json.loads(ran.out)
        agent = shown["agents"]["default"]
        usual = {"max_wait": "1m", "max_attempts": 2, "backoff": ["1s"], "jitter": 0.1, "max_concurrent": 0,
                 "breaker_failures": 5, "breaker_open": "30s"}
        first, second = agent["backends"]
        # The last one for most failures, since the other takes timeouts only. Only providers have timeouts by default.
        self.assertEqual(first["dispatch"], usual | {
            "max_wait": "0s", "backoff": ["1500ms", "0s"], "jitter": 0.5, "breaker_failures": 0,
            "connect": "5s", "first_token": "1m", "stall": "20s"})
        self.assertEqual(second["dispatch"], usual)
        self.assertEqual([(entry["preference"], entry["weight"], entry.get("on")) for entry in (first, second)],
                         [(1, 1, None), (1, 9, ["timeout"])])
        # Of a provider only what does not depend on the position of an entry.
        self.assertEqual(shown["providers"]["main"]["dispatch"], {
            "max_wait": "0s", "max_attempts": 1, "jitter": 0.5, "max_concurrent": 0, "breaker_failures": 5,
            "breaker_open": "30s"})
        self.assertEqual(agent["on_cut"], "continue")
        self.assertEqual(agent["budget"], {"tokens_per_day": 10 ** 15, "dollars_per_day": 0.25})
        self.assertEqual(shown["tenants"], {"local": {"budget": {"dollars_per_day": 1000000}}})
        self.write("again.yaml", self.config("show").out)
        again = self.config("show", "--format", "json", "again.yaml")
        self.assertEqual(json.loads(again.out), shown, again)

    def test_what_is_shown_to_programs_is_json(self):
        shown = json.loads(self.config("show", "--format", "json", "--listen", "[::1]:0").out)
        self.assertEqual(shown["listen"], "[::1]:0")
        self.assertEqual(shown["store"], f"sqlite://{self.folder.resolve()}/state/treaty/treaty.db")
        self.assertEqual(shown["turns"]["tool_deadline"], "24h")
        self.assertEqual(shown["agents"]["default"]["backends"][0]["scripted"], "demo")

    def test_a_state_directory_holds_the_store(self):
        shown = json.loads(self.config("show", "--format", "json", "--state-dir", "mine").out)
        self.assertEqual(shown["store"], f"sqlite://{self.folder.resolve()}/mine/treaty.db")
        self.assertFalse((self.folder / "mine").exists())

    def test_what_is_not_in_order_is_not_shown(self):
        self.write("treaty.yaml", "workers: many\n")
        ran = self.config("show")
        self.assertEqual(ran.code, 78, ran)
        self.assertEqual(ran.out, "")


class Agents(ServingTest):
    """Whom requests mean that name nobody."""

    def test_the_only_agent_is_meant_whatever_its_name(self):
        server = self.server({"agents": {"writer": {"mode": "Writing", "backends": DEMO}}})

        said = server.say("s1", "t1", "Hello.")
        named = server.say("s1", "t2", "Hello.", AgentContextId="writer")

        self.assertEqual((said.status, said.result["ModeDisplayName"]), (200, "Writing"))
        self.assertEqual(named.status, 200, named)
        self.assertEqual(server.get("/v1/sessions/s1").json["AgentContextId"], "writer")

    def test_of_several_agents_one_has_to_be_named(self):
        server = self.server({"agents": {"writer": {"backends": DEMO}, "reviewer": {"backends": DEMO}}})

        refused = server.say("s1", "t1", "Hello.")

        self.assertEqual((refused.status, refused.code), (404, "agent_not_found"))
        self.assertIn("reviewer, writer", refused.error["Message"])
        self.assertEqual(server.say("s1", "t1", "Hello.", AgentContextId="writer").status, 200)


class Usage(ConfigTest):
    def test_what_to_do_has_to_be_said(self):
        self.assert_usage(self.config(), "check or show")
        self.assert_usage(self.config("chekc"), "did you mean check?")
        self.assert_usage(self.config("check", "a", "b"), "one file")
        self.assert_usage(self.config("check", "a", "--config", "b"), "not both")


if __name__ == "__main__":
    unittest.main()
