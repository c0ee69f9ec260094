"""Tests of `treaty call --schema`: how the answer is asked for, checked, and asked for once more."""
import json
import os
import pty
import unittest

from fake_provider import CallTest, answer, chunk, completion, open_answer
from treaty_binary import SECONDS

CLOSED = {"type": "object", "properties": {"score": {"type": "integer"}}, "required": ["score"],
          "additionalProperties": False}
FITS = '{"score": 7}'


def streamed(text):
    """The answer of a provider that is asked for a stream."""
    return (open_answer() + b"".join(chunk(piece) for piece in (text[:3], text[3:])) + chunk(finish_reason="stop")
            + b'data: {"choices":[],"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}\n\n'
            + b"data: [DONE]\n\n")


class SchemaTest(CallTest):
    def setUp(self):
        super().setUp()
        self.write("schema.json", CLOSED)

    def model(self, *texts, write=lambda text: answer(completion(text))):
        """A provider that says these texts one after the other; the last one stays."""
        def say(connection, _):
            connection.sendall(write(texts[min(len(fake.requests), len(texts)) - 1]))

        fake = self.provider(say)
        return fake

    def asked(self, fake, *options, **more):
        return self.call(fake, "--schema", "schema.json", *options, **more)

    def whole(self, fake, *options, code=0):
        return self.result(fake, "--schema", "schema.json", *options, code=code)


class Checking(SchemaTest):
    def test_an_answer_that_fits_is_asked_for_once(self):
        fake = self.model(FITS)
        result = self.whole(fake)

        self.assertEqual((result["output"], len(fake.requests)), ({"score": 7}, 1))
        self.assertEqual(result["usage"]["api_calls"], 1)

    def test_an_answer_that_does_not_fit_is_asked_for_once_more_with_the_complaint(self):
        fake = self.model("Seven!", FITS)
        result = self.whole(fake)

        self.assertEqual((result["output"], result["content"], len(fake.requests)), ({"score": 7}, FITS, 2))
        first, second = (request.json for request in fake.requests)
        self.assertEqual(second["messages"][:-2], first["messages"])
        said, complaint = second["messages"][-2:]
        self.assertEqual(said, {"role": "assistant", "content": "Seven!"})
        self.assertIn("not JSON", complaint["content"])
        self.assertEqual(second["response_format"], first["response_format"])

    def test_usage_and_cost_are_those_of_both_calls(self):
        self.write("prices.yaml", {"prices": [{"provider": "openai", "models": ["small-1-2026"], "from": "2025-01-01",
                                               "input": 1000, "output": 10000}]})
        once = self.whole(self.model(FITS), "--prices", "prices.yaml")
        twice = self.whole(self.model("Seven!", FITS), "--prices", "prices.yaml")

        self.assertEqual(once["usage"], {"input_tokens": 12, "output_tokens": 3, "total_tokens": 15, "api_calls": 1})
        self.assertEqual(twice["usage"], {name: 2 * count for name, count in once["usage"].items()})
        self.assertAlmostEqual(twice["cost"], 2 * 0.042)

    def test_the_complaint_names_the_place(self):
        fake = self.model('{"score": "seven"}', FITS)
        self.whole(fake)
        self.assertIn("/score", fake.requests[1].json["messages"][-1]["content"])

    def test_an_answer_that_never_fits_is_the_error_invalid_output(self):
        fake = self.model("Seven!", "Eight!", FITS)
        ran = self.asked(fake, "--format", "json")
        result = json.loads(ran.out)

        self.assertEqual((ran.code, len(fake.requests)), (75, 2))
        self.assertTrue(self.verdict("agent-result", ran.out)["valid"])
        self.assertEqual((result["error"]["code"], result["error"]["type"], result["finish_reason"]),
                         ("invalid_output", "InvalidOutput", "error"))
        self.assertIn("not JSON", result["error"]["message"])
        self.assertEqual((result["content"], result["usage"]["api_calls"]), ("Eight!", 2))
        self.assertNotIn("output", result)

    def test_a_second_call_that_fails_is_the_error(self):
        down = answer({"error": {"message": "Down."}}, status=503)
        fake = self.model("Seven!", None, write=lambda text: answer(completion(text)) if text else down)
        result = self.whole(fake, code=75)

        self.assertEqual((result["error"]["code"], result["usage"]["api_calls"]), ("server_error", 2))

    def test_tool_calls_are_not_checked(self):
        calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": "{}"}}]
        fake = self.provider(answer(completion(None, message={"tool_calls": calls}, finish_reason="tool_calls")))
        result = self.whole(fake, "--tool", "look")

        self.assertEqual((result["finish_reason"], len(fake.requests)), ("tool_use", 1))

    def test_the_time_is_that_of_both_calls(self):
        def slow(connection, _):
            if len(fake.requests) == 1:
                connection.sendall(answer(completion("Seven!")))
            else:
                fake.done.wait(SECONDS)

        fake = self.provider(slow)
        result = self.whole(fake, "--timeout", "0.5", code=75)

        self.assertEqual((result["error"]["code"], len(fake.requests)), ("timeout", 2))


