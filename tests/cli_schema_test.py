"""Tests of `treaty schema --validate` and its batch form: values judged by a JSON Schema of the user's."""
import json
import unittest

from treaty_binary import MIB, SOON, TreatyTest

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    "required": ["city"],
    "additionalProperties": False,
}


class Validate(TreatyTest):
    def setUp(self):
        super().setUp()
        self.write("parameters.json", PARAMETERS)

    def test_every_file_gets_a_line_and_one_that_does_not_fit_ends_with_1(self):
        self.write("good.json", {"city": "Kyiv", "days": 3})
        self.write("bad.json", {"city": "Kyiv", "days": "3"})

        good = self.treaty("schema", "--validate", "parameters.json", "good.json")
        both = self.treaty("schema", "--validate", "parameters.json", "good.json", "bad.json")

        self.assertEqual((good.code, good.out, good.err), (0, "good.json: valid\n", ""))
        self.assertEqual((both.code, both.out), (1, "good.json: valid\nbad.json: /days: expected an integer, got a string\n"))

    def test_standard_input_is_the_value_by_default(self):
        ran = self.treaty("schema", "--validate", "parameters.json", stdin={"city": 1})

        self.assertEqual((ran.code, ran.out), (1, "-: /city: expected a string, got the number 1\n"))

    def test_the_schema_may_come_from_standard_input(self):
        self.write("good.json", {"city": "Kyiv"})

        ran = self.treaty("schema", "--validate", "-", "good.json", stdin=PARAMETERS)

        self.assertEqual((ran.code, ran.out), (0, "good.json: valid\n"))

    def test_a_value_that_is_no_json_does_not_fit(self):
        ran = self.treaty("schema", "--validate", "parameters.json", stdin="{'city': 1}")

        self.assertEqual(ran.code, 1)
        self.assertRegex(ran.out, "^-: is not JSON: ")

    def test_a_schema_that_is_not_supported_is_refused_with_its_place(self):
        for schema, words in (({"properties": {"a": {"minimun": 1}}}, ("/properties/a/minimun", "minimum")),
                              ({"$ref": "https://example.org/a"}, ("/$ref",)), ("{", ("JSON",))):
            with self.subTest(schema=schema):
                self.write("wrong.json", schema)
                ran = self.treaty("schema", "--validate", "wrong.json", stdin={})
                self.assertEqual((ran.code, ran.out), (78, ""))
                for word in ("wrong.json", *words):
                    self.assertIn(word, ran.err)

    def test_files_that_cannot_be_read_are_told(self):
        schema = self.treaty("schema", "--validate", "missing.json", stdin={})
        value = self.treaty("schema", "--validate", "parameters.json", "missing.json")

        self.assertEqual((schema.code, value.code), (78, 1))
        for ran in (schema, value):
            self.assertEqual(ran.out, "")
            self.assertTrue(ran.err.startswith("missing.json: "), ran)

    def test_wrong_usage_is_told(self):
        self.assert_usage(self.treaty("schema", "--validate", "-", "-"), "standard input")
        self.assert_usage(self.treaty("schema", "--validate", "parameters.json", "--dialect", "camel"), "--dialect")

    def test_foreign_text_cannot_play_tricks_on_a_terminal(self):
        ran = self.treaty("schema", "--validate", "parameters.json", stdin='{"city": "a", "\\u001b[2J": 1}')

        self.assertEqual(ran.code, 1)
        self.assertNotIn("\x1b", ran.out)


class Batch(TreatyTest):
    def verdicts_on(self, *lines, options=(), code=1):
        ran = self.treaty("schema", "--ndjson", *options, stdin="\n".join(lines))
        self.assertEqual(ran.code, code, ran)
        return [json.loads(line) for line in ran.out.splitlines()]

    def test_every_line_with_its_own_schema_gets_a_verdict(self):
        verdicts = self.verdicts_on('{"schema": {"type": "integer"}, "data": 1.0}',
                                    '{"schema": {"items": false}, "data": [1]}',
                                    "", '{"schema": {"foo": 1}, "data": 1}', '{"schema": true}', "not JSON")

        self.assertEqual(verdicts[:2], [{"valid": True},
                                        {"valid": False, "where": "/0", "message": "nothing is allowed here; leave it out"}])
        self.assertEqual(verdicts[2]["where"], "/foo")
        self.assertIn("unknown keyword", verdicts[2]["refused"])
        self.assertEqual([list(verdict) for verdict in verdicts[3:]], [["refused", "where"]] * 2)

    def test_only_valid_lines_end_with_0(self):
        self.assertEqual(self.verdicts_on('{"schema": true, "data": null}', code=0), [{"valid": True}])

    def test_with_a_schema_every_line_is_a_value(self):
        self.write("parameters.json", PARAMETERS)

        verdicts = self.verdicts_on('{"city": "a"}', "{}", options=("--validate", "parameters.json"))

        self.assertEqual(verdicts, [{"valid": True}, {"valid": False, "where": "", "message": 'the member "city" is missing'}])

    def test_hostile_schemas_and_values_are_answered_soon(self):
        doubling = {f"n{i}": {"anyOf": [{"$ref": f"#/$defs/n{i + 1}"}] * 2} for i in range(40)}
        lines = [{"schema": {"$ref": "#/$defs/n0", "$defs": {**doubling, "n40": False}}, "data": 1},
                 {"schema": {"pattern": "^(a|a)*(a*)*b$"}, "data": "a" * 100_000},
                 {"schema": {"pattern": "(a?){900}b"}, "data": "a" * MIB},
                 {"schema": {"uniqueItems": True}, "data": [{str(i): 0} for i in range(20_000)]},
                 {"schema": {"required": [str(i) for i in range(20_000)]}, "data": {str(i): 0 for i in range(10_000)}},
                 {"schema": {"multipleOf": 1e-300}, "data": 10 ** 300}]

        ran = self.treaty("schema", "--ndjson", stdin="\n".join(map(json.dumps, lines)), limited=True, seconds=SOON)

        valid = [json.loads(line)["valid"] for line in ran.out.splitlines()]
        self.assertEqual(valid, [False, False, False, True, False, True])


if __name__ == "__main__":
    unittest.main()
