"""Tests of `treaty machine graph`: drawings that are XML, charts, and what cannot be drawn."""
import unittest
import xml.etree.ElementTree

from treaty_binary import EXAMPLES, SOON, TreatyTest

NAMESPACE = "{http://www.w3.org/2000/svg}"
WRITER = EXAMPLES / "machines" / "writer.yml"
PATIENT = EXAMPLES / "machines" / "patient.yml"


def texts(drawing):
    return ["".join(element.itertext()) for element in drawing.iter(NAMESPACE + "text")]


class MachineGraph(TreatyTest):
    def graph(self, *arguments, **more):
        return self.treaty("machine", "graph", *arguments, **more)

    def drawing(self, *arguments, **more):
        ran = self.graph(*arguments, **more)
        self.assertEqual((ran.code, ran.err), (0, ""), ran)
        return xml.etree.ElementTree.fromstring(ran.out)

    def test_a_drawing_names_every_state_and_what_it_does(self):
        drawing = self.drawing(WRITER)

        self.assertEqual(drawing.tag, NAMESPACE + "svg")
        for word in ("writer-and-critic", "write", "review", "publish", "failed", "agent writer · retry", "otherwise",
                     "context.score >= 8"):
            self.assertIn(word, texts(drawing))

    def test_a_drawing_needs_nothing_from_elsewhere(self):
        for file in (WRITER, PATIENT):
            out = self.graph(file).out

            self.assertNotIn("<script", out)
            self.assertNotIn("@import", out)
            self.assertEqual(out.count("http"), 1)  # The name of the language.

    def test_errors_and_the_policy_are_drawn_apart(self):
        classes = [path.get("class") for path in self.drawing(PATIENT).iter(NAMESPACE + "path")]

        for kind in ("edge transition", "edge error", "edge policy"):
            self.assertIn(kind, classes)

    def test_foreign_text_stays_text(self):
        name = "</svg><script>alert(1)</script>&\\x01\\u2028"
        self.write("m.yml", f'{{spec: flatmachine, spec_version: "4.2.1", data: {{name: "{name}", states: '
                            f'{{"{name}": {{type: final}}}}}}}}')

        drawing = self.drawing("m.yml")

        self.assertNotIn(NAMESPACE + "script", {element.tag for element in drawing.iter()})

    def test_a_chart_for_pages_that_draw_it(self):
        ran = self.graph(WRITER, "--format", "mermaid")

        lines = ran.out.splitlines()
        self.assertEqual((ran.code, lines[0]), (0, "flowchart TD"))
        self.assertIn('  s0("<b>write</b><br/>agent writer · retry")', lines)
        self.assertIn("  s0 --> s1", lines)
        self.assertIn('  s0 -.->|"error"| s3', lines)

    def test_a_chart_for_graphviz(self):
        ran = self.graph(WRITER, "--format", "dot")

        lines = ran.out.splitlines()
        self.assertEqual((ran.code, lines[0], lines[-1]), (0, 'digraph "writer-and-critic" {', "}"))
        self.assertIn('  s0 [label="write\\nagent writer · retry"];', lines)
        self.assertIn('  s0 -> s1 [label=""];', lines)

    def test_standard_input_can_be_drawn(self):
        self.assertIn("review", texts(self.drawing("-", stdin=WRITER.read_bytes())))

    def test_a_machine_with_a_problem_is_not_drawn_and_the_problem_is_told(self):
        self.write("m.yml", "spec: flatmachine\ndata: {states: {a: {transitions: [{to: b}]}}}\n")

        ran = self.graph("m.yml")

        self.assertEqual((ran.code, ran.out), (1, ""))
        self.assertIn("MCH-08", ran.err)
        self.assertEqual(self.graph("none.yml").code, 1)

    def test_wrong_usage(self):
        self.assert_usage(self.graph(), "one file")
        self.assert_usage(self.graph(WRITER, PATIENT), "one file")

    def test_what_is_too_large_for_a_picture_is_a_chart(self):
        states = "".join(f"    s{i}: {{transitions: [{{to: s{i + 1}}}]}}\n" for i in range(2500))
        self.write("m.yml", "spec: flatmachine\nspec_version: '4.2.1'\ndata:\n  states:\n" + states +
                   "    s2500: {type: final}\n")

        ran = self.graph("m.yml", seconds=SOON)

        self.assertEqual((ran.code, ran.out), (1, ""))
        self.assertIn("--format mermaid", ran.err)
        for chart in ("mermaid", "dot"):
            self.assertEqual(self.graph("m.yml", "--format", chart, seconds=SOON).code, 0)


if __name__ == "__main__":
    unittest.main()
