"""Whole-binary tests of S2: the same request again, at once or later, is one call of a backend and the same bytes."""
import json
import unittest

from gate import Reply, calling
from serving import ServingTest, tool_results, turn_path, user_turn

FATAL = Reply(error=(400, {"error": {"message": "Not like this.", "type": "invalid_request_error"}}))
PASSING = Reply(error=(500, {"error": {"message": "Later.", "type": "server_error"}}))


def camel(document):
    """The same document with the names of its members in camelCase."""
    if isinstance(document, dict):
        return {name[0].lower() + name[1:]: camel(value) for name, value in document.items()}
    return [camel(value) for value in document] if isinstance(document, list) else document


class Repeated(ServingTest):
    def test_eight_at_once_and_again_later_are_one_call_and_the_same_bytes(self):
        gate, server = self.gated(held=True)
        body = user_turn("s1", "t1", "One.")

        together = [self.later(server.execute, body) for _ in range(8)]
        gate.wait_for_calls(1)
        gate.open()
        answers = [running.result() for running in together] + [server.execute(body) for _ in range(3)]
        server.restart()
        answers.append(server.execute(body))

        self.assertEqual({answer.status for answer in answers}, {200})
        self.assertEqual(len({answer.body for answer in answers}), 1)
        self.assertEqual(gate.count, 1)

    def test_eight_at_once_on_an_open_gate_are_one_call(self):
        gate, server = self.gated()
        for number in range(10):
            body = user_turn("s1", f"t{number}", f"Say {number}.")
            answers = self.at_once(8, lambda _, body=body: server.execute(body))
            self.assertEqual(len({(answer.status, answer.body) for answer in answers}), 1, answers)
            self.assertEqual(gate.count, number + 1)

    def test_a_repeat_joins_the_turn_that_runs(self):
        gate, server = self.gated(held=True)
        first = self.later(server.say, "s1", "t1", "One.")
        gate.wait_for_calls(1)

        with server.say_streaming("s1", "t1", "One.") as joined:  # Its head leaves while the gate still holds.
            started = joined.next()
            self.assertEqual((started.event, started.json["TurnId"]), ("turn.started", "t1"))
            gate.open()
            result = joined.until("turn.result")[-1]

        self.assertEqual(result.data.encode(), first.result().body)
        self.assertEqual(gate.count, 1)

    def test_a_repeated_submission_of_tool_results_is_one_call(self):
        gate, server = self.gated(calling("a", "b"), "Done.")
        server.say("s1", "t1")
        body = tool_results("s1", "t1", ["a", "b"])

        answers = self.at_once(8, lambda _: server.execute(body)) + [server.execute(body)]
        server.restart()
        answers.append(server.execute(body))

        self.assertEqual({(answer.status, answer.body) for answer in answers}, {(200, answers[0].body)})
        self.assertEqual(gate.count, 2)

    def test_the_user_turn_again_after_its_tool_round_is_answered_with_the_continuation(self):
        gate, server = self.gated(calling("a"), "Done.")
        first = server.say("s1", "t1")
        self.assertEqual(server.say("s1", "t1").body, first.body)
        self.assertEqual(server.submit("s1", "t1", ["a"]).text, "Done.")

        self.assertEqual(server.say("s1", "t1").body, first.body)
        server.restart()
        self.assertEqual(server.say("s1", "t1").body, first.body)
        self.assertEqual(gate.count, 2)

    def test_other_results_for_a_set_that_was_answered_are_a_mismatch(self):
        gate, server = self.gated(calling("a"), "Done.")
        server.say("s1", "t1")
        server.submit("s1", "t1", ["a"])
        other = tool_results("s1", "t1", [{"ToolCallId": "a", "ExecutionMs": 5, "ResultJson": "{}"}])
        self.assert_refused(server.execute(other), 409, "tool_results_mismatch", "TOOL-13")
        self.assertEqual(gate.count, 2)

    def test_an_old_request_is_answered_from_the_journal_whatever_came_after_it(self):
        gate, server = self.gated()
        first = [server.say("s1", f"t{number}", f"Say {number}.") for number in range(5)]
        again = [server.say("s1", f"t{number}", f"Say {number}.") for number in range(5)]
        self.assertEqual([a.body for a in again], [a.body for a in first])
        self.assertEqual(gate.count, 5)

    def test_an_old_request_is_answered_while_a_newer_turn_runs(self):
        gate, server = self.gated(lambda call: Reply(f"You said: {call.user}"))
        first = server.say("s1", "t1", "One.")
        gate.held = True
        running = self.later(server.say, "s1", "t2", "Two.")
        gate.wait_for_calls(2)
        self.assertEqual(server.say("s1", "t1", "One.").body, first.body)
        gate.open()
        self.assertEqual(running.result().status, 200)

    def test_a_request_that_followed_a_turn_is_the_same_when_it_is_repeated(self):
        gate, server = self.gated()
        server.say("s1", "t1", "One.")
        second = server.say("s1", "t1", "Two.")
        self.assertEqual(server.say("s1", "t1", "Two.").body, second.body)
        self.assertEqual(gate.count, 2)

    def test_the_same_text_in_another_session_is_another_request(self):
        gate, server = self.gated()
        server.say("s1", "t1")
        self.assertEqual(server.say("s2", "t1").result["SessionId"], "s2")
        self.assertEqual(gate.count, 2)

    def test_warnings_are_part_of_what_is_repeated(self):
        _, server = self.gated()
        first = server.say("s1", "t1", Surprise=1)
        self.assertIn("REQ-15", json.dumps(first.json["Warnings"]))
        self.assertEqual(server.say("s1", "t1", Surprise=1).body, first.body)

    def test_the_alias_is_the_same_endpoint(self):
        gate, server = self.gated()
        first = server.say("s1", "t1")
        self.assertEqual(server.execute(user_turn("s1", "t1"), path="/api/ai/agent/execute").body, first.body)
        self.assertEqual(gate.count, 1)


