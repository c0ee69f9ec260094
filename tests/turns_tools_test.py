"""Whole-binary tests of client tools: S3 (only the exact submission is taken), deadlines, what the model is told."""
import itertools
import json
import unittest

from gate import Reply, calling
from serving import LOOK, ServingTest, broken, configuration, ok, tool_results, turn_path

NAMES = ["alpha", "beta", "gamma", "delta", "epsilon", "zeta"]


def asks_first(*identifiers):
    """A model that calls one tool under each id, then says what it was told."""
    def reply(call):
        told = call.tool_results
        return Reply("Told: " + ", ".join(name for name, _ in told)) if told else calling(*identifiers)
    return reply


class ExactMatching(ServingTest):
    """For one to six pending calls: everything but the exact submission is refused, and nothing is lost by it."""

    def refuse(self, server, connection, session, names, status=409, code="tool_results_mismatch"):
        answer = server.execute(tool_results(session, "t1", names), on=connection)
        self.assertEqual((answer.status, answer.json["Errors"][0]["ErrorCode"], len(answer.errors)),
                         (status, code, 1), (names, answer))
        return answer

    def wrong_arrangements(self, pending):
        """Every selection of the pending ids in every order, but the exact one: permutations and omissions."""
        for size in range(1, len(pending) + 1):
            for names in itertools.permutations(pending, size):
                if list(names) != pending:
                    yield list(names)

    def wrong_ids(self, pending):
        """An unknown id added in every place, or in the place of each pending one."""
        for place in range(len(pending) + 1):
            yield pending[:place] + ["stranger"] + pending[place:]
        for place in range(len(pending)):
            yield pending[:place] + ["stranger"] + pending[place + 1:]
            yield pending[:place] + [pending[place].upper()] + pending[place + 1:]
            yield pending[:place] + [pending[place] + " "] + pending[place + 1:]

    def doubled(self, pending):
        """Each id twice, in every place: added, or in the place of another."""
        for name in pending:
            for place in range(len(pending) + 1):
                yield pending[:place] + [name] + pending[place:]
            for place, other in enumerate(pending):
                if other != name:
                    yield pending[:place] + [name] + pending[place + 1:]

    def test_every_wrong_submission_is_refused_and_the_exact_one_taken(self):
        pending = []
        gate, server = self.gated(lambda call: asks_first(*pending)(call))
        connection = server.connection()
        for count in range(1, 7):
            pending[:] = NAMES[:count]
            session = f"s{count}"
            self.assertEqual(server.say(session, "t1").calls, pending)
            calls = gate.count

            tried = 0
            for names in itertools.chain(self.wrong_arrangements(pending), self.wrong_ids(pending)):
                answer = self.refuse(server, connection, session, names)
                self.assertIs(answer.errors[0]["FatalError"], True)
                tried += 1
            for names in self.doubled(pending):
                self.refuse(server, connection, session, names, 400, "contract_violation")
                tried += 1

            self.assertGreaterEqual(tried, 5 if count == 1 else 10)
            self.assertEqual(server.state_of(session, "t1"), "awaiting_tools")
            self.assertEqual(gate.count, calls, "no backend was called")
            self.assertEqual(server.submit(session, "t1", pending).text, "Told: " + ", ".join(pending))
        connection.close()

    def test_a_refusal_names_the_first_difference_and_its_kind(self):
        _, server = self.gated(calling("a", "b", "c"))
        server.say("s1", "t1")
        for names, rules, words in (
                (["b", "a", "c"], ["TOOL-12"], ["out_of_order", "a", "b"]),
                (["a", "c"], ["TOOL-10", "TOOL-11"], ["missing", "b"]),
                (["a", "b", "c", "x"], ["TOOL-10", "TOOL-11"], ["unexpected", "x"]),
                (["a", "b", "x"], ["TOOL-11"], ["missing", "unexpected", "c", "x"])):
            self.assert_refused(server.submit("s1", "t1", names), 409, "tool_results_mismatch", *rules, *words)
        self.assert_refused(server.submit("s1", "t1", ["a", "b", "b"]), 400, "contract_violation", "TOOL-03")

    def test_the_pending_set_survives_refusals_and_a_crash(self):
        _, server = self.gated(asks_first("a", "b"))
        first = server.say("s1", "t1")
        for wrong in (["b", "a"], ["a"], ["a", "b", "c"]):
            self.assert_refused(server.submit("s1", "t1", wrong), 409, "tool_results_mismatch")
        server.restart()
        self.assert_refused(server.submit("s1", "t1", ["b", "a"]), 409, "tool_results_mismatch", "TOOL-12")
        self.assertEqual(server.say("s1", "t1").body, first.body)
        self.assertEqual(server.submit("s1", "t1", ["a", "b"]).text, "Told: a, b")

    def test_the_ids_of_another_sessions_set_are_unknown(self):
        ids = iter([calling("a1"), calling("b1"), Reply("Done.")])
        _, server = self.gated(lambda call: next(ids))
        server.say("s1", "t1")
        server.say("s2", "t1")
        self.assert_refused(server.submit("s1", "t1", ["b1"]), 409, "tool_results_mismatch", "TOOL-11")
        self.assertEqual(server.submit("s1", "t1", ["a1"]).text, "Done.")
        self.assertEqual(server.state_of("s2", "t1"), "awaiting_tools")

    def test_of_two_exact_submissions_at_once_with_different_results_one_is_taken(self):
        gate, server = self.gated(asks_first("a"))
        server.say("s1", "t1")
        answers = self.at_once(6, lambda number: server.submit("s1", "t1", [ok("a", str(number))]))
        self.assertEqual(sorted(answer.status for answer in answers), [200] + [409] * 5, answers)
        self.assertEqual(gate.count, 2)

    def test_no_results_at_all_are_no_continuation(self):
        _, server = self.gated(asks_first("a"))
        server.say("s1", "t1")
        self.assert_refused(server.submit("s1", "t1", []), 400, "contract_violation", "REQ-10")
        self.assertEqual(server.submit("s1", "t1", ["a"]).text, "Told: a")

    def test_a_continuation_that_breaks_its_contract_leaves_the_set_alone(self):
        _, server = self.gated(asks_first("a"))
        server.say("s1", "t1")
        exact = tool_results("s1", "t1", ["a"])
        for wrong, rule in (({**exact, "Instruction": "And?"}, "REQ-21"), ({**exact, "Streaming": True}, "REQ-25"),
                            ({**exact, "AgentContextId": "default"}, "REQ-26"),
                            ({**exact, "ToolResults": [{"ToolCallId": "a", "ResultJson": "1"}]}, "TOOL-04"),
                            ({**exact, "ToolResults": [{"ToolCallId": "a", "ExecutionMs": 1}]}, "TOOL-05")):
            self.assert_refused(server.execute(wrong), 400, "contract_violation", rule)
        self.assertEqual(server.execute(exact).text, "Told: a")


