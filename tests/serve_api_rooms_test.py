"""Tests of sessions and turns as resources: opened, listed, shown, branched, cancelled, deleted, told to an assistant."""
import re
import unittest

from gate import HOLD, Reply, calling
from scripted_agent import DEMO, scripted
from serving import EXECUTE, ServingTest, quoted, tool_results, turn_path, user_turn

UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z")
TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z\Z")


class Sessions(ServingTest):
    def setUp(self):
        super().setUp()
        self.one = self.server(scripted(agents={"other": {"mode": "Other", "backends": DEMO, "conversations": {"review": {
            "mode": "Review"}}}}))

    def test_a_session_is_opened_with_ids_that_nobody_can_guess(self):
        answer = self.one.post("/v1/sessions")
        self.assertEqual((answer.status, list(answer.json)), (201, ["SessionId", "TurnId"]))
        for identifier in answer.json.values():
            self.assertRegex(identifier, UUID)
        self.assertEqual(answer.headers["location"], "/v1/sessions/" + answer.json["SessionId"])
        shown = self.one.get(answer.headers["location"]).json
        self.assertEqual((shown["TurnCount"], shown["NewestTurnId"]), (0, answer.json["TurnId"]))

    def test_a_session_is_opened_without_a_body_too(self):
        with self.one.connect() as socket:
            socket.sendall(b"POST /v1/sessions HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
            self.assertTrue(socket.recv(64).startswith(b"HTTP/1.1 201 "))

    def test_a_session_may_name_its_agent_in_either_case(self):
        for names in (("AgentContextId", "ConversationContextId"), ("agentContextId", "conversationContextId")):
            opened = self.one.post("/v1/sessions", dict(zip(names, ("other", "review")))).json
            shown = self.one.get("/v1/sessions/" + opened["SessionId"]).json
            self.assertEqual((shown["AgentContextId"], shown["ConversationContextId"]), ("other", "review"))
            answer = self.one.say(opened["SessionId"], opened["TurnId"])
            self.assertEqual(answer.result["ModeDisplayName"], "Review")

    def test_a_session_of_an_agent_that_nobody_knows_is_not_opened(self):
        for body in ({"AgentContextId": "nobody"}, {"AgentContextId": "other", "ConversationContextId": "nothing"}):
            self.assert_refused(self.one.post("/v1/sessions", body), 404, "agent_not_found")
        self.assertEqual(self.one.get("/v1/sessions").json["Sessions"], [])

    def test_a_wrong_body_opens_nothing(self):
        for body in ("x", "[]", {"AgentContextId": 5}, {"AgentContextId": " "}, {"Agent": "other"},
                     '{"AgentContextId":"other","agentContextId":"other"}'):
            for path in ("/v1/sessions", "/v1/sessions/s1/branch"):
                self.assert_refused(self.one.post(path, body), 400, "contract_violation")
        self.assertEqual(self.one.get("/v1/sessions").json["Sessions"], [])

    def test_a_session_shows_what_became_of_it(self):
        self.one.say("s/1", "t/1", AgentContextId="other")
        self.one.say("s/1", "t/2")
        shown = self.one.get("/v1/sessions/" + quoted("s/1")).json
        self.assertEqual({name: shown[name] for name in ("SessionId", "AgentContextId", "TurnCount", "NewestTurnId")},
                         {"SessionId": "s/1", "AgentContextId": "other", "TurnCount": 2, "NewestTurnId": "t/2"})
        self.assertRegex(shown["CreatedAt"], TIME)
        self.assertRegex(shown["UpdatedAt"], TIME)
        self.assertNotIn("ConversationContextId", shown)

    def test_an_unknown_session_is_not_found(self):
        for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/branch"), ("GET", "/turns"), ("GET", "/events"),
                             ("GET", "/turns/t1"), ("GET", "/turns/t1/stream"), ("POST", "/turns/t1/cancel"),
                             ("GET", "/turns/t1/assistant"), ("GET", "/turns/t1/agent-result")):
            with self.subTest(f"{method} {rest}"):
                self.assert_refused(self.one.ask(method, "/v1/sessions/s9" + rest), 404, "session_not_found")

    def test_pages_hold_every_session_once_newest_first(self):
        for number in range(7):
            self.one.say(f"s {number}", "t1")
        seen, path = [], "/v1/sessions?limit=3"
        while True:
            page = self.one.get(path).json
            seen += [session["SessionId"] for session in page["Sessions"]]
            if not page["HasMore"]:
                break
            self.assertEqual(len(page["Sessions"]), 3)
            path = f"/v1/sessions?limit=3&before={quoted(seen[-1])}"
        self.assertEqual(seen, [f"s {number}" for number in reversed(range(7))])

    def test_pages_take_sensible_numbers_alone(self):
        self.one.say()
        for query in ("limit=0", "limit=-1", "limit=x", "limit=1001", "limit=", "limit=1.5", "before=nobody"):
            self.assert_refused(self.one.get("/v1/sessions?" + query), 400, "contract_violation", query.split("=")[0])
        for query in ("after=-1", "after=x", "limit=0"):
            self.assert_refused(self.one.get("/v1/sessions/s1/turns?" + query), 400, "contract_violation",
                                query.split("=")[0])

    def test_a_deleted_session_is_gone(self):
        self.one.say()
        answer = self.one.ask("DELETE", "/v1/sessions/s1")
        self.assertEqual((answer.status, answer.body), (204, b""))
        self.assert_refused(self.one.ask("DELETE", "/v1/sessions/s1"), 404, "session_not_found")
        self.assert_refused(self.one.get("/v1/sessions/s1"), 404, "session_not_found")
        self.assertEqual(self.one.say("s1", "t1", "Anew.").result["TurnId"], "t1")


