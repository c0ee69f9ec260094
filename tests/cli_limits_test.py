"""Tests of `treaty limits`: what an answer says about rate limits, in every form it may be given."""
import json
import unittest

from treaty_binary import MIB, SOON, TreatyTest

DATE = "Thu, 01 Jan 2026 00:00:00 GMT"
HEADERS = {"date": DATE, "x-ratelimit-limit-requests": "100", "x-ratelimit-remaining-requests": "0",
           "x-ratelimit-reset-requests": "6m30s"}
WINDOW = {"name": "requests", "resource": "requests", "remaining": 0, "limit": 100, "resets_in": 390,
          "reset_at": 1767225990}
STATE = {"limited": True, "retry_after": 390, "windows": [WINDOW]}
LINES = "".join(f"{name}: {value}\r\n" for name, value in HEADERS.items())


class LimitsTest(TreatyTest):
    def state(self, answer, *options, code=0):
        ran = self.treaty("limits", "--format", "json", *options, stdin=answer)
        self.assertEqual(ran.code, code, ran)
        return json.loads(ran.out)

    def test_header_lines_a_whole_answer_and_json_say_the_same(self):
        for answer in (LINES, "HTTP/1.1 200 OK\r\n" + LINES + "\r\n{}", HEADERS, {"headers": HEADERS},
                       {"status": 200, "headers": HEADERS, "body": None, "at": None, "provider": None},
                       {"headers": {name.upper(): value for name, value in HEADERS.items()}},
                       {"headers": {name: [value] for name, value in HEADERS.items()}}):
            with self.subTest(answer=answer):
                self.assertEqual(self.state(answer), STATE)

    def test_a_file_is_read_like_standard_input(self):
        self.write("answer.txt", LINES)

        ran = self.treaty("limits", "--format", "json", "answer.txt")

        self.assertEqual((ran.code, json.loads(ran.out)), (0, STATE))

    def test_people_get_a_table(self):
        ran = self.treaty("limits", stdin=LINES)

        self.assertEqual(ran.code, 0)
        self.assertRegex(ran.out, r"^limited; retry after 390 s\n")
        self.assertRegex(ran.out, r"(?m)^requests +requests +0 +100 +390 s$")
        self.assertEqual(self.treaty("limits", stdin="date: x\n").out, "not limited\nno windows\n")

    def test_status_and_body_count(self):
        body = {"error": {"message": "Please try again in 6.5s."}}

        self.assertEqual(self.state({"status": 429, "body": body}), {"limited": True, "retry_after": 6.5})
        self.assertEqual(self.state({"status": 429, "body": json.dumps(body)}), {"limited": True, "retry_after": 6.5})
        self.assertEqual(self.state("HTTP/2 429\n\n" + json.dumps(body)), {"limited": True, "retry_after": 6.5})
        self.assertEqual(self.state({"status": 200, "body": body}), {"limited": False})

    def test_the_answers_date_goes_before_at(self):
        reset = {"ratelimit-remaining": "1", "ratelimit-reset": "10"}

        self.assertEqual(self.state({"headers": reset, "at": "1970-01-01T00:01:00Z"})["windows"][0]["reset_at"], 70)
        self.assertEqual(self.state({"headers": reset, "at": 60})["windows"][0]["reset_at"], 70)
        self.assertEqual(self.state({"headers": {**reset, "date": DATE}, "at": 60})["windows"][0]["reset_at"], 1767225610)

    def test_the_provider_names_groqs_windows(self):
        self.assertEqual(self.state(LINES, "--provider", "groq")["windows"][0]["name"], "requests_per_day")
        self.assertEqual(self.state({"provider": "groq", "headers": HEADERS})["windows"][0]["name"], "requests_per_day")
        self.assertEqual(self.state({"provider": "unheard of", "headers": HEADERS}), STATE)

    def test_compat_is_the_algorithm_of_flatmachines(self):
        state = self.state({"status": 429, "headers": {"ratelimit-remaining": "0", "retry-after": "1.5"}},
                           "--profile", "compat")

        self.assertEqual(state, {"limited": False})
        self.assertEqual(self.state(HEADERS, "--profile", "compat")["windows"][0],
                         {name: value for name, value in WINDOW.items() if name != "reset_at"})

    def test_a_line_in_is_a_line_out_and_a_bad_one_is_null(self):
        lines = [json.dumps(HEADERS), "{", '{"status": "x"}', '{"headers": 5}', '{"at": "noon", "headers": {}}', "[1]",
                 '{"status": 429}', '{"a": 1, "a": 2}']

        ran = self.treaty("limits", "--ndjson", stdin="\n".join(lines) + "\n")

        answers = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual(ran.code, 1)
        self.assertEqual(answers, [STATE, None, None, None, None, None, {"limited": True}, None])
        for number in (2, 3, 4, 5, 6, 8):
            self.assertIn(f"-:{number}: ", ran.err)

    def test_an_empty_input_says_nothing_about_limits(self):
        self.assertEqual(self.state(""), {"limited": False})
        ran = self.treaty("limits", "--ndjson", stdin="")
        self.assertEqual((ran.code, ran.out), (0, ""))

    def test_wrong_usage_is_told(self):
        for arguments in (["--profile", "lax"], ["--format", "xml"], ["--provider", "nobody"], ["--nonsense"], ["a", "b"]):
            with self.subTest(arguments=arguments):
                self.assert_usage(self.treaty("limits", *arguments))

    def test_what_cannot_be_read_is_told_without_output(self):
        self.write("folder/a.json", "{}")
        for arguments, stdin in ((["missing.txt"], ""), (["folder"], ""), ([], "{"), ([], "no header line\n"),
                                 ([], ": no name\n"), ([], b"\xff\xfe")):
            with self.subTest(arguments=arguments, stdin=stdin):
                ran = self.treaty("limits", *arguments, stdin=stdin)
                self.assertEqual((ran.code, ran.out), (1, ""), ran)
                self.assertTrue(ran.err)

    def test_hostile_text_does_not_reach_the_terminal(self):
        ran = self.treaty("limits", stdin='ratelimit: "\x1b[31mred\x07";r=1\n')
        self.assertEqual(ran.code, 0)
        self.assertIn("red", ran.out)
        self.assertNotIn("\x1b", ran.out)
        ran = self.treaty("limits", stdin="\x1b]0;title\x07\n")
        self.assertEqual(ran.code, 1)
        self.assertNotIn("\x1b", ran.err)

    def test_huge_numbers_end_at_int64(self):
        state = self.state({"headers": {"x-ratelimit-limit-tokens": "9" * 5000, "x-ratelimit-remaining-tokens": "-1",
                                        "x-ratelimit-reset-tokens": "9" * 5000 + "h", "retry-after": "-1"}})

        self.assertEqual(state["windows"][0]["limit"], 2 ** 63 - 1)
        self.assertNotIn("remaining", state["windows"][0])
        self.assertNotIn("retry_after", state)

    def test_ten_thousand_headers_end_soon(self):
        lines = "".join(f"h{number}: x\n" for number in range(10_000))
        self.assertEqual(self.treaty("limits", stdin=lines, limited=True, seconds=SOON).code, 1)
        ran = self.treaty("limits", "--format", "json", limited=True, seconds=SOON,
                          stdin={"headers": {"retry-after": "5", **{f"h{number}": "x" for number in range(10_000)}}})
        self.assertEqual((ran.code, json.loads(ran.out)), (0, {"limited": False, "retry_after": 5}))

    def test_an_input_that_is_too_large_is_refused(self):
        ran = self.treaty("limits", stdin=b"a: " + b"x" * (17 * MIB), limited=True, seconds=SOON)
        self.assertEqual((ran.code, ran.out), (1, ""))


if __name__ == "__main__":
    unittest.main()
