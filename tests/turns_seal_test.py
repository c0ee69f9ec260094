"""Whole-binary tests of streams and answers that say the same: what is streamed is at any time the beginning of the
PrimaryOutputText that follows, and at the end all of it."""
import json
import unittest

from gate import HOLD, Reply, calling
from serving import ServingTest, configuration, tool_results

NDJSON = "application/x-ndjson"
PICTURE = "iVBORw0KGgoAAAANSUhEUg" * 60 + "=="
REMOVED = "`[embedded file removed]`"

# What a model says, in the pieces in which it says it.
ANSWERS = {
    "prose": ["One ", "two", ".\n", "Grüße, 日本 ", "🚲"],
    "JSON": ["{\"a\"", ": [1, ", "2]}"],
    "JSON with white space": ["\n ", " [", "]", "\n"],
    "almost JSON": ["[1]", " says ", "{x}"],
    "an untagged block of JSON": ["Here:\n``", "`\n{\"a\":", "1}\n`", "``\nDone."],
    "an untagged block of code": ["```\nint ", "x;\n```", "\nDone."],
    "a data URL": ["Look: ![x](da", "ta:image/png;ba", "se64,", PICTURE[:50], PICTURE[50:], ") there."],
    "a data URL in JSON": ["{\"a\":\"data:image/png;", "base64,QUJD\"}"],
    "a data URL in a tagged block": ["```text\ndata:", ";base64,QUJD\n", "```\n"],
    "a data URL at the end": ["See data:image/png;base64,", PICTURE],
    "a long run of base64": ["Bytes: "] + [PICTURE[i:i + 99] for i in range(0, len(PICTURE), 99)] + [" end."],
    "nothing": [],
    "white space": [" ", "\n"],
    "the word data": ["The ", "data", ": see ", "meta", "data", ":x."],
}


def deltas_of(events):
    return [event.json["DeltaText"] for event in events if event.event == "output.delta"]


class SameWords(ServingTest):
    def assert_same(self, deltas, text):
        self.assertEqual("".join(deltas), text)

    def test_the_deltas_of_a_stream_are_its_answer(self):
        _, server = self.gated(lambda call: Reply(*ANSWERS[call.user]))
        for name in ANSWERS:
            with self.subTest(name):
                plain = server.say(f"plain {name}", "t1", name).text
                with server.say_streaming(f"events {name}", "t1", name) as stream:
                    events = list(stream)
                with server.say_streaming(f"lines {name}", "t1", name, accept=NDJSON) as stream:
                    lines = stream.objects()
                with server.follow(f"events {name}", "t1", 0) as stream:
                    replayed = list(stream)

                text = events[-1].json["Result"]["PrimaryOutputText"]
                self.assert_same(deltas_of(events), text)
                self.assertEqual(text, plain)
                self.assert_same([line["deltaText"] for line in lines[:-1]],
                                 lines[-1]["final"]["Result"]["PrimaryOutputText"])
                self.assertEqual(lines[-1]["final"]["Result"]["PrimaryOutputText"], plain)
                self.assertEqual(replayed, events)
                self.assert_keeps("invoke-result", events[-1].data)

    def test_nothing_of_an_embedded_file_leaves_in_a_delta(self):
        _, server = self.gated(Reply(*ANSWERS["a data URL"]))
        with server.say_streaming("s1", "t1") as stream:
            events = list(stream)

        self.assertEqual("".join(deltas_of(events)), f"Look: ![x]({REMOVED}) there.")
        self.assertEqual(len(events[-1].json["Result"]["UserWarnings"]), 1)

    def test_what_cannot_need_a_seal_leaves_at_once(self):
        gate, server = self.gated(Reply("On", HOLD, "e [", HOLD, "1] data", HOLD, ": two.", HOLD, " End"))
        with server.say_streaming("s1", "t1") as stream:
            seen = [stream.until("output.delta")[-1].json["DeltaText"]]
            for _ in range(3):
                gate.release()
                seen.append(stream.next().json["DeltaText"])
            gate.open()
            seen += deltas_of(list(stream))
        self.assertEqual(seen, ["On", "e [", "1] ", "data: two.", " End"])

    def test_what_may_be_json_as_a_whole_is_held_back(self):
        gate, server = self.gated(Reply("{\"a\":", HOLD, "1}"))
        with server.say_streaming("s1", "t1") as stream:
            self.assertEqual(stream.next().event, "turn.started")
            gate.wait_for_calls(1)
            gate.open()
            events = list(stream)
        self.assertEqual([event.event for event in events], ["output.delta", "turn.result"])
        self.assertEqual(events[0].json["DeltaText"], "```json\n{\"a\":1}\n```")

    def test_deltas_that_left_before_a_failure_stay_what_they_were(self):
        _, server = self.gated(Reply("See data:image/png;base64,QUJD and", HOLD, cut=True))
        with server.say_streaming("s1", "t1") as stream:
            left = stream.until("output.delta")
            self.gates[0].open()
            events = left + list(stream)
        self.assertEqual(events[-1].json["Errors"][0]["ErrorCode"], "server_error")
        with server.follow("s1", "t1", 0) as stream:
            self.assertEqual(list(stream), events)
        self.assertTrue(f"See {REMOVED} and".startswith("".join(deltas_of(events))))

    def test_a_message_beside_tool_calls_is_what_was_streamed(self):
        _, server = self.gated(calling("a", text="Let me look at data:image/png;base64,QUJD"),
                               Reply("{\"found\":", "true}"))
        with server.say_streaming("s1", "t1") as stream:
            asked = list(stream)
        with server.stream("POST", "/v1/agent/execute", tool_results("s1", "t1", ["a"]),
                           {"Accept": "text/event-stream"}) as stream:
            answered = list(stream)

        self.assert_same(deltas_of(asked), asked[-1].json["Result"]["ToolContinuationMessage"])
        self.assertEqual("".join(deltas_of(asked)), f"Let me look at {REMOVED}")
        self.assert_same(deltas_of(answered), answered[-1].json["Result"]["PrimaryOutputText"])

    def test_what_was_said_before_a_call_that_cannot_be_run_is_part_of_the_answer(self):
        replies = (calling("a", name="unknown", text="Let me look."), Reply("It is ", "blue."))
        _, server = self.gated(*replies)
        with server.say_streaming("s1", "t1") as stream:
            events = list(stream)

        self.assertEqual(events[-1].json["Result"]["PrimaryOutputText"], "Let me look.\n\nIt is blue.")
        self.assert_same(deltas_of(events), "Let me look.\n\nIt is blue.")
        _, other = self.gated(*replies)
        self.assertEqual(other.say("s1", "t1").text, "Let me look.\n\nIt is blue.")

    def test_a_script_streams_what_it_answers(self):
        self.write("script.yaml", json.dumps([{"text": ["{\"a\":", "1}"]}]))
        server = self.server(configuration(agent={"backends": [{"script": str(self.folder / "script.yaml")}]}))
        with server.say_streaming("s1", "t1") as stream:
            events = list(stream)
        self.assertEqual(deltas_of(events), ["```json\n{\"a\":1}\n```"])
        self.assert_same(deltas_of(events), events[-1].json["Result"]["PrimaryOutputText"])


if __name__ == "__main__":
    unittest.main()