class Fingerprint(ServingTest):
    def test_spelling_order_and_absent_members_do_not_matter(self):
        gate, server = self.gated()
        first = server.say("s1", "t1", "One.")
        for body in ('{"Instruction":"One.","TurnId":"t1","SessionId":"s1"}',
                     '{ "SessionId" : "s1",\n"TurnId": "t1", "Instruction": "\\u004fne." }',
                     {**user_turn("s1", "t1", "One."), "InputArtifacts": [], "Repo": None, "Language": " "}):
            self.assertEqual(server.execute(body).body, first.body)
        self.assertEqual(gate.count, 1)

    def test_every_member_that_means_something_matters(self):
        gate, server = self.gated()
        artifact = {"RelativePath": "a.txt", "FileName": "a.txt", "Contents": "x", "Origin": "user"}
        image = {"Id": "i", "MimeType": "image/png", "DataBase64": "eHk="}
        for number, (one, other) in enumerate((
                ({}, {"Repo": "r"}), ({"Language": "en"}, {"Language": "de"}), ({}, {"WorkspaceId": "w"}),
                ({}, {"SolutionContextText": "c"}), ({}, {"InputArtifacts": [artifact]}),
                ({"InputArtifacts": [artifact]}, {"InputArtifacts": [{**artifact, "Contents": "y"}]}),
                ({}, {"ClipboardImages": [image]}), ({}, {"Instruction": "One. "}))):
            first = server.execute({**user_turn(f"s{number}", "t1", "One."), **one})
            second = server.execute({**user_turn(f"s{number}", "t1", "One."), **other})
            self.assertEqual((first.status, second.status), (200, 200), (other, second))
            self.assertNotEqual(second.result["TurnId"], "t1", other)
            self.assertEqual(gate.count, 2 * number + 2)

    def test_streaming_is_delivery_and_no_part_of_it(self):
        gate, server = self.gated()
        first = server.say("s1", "t1", "One.")
        with server.say_streaming("s1", "t1", "One.") as stream:
            events = list(stream)
        self.assertEqual([events[0].event, events[-1].event], ["turn.started", "turn.result"])
        self.assertEqual(events[-1].data.encode(), first.body)
        with server.say_streaming("s2", "t1", "One.") as stream:
            streamed = list(stream)[-1].data.encode()
        self.assertEqual(server.say("s2", "t1", "One.").body, streamed)
        self.assertEqual(gate.count, 2)

    def test_the_other_dialect_gets_the_same_answer_in_its_own_spelling(self):
        gate, server = self.gated(calling("a"), "Done.")
        asked, results = user_turn("s1", "t1"), tool_results("s1", "t1", ["a"])
        for body in (asked, results):
            pascal = server.execute(body)
            spelled = server.execute(camel(body))
            self.assertEqual(spelled.json, camel(pascal.json))
            self.assertEqual(server.execute(camel(body)).body, spelled.body)
            self.assertEqual(server.execute(body).body, pascal.body)
        self.assertEqual(gate.count, 2)

    def test_the_first_answer_may_be_the_camel_one(self):
        gate, server = self.gated()
        spelled = server.execute(camel(user_turn("s1", "t1")))
        self.assertEqual(spelled.json["result"]["primaryOutputText"], "You said: Hello.")
        pascal = server.say("s1", "t1")
        self.assertEqual(camel(pascal.json), spelled.json)
        self.assertEqual(gate.count, 1)

    def test_a_refusal_is_told_in_the_dialect_of_the_request(self):
        _, server = self.gated()
        server.say("s1", "t1", "One.")
        server.say("s1", "t2", "Two.")
        refused = server.execute(camel(user_turn("s1", "t1", "Other.")))
        self.assertEqual((refused.status, refused.json["errors"][0]["errorCode"]), (409, "turn_superseded"))


