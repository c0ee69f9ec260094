"""`treaty config` as a whole binary: reasoning that a provider or model does not have, and what is shown of it."""
import json
import unittest

from treaty_binary import TreatyTest

HEAD = """\
providers:
  azure: {key: any, base_url: "https://house.openai.azure.com"}
  anthropic: {key: any}
  cerebras: {key: any}
  deepseek: {key: any}
  gemini: {key: any}
  groq: {key: any}
  mistral: {key: any}
  openai: {key: any}
  openrouter: {key: any}
  together: {key: any}
  xai: {key: any}
agents:
  default:
    backends:
"""
LINE = HEAD.count("\n") + 1


class Reasoning(TreatyTest):
    def config(self, verb, *entries, tail=""):
        self.write("treaty.yaml", HEAD + "".join(f"      - {entry}\n" for entry in entries) + tail)
        return self.treaty("config", *verb.split(), "treaty.yaml")

    def entry(self, provider, model, reasoning):
        return f"{{provider: {provider}, model: {model}, reasoning: {{{reasoning}}}}}"

    def test_what_a_provider_or_model_does_not_have_is_refused_with_its_place(self):
        for provider, model, reasoning, words in (
                ("openai", "gpt-5-mini", "budget_tokens: 2000", "openai takes no budget_tokens; use effort"),
                ("openai", "gpt-4o", "effort: low", "the model gpt-4o does not reason; leave reasoning out"),
                ("openai", "o4-mini", "effort: minimal", "o4-mini knows no effort minimal; use low"),
                ("azure", "gpt-4.1", "effort: low", "the model gpt-4.1 does not reason"),
                ("anthropic", "claude-haiku-4-5", "effort: low", "claude-haiku-4-5 takes no effort; use budget_tokens"),
                ("anthropic", "claude-haiku-4-5", "budget_tokens: 1023", "Anthropic takes budget_tokens of 1024 or more"),
                ("anthropic", "claude-opus-4-7", "budget_tokens: 2000", "claude-opus-4-7 takes no budget_tokens"),
                ("anthropic", "claude-opus-4-7", "effort: minimal", "Anthropic knows no effort minimal; use low"),
                ("gemini", "gemini-2.5-flash", "effort: low", "gemini-2.5-flash takes no effort; use budget_tokens"),
                ("gemini", "gemini-3-flash", "budget_tokens: 2000", "gemini-3-flash takes no budget_tokens; use effort"),
                ("gemini", "gemini-3-flash", "effort: low, budget_tokens: 2000", "not both"),
                ("xai", "grok-4", "effort: low", "grok-4 decides by itself how much it reasons"),
                ("mistral", "magistral-medium-2509", "effort: high", "leave reasoning out"),
                ("mistral", "mistral-small-latest", "effort: low", "use high"),
                ("groq", "llama-3.3-70b-versatile", "effort: low", "does not reason"),
                ("together", "meta-llama/Llama-3.3-70B-Instruct-Turbo", "effort: low", "does not reason"),
                ("cerebras", "gpt-oss-120b", "effort: minimal", "cerebras knows no effort minimal; use low"),
                ("deepseek", "deepseek-v4-pro", "budget_tokens: 2000", "deepseek takes no budget_tokens; use effort"),
                ("openrouter", "openai/gpt-5", "effort: low, budget_tokens: 2000", "not both")):
            with self.subTest(provider, model=model, reasoning=reasoning):
                entry = self.entry(provider, model, reasoning)
                ran = self.config("check", entry)
                self.assertEqual((ran.code, ran.out), (78, ""), ran)
                column = 8 + entry.index("{", 1) + 1
                self.assertTrue(ran.err.startswith(f"treaty.yaml:{LINE}:{column}: "), ran.err)
                self.assertIn(words, ran.err)
                self.assertEqual(len(ran.err.splitlines()), 1, ran.err)

    def test_what_they_have_is_in_order(self):
        ran = self.config("check", *(self.entry(*one) for one in (
            ("openai", "gpt-5-mini", "effort: minimal"), ("anthropic", "claude-haiku-4-5", "budget_tokens: 1024"),
            ("anthropic", "claude-opus-4-6", "effort: high, budget_tokens: 2000"), ("deepseek", "any", "effort: minimal"),
            ("gemini", "gemini-3-flash", "effort: minimal"), ("openrouter", "any", "budget_tokens: 2000"),
            ("groq", "openai/gpt-oss-120b", "effort: low"), ("azure", "my-deployment", "effort: low"))))
        self.assertEqual(ran.code, 0, ran)

    def test_an_effort_beside_tools_is_refused_where_the_protocol_has_not_both(self):
        entry = self.entry("openai", "gpt-5.4", "effort: low")
        ran = self.config("check", entry, tail="    tools: [{name: look}]\n")
        self.assertEqual(ran.code, 78, ran)
        self.assertIn("use the protocol responses", ran.err)
        self.assertEqual(self.config("check", entry).code, 0)

    def test_each_problem_of_a_chain_has_its_line(self):
        ran = self.config("check", self.entry("openai", "gpt-4o", "effort: low"),
                          self.entry("anthropic", "claude-haiku-4-5", "effort: huge"), "{provider: xai, reasoning: {}}")
        self.assertEqual(ran.code, 78, ran)
        lines = sorted(int(line.split(":")[1]) for line in ran.err.splitlines())
        self.assertEqual(lines, [LINE, LINE + 1, LINE + 2], ran.err)

    def test_reasoning_and_cache_are_shown(self):
        ran = self.config("show --format json", self.entry("openai", "gpt-5-mini", "effort: low"),
                          "{provider: anthropic, model: claude-opus-4-6, cache: off, "
                          "reasoning: {effort: high, budget_tokens: 2000}}", "{provider: groq}")
        self.assertEqual(ran.code, 0, ran)
        first, second, third = json.loads(ran.out)["agents"]["default"]["backends"]
        self.assertEqual((first["reasoning"], first["cache"]), ({"effort": "low"}, "on"))
        self.assertEqual((second["reasoning"], second["cache"]), ({"effort": "high", "budget_tokens": 2000}, "off"))
        self.assertEqual((third.get("reasoning"), third["cache"]), (None, "on"))

    def test_an_entry_that_is_there_twice_is_shown_as_one_backend(self):
        twice = "{provider: openai, model: gpt-4o}"
        ran = self.config("show --format json", twice, twice)
        for entry in json.loads(ran.out)["agents"]["default"]["backends"]:
            policy = entry["dispatch"]
            self.assertEqual((policy["max_wait"], policy["max_attempts"], policy["first_token"]), ("1m", 5, "1m"))


if __name__ == "__main__":
    unittest.main()