class Mismatch(ServingTest):
    def test_fail_turn_ends_the_turn_at_the_first_mismatch(self):
        gate, server = self.gated(calling("a", "b"), "Fresh.", agent={"on_mismatch": "fail_turn"})
        server.say("s1", "t1")
        self.assert_refused(server.submit("s1", "t1", ["b", "a"]), 409, "tool_results_mismatch")
        self.assertEqual(server.state_of(), "failed")
        self.assert_refused(server.submit("s1", "t1", ["a", "b"]), 409, "tool_results_mismatch", "TOOL-13")
        self.assertEqual(gate.count, 1)
        self.assertEqual(server.say("s1", "t2").text, "Fresh.")


class Results(ServingTest):
    def test_the_model_gets_all_results_as_they_came_in_the_order_it_asked(self):
        gate, server = self.gated(asks_first("c", "a", "b"))
        server.say("s1", "t1")
        server.submit("s1", "t1", [ok("c", '{"x": [1, 2.50, "é"]}'), ok("a", "[]"), ok("b", '"text"')])
        self.assertEqual(gate.calls[1].tool_results, [("c", '{"x": [1, 2.50, "é"]}'), ("a", "[]"), ("b", '"text"')])
        asked = gate.calls[1].messages[-4]
        self.assertEqual([call["id"] for call in asked["tool_calls"]], ["c", "a", "b"])

    def test_a_failed_tool_is_a_valid_result(self):
        gate, server = self.gated(asks_first("a", "b"))
        server.say("s1", "t1")
        answer = server.submit("s1", "t1", [broken("a", "The file is gone."), ok("b")])
        self.assertEqual(answer.text, "Told: a, b")
        self.assertIn("The file is gone.", gate.calls[1].tool_results[0][1])

    def test_a_failed_tool_is_marked_as_a_failure_for_the_model(self):
        gate, server = self.gated(asks_first("a", "b"))
        server.say("s1", "t1")
        server.submit("s1", "t1", [broken("a", "The file is gone."), ok("b")])
        self.assertEqual(gate.calls[1].tool_results,
                         [("a", "Error: the tool call failed: The file is gone."), ("b", '{"ok":true}')])

    def test_a_result_that_is_no_json_is_passed_on_with_a_warning(self):
        gate, server = self.gated(asks_first("a"))
        server.say("s1", "t1")
        answer = server.submit("s1", "t1", [ok("a", "not { json")])
        self.assertIn("TOOL-06", json.dumps(answer.json["Warnings"]))
        self.assertEqual(gate.calls[1].tool_results, [("a", "not { json")])

    def test_several_rounds_are_one_turn(self):
        gate, server = self.gated(calling("a"), calling("b", "c"), "Done.")
        self.assertEqual(server.say("s1", "t1").calls, ["a"])
        self.assertEqual(server.submit("s1", "t1", ["a"]).calls, ["b", "c"])
        last = server.submit("s1", "t1", ["b", "c"])
        self.assertEqual((last.text, last.result["TurnId"]), ("Done.", "t1"))
        self.assertEqual(gate.calls[2].roles, ["system", "user", "assistant", "tool", "assistant", "tool", "tool"])
        usage = last.result["Usage"]
        self.assertEqual((usage["PromptTokens"], usage["CompletionTokens"]), (36, 9), "all three calls are counted")

    def test_the_same_id_in_two_rounds_is_no_trouble(self):
        _, server = self.gated(calling("a"), calling("a", why="again"), "Done.")
        server.say("s1", "t1")
        again = server.submit("s1", "t1", ["a"])
        self.assertEqual(again.result["Kind"], "client_tool_continuation")
        self.assertEqual(server.submit("s1", "t1", [ok(again.calls[0], '"second"')]).text, "Done.")

    def test_ids_that_the_model_doubled_or_forgot_are_made_whole(self):
        look = ("look", {"what": "x"})
        _, server = self.gated(Reply(calls=[("a", *look), ("a", "look", {"what": "y"}), ("", "look", {"what": "z"})]),
                               "Done.")
        answer = server.say("s1", "t1")
        self.assertEqual(len(set(answer.calls)), 3, answer)
        self.assert_keeps("invoke-result", answer.body)
        self.assertEqual(server.submit("s1", "t1", answer.calls).text, "Done.")

    def test_a_continuation_shows_only_what_the_contract_allows(self):
        _, server = self.gated(calling("a", text="Let me look."))
        answer = server.say("s1", "t1")
        self.assertLessEqual(set(answer.result), {"Kind", "SessionId", "TurnId", "ModeDisplayName", "ToolCalls",
                                                  "ToolContinuationMessage"})
        self.assertEqual(answer.result["ToolCalls"], [
            {"ToolCallId": "a", "Name": "look", "ArgumentsJson": answer.result["ToolCalls"][0]["ArgumentsJson"]}])
        self.assertEqual(json.loads(answer.result["ToolCalls"][0]["ArgumentsJson"]), {"what": "a"})


