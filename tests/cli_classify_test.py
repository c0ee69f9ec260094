"""Tests of `treaty classify`: which error a failed answer is, and whether to try again."""
import json
import unittest

from treaty_binary import MIB, SOON, TreatyTest

CODES = {"rate_limit", "timeout", "server_error", "invalid_request", "auth_error", "content_filter", "context_length",
         "model_unavailable"}
BODY = {"error": {"message": "Rate limit reached", "type": "requests", "code": "rate_limit_exceeded"}}
ERROR = {"code": "rate_limit", "type": "requests", "message": "Rate limit reached", "status_code": 429,
         "retryable": True}


class ClassifyTest(TreatyTest):
    def error(self, answer, *options):
        ran = self.treaty("classify", "--format", "json", *options, stdin=answer)
        self.assertEqual(ran.code, 0, ran)
        return json.loads(ran.out)

    def test_json_and_a_whole_answer_say_the_same(self):
        for answer in ({"status": 429, "body": BODY}, {"status": 429, "headers": None, "body": json.dumps(BODY)},
                       "HTTP/1.1 429 Too Many Requests\r\ncontent-type: application/json\r\n\r\n" + json.dumps(BODY)):
            with self.subTest(answer=answer):
                self.assertEqual(self.error(answer), ERROR)

    def test_people_get_a_few_lines(self):
        self.write("answer.json", {"status": 429, "body": BODY})

        ran = self.treaty("classify", "answer.json")

        self.assertEqual((ran.code, ran.out), (
            0, "rate_limit (trying again may help)\n  status   429\n  type     requests\n  message  Rate limit reached\n"))
        self.assertIn("does not help", self.treaty("classify", stdin={"status": 400}).out)

    def test_without_a_status_there_was_no_answer(self):
        error = self.error({"body": "connection refused"})

        self.assertEqual(error, {"code": "server_error", "message": "connection refused", "retryable": True})

    def test_a_header_overrides_whether_to_try_again(self):
        self.assertFalse(self.error({"status": 500, "headers": {"X-Should-Retry": "false"}})["retryable"])
        self.assertTrue(self.error("HTTP/2 400\nx-should-retry: true\n\n")["retryable"])

    def test_keys_in_messages_are_masked(self):
        error = self.error({"status": 401, "body": {"error": {"message": "Bad key sk-proj-abcdefgh12345678."}}})

        self.assertEqual(error["message"], "Bad key sk-***.")

    def test_a_line_in_is_a_line_out_and_a_bad_one_is_null(self):
        lines = [json.dumps({"status": 429, "body": BODY}), "{", '{"status": 99}', '{"status": 1e999}', '{"status": null}',
                 '{"status": 503, "body": "<html><title>Down</title></html>"}']

        ran = self.treaty("classify", "--ndjson", stdin="\n".join(lines))

        answers = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual((ran.code, len(answers)), (1, 6))
        self.assertEqual(answers[0], ERROR)
        self.assertEqual(answers[1:4], [None, None, None])
        self.assertEqual(answers[4]["code"], "server_error")
        self.assertEqual(answers[5]["message"], "Down")
        self.assertEqual(len(ran.err.splitlines()), 3)

    def test_whatever_the_body_there_is_a_code_and_a_message(self):
        bodies = ["", " ", "null", "[]", "{}", "[" * 100_000, "\x00", '{"error": 5}', '{"error": [1]}', "<html>",
                  '{"error": {"message": " ", "type": " "}}', '{"error": {"type": "' + "é" * 500 + '"}}']
        lines = [json.dumps({"status": status, "body": body}) for body in bodies for status in (None, 200, 400, 500, 999)]

        ran = self.treaty("classify", "--ndjson", stdin="\n".join(lines), limited=True, seconds=SOON)

        errors = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual((ran.code, len(errors)), (0, len(lines)))
        for error in errors:
            self.assertIn(error["code"], CODES)
            self.assertTrue(error["message"].strip())

    def test_hostile_text_does_not_reach_the_terminal(self):
        ran = self.treaty("classify", stdin={"status": 500, "body": {"error": {"message": "\x1b[31mred\x07\u009b", "type": "\x1b]0;t"}}})

        self.assertEqual(ran.code, 0)
        self.assertIn("red", ran.out)
        for hidden in ("\x1b", "\x07", "\u009b"):
            self.assertNotIn(hidden, ran.out)

    def test_wrong_usage_is_told(self):
        for arguments in (["--format", "xml"], ["--nonsense"], ["a", "b"]):
            with self.subTest(arguments=arguments):
                self.assert_usage(self.treaty("classify", *arguments))

    def test_what_cannot_be_read_is_told_without_output(self):
        self.write("folder/a.json", "{}")
        for arguments, stdin in ((["missing.txt"], ""), (["folder"], ""), ([], "{"), ([], "no header line")):
            with self.subTest(arguments=arguments, stdin=stdin):
                ran = self.treaty("classify", *arguments, stdin=stdin)
                self.assertEqual((ran.code, ran.out), (1, ""), ran)
                self.assertTrue(ran.err)

    def test_a_body_of_megabytes_ends_soon(self):
        ran = self.treaty("classify", "--format", "json", limited=True, seconds=SOON,
                          stdin="HTTP/1.1 500\n\n" + "<title>" * (MIB // 7) + "try again in " * (MIB // 13))

        self.assertEqual((ran.code, json.loads(ran.out)["code"]), (0, "server_error"))


if __name__ == "__main__":
    unittest.main()
