"""Tests of `treaty machine eval`: conditions and templates, one at a time and many by lines."""
import json
import unittest

from treaty_binary import MIB, SOON, TreatyTest

SCOPE = {"context": {"n": 5, "name": "Ada", "list": ["a", "b"]}, "input": {"k": "v"}, "output": {"content": "hi"},
         "result": {"error": {"code": "rate_limit"}}}


class One(TreatyTest):
    def evaluate(self, *arguments, scope=None):
        return self.treaty("machine", "eval", *arguments, *(["--scope", json.dumps(scope)] if scope else []))

    def test_a_condition_prints_its_value_as_json(self):
        for text, value in (("context.n > 3", "true"), ("context.name", '"Ada"'), ("context.missing", "null"),
                            ("context.list + ['c']", '["a","b","c"]'), ("", "true")):
            with self.subTest(text):
                ran = self.evaluate(text, scope=SCOPE)
                self.assertEqual((ran.code, ran.out, ran.err), (0, value + "\n", ""))

    def test_without_a_scope_every_name_is_null(self):
        self.assertEqual(self.evaluate("context").out, "null\n")

    def test_a_template_is_rendered(self):
        ran = self.evaluate("--template", "Dear {{ context.name }}", scope=SCOPE)

        self.assertEqual((ran.code, json.loads(ran.out)), (0, "Dear Ada"))

    def test_a_path_as_a_template_is_the_value_itself(self):
        self.assertEqual(json.loads(self.evaluate("--template", "context.list", scope=SCOPE).out), ["a", "b"])

    def test_what_cannot_be_read_is_told_with_its_place(self):
        ran = self.evaluate("context.n ==")

        self.assertEqual((ran.code, ran.out), (1, ""))
        self.assertIn("at byte 12", ran.err)

    def test_what_cannot_be_evaluated_is_told(self):
        ran = self.evaluate("1 / 0")

        self.assertEqual((ran.code, ran.out), (1, ""))
        self.assertIn("division by zero", ran.err)

    def test_a_message_does_not_command_the_terminal(self):
        ran = self.evaluate("--template", "{{ x | \u001b[31m }}")

        self.assertEqual(ran.code, 1)
        self.assertNotIn("\u001b", ran.err)

    def test_wrong_usage(self):
        self.assert_usage(self.treaty("machine", "eval"), "machine eval")
        self.assert_usage(self.treaty("machine", "eval", "1", "2"), "machine eval")
        self.assert_usage(self.treaty("machine", "eval", "1", "--scope", "{"), "--scope")
        self.assert_usage(self.treaty("machine", "eval", "1", "--scope", "[]"), "--scope")
        self.assert_usage(self.treaty("machine", "eval", "--ndjson", "--scope", "{}"), "--ndjson")
        self.assert_usage(self.treaty("machine", "eval", "--ndjson", "--template"), "--ndjson")