class Untrusted(ServingTest):
    """What the model asks for is checked before anybody is asked to run it (S16)."""

    def told_after(self, reply, *words):
        """The model's answer is not for the client; the model is told why, and goes on."""
        gate, server = self.gated(reply, "Sorry.")
        answer = server.say("s1", "t1")
        self.assertEqual(answer.text, "Sorry.")
        self.assertEqual(gate.count, 2)
        [(_, told)] = gate.calls[1].tool_results
        for word in words:
            self.assertIn(word, told)

    def test_an_unknown_tool_goes_back_to_the_model(self):
        self.told_after(Reply(calls=[("a", "format_disk", {})]), "format_disk")

    def test_a_name_that_is_no_name_goes_back_to_the_model(self):
        self.told_after(Reply(calls=[("a", "rm -rf /", {})]))

    def test_arguments_that_are_no_json_go_back_to_the_model(self):
        self.told_after(Reply(calls=[("a", "look", '{"what": ')]))

    def test_arguments_that_are_no_object_go_back_to_the_model(self):
        self.told_after(Reply(calls=[("a", "look", "[1]")]))

    def test_arguments_that_do_not_fit_go_back_to_the_model_with_the_place(self):
        self.told_after(Reply(calls=[("a", "look", {"what": 7})]), "what")

    def test_arguments_that_lack_something_go_back_to_the_model(self):
        self.told_after(Reply(calls=[("a", "look", {})]), "what")

    def test_of_mixed_calls_the_client_gets_its_own_and_the_model_all_in_order(self):
        gate, server = self.gated(Reply(calls=[("a", "nothing", {}), ("b", "look", {"what": "b"}),
                                               ("c", "look", {"what": 1}), ("d", "look", {"what": "d"})]), "Done.")
        self.assertEqual(server.say("s1", "t1").calls, ["b", "d"])
        self.assert_refused(server.submit("s1", "t1", ["a", "b", "c", "d"]), 409, "tool_results_mismatch")
        self.assertEqual(server.submit("s1", "t1", ["b", "d"]).text, "Done.")
        self.assertEqual([name for name, _ in gate.calls[1].tool_results], ["a", "b", "c", "d"])
        self.assertEqual(gate.calls[1].tool_results[1][1], '{"ok":true}')

    def test_ten_thousand_calls_end_cleanly(self):
        many = Reply(calls=[(f"c{number}", "look", {"what": str(number)}) for number in range(10_000)])
        _, server = self.gated(lambda call: "Enough." if call.tool_results else many)
        answer = server.say("s1", "t1")
        self.assertIn(answer.status, (200, 502), answer)
        if answer.status == 200 and answer.result["Kind"] != "final":
            self.assertLessEqual(len(answer.calls), 128)
            self.assertEqual(server.submit("s1", "t1", answer.calls).text, "Enough.")
        self.assertEqual(server.say("s2", "t1").status, answer.status)


    def test_fifty_megabytes_of_arguments_end_cleanly(self):
        huge = Reply(calls=[("a", "look", '{"what":"' + "x" * (50 << 20) + '"}')])
        _, server = self.gated(lambda call: huge if call.user == "Huge." else Reply("Fine."))
        answer = server.say("s1", "t1", "Huge.")
        self.assertIn(answer.status, (200, 502), answer)
        if answer.status == 502:
            self.assertEqual(len(answer.errors), 1)
        self.assertEqual(server.say("s2", "t1").text, "Fine.")