class Keys(ServingTest):
    def test_a_key_makes_the_same_request_again(self):
        gate, server = self.gated()
        first = server.say("s1", "t1", key="k1")
        self.assertEqual([server.say("s1", "t1", key="k1").body for _ in range(3)], [first.body] * 3)
        server.restart()
        self.assertEqual(server.say("s1", "t1", key="k1").body, first.body)
        self.assertEqual(gate.count, 1)

    def test_eight_at_once_with_one_key_are_one_call(self):
        gate, server = self.gated()
        answers = self.at_once(8, lambda _: server.say("s1", "t1", key="k1"))
        self.assertEqual(len({(answer.status, answer.body) for answer in answers}), 1)
        self.assertEqual(gate.count, 1)

    def test_the_same_key_and_ids_with_another_body_is_a_conflict(self):
        gate, server = self.gated(held=True)
        running = self.later(server.say, "s1", "t1", "One.", key="k1")
        gate.wait_for_calls(1)
        self.assert_refused(server.say("s1", "t1", "Two.", key="k1"), 409, "idempotency_conflict")
        gate.open()
        self.assertEqual(running.result().status, 200)
        self.assert_refused(server.say("s1", "t1", "Two.", key="k1"), 409, "idempotency_conflict")
        self.assertEqual(gate.count, 1)

    def test_the_same_key_with_other_ids_is_another_request(self):
        gate, server = self.gated()
        server.say("s1", "t1", "One.", key="k")
        self.assertEqual(server.say("s2", "t1", "Two.", key="k").status, 200)
        self.assertEqual(server.say("s1", "t2", "Three.", key="k").status, 200)
        self.assertEqual(gate.count, 3)

    def test_streaming_under_a_key_is_no_other_body(self):
        gate, server = self.gated()
        first = server.say("s1", "t1", key="k1")
        with server.say_streaming("s1", "t1", key="k1") as stream:
            self.assertEqual(list(stream)[-1].data.encode(), first.body)
        self.assertEqual(gate.count, 1)

    def test_a_key_makes_tool_results_safe_too(self):
        gate, server = self.gated(calling("a"), "Done.")
        server.say("s1", "t1", key="k1")
        first = server.submit("s1", "t1", ["a"], key="k2")
        self.assertEqual(server.submit("s1", "t1", ["a"], key="k2").body, first.body)
        self.assertEqual(gate.count, 2)


