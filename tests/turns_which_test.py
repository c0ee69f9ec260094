"""Whole-binary tests of which turn a request means: new, repeated, running, or refused. Retries and tools have their own."""
import unittest

from gate import Reply, calling
from serving import ServingTest, configuration, quoted, tool_results, user_turn

BAD = Reply(error=(400, {"error": {"message": "No.", "type": "invalid_request_error", "code": None}}))
AGAIN = Reply(error=(500, {"error": {"message": "Later.", "type": "server_error", "code": None}}))


class Table(ServingTest):
    def test_a_user_turn_with_an_unknown_turn_id_is_a_new_turn_of_that_name(self):
        gate, server = self.gated()

        answer = server.say("s1", "mine", "One.")

        self.assertEqual(answer.status, 200, answer)
        self.assertEqual(answer.result, {
            "Kind": "final", "SessionId": "s1", "TurnId": "mine", "ModeDisplayName": "General",
            "PrimaryOutputText": "You said: One.", "Usage": answer.result["Usage"]})
        self.assert_keeps("invoke-result", answer.body)
        self.assertEqual(gate.count, 1)

    def test_unknown_turn_ids_are_appended_after_the_newest(self):
        gate, server = self.gated()

        for number in (1, 2, 3):
            self.assertEqual(server.say("s1", f"t{number}", f"Say {number}.").result["TurnId"], f"t{number}")

        self.assertEqual(gate.calls[2].roles, ["system", "user", "assistant", "user", "assistant", "user"])
        turns = server.get("/v1/sessions/s1/turns").json["Turns"]
        self.assertEqual([turn["TurnId"] for turn in turns], ["t1", "t2", "t3"])

    def test_a_user_turn_with_a_known_turn_id_follows_it_under_a_new_name(self):
        gate, server = self.gated()
        server.say("s1", "t1", "One.")

        second = server.say("s1", "t1", "Two.")
        third = server.say("s1", second.result["TurnId"], "Three.")

        names = ["t1", second.result["TurnId"], third.result["TurnId"]]
        self.assertEqual(len(set(names)), 3, names)
        self.assertEqual(gate.calls[2].roles, ["system", "user", "assistant", "user", "assistant", "user"])
        self.assertEqual([turn["TurnId"] for turn in server.get("/v1/sessions/s1/turns").json["Turns"]], names)

    def test_a_tool_continuation_resumes_its_turn_under_the_same_name(self):
        gate, server = self.gated(calling("a"), "Done.")
        first = server.say("s1", "t1", "Look.")
        self.assertEqual((first.result["Kind"], first.result["TurnId"]), ("client_tool_continuation", "t1"))

        second = server.submit("s1", "t1", first.calls)

        self.assertEqual((second.result["Kind"], second.result["TurnId"], second.text), ("final", "t1", "Done."))
        self.assertEqual(gate.count, 2)
        self.assertEqual(len(server.get("/v1/sessions/s1/turns").json["Turns"]), 1)

    def test_a_tool_continuation_of_an_unknown_turn_is_a_mismatch(self):
        gate, server = self.gated()
        server.say("s1", "t1")

        self.assert_refused(server.submit("s1", "t9", ["a"]), 409, "tool_results_mismatch", "TOOL-13")

        self.assertEqual(server.turn("s1", "t9").status, 404)
        self.assertEqual(gate.count, 1)

    def test_a_tool_continuation_of_an_unknown_session_is_a_mismatch_and_opens_nothing(self):
        _, server = self.gated()

        self.assert_refused(server.submit("s9", "t1", ["a"]), 409, "tool_results_mismatch", "TOOL-13")

        self.assertEqual(server.get("/v1/sessions/s9").status, 404)

    def test_a_tool_continuation_of_a_turn_that_does_not_wait_is_a_mismatch(self):
        _, server = self.gated()
        server.say("s1", "t1")
        self.assert_refused(server.submit("s1", "t1", ["a"]), 409, "tool_results_mismatch", "TOOL-13")

    def test_a_tool_continuation_of_a_running_turn_is_a_mismatch(self):
        gate, server = self.gated(held=True)
        running = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)

        self.assert_refused(server.submit("s1", "t1", ["a"]), 409, "tool_results_mismatch", "TOOL-13")

        gate.open()
        self.assertEqual(running.result().status, 200)

    def test_ids_with_slashes_spaces_and_letters_of_all_kinds_are_names(self):
        _, server = self.gated()
        for session, turn in (("room/1", "turn/7"), ("a b", "c?d=e&f#g"), ("Grüße 日本", "%2F"), ("..", ".")):
            answer = server.say(session, turn)
            self.assertEqual((answer.result["SessionId"], answer.result["TurnId"]), (session, turn))
            found = server.turn(session, turn)
            self.assertEqual((found.status, found.json["SessionId"], found.json["TurnId"]), (200, session, turn))

    def test_ids_differ_by_case(self):
        gate, server = self.gated()
        server.say("s1", "t1")
        self.assertEqual(server.say("S1", "T1").status, 200)
        self.assertEqual(gate.calls[1].roles, ["system", "user"])