class LoopGuard(ServingTest):
    def test_the_same_call_for_the_third_time_is_suppressed_with_a_note_to_the_model(self):
        def stubborn(call):
            return Reply("I give up.") if call.number == 4 else Reply(calls=[(f"c{call.number}", "look", {"what": "x"})])

        gate, server = self.gated(stubborn)
        self.assertEqual(server.say("s1", "t1").calls, ["c1"])
        self.assertEqual(server.submit("s1", "t1", ["c1"]).calls, ["c2"])
        self.assertEqual(server.submit("s1", "t1", ["c2"]).text, "I give up.")
        self.assertEqual(gate.count, 4)
        [(name, note)] = gate.calls[3].tool_results
        self.assertEqual(name, "c3")
        self.assertNotEqual(note, '{"ok":true}')

    def test_other_arguments_are_another_call(self):
        def curious(call):
            return Reply("Seen.") if call.number == 5 else calling(f"c{call.number}")

        _, server = self.gated(curious)
        answer = server.say("s1", "t1")
        for _ in range(4):
            answer = server.submit("s1", "t1", answer.calls)
        self.assertEqual(answer.text, "Seen.")

    def test_the_order_and_space_of_arguments_do_not_make_another_call(self):
        spellings = ['{"what":"x","why":"y"}', '{ "why": "y", "what": "x" }', '{"what": "x", "why": "y"}']

        def stubborn(call):
            return Reply("Enough.") if call.number == 4 else Reply(
                calls=[(f"c{call.number}", "look", spellings[call.number - 1])])

        gate, server = self.gated(stubborn)
        server.say("s1", "t1")
        server.submit("s1", "t1", ["c1"])
        self.assertEqual(server.submit("s1", "t1", ["c2"]).text, "Enough.")
        self.assertEqual(gate.count, 4)

    def test_a_new_turn_counts_anew(self):
        gate, server = self.gated(lambda call: Reply("Seen.") if call.tool_results else Reply(
            calls=[("c", "look", {"what": "x"})]))
        for number in range(4):
            self.assertEqual(server.say("s1", f"t{number}", f"Look {number}.").calls, ["c"])
            self.assertEqual(server.submit("s1", f"t{number}", ["c"]).text, "Seen.")
        self.assertEqual(gate.count, 8)


