"""Tests that keep docs/reference/api.md true: its examples run in their order against a server of their own.

A ```sh block is run by bash. The block after it, if it is ```json, has the value that the answer has, and if it is
```text, the text; `…` stands for anything, as a whole value or inside a text. At the end of a text it stands for the rest.
"""
import json
import re
import subprocess
import unittest

from serving import ServingTest
from treaty_binary import ROOT, SECONDS

PAGE = ROOT / "docs" / "reference" / "api.md"
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ANYTHING = "…"


def examples(text):
    """(commands, kind of what is expected or None, what is expected)."""
    blocks = [(match[1], match[2]) for match in BLOCK.finditer(text)]
    found = []
    for number, (kind, body) in enumerate(blocks):
        if kind != "sh":
            continue
        after = blocks[number + 1] if number + 1 < len(blocks) else ("", "")
        found.append((body, after[0] if after[0] in ("json", "text") else None, after[1]))
    return found


def fits(expected, got):
    if expected == ANYTHING:
        return True
    if isinstance(expected, dict) and isinstance(got, dict):
        return expected.keys() == got.keys() and all(fits(value, got[name]) for name, value in expected.items())
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(fits(*pair) for pair in zip(expected, got))
    return type(expected) is type(got) and expected == got


def text_fits(expected, got):
    pattern = ".*".join(re.escape(piece) for piece in expected.strip().split(ANYTHING))
    return re.fullmatch(pattern, got.strip(), re.DOTALL) is not None


class Reference(ServingTest):
    def test_every_example_is_answered_as_it_says(self):
        one = self.server("", environment={"OPENAI_API_KEY": ""})
        found = examples(PAGE.read_text(encoding="utf-8"))
        self.assertGreater(len(found), 15)
        for commands, kind, expected in found:
            with self.subTest(commands):
                self.assertIn("127.0.0.1:8088", commands)
                ran = subprocess.run(["bash", "-c", commands.replace("127.0.0.1:8088", f"127.0.0.1:{one.port}")],
                                     capture_output=True, text=True, timeout=SECONDS, check=False, cwd=self.folder)
                self.assertEqual((ran.returncode, ran.stderr), (0, ""))
                if kind == "json":
                    self.assertTrue(fits(json.loads(expected), json.loads(ran.stdout)), ran.stdout)
                if kind == "text":
                    self.assertTrue(text_fits(expected, ran.stdout), ran.stdout)

    def test_every_code_of_a_refusal_is_in_the_table(self):
        source = (ROOT / "src" / "treaty" / "turns" / "refusals.cpp").read_text(encoding="utf-8")
        codes = re.findall(r'\{Reason::\w+, "(\w+)", \d+\}', source)
        self.assertGreater(len(codes), 15)
        text = PAGE.read_text(encoding="utf-8")
        self.assertEqual([code for code in codes if f"`{code}`" not in text], [])

    def test_every_route_is_described(self):
        source = (ROOT / "src" / "treaty" / "api" / "routes.cpp").read_text(encoding="utf-8")
        routes = {f"{method} /{path}" for method, path in re.findall(r'Route\{"([A-Z]+)", "([^"]+)"', source)}
        self.assertGreater(len(routes), 15)
        text = re.sub(r"\{\w+\}(\.json)?", "{}", PAGE.read_text(encoding="utf-8"))
        described = set(re.findall(r"`([A-Z]+ /[^`?]*)[^`]*`", text))
        self.assertEqual(sorted(routes ^ described), [])


class TheTestItself(unittest.TestCase):
    def test_what_is_different_does_not_fit(self):
        self.assertTrue(fits({"a": ANYTHING, "b": [1]}, {"a": {"c": 2}, "b": [1]}))
        for got in ({"a": 1}, {"a": 1, "b": [1], "c": 1}, {"a": 1, "b": [2]}, {"a": 1, "b": [1, 1]}, {"a": 1, "b": [True]}):
            self.assertFalse(fits({"a": ANYTHING, "b": [1]}, got))
        self.assertTrue(text_fits("id: …\nend", "id: 7\nend\n"))
        self.assertFalse(text_fits("id: …\nend", "id: 7\nends\n"))


if __name__ == "__main__":
    unittest.main()