class Initial(ServingTest):
    """sessions.initial: a first request may come without ids."""
    body = {"Instruction": "One."}

    def test_it_is_off_unless_it_is_configured(self):
        gate, server = self.gated()
        self.assert_refused(server.execute(self.body), 400, "contract_violation", "REQ-01", "REQ-02")
        self.assertEqual(gate.count, 0)

    def test_one_id_alone_is_refused_even_so(self):
        _, server = self.gated(sessions={"initial": True})
        self.assert_refused(server.execute({**self.body, "SessionId": "s1"}), 400, "contract_violation", "REQ-02")
        self.assert_refused(server.execute({**self.body, "TurnId": "t1"}), 400, "contract_violation", "REQ-01")

    def test_each_request_without_ids_opens_a_session(self):
        gate, server = self.gated(sessions={"initial": True})
        results = [server.execute(self.body).result for _ in range(2)]
        self.assertEqual(len({result["SessionId"] for result in results}), 2)
        self.assertEqual(gate.count, 2)
        on = server.say(results[0]["SessionId"], results[0]["TurnId"], "Two.")
        self.assertEqual((on.status, gate.calls[2].roles), (200, ["system", "user", "assistant", "user"]))

    def test_a_key_makes_it_safe_to_repeat(self):
        gate, server = self.gated(sessions={"initial": True})
        answers = self.at_once(8, lambda _: server.execute(self.body, key="k1"))
        answers.append(server.execute(self.body, key="k1"))
        server.restart()
        answers.append(server.execute(self.body, key="k1"))
        self.assertEqual(len({(answer.status, answer.body) for answer in answers}), 1, answers)
        self.assertEqual(gate.count, 1)
        self.assertNotEqual(server.execute(self.body, key="k2").result["SessionId"], answers[0].result["SessionId"])

    def test_the_same_key_with_another_body_is_a_conflict(self):
        gate, server = self.gated(sessions={"initial": True})
        server.execute(self.body, key="k1")
        self.assert_refused(server.execute({"Instruction": "Two."}, key="k1"), 409, "idempotency_conflict")
        self.assertEqual(gate.count, 1)