class Rounds(ServingTest):
    def endless(self, call):
        return calling(f"c{call.number}")

    def test_a_turn_has_at_most_max_rounds_of_tools(self):
        gate, server = self.gated(self.endless, agent={"max_rounds": 3})
        answer = server.say("s1", "t1")
        for _ in range(2):
            answer = server.submit("s1", "t1", answer.calls)
            self.assertEqual(answer.result["Kind"], "client_tool_continuation")
        refused = server.submit("s1", "t1", answer.calls)
        self.assertEqual((refused.status, refused.code), (502, "max_rounds"), refused)
        self.assertEqual(server.state_of(), "failed")
        self.assertEqual(gate.count, 4)

    def test_eight_rounds_are_allowed_unless_it_is_said_otherwise(self):
        _, server = self.gated(self.endless)
        answer, rounds = server.say("s1", "t1"), 0
        while answer.status == 200:
            rounds += 1
            answer = server.submit("s1", "t1", answer.calls)
        self.assertEqual((rounds, answer.code), (8, "max_rounds"))

    def test_a_model_that_only_calls_unknown_tools_is_ended_too(self):
        gate, server = self.gated(lambda call: Reply(calls=[("a", f"tool_{call.number}", {})]), agent={"max_rounds": 3})
        answer = server.say("s1", "t1")
        self.assertEqual((answer.status, answer.code), (502, "max_rounds"))
        self.assertLessEqual(gate.count, 5)


