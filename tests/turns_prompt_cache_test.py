"""Whole-binary tests of prompt caching: the mock of Anthropic keeps marked prefixes as the provider does."""
import json
import unittest

from fake_provider import FakeProvider, answer
from mock_server import Mock
from serving import LOOK, ServingTest

MODEL = "claude-haiku-4-5"
PRICES = {"prices": [{"provider": "anthropic", "models": [MODEL], "from": "2025-01-01",
                      "input": 1, "output": 5, "cache_read": 0.1, "cache_write": 1.25}]}
SYSTEM = "You are brief. " * 400
CALLS = {"tool_calls": [{"name": "look", "arguments": {"what": "a"}}]}


def without_marks(value):
    """A request as the provider compares it: where the marks are does not count."""
    if isinstance(value, dict):
        return {name: without_marks(one) for name, one in value.items() if name != "cache_control"}
    return [without_marks(one) for one in value] if isinstance(value, list) else value


def blocks(body):
    """All parts of the prompt in the order in which they are kept: tools, system, messages."""
    parts = [("tools", one) for one in body.get("tools", [])]
    system = body["system"]
    parts += [("system", one) for one in (system if isinstance(system, list) else [{"type": "text", "text": system}])]
    for message in body["messages"]:
        content = message["content"]
        content = content if isinstance(content, list) else [{"type": "text", "text": content}]
        parts += [(message["role"], one) for one in content]
    return parts


def marked_prefixes(body):
    parts = blocks(body)
    return [without_marks([one for _, one in parts[:place + 1]])
            for place, (_, one) in enumerate(parts) if "cache_control" in one]


class Caching(ServingTest):
    def config(self, port, entry=None, **agent):
        self.write("prices.yaml", json.dumps(PRICES))
        return {"prices": "prices.yaml",
                "providers": {"claude": {"kind": "anthropic", "base_url": f"http://127.0.0.1:{port}/v1",
                                         "key": "any-key-of-a-test"}},
                "agents": {"default": {"system": SYSTEM, "tools": [LOOK],
                                       "backends": [{"provider": "claude", "model": MODEL, **(entry or {})}], **agent}}}

    def mock(self, replies):
        self.write("play.yaml", json.dumps(replies))
        mock = Mock(self.folder, ["--script", "play.yaml"])
        self.addCleanup(mock.stop)
        return mock

    def attempts(self, server, session="s1"):
        found = []
        with server.events(session) as stream:
            for event in stream:
                if event.event == "attempt.completed":
                    found.append(event.json)
                if event.event == "turn.completed":
                    return found
        return found

    def recorder(self):
        """An Anthropic that notes its requests: a call of a tool, then the end."""
        def respond(connection, request):
            last = len(provider.requests) > 1
            content = [{"type": "text", "text": "Done."}] if last else [
                {"type": "tool_use", "id": "toolu_1", "name": "look", "input": {"what": "a"}}]
            connection.sendall(answer({"type": "message", "role": "assistant", "model": MODEL, "content": content,
                                       "stop_reason": "end_turn" if last else "tool_use",
                                       "usage": {"input_tokens": 9, "output_tokens": 4}}))
        provider = FakeProvider(respond)
        self.addCleanup(provider.close)
        return provider

    def test_the_second_round_marks_the_prefix_of_the_first_unchanged(self):
        provider = self.recorder()
        server = self.server(self.config(provider.port))
        server.submit("s1", "t1", server.say().calls)
        server.say("s1", "t2", "And now?")
        bodies = [request.json for request in provider.requests]
        for first, second in zip(bodies, bodies[1:]):
            prefix = marked_prefixes(first)[-1]
            parts = without_marks([one for _, one in blocks(second)])
            self.assertEqual(parts[:len(prefix)], prefix)
            self.assertIn(prefix, marked_prefixes(second))
        tools_and_system = without_marks([one for place, one in blocks(bodies[0]) if place in ("tools", "system")])
        for body in bodies:
            self.assertIn(tools_and_system, marked_prefixes(body))
            self.assertLessEqual(len(marked_prefixes(body)), 4)
        # A round of the same turn has a mark left for the tools.
        for body in bodies[:2]:
            self.assertIn(tools_and_system[:1], marked_prefixes(body))

    def test_an_entry_without_a_cache_marks_nothing(self):
        provider = self.recorder()
        server = self.server(self.config(provider.port, {"cache": "off"}))
        server.submit("s1", "t1", server.say().calls)
        for request in provider.requests:
            self.assertNotIn(b"cache_control", request.body)

    def test_a_second_round_reads_what_the_first_one_wrote(self):
        mock = self.mock([CALLS, "Done."])
        server = self.server(self.config(mock.port))
        last = server.submit("s1", "t1", server.say().calls)
        one, two = self.attempts(server)

        self.assertEqual(one.get("CacheReadTokens", 0), 0)
        self.assertGreater(one["CacheWriteTokens"], 1000)
        self.assertEqual(two["CacheReadTokens"], one["CacheWriteTokens"])
        self.assertEqual(last.result["Usage"]["CachedTokens"], two["CacheReadTokens"])
        for spent in (one, two):
            self.assertAlmostEqual(spent["Cost"], self.cost(spent), places=12)

    def test_rounds_of_many_calls_read_all_of_the_round_before(self):
        mock = self.mock([{"tool_calls": [{"name": "look", "arguments": {"what": f"{turn}{number}"}}
                                          for number in range(12)]} for turn in "ab"] + ["Done."])
        server = self.server(self.config(mock.port))
        calls = server.say().calls
        self.assertEqual(len(calls), 12)
        server.submit("s1", "t1", server.submit("s1", "t1", calls).calls)
        one, two, three = self.attempts(server)

        self.assertEqual(two["CacheReadTokens"], one["CacheWriteTokens"])
        self.assertEqual(three["CacheReadTokens"], two["CacheReadTokens"] + two["CacheWriteTokens"])

    @staticmethod
    def cost(spent):
        """In dollars, as Anthropic computes it: the input that no cache had at the full price."""
        read, written = spent.get("CacheReadTokens", 0), spent.get("CacheWriteTokens", 0)
        fresh = spent["InputTokens"] - read - written
        return (fresh * 1 + written * 1.25 + read * 0.1 + spent["OutputTokens"] * 5) / 1e6

    def test_usage_cost_and_budget_count_cached_tokens_as_the_provider_does(self):
        provider = FakeProvider(answer({
            "type": "message", "role": "assistant", "model": MODEL, "content": [{"type": "text", "text": "Done."}],
            "stop_reason": "end_turn", "usage": {"input_tokens": 100, "cache_read_input_tokens": 2000,
                                                 "cache_creation_input_tokens": 300, "output_tokens": 40}}))
        self.addCleanup(provider.close)
        server = self.server(self.config(provider.port, budget={"dollars_per_day": 1}))
        usage = server.say().result["Usage"]
        self.assertEqual((usage["PromptTokens"], usage["CompletionTokens"], usage["CachedTokens"]), (2400, 40, 2000))
        spent, = self.attempts(server)
        self.assertAlmostEqual(spent["Cost"], (100 + 300 * 1.25 + 2000 * 0.1 + 40 * 5) / 1e6, places=12)
        budget, = server.get("/v1/limits").json["Budgets"]
        self.assertAlmostEqual(budget["DollarsSpent"], spent["Cost"], places=12)


if __name__ == "__main__":
    unittest.main()
