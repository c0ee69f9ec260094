"""Every YAML example of docs/reference/config.md is a configuration that is in order, and is shown as one."""
import re
import unittest

from treaty_binary import ROOT, TreatyTest

PAGE = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
EXAMPLES = re.findall(r"^```yaml\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
KEYS = {"OPENAI_API_KEY": "any", "CEREBRAS_API_KEY": "any"}


class Examples(TreatyTest):
    def test_there_are_examples(self):
        self.assertGreaterEqual(len(EXAMPLES), 9)

    def test_each_is_in_order(self):
        for example in EXAMPLES:
            with self.subTest(example=example):
                self.write("treaty.yaml", example)
                ran = self.treaty("config", "check", **KEYS)
                self.assertEqual(ran.code, 0, ran)

    def test_what_is_shown_of_each_reads_back(self):
        for example in EXAMPLES:
            with self.subTest(example=example):
                self.write("treaty.yaml", example)
                once = self.shown("treaty.yaml")
                self.write("again.yaml", "\n".join(once))
                self.assertEqual(self.shown("again.yaml"), once)

    def shown(self, file):
        """Without the comments, which say why a backend was chosen that the file does not name."""
        ran = self.treaty("config", "show", file, **KEYS)
        self.assertEqual(ran.code, 0, ran)
        return [line for line in ran.out.splitlines() if not line.startswith("#")]


if __name__ == "__main__":
    unittest.main()
