"""Whole-binary tests of what a model is sent of the turns before: cut in tokens, whole turns only, the same from memory
and from the journal; and of the memory that histories take."""
import base64
import os
import unittest

from gate import Reply, calling, text_of
from serving import ServingTest, configuration
from treaty_binary import SANITIZED


def picture(size):
    return {"Id": "i1", "MimeType": "image/png", "DataBase64": base64.b64encode(b"\x89PNG" + bytes(size)).decode()}


def users(call):
    """What the user said, turn by turn."""
    return [text_of(message) for message in call.messages if message["role"] == "user"]


def pictures(call):
    return sum(part.get("type") == "image_url" for message in call.messages if isinstance(message["content"], list)
               for part in message["content"])


class Pictures(ServingTest):
    def test_a_tool_round_after_a_picture_sends_the_whole_history(self):
        gate, server = self.gated(Reply("One."), Reply("Two."), calling("a"), Reply("Three."), Reply("Four."),
                                  Reply("Five."))
        server.say("s1", "t1", "First.", ClipboardImages=[picture(450 << 10)])
        server.say("s1", "t2", "Second.")
        server.say("s1", "t3", "Third.")
        server.submit("s1", "t3", ["a"])
        server.say("s1", "t4", "Fourth.")
        server.restart()
        server.say("s1", "t5", "Fifth.")

        said = ["First.", "Second.", "Third.", "Fourth.", "Fifth."]
        self.assertEqual([users(call) for call in gate.calls],
                         [said[:1], said[:2], said[:3], said[:3], said[:4], said[:5]])
        self.assertEqual([pictures(call) for call in gate.calls], [1] * 6)

    def test_a_request_whose_journalled_form_is_longer_than_a_body_may_be_is_continued(self):
        _, server = self.gated(calling("a"), Reply("Done."))
        server.say("s1", "t1", "Look." + "\b" * 3_000_000)  # 6 MB as it is sent, 18 MB as it is journalled.
        self.assertEqual(server.submit("s1", "t1", ["a"]).text, "Done.")

    def test_a_long_answer_counts_once(self):
        long = "word " * 60_000  # 300 KB: 75,000 of 128,000 tokens.
        gate, server = self.gated(Reply(long), Reply("Two."))
        server.say("s1", "t1", "First.")
        server.restart()
        server.say("s1", "t2", "Second.")
        self.assertEqual(users(gate.calls[1]), ["First.", "Second."])


class Cut(ServingTest):
    WINDOW = {"backends": [{"provider": "gate", "model": "small-1", "context_window": 3_000,
                            "max_output_tokens": 100}]}

    def test_from_the_journal_the_history_is_the_one_from_memory(self):
        gate, server = self.gated(lambda call: "Yes. " * (call.number % 7 * 20), agent=self.WINDOW)
        sizes = [300, 10, 2_000, 900, 5, 11_000, 40, 2_500, 700, 1_200, 3_000, 30]

        for number, size in enumerate(sizes):
            remembered = server.say("s1", f"t{number}", f"{number}: " + "x" * size)
            self.assertEqual(remembered.status, 200, remembered)
        kept = [call.messages for call in gate.calls]
        gate.calls.clear()
        for number, size in enumerate(sizes):
            server.restart()
            server.say("s2", f"t{number}", f"{number}: " + "x" * size)
        read = [call.messages for call in gate.calls]

        self.assertEqual([[m["content"][:5] for m in messages] for messages in read],
                         [[m["content"][:5] for m in messages] for messages in kept])
        self.assertEqual(read, kept)
        self.assertLess(len(kept[-1]), 2 * len(sizes), "nothing was dropped")

    def test_only_whole_turns_are_dropped_the_oldest_first(self):
        gate, server = self.gated(Reply("Yes."), agent=self.WINDOW)
        for number in range(8):
            server.say("s1", f"t{number}", f"{number}: " + "x" * 2_000)

        roles = gate.calls[-1].roles
        self.assertEqual(roles, ["system"] + ["user", "assistant"] * (len(roles) // 2 - 1) + ["user"])
        said = [text[0] for text in users(gate.calls[-1])]
        self.assertEqual(said, [str(number) for number in range(8)][-len(said):])
        self.assertGreater(len(said), 2)
        self.assertLess(len(said), 8)

    def test_a_history_that_was_cut_is_read_again_when_the_window_grows(self):
        gate, server = self.gated(Reply("Yes."), agent=self.WINDOW)
        for number in range(8):
            server.say("s1", f"t{number}", f"{number}: " + "x" * 2_000)
        self.assertLess(len(users(gate.calls[-1])), 8)

        server.write_config(configuration(gate))
        server.hang_up()
        sessions = iter(range(1_000))
        self.until(lambda: self.reloaded(server, gate, next(sessions)), "the reload")
        server.say("s1", "t8", "8: ")

        self.assertEqual([text[0] for text in users(gate.calls[-1])], [str(number) for number in range(9)])

    @staticmethod
    def reloaded(server, gate, number):
        """Whether the server works by the new configuration: only the old one limits the length of an answer."""
        server.say(f"probe-{number}", "t1")
        call = gate.calls[-1].json
        return "max_tokens" not in call and "max_completion_tokens" not in call


class Memory(ServingTest):
    @unittest.skipIf(SANITIZED, "a sanitizer keeps what was freed")
    def test_sessions_with_pictures_do_not_fill_the_memory(self):
        def forget(call):
            call.request = call.json = {}
            return "Fine."

        _, server = self.gated(forget)
        image = picture(4 << 20)
        count = int(os.environ.get("TREATY_TEST_SESSIONS", "40"))  # 300 to see it in full.

        for number in range(count):
            answer = server.say(f"s{number}", "t1", "Look.", ClipboardImages=[image])
            self.assertEqual(answer.status, 200, answer)
            self.assertLess(server.resident(), 200 << 20, f"after {number + 1} sessions")

        server.say("small", "t1")
        self.assertLess(server.resident(), 150 << 20)


if __name__ == "__main__":
    unittest.main()