class Opening(ServingTest):
    def test_an_unknown_session_is_opened_under_that_id(self):
        _, server = self.gated()
        self.assertEqual(server.get("/v1/sessions/mine").status, 404)
        self.assertEqual(server.say("mine", "t1").status, 200)
        self.assertEqual(server.get("/v1/sessions/mine").json["SessionId"], "mine")

    def test_explicit_sessions_are_opened_by_nobody_but_post(self):
        gate, server = self.gated(sessions={"open": "explicit"})

        self.assert_refused(server.say("mine", "t1"), 404, "session_not_found")
        self.assertEqual(server.get("/v1/sessions/mine").status, 404)
        self.assertEqual(gate.count, 0)

        opened = server.post("/v1/sessions").json
        answer = server.say(opened["SessionId"], opened["TurnId"])
        self.assertEqual(answer.status, 200, answer)

    def test_the_opening_turn_is_known_and_the_first_user_turn_follows_it(self):
        _, server = self.gated()
        opened = server.post("/v1/sessions")
        self.assertIn(opened.status, (200, 201))
        session, opening = opened.json["SessionId"], opened.json["TurnId"]

        answer = server.say(session, opening, "One.")

        self.assertNotEqual(answer.result["TurnId"], opening)
        self.assertEqual(answer.result["SessionId"], session)
        turns = server.get(f"/v1/sessions/{quoted(session)}/turns").json["Turns"]
        self.assertEqual([turn["TurnId"] for turn in turns], [answer.result["TurnId"]])

    def test_the_opening_turn_is_superseded_by_the_first_user_turn(self):
        _, server = self.gated()
        opened = server.post("/v1/sessions").json
        first = server.say(opened["SessionId"], opened["TurnId"], "One.").result["TurnId"]
        self.assert_refused(server.say(opened["SessionId"], opened["TurnId"], "Two."), 409, "turn_superseded", first)

    def test_the_first_user_turn_may_have_a_name_of_its_own(self):
        _, server = self.gated()
        opened = server.post("/v1/sessions").json
        self.assertEqual(server.say(opened["SessionId"], "mine").result["TurnId"], "mine")

    def test_tools_cannot_answer_the_opening_turn(self):
        _, server = self.gated()
        opened = server.post("/v1/sessions").json
        self.assert_refused(server.submit(opened["SessionId"], opened["TurnId"], ["a"]), 409,
                            "tool_results_mismatch", "TOOL-13")

    def test_ids_that_the_server_mints_are_long_and_all_different(self):
        _, server = self.gated()
        seen = set()
        for _ in range(20):
            opened = server.post("/v1/sessions").json
            seen |= {opened["SessionId"], opened["TurnId"], server.say(**{
                "session": opened["SessionId"], "turn": opened["TurnId"]}).result["TurnId"]}
        self.assertEqual(len(seen), 60)
        for name in seen:
            self.assertGreaterEqual(len(name), 22, "128 bits are 22 letters of base64 at least")

    def test_a_request_that_breaks_its_contract_opens_nothing(self):
        gate, server = self.gated()
        refused = server.execute({"SessionId": "s1", "TurnId": "t1"})
        self.assert_refused(refused, 400, "contract_violation", "REQ-10")
        self.assertEqual(server.get("/v1/sessions/s1").status, 404)
        self.assertEqual(gate.count, 0)