class Deleting(ServingTest):
    def test_a_session_whose_turn_runs_is_not_deleted(self):
        gate, one = self.gated("Done.", held=True)
        running = self.later(one.say)
        gate.wait_for_calls(1)
        self.assert_refused(one.ask("DELETE", "/v1/sessions/s1"), 409, "turn_in_progress")
        gate.release()
        self.assertEqual(running.result().status, 200)
        self.assertEqual(one.ask("DELETE", "/v1/sessions/s1").status, 204)


class Turns(ServingTest):
    def test_turns_are_listed_in_pages_in_their_order(self):
        one = self.server(scripted())
        for number in range(1, 6):
            one.say("s1", f"t{number}", f"Number {number}.")
        first = one.get("/v1/sessions/s1/turns?limit=3").json
        rest = one.get("/v1/sessions/s1/turns?limit=3&after=3").json
        self.assertEqual([[t["TurnId"] for t in page["Turns"]] for page in (first, rest)],
                         [["t1", "t2", "t3"], ["t4", "t5"]])
        self.assertEqual((first["HasMore"], rest["HasMore"]), (True, False))
        turn = rest["Turns"][0]
        self.assertEqual({name: turn[name] for name in ("SessionId", "Number", "State", "ModeDisplayName", "Rounds")},
                         {"SessionId": "s1", "Number": 4, "State": "completed", "ModeDisplayName": "General", "Rounds": 1})
        self.assertRegex(turn["CreatedAt"], TIME)
        self.assertNotIn("Result", turn)

    def test_a_completed_turn_shows_the_answer_that_was_given(self):
        one = self.server(scripted())
        answer = one.say("s1", "turn/7")
        shown = one.get("/v1/sessions/s1/turns/turn%2F7")
        self.assertEqual((shown.json["TurnId"], shown.json["State"]), ("turn/7", "completed"))
        self.assertIn(b'"Result":' + answer.body, shown.body)

    def test_an_unknown_turn_is_not_found(self):
        one = self.server(scripted())
        one.say()
        for method, rest in (("GET", ""), ("GET", "/stream"), ("POST", "/cancel"), ("GET", "/assistant"),
                             ("GET", "/agent-result")):
            with self.subTest(rest):
                self.assert_refused(one.ask(method, turn_path("s1", "t9", rest)), 404, "turn_not_found")
        self.assert_refused(one.post("/v1/sessions/s1/branch", {"TurnId": "t9"}), 404, "turn_not_found")

    def test_a_turn_is_shown_in_each_of_its_states(self):
        gate, one = self.gated(calling("a", "b"), "Done.", held=True)
        running = self.later(one.say)
        gate.wait_for_calls(1)
        shown = one.turn().json
        self.assertEqual((shown["State"], shown["Rounds"]), ("running", 1))
        self.assertNotIn("Result", shown)
        gate.release()
        running.result()
        shown = one.turn().json
        self.assertEqual((shown["State"], [c["ToolCallId"] for c in shown["PendingToolCalls"]]),
                         ("awaiting_tools", ["a", "b"]))
        self.assertRegex(shown["ToolDeadline"], TIME)
        resumed = self.later(one.submit, "s1", "t1", ["a", "b"])
        gate.wait_for_calls(2)
        shown = one.turn().json
        self.assertEqual((shown["State"], shown["Rounds"]), ("running", 2))
        self.assertNotIn("PendingToolCalls", shown)
        gate.release()
        resumed.result()
        shown = one.turn().json
        self.assertEqual((shown["State"], shown["Result"]["Result"]["Kind"]), ("completed", "final"))

    def test_a_failed_turn_shows_its_code(self):
        _, one = self.gated(Reply(error=(400, {"error": {"message": "No.", "type": "invalid_request_error"}})))
        self.assertEqual(one.say().status, 502)
        shown = one.turn().json
        self.assertEqual((shown["State"], shown["ErrorCode"]), ("failed", "invalid_request"))
        self.assertEqual(shown["Result"]["Errors"][0]["ErrorCode"], "invalid_request")


