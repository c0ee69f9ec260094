"""Whole-binary tests of calls that are cut: by their provider, by the deadline, by a client."""
import json
import unittest

from dispatching import DOWN, DispatchTest
from gate import HOLD, Reply
from serving import turn_path
from treaty_binary import SOON

CUT = Reply("Half of ", HOLD, cut=True)  # When the gate lets it: what was sent before would go with a reset.
TORN = Reply("Half of ", cut=True)  # For those who wait for the whole.


def text_of(events):
    return "".join(event.json["DeltaText"] for event in events if event.event == "output.delta")


class CutTest(DispatchTest):
    def streamed(self, server, *cut):
        """(text of the deltas, InvokeResult). The gates are cut one after the other, each when a delta has come."""
        events, cut = [], list(cut)
        with server.say_streaming() as stream:
            for event in stream:
                events.append(event)
                if event.event == "output.delta" and cut:
                    cut.pop(0).open()
        self.assertEqual([event.event for event in events].count("turn.result"), 1)
        return text_of(events), events[-1].json


class Cut(CutTest):
    def test_a_client_that_has_some_of_the_answer_is_told_the_error_and_nobody_is_asked_again(self):
        one, two = self.gate(CUT), self.gate("From two.")
        server = self.chain(one, two)
        text, result = self.streamed(server, one)

        self.assertEqual(text, "Half of ")
        self.assertEqual([error["ErrorCode"] for error in result["Errors"]], ["server_error"])
        self.assertEqual((one.count, two.count), (1, 0))
        self.assertEqual(self.kinds(server), ["one failed", "given_up", "turn.failed"])

    def test_before_the_first_piece_it_is_tried_again(self):
        gate = self.gate(Reply(cut=True), DOWN, Reply("Fine", "."))
        server = self.chain(gate)
        text, result = self.streamed(server)
        self.assertEqual((text, result["Result"]["PrimaryOutputText"]), ("Fine.", "Fine."))
        self.assertEqual(gate.count, 3)

    def test_a_client_that_waits_for_the_whole_has_seen_nothing_of_a_cut_answer(self):
        gate = self.gate(TORN, TORN, "Fine.")
        server = self.chain(gate)
        self.assertEqual(server.say().text, "Fine.")
        self.assertEqual(gate.count, 3)

    def test_what_is_streamed_after_attempts_that_failed_comes_once(self):
        one, two = self.gate(DOWN), self.gate(Reply("Once", " only", "."))
        server = self.chain(one, two, dispatch={"max_attempts": 2})
        text, result = self.streamed(server)
        self.assertEqual((text, result["Result"]["PrimaryOutputText"]), ("Once only.", "Once only."))
        self.assertEqual(one.count, 2)


class GoOn(CutTest):
    """on_cut: continue."""

    def going_on(self, *gates, **more):
        return self.chain(*gates, agent={"on_cut": "continue", **more})

    def test_another_backend_goes_on_and_the_answer_says_so(self):
        one, two = self.gate(CUT), self.gate(Reply("Half of an ", "answer."))
        server = self.going_on(one, two)
        text, result = self.streamed(server, one)

        self.assertEqual(text, "Half of an answer.")
        self.assertEqual(result["Result"]["PrimaryOutputText"], "Half of an answer.")
        self.assertEqual(len(result["Result"]["UserWarnings"]), 1)
        self.assertIn("cut off", result["Result"]["UserWarnings"][0])
        self.assertEqual((one.count, two.count), (1, 1))
        self.assertEqual(self.kinds(server), ["one failed", "switched to two", "two completed", "turn.completed"])

    def test_the_other_one_is_told_what_was_said(self):
        one, two = self.gate(CUT), self.gate("Half of an answer.")
        self.streamed(self.going_on(one, two), one)
        self.assertEqual(two.calls[0].roles, ["system", "user", "assistant", "user"])
        self.assertEqual(two.calls[0].messages[2]["content"], "Half of ")
        self.assertIn("Write the whole answer again", two.calls[0].user)

    def test_an_answer_that_begins_otherwise_is_one_clean_error(self):
        one, two = self.gate(CUT), self.gate("Something else.")
        server = self.going_on(one, two)
        text, result = self.streamed(server, one)
        self.assertEqual(text, "Half of ")
        self.assertEqual([error["ErrorCode"] for error in result["Errors"]], ["server_error"])
        self.assertEqual(self.reasons(server, "given_up")[0].split(",")[0], "the answer was cut")

    def test_the_session_goes_on_with_the_joined_text(self):
        one, two = self.gate(CUT, "Later."), self.gate("Half of an answer.")
        server = self.going_on(one, two)
        self.streamed(server, one)
        server.say("s1", "t2", "And now?")
        said = [message for message in one.calls[1].messages if message["role"] == "assistant"]
        self.assertEqual([json.dumps(one["content"]) for one in said], ['"Half of an answer."'])

    def test_two_cuts_are_survived_by_a_third_backend(self):
        gates = (self.gate(CUT), self.gate(Reply("Half of a long ", HOLD, cut=True)),
                 self.gate("Half of a long answer."))
        server = self.going_on(*gates)
        text, result = self.streamed(server, *gates)
        self.assertEqual((text, result["Result"]["PrimaryOutputText"]), ("Half of a long answer.",) * 2)
        self.assertEqual([gate.count for gate in gates], [1, 1, 1])

    def test_without_another_backend_it_is_the_error_of_the_turn(self):
        one = self.gate(CUT)
        text, result = self.streamed(self.going_on(one), one)
        self.assertEqual((text, result["Errors"][0]["ErrorCode"]), ("Half of ", "server_error"))
        self.assertEqual(one.count, 1)

    def test_an_answer_that_was_not_cut_has_no_warning(self):
        one, two = self.gate(DOWN), self.gate("Whole.")
        server = self.chain(one, two, dispatch={"max_attempts": 1}, agent={"on_cut": "continue"})
        text, result = self.streamed(server)
        self.assertEqual(text, "Whole.")
        self.assertFalse(result["Result"].get("UserWarnings"))

    def test_a_client_that_waits_for_the_whole_gets_that_of_one_backend(self):
        one, two = self.gate(TORN), self.gate("From two.")
        server = self.chain(one, two, dispatch={"max_attempts": 1}, agent={"on_cut": "continue"})
        answer = server.say()
        self.assertEqual(answer.text, "From two.")
        self.assertFalse(answer.result.get("UserWarnings"))