class Following(ServingTest):
    def test_a_turn_that_has_a_successor_is_superseded_and_the_newest_is_named(self):
        gate, server = self.gated()
        server.say("s1", "t1", "One.")
        server.say("s1", "t2", "Two.")
        server.say("s1", "newest-of-all", "Three.")

        for turn in ("t1", "t2"):
            self.assert_refused(server.say("s1", turn, "Other."), 409, "turn_superseded", "newest-of-all")

        self.assertEqual(gate.count, 3)
        self.assertEqual(server.say("s1", "newest-of-all", "Other.").status, 200)

    def test_a_second_user_turn_while_the_newest_runs_is_refused(self):
        gate, server = self.gated(held=True)
        running = self.later(server.say, "s1", "t1", "One.")
        gate.wait_for_calls(1)

        self.assert_refused(server.say("s1", "t2", "Two."), 409, "turn_in_progress")
        self.assert_refused(server.say("s1", "t1", "Two."), 409, "turn_in_progress")

        gate.open()
        self.assertEqual(running.result().text, "You said: One.")
        self.assertEqual(server.say("s1", "t2", "Two.").text, "You said: Two.")
        self.assertEqual(gate.count, 2)

    def test_a_second_user_turn_while_the_newest_waits_for_tools_is_refused(self):
        gate, server = self.gated(calling("a"), "Done.", "Next.")
        server.say("s1", "t1", "Look.")

        self.assert_refused(server.say("s1", "t2", "Two."), 409, "turn_in_progress")
        self.assert_refused(server.say("s1", "t1", "Two."), 409, "turn_in_progress")

        self.assertEqual(server.submit("s1", "t1", ["a"]).text, "Done.")
        self.assertEqual(server.say("s1", "t2", "Two.").text, "Next.")
        self.assertEqual(gate.count, 3)

    def test_a_turn_in_progress_is_told_before_one_that_is_superseded(self):
        gate, server = self.gated(lambda call: calling("a") if call.user.endswith("Look.") else "Fine.")
        server.say("s1", "t1", "One.")
        server.say("s1", "t2", "Look.")
        self.assert_refused(server.say("s1", "t1", "Other."), 409, "turn_in_progress")
        self.assertEqual(gate.count, 2)

    def test_of_two_clients_that_race_to_follow_a_turn_one_wins(self):
        gate, server = self.gated()
        server.say("s1", "t1", "One.")

        answers = self.at_once(8, lambda number: server.say("s1", "t1", f"Racer {number}."))

        won = [answer for answer in answers if answer.status == 200]
        self.assertEqual(len(won), 1, answers)
        for answer in answers:
            if answer.status != 200:
                self.assertIn(answer.code, ("turn_in_progress", "turn_superseded"))
        self.assertEqual(gate.count, 2)

    def test_the_same_text_is_a_new_turn_under_the_id_that_was_last_given(self):
        gate, server = self.gated()
        opened = server.post("/v1/sessions").json
        first = server.say(opened["SessionId"], opened["TurnId"], "Go on.").result["TurnId"]
        second = server.say(opened["SessionId"], first, "Go on.").result["TurnId"]
        third = server.say(opened["SessionId"], second, "Go on.").result["TurnId"]
        self.assertEqual(len({first, second, third}), 3)
        self.assertEqual(gate.count, 3)

    def test_the_same_text_is_a_new_turn_under_a_new_name_or_a_new_key(self):
        gate, server = self.gated()
        server.say("s1", "t1", "Go on.")
        self.assertEqual(server.say("s1", "t2", "Go on.").result["TurnId"], "t2")
        again = server.say("s1", "t2", "Go on.", key="another")
        self.assertNotIn(again.result["TurnId"], ("t1", "t2"))
        self.assertEqual(gate.count, 3)


