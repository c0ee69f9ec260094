"""Tests that half an answer is waited for, or named, and never moved away from under its writer."""
import os
import time
import unittest

from bridging import BridgeTest
from treaty_binary import UUID, as_bytes, bridge_request, bridge_response

REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"
WHOLE = as_bytes(bridge_response(response="By another writer."))
HALF = WHOLE[:len(WHOLE) // 2]


class HalfWritten(BridgeTest):
    def put_half(self, age=-50, text=HALF):
        """Half an answer; dated a little ahead, its writer counts as at work for as long as the test runs."""
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, text)
        changed = time.time() - age
        os.utime(self.work / RESPONSE, (changed, changed))

    def assert_untouched(self):
        self.assertEqual((self.work / RESPONSE).read_bytes(), HALF)
        self.assertEqual(self.quarantined(), {})

    def test_answer_asks_no_agent_while_the_answer_is_being_written(self):
        for options in ([], ["--replace"]):
            with self.subTest(options):
                gate = self.agent("By the agent.")
                self.put_half()
                ran = self.bridge("answer", *options)
                self.assertEqual(ran.code, 75, ran)
                self.assertIn(f"{RESPONSE} is still being written; no agent was asked", ran.err)
                self.assert_untouched()
                self.assertEqual(gate.count, 0)

    def test_answer_waits_for_the_rest_and_takes_it(self):
        gate = self.agent("By the agent.")
        self.put_half()
        child = self.start("answer")
        self.assertIn(b"is being written; waiting for the rest of it", child.stderr.readline())

        self.put(RESPONSE, WHOLE)

        self.assertEqual(self.ended(child).code, 0)
        self.assertEqual((self.work / RESPONSE).read_bytes(), WHOLE)
        self.assertEqual((self.quarantined(), gate.count), ({}, 0))
        entry, = self.journal("answer.found")
        self.assertEqual(entry["request_id"], UUID)
        self.assertEqual(self.bridge("check").code, 0)

    def test_respond_and_run_leave_it_alone_too(self):
        self.put_half()
        ran = self.bridge("respond", stdin=b"Mine.")
        self.assertEqual(ran.code, 75, ran)
        self.assertIn("is being written at this moment", ran.err)
        self.assert_untouched()

        self.setUp()
        gate = self.agent("By the agent.")
        ran = self.drive(self.program(f"""
write(name("response"), {HALF.decode()!r})
os.utime(name("response"), ({time.time() + 50}, {time.time() + 50}))
ask(request_id={UUID!r})
"""))
        self.assertEqual(ran.code, 75, ran)
        self.assertIn("is still being written", ran.err)
        self.assert_untouched()
        self.assertEqual(gate.count, 0)

    def test_an_answer_whose_fence_is_not_closed_is_half_written(self):
        for text in (b"```json\n", b"```", b"```json\n" + HALF, b"~~~\n" + WHOLE, b"```json\n" + WHOLE + b"``"):
            with self.subTest(text):
                self.put_half(text=text)
                self.assertIn("note answer-being-written", self.bridge("doctor").out)
                self.assertEqual(self.bridge("check", "--fix").code, 1)
                self.assertEqual(((self.work / RESPONSE).read_bytes(), self.quarantined()), (text, {}))
                self.put_half(age=3600, text=text)
                self.assertIn("put away, it is torn", self.bridge("check", "--fix").err)
                self.setUp()

    def test_answer_waits_until_the_fence_is_closed(self):
        gate = self.agent("By the agent.")
        self.put_half(text=b"```json\n")
        child = self.start("answer")
        self.assertIn(b"is being written; waiting for the rest of it", child.stderr.readline())

        self.put(RESPONSE, WHOLE)

        self.assertEqual(self.ended(child).code, 0)
        self.assertEqual((self.quarantined(), gate.count), ({}, 0))

    def test_an_answer_of_markdown_is_whole(self):
        for text in (b"```sh\nmake\n```\nRun this.\n", b"```\nnot JSON"):
            with self.subTest(text):
                self.put_half(text=text)
                self.assertNotIn("being written", self.bridge("doctor").out)

    def test_half_an_answer_whose_writer_was_cut_off_is_replaced(self):
        for age in (3600, -86400):  # The clock may have been set back since.
            with self.subTest(age=age):
                self.setUp()
                self.agent("By the agent.")
                self.put_half(age)
                ran = self.bridge("answer")
                self.assertEqual(ran.code, 0, ran)
                self.assertEqual(self.response()["response"], "By the agent.")
                self.assertEqual(self.quarantined(), {"torn": HALF})

    def test_an_answer_that_waits_for_another_writer_is_delivered_when_that_one_was_cut_off(self):
        gate = self.agent("By the agent.", held=True)
        self.put(REQUEST, bridge_request())
        child = self.start("watch", str(self.work))
        gate.wait_for_calls(1)
        self.put(RESPONSE, HALF)
        soon = time.time() + 50
        os.utime(self.work / RESPONSE, (soon, soon))
        gate.open()
        self.assertTrue(any(b"is being written at this moment" in line for line in child.stderr))

        os.utime(self.work / RESPONSE, (soon - 3600, soon - 3600))

        self.until(lambda: self.journal("answer.written"), "the answer")
        self.assertEqual(self.response()["response"], "By the agent.")
        child.terminate()
        self.assertEqual(self.ended(child).code, 0)
        self.assertEqual((self.quarantined(), gate.count), ({"torn": HALF}, 1))

    def test_an_answer_that_came_while_the_agent_worked_is_journalled(self):
        gate = self.agent("By the agent.", held=True)
        self.put(REQUEST, bridge_request())
        child = self.start("answer")
        gate.wait_for_calls(1)
        self.put(RESPONSE, WHOLE)
        gate.open()
        self.assertEqual(self.ended(child).code, 0)
        self.assertEqual((self.work / RESPONSE).read_bytes(), WHOLE)
        entry, = self.journal("answer.found")
        self.assertEqual(entry["request_id"], UUID)
        (self.work / REQUEST).unlink()
        self.assertEqual(self.bridge("check", "--fix").code, 0)
        self.assertEqual(self.quarantined(), {})


if __name__ == "__main__":
    unittest.main()
