"""The reference pages say what the ledger says."""
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent


class Reference(unittest.TestCase):
    def test_the_pages_are_what_the_ledger_generates(self):
        run = subprocess.run([sys.executable, ROOT / "tools" / "generate_reference", "--check"],
                             capture_output=True, text=True)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)

    def test_every_contract_has_its_rules_on_a_page(self):
        pages = "".join(p.read_text() for p in (ROOT / "docs/reference/contracts").glob("*.md"))
        for contract in ("json", "request", "response", "invoke-result", "tools", "agent-result",
                         "bridge-request", "bridge-response", "assistant"):
            self.assertIn(f"<!-- rules: {contract} -->", pages)


if __name__ == "__main__":
    unittest.main()