class Dead(ServingTest):
    """A turn that failed, was cancelled or expired is nobody's successor."""

    def scripted(self, call):
        return BAD if call.user.endswith("Fail.") else Reply(f"You said: {call.user}")

    def test_a_session_goes_on_by_following_the_turn_before_a_failed_one(self):
        _, server = self.gated(self.scripted)
        server.say("s1", "t1", "One.")
        self.assertEqual(server.say("s1", "t2", "Fail.").status, 502)

        answer = server.say("s1", "t1", "Two.")

        self.assertEqual(answer.status, 200, answer)
        self.assertNotIn(answer.result["TurnId"], ("t1", "t2"))

    def test_a_session_goes_on_by_following_the_failed_turn(self):
        _, server = self.gated(self.scripted)
        server.say("s1", "t1", "One.")
        server.say("s1", "t2", "Fail.")
        answer = server.say("s1", "t2", "Two.")
        self.assertEqual(answer.status, 200, answer)
        self.assertNotIn(answer.result["TurnId"], ("t1", "t2"))

    def test_a_session_goes_on_with_a_new_name_after_a_failed_turn(self):
        _, server = self.gated(self.scripted)
        server.say("s1", "t1", "Fail.")
        self.assertEqual(server.say("s1", "t2", "Two.").result["TurnId"], "t2")

    def test_a_session_whose_only_turn_failed_goes_on_from_its_opening(self):
        _, server = self.gated(self.scripted)
        opened = server.post("/v1/sessions").json
        self.assertEqual(server.say(opened["SessionId"], opened["TurnId"], "Fail.").status, 502)
        self.assertEqual(server.say(opened["SessionId"], opened["TurnId"], "Two.").status, 200)

    def test_a_session_goes_on_after_a_cancelled_turn(self):
        _, server = self.gated(lambda call: calling("a") if call.user.endswith("Look.") else "Fine.")
        server.say("s1", "t1", "One.")
        server.say("s1", "t2", "Look.")
        self.assertEqual(server.post("/v1/sessions/s1/turns/t2/cancel").status, 200)
        self.assertEqual(server.state_of("s1", "t2"), "cancelled")
        self.assertEqual(server.say("s1", "t1", "Two.").text, "Fine.")

    def test_a_failed_turn_is_superseded_once_somebody_follows(self):
        _, server = self.gated(self.scripted)
        server.say("s1", "t1", "One.")
        server.say("s1", "t2", "Fail.")
        server.say("s1", "t3", "Three.")
        for turn in ("t1", "t2"):
            self.assert_refused(server.say("s1", turn, "Other."), 409, "turn_superseded", "t3")

    def test_a_retryable_request_does_not_run_again_past_a_newer_turn(self):
        gate, server = self.gated(lambda call: AGAIN if call.number == 1 else "Fine.")
        self.assertEqual(server.say("s1", "t1", "One.").code, "server_error")
        self.assertEqual(server.say("s1", "t2", "Two.").status, 200)
        self.assert_refused(server.say("s1", "t1", "One."), 409, "turn_superseded", "t2")
        self.assertEqual(gate.count, 2)