class Failed(ServingTest):
    def test_a_retryable_failure_runs_again_under_the_same_name(self):
        gate, server = self.gated(PASSING, PASSING, "Fine.")
        for _ in range(2):
            self.assert_refused(server.say("s1", "t1"), 502, "server_error")
            self.assertEqual(server.state_of(), "failed")
        answer = server.say("s1", "t1")
        self.assertEqual((answer.text, answer.result["TurnId"]), ("Fine.", "t1"))
        self.assertEqual(server.say("s1", "t1").body, answer.body)
        self.assertEqual(gate.count, 3)
        self.assertEqual(len(server.get("/v1/sessions/s1/turns").json["Turns"]), 1)

    def test_a_follower_sees_an_older_turn_that_is_repeated_after_later_ones_have_failed(self):
        _, server = self.gated(PASSING, PASSING, "At last.")
        for name in ("t1", "t2"):
            self.assertEqual(server.say("s1", name, name).status, 502)
        with server.events("s1") as events:
            seen = events.until("turn.failed") + events.until("turn.failed")
            self.assertEqual(server.say("s1", "t1", "t1").text, "At last.")
            live = events.until("turn.completed")
        with server.events("s1", seen[-1].id) as events:
            replayed = events.until("turn.completed")

        self.assertEqual([(event.event, event.json["TurnId"]) for event in live],
                         [(kind, "t1") for kind in ("turn.repeated", "attempt.started", "attempt.completed", "turn.completed")])
        self.assertEqual([(event.id, event.data) for event in live], [(event.id, event.data) for event in replayed])
        ids = [int(event.id) for event in seen + live]
        self.assertEqual(ids, sorted(set(ids)))
        session = server.get("/v1/sessions/s1").json
        self.assertEqual((session["NewestTurnId"], session["TurnCount"]), ("t1", 2))
        self.assertEqual([turn["TurnId"] for turn in server.get("/v1/sessions/s1/turns").json["Turns"]], ["t2", "t1"])

    def test_a_retryable_failure_repeated_eight_times_at_once_runs_again_once(self):
        gate, server = self.gated(PASSING, "Fine.")
        server.say("s1", "t1")
        answers = self.at_once(8, lambda _: server.say("s1", "t1"))
        self.assertEqual(len({(answer.status, answer.body) for answer in answers}), 1, answers)
        self.assertEqual(gate.count, 2)

    def test_a_retryable_failure_after_a_restart_runs_again(self):
        gate, server = self.gated(PASSING, "Fine.")
        server.say("s1", "t1")
        server.restart()
        self.assertEqual(server.state_of(), "failed")
        self.assertEqual(gate.count, 1)
        self.assertEqual(server.say("s1", "t1").text, "Fine.")

    def test_any_other_failure_is_answered_from_the_journal(self):
        gate, server = self.gated(FATAL)
        first = server.say("s1", "t1")
        self.assert_refused(first, 502, "invalid_request")
        again = server.say("s1", "t1")
        self.assertEqual((again.status, again.body), (first.status, first.body))
        server.restart()
        again = server.say("s1", "t1")
        self.assertEqual((again.status, again.body), (first.status, first.body))
        self.assertEqual(gate.count, 1)

    def test_a_retryable_failure_of_a_tool_round_runs_that_round_again(self):
        gate, server = self.gated(calling("a"), PASSING, "Done.")
        first = server.say("s1", "t1")
        self.assert_refused(server.submit("s1", "t1", ["a"]), 502, "server_error")
        again = server.submit("s1", "t1", ["a"])
        self.assertEqual(again.text, "Done.")
        self.assertEqual(gate.calls[2].tool_results, gate.calls[1].tool_results)
        self.assertEqual(server.say("s1", "t1").body, first.body)
        self.assertEqual(gate.count, 3)

    def test_a_cancelled_turn_is_answered_from_the_journal(self):
        gate, server = self.gated(held=True)
        running = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)
        server.post(turn_path("s1", "t1", "/cancel"))
        first = running.result()
        gate.open()
        again = server.say("s1", "t1")
        self.assertEqual((again.status, again.body), (409, first.body))
        self.assertEqual(again.code, "turn_cancelled")
        self.assertEqual(gate.count, 1)

    def test_statuses_follow_the_code_of_the_backends_failure(self):
        # The limit is the last: whoever came after it would wait for it.
        rows = [(401, "invalid_api_key", "auth_error", 502), (400, "context_length_exceeded", "context_length", 422),
                (400, "content_filter", "content_filter", 422), (404, "model_not_found", "model_unavailable", 503),
                (408, None, "timeout", 504), (400, None, "invalid_request", 502), (500, None, "server_error", 502),
                (429, "rate_limit_exceeded", "rate_limit", 429)]
        gate, server = self.gated(lambda call: Reply(error=(
            rows[call.number - 1][0], {"error": {"message": "No.", "code": rows[call.number - 1][1]}}),
            headers={"Retry_After": "7"}))
        for number, (_, _, code, status) in enumerate(rows):
            answer = server.say(f"s{number}", "t1")
            self.assert_refused(answer, status, code)
            if code == "rate_limit":
                self.assertEqual(answer.headers["retry-after"], "7")
        self.assertEqual(gate.count, len(rows))


if __name__ == "__main__":
    unittest.main()