class Assistant(ServingTest):
    def view(self, server, headers=None):
        answer = server.get(turn_path("s1", "t1", "/assistant"), headers)
        self.assertEqual(answer.status, 200, answer)
        self.assert_keeps("assistant", answer.body)
        return answer.json

    def test_each_state_is_told_by_its_template(self):
        gate, one = self.gated(calling("a"), "Done.", held=True)
        running = self.later(one.say)
        gate.wait_for_calls(1)
        deferred = self.view(one)
        gate.release()
        running.result()
        asking = self.view(one)
        gate.open()
        one.submit("s1", "t1", ["a"])
        completed = self.view(one)
        self.assertEqual(len({view["assistant_message"] for view in (deferred, asking, completed)}), 3)
        self.assertEqual(len({view["trace_id"] for view in (deferred, asking, completed)}), 1)

    def test_a_completed_turn_whose_model_said_nothing_asks_for_more(self):
        _, one = self.gated(" ")
        self.assertEqual(one.say().json["Result"]["Kind"], "final")
        view = self.view(one)
        self.assertEqual((view["action_taken"], view["next_steps"]), ("Requested clarification.", ["Provide missing details"]))
        one.restart()
        self.assertEqual(self.view(one), view)

    def test_a_failure_is_told_without_the_providers_words(self):
        _, one = self.gated(Reply(error=(400, {"error": {"message": "The flux capacitor broke.", "type": "x"}})))
        one.say()
        self.assertNotIn("flux", str(self.view(one)))

    def test_the_trace_id_is_that_of_the_traceparent(self):
        one = self.server(scripted())
        one.say()
        trace = "4bf92f3577b34da6a3ce929d0e0e4736"
        self.assertEqual(self.view(one, {"traceparent": f"00-{trace}-00f067aa0ba902b7-01"})["trace_id"], trace)

    def test_without_a_traceparent_the_trace_id_is_a_uuid_of_that_turn(self):
        one = self.server(scripted())
        for session in ("s1", "s2"):
            self.assertEqual(one.say(session, "t1").status, 200)
        trace = self.view(one, {"traceparent": "nonsense"})["trace_id"]
        self.assertRegex(trace, "^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
        other = one.get(turn_path("s2", "t1", "/assistant")).json["trace_id"]
        self.assertNotEqual(other, trace, "two sessions may have turns of the same name")
        one.restart()
        self.assertEqual(self.view(one)["trace_id"], trace)

    def test_the_trace_of_the_request_stays_with_its_turn(self):
        one = self.server(scripted())
        mine, other = "4bf92f3577b34da6a3ce929d0e0e4736", "0af7651916cd43dd8448eb211c80319c"
        one.execute(user_turn(), headers={"traceparent": f"00-{mine}-00f067aa0ba902b7-01"})
        one.restart()
        for headers in ({}, {"traceparent": f"00-{other}-00f067aa0ba902b7-01"}):
            self.assertEqual(self.view(one, headers)["trace_id"], mine)
        accepted = one.get("/v1/sessions/s1/events?follow=false").body
        self.assertIn(mine.encode(), accepted)

    def test_a_turn_id_that_shows_internals_is_no_trace_id(self):
        one = self.server(scripted())
        for turn in ("/etc/passwd", "sk-ant-api03-0123456789abcdef0123456789"):
            self.assertEqual(one.say("s1", turn).status, 200)
            answer = one.get(turn_path("s1", turn, "/assistant"))
            self.assert_keeps("assistant", answer.body)
            self.assertNotIn(turn, answer.json["trace_id"])


class AgentResults(ServingTest):
    def result(self, server):
        answer = server.get(turn_path("s1", "t1", "/agent-result"))
        self.assertEqual(answer.status, 200, answer)
        self.assert_keeps("agent-result", answer.body)
        return answer.json

    def test_a_completed_turn_has_the_agent_s_own_text_and_who_gave_it(self):
        _, one = self.gated(Reply('{"a":1}', headers={"x_request_id": "req-7"}))
        one.say()
        one.restart()

        result = self.result(one)

        self.assertEqual((result["content"], result["finish_reason"]), ('{"a":1}', "stop"))
        self.assertEqual(result["metadata"], {"backend": "gate", "model": "small-1"})
        self.assertEqual(result["provider_data"]["request_id"], "req-7")
        self.assertNotIn("raw_headers", result["provider_data"])
        self.assertEqual(result["usage"]["output_tokens"], 3)

    def test_a_turn_that_runs_has_none_and_one_that_waits_has_its_calls(self):
        gate, one = self.gated(calling("a", text="Let me look."), "Done.", held=True)
        running = self.later(one.say)
        gate.wait_for_calls(1)
        self.assert_refused(one.get(turn_path("s1", "t1", "/agent-result")), 409, "turn_in_progress")
        gate.open()
        running.result()
        waiting = self.result(one)
        self.assertEqual([call["id"] for call in waiting["tool_calls"]], ["a"])
        one.post(turn_path("s1", "t1", "/cancel"))
        cancelled = self.result(one)
        self.assertEqual((cancelled["finish_reason"], cancelled["error"]["code"]), ("aborted", "turn_cancelled"))
        self.assertNotIn("content", cancelled)

    def test_a_failure_is_told_without_the_providers_words(self):
        _, one = self.gated(Reply(error=(503, {"error": {"message": "The flux capacitor broke.", "type": "x"}})))
        one.say()

        result = self.result(one)

        self.assertEqual((result["error"]["code"], result["error"]["status_code"]), ("server_error", 503))
        self.assertNotIn("flux", str(result))


class Streams(ServingTest):
    def test_the_last_event_id_may_be_a_parameter(self):
        _, one = self.gated(Reply("One ", "two ", "three."))
        with one.say_streaming() as stream:
            whole = list(stream)
        with one.stream("GET", turn_path("s1", "t1", f"/stream?last_event_id={whole[1].id}")) as stream:
            self.assertEqual([(e.event, e.id, e.data) for e in stream], [(e.event, e.id, e.data) for e in whole[2:]])
        answer = one.get(turn_path("s1", "t1", f"/stream?last_event_id={whole[-1].id}"))
        self.assertEqual((answer.status, answer.body), (204, b""))

    def test_a_replay_is_spelled_as_its_request_was(self):
        _, one = self.gated(Reply("One ", HOLD, "two."))
        stream = one.stream("POST", EXECUTE, {"sessionId": "s1", "turnId": "t1", "instruction": "x",
                                                         "streaming": True})
        stream.until("output.delta")
        with one.follow("s1", "t1") as during:
            self.assertEqual(during.next().json, {"sessionId": "s1", "turnId": "t1", "modeDisplayName": "General"})
        self.gates[0].open()
        result = list(stream)[-1]
        stream.close()
        with one.follow("s1", "t1") as after:
            events = list(after)
        self.assertEqual((events[0].json["turnId"], events[-1].data), ("t1", result.data))
        self.assertIs(result.json["successful"], True)

    def test_a_continuation_is_answered_plainly_and_streamed_on_demand(self):
        _, one = self.gated(calling("a"), Reply("It ", "is."))
        with one.say_streaming() as stream:
            self.assertEqual(list(stream)[-1].json["Result"]["Kind"], "client_tool_continuation")
        plain = one.submit("s1", "t1", ["a"])
        self.assertEqual((plain.status, plain.text), (200, "It is."))
        with one.stream("POST", EXECUTE, tool_results("s1", "t1", ["a"]), {"Accept": "text/event-stream"}) as stream:
            self.assertEqual(list(stream)[-1].data.encode(), plain.body)

    def test_an_idle_diary_ends_when_the_server_leaves(self):
        one = self.server(scripted())
        opened = one.post("/v1/sessions").json
        with one.events(opened["SessionId"]) as events:
            one.terminate()
            self.assertIsNone(events.next())
        self.assertEqual(one.wait(), 0)

    def test_a_diary_ends_with_its_session(self):
        one = self.server(scripted())
        one.say()
        followers = [one.events("s1") for _ in range(4)]
        for stream in followers:
            self.assertEqual(stream.next().event, "turn.accepted")
        self.assertEqual(one.ask("DELETE", "/v1/sessions/s1").status, 204)
        for stream in followers:
            with stream:
                while stream.next() is not None:
                    pass
                self.assertEqual(stream.comments, 0)  # One comes after 15 seconds of silence.

    def test_a_diary_goes_on_for_each_of_those_who_follow_it(self):
        _, one = self.gated("One.", "Two.")
        opened = one.post("/v1/sessions").json
        followers = [one.events(opened["SessionId"]) for _ in range(5)]
        self.assertEqual(one.say(opened["SessionId"], "t1").status, 200)
        self.assertEqual({stream.next().event for stream in followers}, {"turn.accepted"})
        for stream in followers:
            stream.close()
        self.assertEqual(one.say(opened["SessionId"], "t2").status, 200)

    def test_what_is_in_the_diary_can_be_read_to_its_end(self):
        one = self.server(scripted())
        one.say()
        answer = one.get("/v1/sessions/s1/events?follow=false")
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "text/event-stream"))
        ids = [int(line.split(b" ")[1]) for line in answer.body.splitlines() if line.startswith(b"id: ")]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertGreater(len(ids), 0)
        self.assertEqual(one.get(f"/v1/sessions/s1/events?follow=false&last_event_id={ids[-1]}").body, b"")
        self.assert_refused(one.get("/v1/sessions/s1/events?follow=maybe"), 400, "contract_violation", "follow")


if __name__ == "__main__":
    unittest.main()