class Agents(ServingTest):
    def serve(self):
        gate = self.gate()
        backends = [{"provider": "gate", "model": "small-1"}]
        other = {"mode": "Reviewer", "system": "You review.", "backends": backends,
                 "conversations": {"code": {"mode": "Code review", "system": "You review code."},
                                   "prose": {"system": "You review prose."}}}
        return gate, self.server(configuration(gate, agents={"other": other}))

    def test_the_agent_is_default_when_none_is_named(self):
        gate, server = self.serve()
        self.assertEqual(server.say("s1", "t1").result["ModeDisplayName"], "General")
        self.assertEqual(server.say("s1", "t2", AgentContextId="default").status, 200)
        self.assertIn("You are brief.", gate.calls[1].system)

    def test_agent_and_conversation_give_mode_and_system_text(self):
        gate, server = self.serve()
        for number, (names, mode, system) in enumerate((
                ({"AgentContextId": "other"}, "Reviewer", "You review."),
                ({"AgentContextId": "other", "ConversationContextId": "code"}, "Code review", "You review code."))):
            answer = server.say(f"s{number}", "t1", **names)
            self.assertEqual(answer.result["ModeDisplayName"], mode)
            self.assertIn(system, gate.calls[number].system)
            self.assertNotIn("You are brief.", gate.calls[number].system)

    def test_a_later_request_may_leave_out_the_agent_or_name_the_same(self):
        _, server = self.serve()
        server.say("s1", "t1", AgentContextId="other", ConversationContextId="code")
        self.assertEqual(server.say("s1", "t2").result["ModeDisplayName"], "Code review")
        self.assertEqual(server.say("s1", "t3", AgentContextId="other").result["ModeDisplayName"], "Code review")
        same = server.say("s1", "t4", AgentContextId="other", ConversationContextId="code")
        self.assertEqual(same.result["ModeDisplayName"], "Code review")

    def test_a_later_request_that_names_another_is_refused(self):
        gate, server = self.serve()
        server.say("s1", "t1", AgentContextId="other", ConversationContextId="code")
        server.say("s2", "t1")
        for session, names in (("s1", {"AgentContextId": "default"}),
                               ("s1", {"AgentContextId": "other", "ConversationContextId": "prose"}),
                               ("s1", {"ConversationContextId": "prose"}),
                               ("s2", {"AgentContextId": "other"})):
            self.assert_refused(server.say(session, "t2", **names), 409, "agent_mismatch")
        self.assertEqual(gate.count, 2)

    def test_an_agent_or_conversation_that_nobody_knows_is_refused_and_opens_nothing(self):
        gate, server = self.serve()
        for names in ({"AgentContextId": "nobody"}, {"ConversationContextId": "nothing"},
                      {"AgentContextId": "other", "ConversationContextId": "nothing"}):
            self.assert_refused(server.say("s1", "t1", **names), 404, "agent_not_found")
            self.assertEqual(server.get("/v1/sessions/s1").status, 404)
        self.assertEqual(gate.count, 0)


class Branching(ServingTest):
    def test_a_branch_goes_on_from_any_turn_and_leaves_its_origin_alone(self):
        gate, server = self.gated()
        for number in (1, 2, 3):
            server.say("s1", f"t{number}", f"Say {number}.")

        branched = server.post("/v1/sessions/s1/branch", {"TurnId": "t2"})

        self.assertIn(branched.status, (200, 201), branched)
        session, turn = branched.json["SessionId"], branched.json["TurnId"]
        self.assertNotEqual(session, "s1")
        answer = server.say(session, turn, "Other way.")
        self.assertEqual(answer.result["SessionId"], session)
        said = [message["content"] for message in gate.calls[3].messages if message["role"] == "assistant"]
        self.assertEqual(said, ["You said: Say 1.", "You said: Say 2."])
        self.assertEqual(len(server.get("/v1/sessions/s1/turns").json["Turns"]), 3)
        self.assertEqual(server.say("s1", "t4", "On.").status, 200)
        self.assertEqual(len([m for m in gate.calls[4].messages if m["role"] == "user"]), 4)

    def test_what_is_read_in_a_branch_names_the_branch(self):
        _, server = self.gated()
        first = server.say("s1", "t1", "One.")
        session = server.post("/v1/sessions/s1/branch", {"TurnId": "t1"}).json["SessionId"]

        self.assertEqual(server.turn(session, "t1").json["Result"]["Result"], {**first.result, "SessionId": session})
        with server.follow(session, "t1") as stream:
            self.assertEqual(stream.until("turn.result")[-1].json["Result"]["SessionId"], session)
        self.assertEqual(server.say("s1", "t1", "One.").body, first.body, "the origin stays as it is")

    def test_a_branch_without_a_turn_goes_on_from_the_newest(self):
        gate, server = self.gated()
        server.say("s1", "t1", "One.")
        branched = server.post("/v1/sessions/s1/branch").json
        server.say(branched["SessionId"], branched["TurnId"], "Two.")
        self.assertEqual(gate.calls[1].roles, ["system", "user", "assistant", "user"])

    def test_a_branch_keeps_the_agent_and_the_solution_context(self):
        gate, server = self.gated()
        server.say("s1", "t1", SolutionContextText="The house is blue.")
        branched = server.post("/v1/sessions/s1/branch", {"TurnId": "t1"}).json
        server.say(branched["SessionId"], branched["TurnId"], "Two.")
        self.assertIn("The house is blue.", gate.calls[1].system)

    def test_a_branch_of_nothing_is_refused(self):
        _, server = self.gated()
        self.assert_refused(server.post("/v1/sessions/s9/branch", {"TurnId": "t1"}), 404, "session_not_found")
        server.say("s1", "t1")
        self.assert_refused(server.post("/v1/sessions/s1/branch", {"TurnId": "t9"}), 404, "turn_not_found")

    def test_a_request_of_the_origin_is_not_repeated_in_the_branch(self):
        gate, server = self.gated()
        body = user_turn("s1", "t1", "One.")
        first = server.execute(body)
        branched = server.post("/v1/sessions/s1/branch", {"TurnId": "t1"}).json
        self.assertEqual(server.execute(body).body, first.body)
        mine = server.say(branched["SessionId"], branched["TurnId"], "One.")
        self.assertNotEqual(mine.result["SessionId"], "s1")
        self.assertEqual(gate.count, 2)


