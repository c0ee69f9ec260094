"""Tests of `treaty normalize`: recorded exchanges, each as one AgentResult."""
import base64
import json
import unittest

from treaty_binary import MIB, ROOT, SOON, TreatyTest

TRANSCRIPTS = ROOT / "tests" / "transcripts"
ANSWER = {"model": "gpt-4o-mini", "choices": [{"index": 0, "message": {"content": "Hi"}, "finish_reason": "stop"}],
          "usage": {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}}
STREAM = 'data: {"choices":[{"delta":{"content":"Hi"},"finish_reason":"stop"}]}\n\ndata: [DONE]\n\n'


def exchange(response=None, **members):
    response = {"status": 200, "headers": {}, "body": ANSWER, **(response or {})}
    return {"provider": "openai", "endpoint": "chat_completions", "request": None, "response": response, **members}


def stream(**response):
    recorded = exchange(response)
    del recorded["response"]["body"]
    return recorded


class NormalizeTest(TreatyTest):
    def lines(self, *arguments, code=0, **more):
        ran = self.treaty("normalize", "--format", "json", *arguments, **more)
        self.assertEqual(ran.code, code, ran)
        return [json.loads(line) for line in ran.out.splitlines()]

    def result(self, recorded, *options):
        line, = self.lines("-", *options, stdin=recorded)
        self.assertEqual(line["document"], "-")
        return line["result"]

    def test_every_transcript_is_one_line_in_order(self):
        files = sorted(str(file) for file in TRANSCRIPTS.glob("*.json"))

        lines = self.lines(*files)

        self.assertGreaterEqual(len(files), 16)
        self.assertEqual([line["document"] for line in lines], files)
        for file, line in zip(files, lines):
            with open(file, encoding="utf-8") as text:
                expect = json.load(text)["expect"]
            with self.subTest(file):
                self.assertEqual(line["result"]["finish_reason"], expect["finish_reason"])
                self.assertEqual(line["result"].get("error", {}).get("code"), expect.get("error", {}).get("code"))

    def test_every_result_is_a_valid_agent_result(self):
        results = [line["result"] for line in self.lines(*sorted(map(str, TRANSCRIPTS.glob("*.json"))))]
        files = [self.write(f"{number}.json", result) for number, result in enumerate(results)]

        for verdict in self.verdicts("agent-result", *files, code=0):
            self.assertEqual((verdict["valid"], verdict["warnings"]), (True, []))

    def test_a_directory_stands_for_the_files_below_it(self):
        self.write("all/b.json", exchange())
        self.write("all/deep/a.json", exchange())
        self.write("all/readme.txt", "no")

        self.assertEqual(sorted(line["document"] for line in self.lines("all")), ["all/b.json", "all/deep/a.json"])

    def test_the_cost_is_that_of_the_answers_date(self):
        dated = {"headers": {"date": "Thu, 01 Jan 2026 00:00:00 GMT"}}

        self.assertAlmostEqual(self.result(exchange(dated))["cost"]["total"], 0.00021)
        self.assertNotIn("cost", self.result(exchange({**dated, "body": {**ANSWER, "model": "unknown"}})))
        self.assertNotIn("cost", self.result(exchange({"headers": {"date": "Mon, 01 Jan 2001 00:00:00 GMT"}})))

    def test_the_protocol_is_told_by_endpoint_path_or_option(self):
        bare = exchange()
        del bare["endpoint"]

        self.assertEqual(self.result(bare | {"request": {"path": "/v1/chat/completions"}})["content"], "Hi")
        self.assertEqual(self.result(bare, "--protocol", "chat_completions")["content"], "Hi")
        ran = self.treaty("normalize", "-", stdin=bare)
        self.assertEqual((ran.code, ran.out), (1, ""))
        self.assertIn("--protocol", ran.err)

    def test_a_stream_may_be_text_or_bytes(self):
        self.assertEqual(self.result(stream(body_sse_text=STREAM))["content"], "Hi")
        self.assertEqual(self.result(stream(body_sse_base64=base64.b64encode(STREAM.encode()).decode()))["content"], "Hi")

    def test_a_stream_that_is_not_utf8_is_a_server_error(self):
        raw = base64.b64encode(STREAM.encode().replace(b"Hi", b"\xff")).decode()

        self.assertEqual(self.result(stream(body_sse_base64=raw))["error"]["code"], "server_error")

    def test_people_get_a_line_per_file(self):
        self.write("good.json", exchange())
        self.write("bad.json", exchange({"status": 429, "body": {"error": {"message": "\x1b[31mSlow\ndown"}}}))

        ran = self.treaty("normalize", "good.json", "bad.json")

        self.assertEqual(ran.code, 0)
        good, bad = ran.out.splitlines()
        self.assertEqual(good, "good.json: stop, 1000 + 100 tokens")
        self.assertIn("rate_limit, retryable", bad)
        self.assertIn("limited", bad)
        self.assertNotIn("\x1b", bad)

    def test_a_file_that_cannot_be_read_does_not_stop_the_others(self):
        self.write("good.json", exchange())
        self.write("broken.json", "{")
        self.write("other.json", {"a": 1})
        self.write("status.json", exchange({"status": 5}))
        files = ["missing.json", "broken.json", "good.json", "other.json", "status.json"]

        ran = self.treaty("normalize", "--format", "json", *files)

        lines = [json.loads(line) for line in ran.out.splitlines()]
        self.assertEqual(ran.code, 1)
        self.assertEqual([line["document"] for line in lines], files)
        self.assertEqual([line["result"] is None for line in lines], [True, True, False, True, True])
        self.assertEqual([bool(line.get("problem")) for line in lines], [True, True, False, True, True])
        self.assertEqual(len(ran.err.splitlines()), 4)

    def test_wrong_usage_is_told(self):
        self.assert_usage(self.treaty("normalize"), "file")
        self.assert_usage(self.treaty("normalize", "--protocol", "soap", "a.json"), "soap", "chat_completions")
        self.assert_usage(self.treaty("normalize", "--format", "xml", "a.json"))
        self.assert_usage(self.treaty("normalize", "--nonsense", "a.json"))

    def test_bodies_that_a_network_can_make_are_errors(self):
        for body in ("", "{", "null", "5", "[]", "<html>", "nonsense", "\x00", {}, [], "[" * 10_000):
            for endpoint in ("chat_completions", "completions", "responses", "messages", "generate_content", "ollama_native"):
                with self.subTest(body=str(body)[:20], endpoint=endpoint):
                    result = self.result(exchange({"body": body}, endpoint=endpoint))
                    self.assertEqual((result["finish_reason"], result["error"]["code"], result["error"]["retryable"]),
                                     ("error", "server_error", True))

    def test_absurd_numbers_are_left_out_or_end_somewhere(self):
        absurd = {"prompt_tokens": -1, "completion_tokens": 10 ** 30, "total_tokens": 5, "cost": -3}
        result = self.result(exchange({"body": {**ANSWER, "usage": absurd}, "headers": {"retry-after": "999999999"}}))

        self.assertEqual(result["usage"], {"input_tokens": 0, "output_tokens": 5, "total_tokens": 5, "api_calls": 1})
        self.assertNotIn("cost", result)
        self.assertEqual(result["rate_limit"], {"limited": False, "retry_after": 999999999})

    def test_secrets_do_not_come_back(self):
        result = self.result(exchange({"headers": {"Set-Cookie": "a=b", "Authorization": "x", "X-API-Key": "y", "Via": "z"}}))

        self.assertEqual(result["provider_data"]["raw_headers"], {"via": "z"})

    def test_hostile_names_of_files_do_not_reach_the_terminal(self):
        self.write("a\x1b[31m.json", exchange())

        ran = self.treaty("normalize", "a\x1b[31m.json", "missing\x1b[31m.json")

        self.assertNotIn("\x1b", ran.out + ran.err)

    def test_large_and_deep_answers_end_soon(self):
        large = exchange({"body": {**ANSWER, "choices": [{"message": {"content": "x" * (20 * MIB)}, "finish_reason": "stop"}]}})
        self.write("large.json", large)
        self.write("deep.json", '{"endpoint":"chat_completions","response":{"body":' + "[" * 100_000 + "]" * 100_000 + "}}")
        self.write("headers.json", exchange({"headers": {f"h{number}": "x" for number in range(10_000)}}))

        lines = self.lines("large.json", "headers.json", limited=True, seconds=SOON)

        self.assertEqual(len(lines[0]["result"]["content"]), 20 * MIB)
        self.assertEqual(lines[1]["result"]["content"], "Hi")
        self.assertEqual(self.treaty("normalize", "deep.json", limited=True, seconds=SOON).code, 1)


if __name__ == "__main__":
    unittest.main()
