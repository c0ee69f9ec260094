"""Tests of the example documents: those in examples/ are valid, and the guide's samples are what the guide says."""
import json
import unittest

from treaty_binary import EXAMPLES, SAMPLES, VALID, TreatyTest, rules_of


class Examples(TreatyTest):
    def test_every_example_is_valid_and_without_a_warning(self):
        verdicts = self.verdicts("auto", "--recursive", EXAMPLES, code=0)

        self.assertGreaterEqual(len(verdicts), 12)
        self.assertEqual([verdict["document"] for verdict in verdicts if verdict["violations"] or verdict["warnings"]], [])

    def test_every_contract_has_an_example(self):
        verdicts = self.verdicts("auto", "--recursive", EXAMPLES)

        self.assertEqual({verdict["contract"] for verdict in verdicts}, set(VALID))

    def test_every_scenario_and_outcome_has_an_example(self):
        verdicts = self.verdicts("auto", "--recursive", EXAMPLES)

        self.assertLessEqual({("request", "user_turn"), ("request", "tool_continuation"), ("response", "final"),
                              ("response", "client_tool_continuation"), ("invoke-result", "success"),
                              ("invoke-result", "failure"), ("agent-result", "success"), ("agent-result", "failure"),
                              ("bridge-response", "success"), ("bridge-response", "timeout")},
                             {(verdict["contract"], verdict.get("kind")) for verdict in verdicts})

    def test_the_tool_continuation_answers_the_response_that_waits(self):
        ran = self.treaty("check", "continuation", EXAMPLES / "response-client-tool-continuation.json",
                          EXAMPLES / "request-tool-continuation.json")

        self.assertEqual(ran.code, 0, ran)

    def test_the_bridge_response_answers_the_bridge_request(self):
        ran = self.treaty("check", "bridge-response", EXAMPLES / "bridge" / ".agent-response.json",
                          "--request", EXAMPLES / "bridge" / ".agent-request.json")

        self.assertEqual(ran.code, 0, ran)

    def test_the_assistant_response_is_what_the_composer_makes_of_the_sample(self):
        ran = self.treaty("compose", SAMPLES / "compose-input.json")

        self.assertEqual(json.loads(ran.out), json.loads((EXAMPLES / "assistant-scheduled.json").read_bytes()))


class Samples(TreatyTest):
    def test_each_broken_sample_breaks_the_rules_it_is_there_to_show(self):
        cases = {"final-with-empty-tool-calls.json": ["RES-12"],
                 "request-with-mode.json": ["REQ-12", "REQ-13"],
                 "bridge-response-by-hand.json": ["BRS-01", "BRS-02", "BRS-09", "BRS-10"],
                 "bridge-response-repairable.json": ["BRS-06", "BRS-09", "BRS-10"]}
        for name, rules in cases.items():
            with self.subTest(name):
                verdict, = self.verdicts("auto", SAMPLES / name, code=1)
                self.assertEqual(rules_of(verdict["violations"]), rules)

    def test_the_repairable_sample_can_be_repaired(self):
        ran = self.treaty("check", "bridge-response", "--fix", SAMPLES / "bridge-response-repairable.json")

        self.assertEqual(ran.code, 0, ran)

    def test_the_submission_is_out_of_order(self):
        ran = self.treaty("check", "continuation", SAMPLES / "pending.json", SAMPLES / "submitted-out-of-order.json",
                          "--format", "json")

        verdict = json.loads(ran.out)
        self.assertEqual((rules_of(verdict["violations"]), [found["kind"] for found in verdict["differences"]]),
                         (["TOOL-12"], ["out_of_order"]))

    def test_two_of_the_three_lines_are_refused(self):
        verdicts = self.verdicts("request", "--ndjson", SAMPLES / "requests.ndjson", code=1)

        self.assertEqual([rules_of(verdict["violations"]) for verdict in verdicts], [[], ["REQ-02"], ["JSON-01"]])


if __name__ == "__main__":
    unittest.main()
