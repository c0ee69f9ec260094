"""Tests that docs/guide/limits.md is true: each of its configurations is run, and diaries tell what stands below it.

An example is a heading with a ```yaml and a ```text block: a treaty.yaml, and what turns tell, one paragraph for each
turn. `…` stands for the rest of a line. Whom the configuration names is played by `treaty mock`.
"""
import json
import re
import unittest

from dispatching import DispatchTest
from mock_server import Mock
from treaty_binary import ROOT

PAGE = (ROOT / "docs" / "guide" / "limits.md").read_text(encoding="utf-8")
EXAMPLE = re.compile(r"^### ([^\n]+)\n(?:(?!^#).)*?^```yaml\n(.*?)^```\n\n```text\n(.*?)^```$",
                     re.MULTILINE | re.DOTALL)


def exhausted(span, reset):
    told = {"limit": 100, "remaining": 0, "reset": reset}
    return {"text": "Fine.", "headers": {f"x-ratelimit-{name}-requests-{span}": value for name, value in told.items()}}


FINE = ["Fine."]
DOWN = [{"error": 503}]
CUT = [{"text": ["A long text ", "that is not ", "told to its end."], "chunk_delay": 50, "cut": 800}]
TOO_LONG = {"error": {"status": 400, "code": "context_length_exceeded", "message": "This is too long."}}

# What each provider does in the example under that heading.
PLAYED = {
    "A minute's window": {"cerebras": [exhausted("minute", 1), "Fine."]},
    "An hour's window": {"cerebras": [exhausted("hour", 1800)], "openai": FINE},
    "A day's window, and nobody else to ask": {"cerebras": [exhausted("day", 40_000)]},
    "Slow down": {"openai": [{"error": 429, "headers": {"retry-after": 1}}, "Fine."]},
    "A provider that fails": {"cerebras": DOWN, "openai": FINE},
    "A provider that is not there": {"openai": FINE},
    "A provider that says nothing": {"cerebras": [{"text": "Never.", "stall": "head"}], "openai": FINE},
    "A key that is not taken": {"cerebras": [{"error": 401}], "openai": FINE},
    "Too long for the usual model": {"openai": {"rules": [{"when": {"model": "gpt-5-mini"}, **TOO_LONG}],
                                                "replies": FINE}},
    "A breaker": {"cerebras": DOWN, "openai": FINE},
    "The deadline of a turn": {"openai": [{"text": "Never.", "stall": "head"}]},
    "A stream that is cut": {"cerebras": CUT, "openai": ["A long text that is not told to its end. Now it is."]},
    "A budget": {"openai": [{"text": "Fine.", "usage": {"input_tokens": 100, "output_tokens": 350}}]},
}


def told(kind, data):
    """An entry of the diary as the guide writes it; nothing for those that it leaves out."""
    if kind in ("attempt.completed", "attempt.failed"):
        return " ".join([kind, data["Backend"], *(str(data[name]) for name in ("ErrorCode", "Status") if name in data)])
    if kind == "waiting":
        return f"waiting {data['Backend']}: {data['Reason']}"
    if kind == "switched":
        return f"switched {data['From']} to {data['To']}: {data['Reason']}"
    if kind.startswith("breaker."):
        return f"{kind} {data['Backend']}"
    return None


class Guide(DispatchTest):
    def play(self, heading, configuration):
        """A server with that configuration, on mocks."""
        variables = {}
        for name, script in PLAYED[heading].items():
            self.write(f"{name}.yaml", json.dumps(script))
            mock = Mock(self.folder, ["--script", f"{name}.yaml"])
            self.addCleanup(mock.stop)
            variables |= {f"{name.upper()}_BASE_URL": f"http://127.0.0.1:{mock.port}/v1",
                          f"{name.upper()}_API_KEY": "any-key"}
        return self.server(configuration, environment=variables)

    def turn(self, server, session, streamed, ends):
        if streamed:
            with server.say_streaming(session, "t1") as stream:
                list(stream)
        else:
            server.say(session, "t1")
        lines = []
        for kind, data in self.diary(server, session):
            line = told(kind, data)
            if kind == "turn.failed" and ends:
                line = f"turn.failed {data['ErrorCode']}"
            if line:
                lines.append(line)
        return lines

    def test_every_example_is_true(self):
        examples = EXAMPLE.findall(PAGE)
        self.assertEqual([heading for heading, _, _ in examples], list(PLAYED))
        for heading, configuration, text in examples:
            with self.subTest(heading):
                server = self.play(heading, configuration)
                for number, expected in enumerate(text.strip().split("\n\n")):
                    lines = self.turn(server, f"s{number}", "stream" in heading, "turn.failed" in expected)
                    pattern = re.escape(expected).replace("…", ".*")
                    self.assertRegex("\n".join(lines), f"\\A{pattern}\\Z")

    def test_the_keys_and_numbers_of_the_table_are_the_defaults(self):
        reference = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
        for key, value in (("max_wait", "`10s`, last: `1m`"), ("max_attempts", "`2`, last: `5`"),
                           ("backoff", "`[500ms]`, last: `[2s, 8s, 16s, 35s]`"), ("connect", "`5s`"),
                           ("first_token", "`10s`, last: `1m`"), ("stall", "`20s`"),
                           ("breaker_failures", "`5`"), ("breaker_open", "`30s`")):
            self.assertRegex(reference, rf"dispatch\.{key}` \| [^|]+ \| {re.escape(value)} \|")


if __name__ == "__main__":
    unittest.main()