class Lines(TreatyTest):
    def answers(self, *lines, code=0, **more):
        text = b"".join(line if isinstance(line, bytes) else json.dumps(line).encode() + b"\n" for line in lines)
        ran = self.treaty("machine", "eval", "--ndjson", stdin=text, **more)
        self.assertEqual((ran.code, ran.err), (code, ""))
        return [json.loads(line) for line in ran.out.splitlines()]

    def test_every_line_has_its_answer_in_its_place(self):
        self.assertEqual(self.answers({"expr": "context.n + 1", "scope": SCOPE},
                                      {"template": "{{ output.content }}!", "scope": SCOPE},
                                      {"template": ["context.n", {"{{ k }}": "{{ input.k }}"}, 7], "scope": SCOPE},
                                      {"expr": "result.error.code == 'rate_limit'", "scope": SCOPE}),
                         [{"value": 6}, {"value": "hi!"}, {"value": [5, {"{{ k }}": "v"}, 7]}, {"value": True}])

    def test_other_names_of_the_scope_are_bound(self):
        self.assertEqual(self.answers({"template": "doc.id", "scope": {"doc": {"id": 7}}},
                                      {"template": "doc.id", "scope": {}},
                                      {"template": "{{ doc.id }}", "scope": {"doc": {"id": 7}}}),
                         [{"value": 7}, {"value": "doc.id"}, {"value": "7"}])

    def test_what_has_no_value_is_answered_with_the_reason(self):
        asked = [{"expr": "foo"}, {"expr": "1 / 0"}, {"template": "{{ 1 / 0 }}"}, {"template": "{% if %}"}]

        for question, answer in zip(asked, self.answers(*asked), strict=True):
            with self.subTest(question):
                self.assertEqual(list(answer), ["error"])

    def test_a_bad_line_is_an_error_and_does_not_stop_the_rest(self):
        bad = [b"not json\n", b'{"expr": "1"\n', b"[1]\n", b"5\n", {}, {"expr": 5}, {"expr": "1", "template": "1"},
               {"expr": "1", "scope": []}, b'{"expr": "1", "expr": "2"}\n', b'"\xff"\n']

        answers = self.answers(*(line for one in bad for line in (one, {"expr": "1"})), code=1)

        self.assertEqual(len(answers), 2 * len(bad))
        for at in range(len(bad)):
            with self.subTest(bad[at]):
                self.assertEqual(list(answers[2 * at]), ["error"])
                self.assertTrue(answers[2 * at]["error"])
                self.assertEqual(answers[2 * at + 1], {"value": 1})

    def test_blank_lines_are_passed_over_and_the_last_needs_no_end(self):
        self.assertEqual(self.answers(b'\n  \n{"expr": "1"}\r\n\n{"expr": "2"}'), [{"value": 1}, {"value": 2}])

    def test_a_value_keeps_its_kind(self):
        values = [1, 1.0, 1e20, -0.5, "né\n\u0001", None, True, [], {}, [[{"a": [1]}]], 9223372036854775807]

        answers = self.answers(*({"expr": "context", "scope": {"context": value}} for value in values))

        self.assertEqual([(type(answer["value"]), answer["value"]) for answer in answers],
                         [(type(value), value) for value in values])

    def test_hostile_lines_end_soon_and_within_memory(self):
        deep = "[" * 100_000
        lines = [
            {"expr": "(" * 100_000}, {"expr": "not " * 100_000 + "1"}, {"expr": "-" * 100_000 + "1"},
            {"expr": "0" + "+1" * 200_000}, {"expr": "context" + ".a" * 200_000},
            {"template": "{{ " + "(" * 100_000}, {"template": "{% if 1 %}" * 50_000},
            {"template": "{{ 'x' * 9223372036854775807 }}"}, {"template": "{{ " + deep},
            {"template": "{% set x = [1] * 1000 %}{% for a in x %}{% for b in x %}{% for c in x %}{{ a }}"
                         "{% endfor %}{% endfor %}{% endfor %}"},
            {"template": "{% for x in context %}{{ context }}{% endfor %}", "scope": {"context": ["x" * 1000] * 1000}},
            {"expr": "context == context", "scope": {"context": ["x" * MIB] * 8}},
            b'{"expr": "1", "scope": {"context": ' + deep.encode() + b"}}\n",
        ]

        answers = self.answers(*lines, code=1, limited=True, seconds=SOON)

        self.assertEqual(len(answers), len(lines))
        told = [list(answer)[0] for answer in answers]
        self.assertEqual(told, ["error"] * 3 + ["value"] * 2 + ["error"] * 6 + ["value", "error"])

    def test_a_line_that_is_too_long_is_an_error(self):
        answers = self.answers({"expr": "1", "scope": {"context": "x" * (65 * MIB)}}, {"expr": "2"}, code=1)

        self.assertEqual([list(answer) for answer in answers], [["error"], ["value"]])

    def test_a_file_may_be_named(self):
        self.write("questions.ndjson", '{"expr": "1 + 1"}\n')

        ran = self.treaty("machine", "eval", "--ndjson", "questions.ndjson")

        self.assertEqual((ran.code, json.loads(ran.out)), (0, {"value": 2}))

    def test_a_file_that_is_not_there_is_told(self):
        ran = self.treaty("machine", "eval", "--ndjson", "nowhere.ndjson")

        self.assertEqual((ran.code, ran.out), (1, ""))
        self.assertIn("nowhere.ndjson", ran.err)


if __name__ == "__main__":
    unittest.main()