class Stall(DispatchTest):
    def test_the_deadline_cuts_a_call_and_closes_its_connection(self):
        gate = self.gate(held=True)
        server = self.chain(gate, agent={"deadline": "500ms"})
        self.assert_refused(server.say(), 504, "timeout")
        gate.wait_for_gone(1)
        self.assertEqual(gate.count, 1)
        failed, = [data for kind, data in self.diary(server) if kind == "attempt.failed"]
        self.assertEqual(failed["ErrorCode"], "timeout")
        self.assertTrue(490 <= failed["Milliseconds"] < 1000 * SOON, failed)

    def test_the_deadline_cuts_a_stream_in_the_middle(self):
        gate = self.gate(Reply("Half of ", HOLD, "it."))
        server = self.chain(gate, agent={"deadline": "1s"})
        with server.say_streaming() as stream:
            events = list(stream)
        self.assertEqual(text_of(events), "Half of ")
        self.assertEqual(events[-1].json["Errors"][0]["ErrorCode"], "timeout")
        gate.wait_for_gone(1)

    def test_the_timeout_of_a_provider_goes_to_the_next_backend(self):
        one, two = self.gate(held=True), self.gate("From two.")
        server = self.chain(one, two, dispatch={"max_attempts": 1})
        config = json.loads(server.config.read_text())
        config["providers"]["one"]["timeout"] = "300ms"
        slow = self.server(config)
        self.assertEqual(slow.say().text, "From two.")
        one.wait_for_gone(1)
        self.assertEqual(self.kinds(slow), ["one failed", "switched to two", "two completed", "turn.completed"])

    def test_a_deadline_that_passes_in_a_backoff_ends_the_turn(self):
        gate = self.gate(DOWN)
        server = self.chain(gate, dispatch={"backoff": ["300ms"], "max_attempts": 100, "breaker_failures": 0},
                            agent={"deadline": "1s"})
        self.assertIn(server.say().code, ("server_error", "timeout"))
        self.assertTrue(1 <= gate.count <= 4, gate.count)

    def test_a_call_that_runs_is_cut_by_cancelling_its_turn(self):
        gate = self.gate(held=True)
        server = self.chain(gate)
        running = self.later(server.say)
        gate.wait_for_calls(1)
        self.assertEqual(server.post(turn_path("s1", "t1", "/cancel")).status, 200)
        self.assert_refused(running.result(), 409, "turn_cancelled")
        gate.wait_for_gone(1)
        self.assertEqual(gate.count, 1)
        self.assertEqual(self.kinds(server), ["one failed", "turn.cancelled"])
        failed, = [data for kind, data in self.diary(server) if kind == "attempt.failed"]
        self.assertEqual(failed["ErrorCode"], "aborted")

    def test_a_client_that_leaves_cuts_its_call_where_the_agent_says_so(self):
        gate = self.gate(Reply("Half of ", HOLD, "it."))
        server = self.chain(gate, agent={"on_disconnect": "cancel"})
        with server.say_streaming() as stream:
            stream.until("output.delta")
        gate.wait_for_gone(1)
        self.until(lambda: server.state_of() == "cancelled", "the end of the turn")
        self.assertEqual(gate.count, 1)


if __name__ == "__main__":
    unittest.main()