class Printing(SchemaTest):
    def test_stdout_has_the_json_without_its_fence(self):
        ran = self.asked(self.model(f"```json\n{FITS}\n```\n"))

        self.assertEqual((ran.code, ran.out), (0, FITS + "\n"))

    def test_a_streamed_answer_is_printed_when_it_has_been_checked(self):
        ran = self.asked(self.model("Seven!", FITS, write=streamed), "--stream")

        self.assertEqual((ran.code, ran.out), (0, FITS + "\n"))
        self.assertIn("24 tokens in, 6 out", ran.err)

    def test_an_answer_that_never_fits_is_not_printed(self):
        ran = self.asked(self.model("Seven!", write=streamed), "--stream")

        self.assertEqual((ran.code, ran.out), (75, ""))
        self.assertIn("invalid_output", ran.err)
        self.assertIn("Next: ", ran.err)

    def test_on_a_terminal_only_the_answer_that_fits_is_seen(self):
        master, slave = pty.openpty()
        fake = self.model("Seven!", FITS, write=streamed)

        running = self.start(fake, "--schema", "schema.json", stdout=slave)
        os.close(slave)
        shown = b""
        try:
            while piece := os.read(master, 1000):
                shown += piece
        except OSError:  # How Linux tells that the other side of a terminal is closed.
            pass
        running.communicate(timeout=SECONDS)
        os.close(master)

        self.assertEqual((running.returncode, shown.decode().replace("\r\n", "\n")), (0, FITS + "\n"))

    def test_an_answer_may_be_a_list_where_the_schema_says_so(self):
        self.write("schema.json", {"type": "array", "items": {"type": "integer"}})
        fake = self.model("```\n[1, 2]\n```")
        ran = self.asked(fake)

        self.assertEqual((ran.code, ran.out), (0, "[1, 2]\n"))
        self.assertNotIn("output", self.whole(self.model("[1, 2]")))


class Asking(SchemaTest):
    def strict(self, schema):
        self.write("schema.json", schema)
        fake = self.model(FITS)
        self.asked(fake)
        return fake.requests[0].json["response_format"]["json_schema"]["strict"]

    def test_providers_are_held_to_a_closed_schema_and_asked_for_another_one(self):
        self.assertIs(self.strict(CLOSED), True)
        self.assertIs(self.strict({**CLOSED, "additionalProperties": True}), False)
        self.assertIs(self.strict({**CLOSED, "required": []}), False)
        self.assertIs(self.strict({**CLOSED, "minProperties": 1}), False)

    def test_where_there_is_no_such_mode_the_schema_is_told_in_words(self):
        fake = self.model("Seven!", FITS)
        ran = self.asked(fake, provider="deepseek", variables={"DEEPSEEK_API_KEY": "k"})

        self.assertEqual((ran.code, ran.out), (0, FITS + "\n"), ran)
        for request in fake.requests:
            self.assertEqual(request.json["response_format"], {"type": "json_object"})
            self.assertIn('"score"', request.json["messages"][0]["content"])

    def groq(self, model, *options, write=lambda text: answer(completion(text))):
        """The format that Groq is asked for, and the messages."""
        fake = self.model(FITS, write=write)
        ran = self.asked(fake, *options, provider="groq", model=model, variables={"GROQ_API_KEY": "k"})
        self.assertEqual((ran.code, ran.out), (0, FITS + "\n"), ran)
        request = fake.requests[0].json
        return request.get("response_format"), json.dumps(request["messages"])

    def test_groq_is_sent_a_format_where_its_api_takes_one_and_words_elsewhere(self):
        form, said = self.groq("llama-3.3-70b-versatile")
        self.assertEqual(form, {"type": "json_object"})
        self.assertIn("score", said)

        form, said = self.groq("openai/gpt-oss-120b")
        self.assertEqual((form["type"], form["json_schema"]["strict"]), ("json_schema", True))
        self.assertNotIn("score", said)

        for form, said in (self.groq("openai/gpt-oss-120b", "--stream", write=streamed),
                           self.groq("openai/gpt-oss-120b", "--tool", "look")):
            self.assertIsNone(form)
            self.assertIn("score", said)

    def test_a_schema_that_answers_cannot_be_checked_with_is_refused(self):
        fake = self.model(FITS)
        for schema, words in (({"type": "texts"}, "/type"), ({"$ref": "http://a.example/"}, "/$ref"),
                              ({"type": "object", "unevaluatedProperties": False}, "unevaluatedProperties")):
            self.write("schema.json", schema)
            ran = self.asked(fake)

            self.assertEqual((ran.code, ran.out, fake.requests), (2, "", []), ran)
            self.assertIn("schema.json", ran.err)
            self.assertIn(words, ran.err)

    def test_one_call_asks_for_no_cache(self):
        message = {"type": "message", "role": "assistant", "model": "m", "stop_reason": "end_turn",
                   "content": [{"type": "text", "text": "Hi."}], "usage": {"input_tokens": 1, "output_tokens": 1}}
        fake = self.provider(answer(message))
        ran = self.call(fake, "--system", "Be brief.", provider="anthropic", path="",
                        variables={"ANTHROPIC_API_KEY": "k"})

        self.assertEqual(ran.code, 0, ran)
        self.assertNotIn("cache_control", json.dumps(fake.requests[0].json))


if __name__ == "__main__":
    unittest.main()
