"""`treaty call` against `treaty mock`: both sides of every protocol, plain and streamed, agree."""
import json
import unittest

from fake_provider import CallTest, KEY
from mock_server import MockTest

# Provider, protocol; every one of the six wires at least once.
WIRES = (("openai", "chat_completions"), ("openai", "responses"), ("openai", "completions"),
         ("anthropic", "anthropic_messages"), ("gemini", "gemini"), ("ollama", "ollama_native"),
         ("mistral", "chat_completions"), ("azure", "chat_completions"), ("groq", "chat_completions"),
         ("custom", "anthropic_messages"))
KEYS = {f"{name}_API_KEY": KEY for name in ("ANTHROPIC", "GEMINI", "MISTRAL", "AZURE_OPENAI", "GROQ")}


class EveryWire(MockTest, CallTest):
    def setUp(self):
        super().setUp()
        self.server = self.mock()
        self.server.url = f"http://127.0.0.1:{self.server.port}"

    def outcome(self, provider, protocol, *options, text="Hello"):
        ran = self.call(self.server, "--format", "json", "--protocol", protocol, *options, provider=provider,
                        path="" if provider in ("anthropic", "gemini", "ollama", "azure") else "/v1", text=text,
                        variables=KEYS)
        self.assertEqual((ran.code, ran.err), (0, ""), ran)
        verdict = self.verdict("agent-result", ran.out)
        self.assertEqual((verdict["violations"], verdict["warnings"]), ([], []))
        return json.loads(ran.out)

    def test_plain_and_streamed_give_the_same_result(self):
        for provider, protocol in WIRES:
            with self.subTest(f"{provider} {protocol}"):
                plain = self.outcome(provider, protocol)
                streamed = self.outcome(provider, protocol, "--stream")

                self.assertEqual((plain["content"], plain["finish_reason"]), ("You said: Hello", "stop"))
                for result in (plain, streamed):
                    result["provider_data"].pop("raw_headers", None)
                    result["provider_data"].pop("request_id", None)
                    result.pop("rate_limit", None)
                usage = plain.pop("usage"), streamed.pop("usage", None)
                self.assertEqual(plain, streamed)
                # The mock counts the bytes of the request as its input. Mistral tells usage unasked, so it is not asked.
                if provider != "mistral":
                    self.assertEqual(usage[0]["output_tokens"], usage[1]["output_tokens"])

    def test_tools_are_offered_and_called(self):
        tool = json.dumps({"name": "weather", "parameters": {
            "type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}})
        for provider, protocol in WIRES:
            if protocol == "completions":
                continue
            for options in ((), ("--stream",)):
                with self.subTest(f"{provider} {protocol} {options}"):
                    result = self.outcome(provider, protocol, "--tool", tool, *options, text="Use weather please")

                    self.assertEqual(result["finish_reason"], "tool_use")
                    call, = result["tool_calls"]
                    self.assertEqual((call["name"], type(json.loads(call["arguments"]))), ("weather", dict))


if __name__ == "__main__":
    unittest.main()