class Cancelling(ServingTest):
    def test_a_running_turn_is_cancelled_and_its_backend_is_left(self):
        gate, server = self.gated(held=True)
        running = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)

        cancelled = server.post("/v1/sessions/s1/turns/t1/cancel")

        self.assertEqual((cancelled.status, cancelled.json["State"]), (200, "cancelled"))
        self.assert_refused(running.result(), 409, "turn_cancelled")
        gate.wait_for_gone(1)
        self.assertEqual(server.state_of(), "cancelled")

    def assert_one_end(self, server, session, told, cancelled):
        """Client, canceller and journal agree on how the turn ended."""
        state = server.state_of(session, "t1")
        self.assertEqual(cancelled.json["State"], state)
        if told.status == 200:
            self.assertEqual(state, "completed")
        else:
            self.assertEqual((told.status, told.code, state), (409, "turn_cancelled", "cancelled"))

    def test_a_cancel_that_races_with_the_answer_has_one_outcome(self):
        gate, server = self.gated()
        for number in range(40):
            session = f"s{number}"
            running = self.later(server.say, session, "t1")
            gate.wait_for_calls(number + 1)
            cancelled = server.post(f"/v1/sessions/{session}/turns/t1/cancel")
            told = running.result()
            self.assertEqual(cancelled.status, 200, cancelled)
            self.assert_one_end(server, session, told, cancelled)
            again = server.say(session, "t1")
            self.assertEqual((again.status, again.body), (told.status, told.body))
        self.assertEqual(gate.count, 40)

    def test_a_cancel_that_races_with_tool_results_has_one_outcome(self):
        _, server = self.gated(lambda call: "Done." if call.tool_results else calling("a"))
        for number in range(40):
            session = f"s{number}"
            server.say(session, "t1")
            told, cancelled = self.at_once(2, lambda place, session=session: (
                server.submit(session, "t1", ["a"]) if place == 0
                else server.post(f"/v1/sessions/{session}/turns/t1/cancel")))
            self.assert_one_end(server, session, told, cancelled)
            again = server.submit(session, "t1", ["a"])
            self.assertEqual((again.status, again.errors[:1] and again.code), (told.status, told.errors[:1] and told.code))
            self.assertEqual(server.say(session, "t2", "Next.").status, 200)

    def test_a_turn_that_has_ended_stays_as_it_is(self):
        _, server = self.gated()
        first = server.say("s1", "t1")
        answer = server.post("/v1/sessions/s1/turns/t1/cancel")
        self.assertEqual((answer.status, answer.json["State"]), (200, "completed"))
        self.assertEqual(server.say("s1", "t1").body, first.body)

    def test_what_does_not_exist_is_not_cancelled(self):
        _, server = self.gated()
        self.assert_refused(server.post("/v1/sessions/s9/turns/t1/cancel"), 404, "session_not_found")
        server.say("s1", "t1")
        self.assert_refused(server.post("/v1/sessions/s1/turns/t9/cancel"), 404, "turn_not_found")

    def test_tools_cannot_answer_a_cancelled_turn(self):
        _, server = self.gated(calling("a"))
        server.say("s1", "t1")
        server.post("/v1/sessions/s1/turns/t1/cancel")
        self.assert_refused(server.execute(tool_results("s1", "t1", ["a"])), 409, "turn_cancelled", "TOOL-13")


if __name__ == "__main__":
    unittest.main()