class Deadline(ServingTest):
    def test_a_set_that_nobody_answers_in_time_is_expired(self):
        gate, server = self.gated(calling("a"), "Fresh.", turns={"tool_deadline": "300ms"})
        first = server.say("s1", "t1")
        self.until(lambda: server.state_of() == "expired", "expiry")

        self.assert_refused(server.submit("s1", "t1", ["a"]), 409, "turn_expired", "TOOL-13")
        self.assertEqual(server.say("s1", "t1").body, first.body, "the continuation it first got")
        self.assertEqual(server.say("s1", "t2").text, "Fresh.")
        self.assertEqual(gate.calls[1].roles, ["system", "user"], "an expired turn is left out")
        self.assertEqual(gate.count, 2)

    def test_whoever_follows_the_events_is_told_that_a_waiting_turn_has_ended(self):
        _, server = self.gated(calling("a"), turns={"tool_deadline": "300ms"})
        server.say("s1", "t1")
        with server.events("s1") as events:
            expired = events.until("turn.expired")[-1]
        self.assertEqual((expired.json["TurnId"], expired.json["ErrorCode"]), ("t1", "turn_expired"))

        _, server = self.gated(calling("a"))
        server.say("s1", "t1")
        with server.events("s1") as events:
            events.until("turn.awaiting_tools")
            server.post(turn_path("s1", "t1", "/cancel"))
            cancelled = events.until("turn.cancelled")[-1]
        self.assertEqual((cancelled.json["TurnId"], cancelled.json["ErrorCode"]), ("t1", "turn_cancelled"))

    def test_a_set_expires_at_its_deadline_though_the_server_was_down(self):
        gate = self.gate(calling("a"))
        server = self.server(configuration(gate, turns={"tool_deadline": "300ms"}))
        server.say("s1", "t1")
        server.restart()
        self.until(lambda: server.state_of() == "expired", "expiry")
        self.assert_refused(server.submit("s1", "t1", ["a"]), 409, "turn_expired")

    def test_a_submission_after_the_deadline_is_refused_even_before_anybody_looked(self):
        gate, server = self.gated(lambda call: Reply("Done.") if call.tool_results else calling("a"),
                                  turns={"tool_deadline": "1ms"})
        server.say("s1", "t1")
        self.until(lambda: server.state_of() == "expired", "expiry")
        self.assert_refused(server.submit("s1", "t1", ["a"]), 409, "turn_expired")
        self.assertEqual(gate.count, 1)

    def test_each_round_has_the_whole_deadline(self):
        _, server = self.gated(lambda call: calling(f"c{call.number}") if call.number < 3 else "Done.",
                               turns={"tool_deadline": "1h"})
        server.say("s1", "t1")
        server.submit("s1", "t1", ["c1"])
        self.assertEqual(server.state_of(), "awaiting_tools")
        self.assertEqual(server.submit("s1", "t1", ["c2"]).text, "Done.")

    def test_a_waiting_turn_can_be_cancelled(self):
        gate, server = self.gated(calling("a"), "Fresh.")
        server.say("s1", "t1")
        cancelled = server.post(turn_path("s1", "t1", "/cancel"))
        self.assertEqual((cancelled.status, cancelled.json["State"]), (200, "cancelled"))
        self.assert_refused(server.submit("s1", "t1", ["a"]), 409, "turn_cancelled")
        self.assertEqual(server.say("s1", "t2").text, "Fresh.")
        self.assertEqual(gate.count, 2)


class Declared(ServingTest):
    def test_the_model_is_told_of_the_tools_of_its_agent(self):
        gate, server = self.gated()
        server.say("s1", "t1")
        [tool] = gate.calls[0].json["tools"]
        self.assertEqual(tool["function"]["name"], "look")
        self.assertEqual(tool["function"]["description"], LOOK["description"])
        self.assertEqual(tool["function"]["parameters"], LOOK["parameters"])

    def test_an_agent_without_tools_declares_none(self):
        gate, server = self.gated(agent={"tools": []})
        server.say("s1", "t1")
        self.assertEqual(gate.calls[0].tools, [])


if __name__ == "__main__":
    unittest.main()
