"""Every YAML example of docs/reference/config.md is a configuration that is in order."""
import re
import unittest

from treaty_binary import ROOT, TreatyTest

PAGE = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
KEYS = {"OPENAI_API_KEY": "any", "CEREBRAS_API_KEY": "any"}


class Examples(TreatyTest):
    def test_there_are_examples(self):
        self.assertGreaterEqual(len(EXAMPLES), 5)

    def test_each_is_in_order(self):
        for example in EXAMPLES:
            with self.subTest(example=example):
                self.write("treaty.yaml", example)
                ran = self.treaty("config", "check", **KEYS)
                self.assertEqual(ran.code, 0, ran)


if __name__ == "__main__":
    unittest.main()
