"""Whole-binary tests of S1: kill -9 at any instant; what was answered is answered again, what was begun goes on."""
import http.client
import sqlite3
import unittest

from gate import HOLD, Reply, calling
from serving import DISK_FAULTS, EXECUTE, Server, ServingTest, configuration, tool_results, user_turn



def answer_or_lost(ask, *arguments, **named):
    try:
        return ask(*arguments, **named)
    except (OSError, http.client.HTTPException):
        return None


def assert_clean(test, server):
    """The database of a server that is down opens and is whole."""
    files = server.databases()
    test.assertTrue(files)
    for file in files:
        with sqlite3.connect(file) as database:
            test.assertEqual(database.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
        database.close()


class Killed(ServingTest):
    def test_while_it_waits_for_the_backend_the_turn_is_dispatched_again(self):
        gate, server = self.gated(held=True)
        running = self.later(answer_or_lost, server.say, "s1", "t1", "One.")
        gate.wait_for_calls(1)

        server.kill9()
        self.assertIsNone(running.result())
        assert_clean(self, server)
        server.start()
        self.assertEqual(gate.wait_for_calls(2).user, "One.")
        gate.open()
        self.until(lambda: server.state_of() == "completed", "the end of the turn")

        answer = server.say("s1", "t1", "One.")
        self.assertEqual((answer.text, answer.result["TurnId"]), ("You said: One.", "t1"))
        self.assertEqual(gate.count, 2)

    def test_ids_of_events_go_on_counting(self):
        gate, server = self.gated(held=True)
        running = self.later(answer_or_lost, server.say, "s1", "t1", "One.")
        gate.wait_for_calls(1)
        with server.events("s1") as events:
            seen = [int(event.id) for event in events.until("attempt.started")]
        server.restart()
        self.assertIsNone(running.result())
        gate.open()
        with server.events("s1", seen[-1]) as events:
            after = events.until("turn.completed")

        self.assertEqual([event.event for event in after],
                         ["turn.recovered", "attempt.started", "attempt.completed", "turn.completed"])
        ids = seen + [int(event.id) for event in after]
        self.assertEqual(ids, sorted(set(ids)))

    def test_a_repeat_joins_the_turn_that_was_dispatched_again(self):
        gate, server = self.gated(held=True)
        running = self.later(answer_or_lost, server.say, "s1", "t1", "One.")
        gate.wait_for_calls(1)
        server.restart()
        self.assertIsNone(running.result())
        gate.wait_for_calls(2)
        together = [self.later(server.say, "s1", "t1", "One.") for _ in range(4)]
        gate.open()
        answers = [joined.result() for joined in together]
        self.assertEqual(len({(answer.status, answer.body) for answer in answers}), 1)
        self.assertEqual((answers[0].status, gate.count), (200, 2))

    def test_many_sessions_that_ran_all_go_on(self):
        gate, server = self.gated(held=True)
        lost = [self.later(answer_or_lost, server.say, f"s{n}", "t1", f"Say {n}.") for n in range(12)]
        gate.wait_for_calls(12)
        server.restart()
        self.assertEqual([running.result() for running in lost], [None] * 12)
        gate.open()
        answers = self.at_once(12, lambda n: server.say(f"s{n}", "t1", f"Say {n}."))
        self.assertEqual([answer.text for answer in answers], [f"You said: Say {n}." for n in range(12)])
        self.assertEqual(gate.count, 24)

    def test_a_crash_twice_is_no_worse_than_once(self):
        gate, server = self.gated(held=True)
        running = self.later(answer_or_lost, server.say, "s1", "t1", "One.")
        for times in (1, 2):
            gate.wait_for_calls(times)
            server.restart()
        self.assertIsNone(running.result())
        gate.wait_for_calls(3)
        gate.open()
        self.assertEqual(server.say("s1", "t1", "One.").text, "You said: One.")
        self.assertEqual(gate.count, 3)

    def test_while_deltas_leave_the_turn_fails_as_interrupted(self):
        gate, server = self.gated(Reply("One ", HOLD, "two."), "Afresh.")
        with server.say_streaming("s1", "t1") as stream:
            seen = stream.until("output.delta")
            server.kill9()
        server.start()

        self.until(lambda: server.state_of() == "failed", "the failure")
        with server.follow("s1", "t1") as replay:
            result = list(replay)[-1]
        error = result.json["Errors"][0]
        self.assertEqual((result.event, error["ErrorCode"]), ("turn.result", "server_error"))
        self.assertIn("interrupted", error["Message"])
        self.assertIs(error["FatalError"], False, "it may be tried again")
        self.assertEqual(gate.count, 1, "it is not dispatched again by itself")

        with server.follow("s1", "t1", seen[-1].id) as resumed:  # As an EventSource would.
            self.assertEqual((resumed.status, list(resumed)[-1].data), (200, result.data))

        again = server.say("s1", "t1")
        self.assertEqual((again.text, again.result["TurnId"]), ("Afresh.", "t1"))
        self.assertEqual(gate.count, 2)

    def test_a_streamed_turn_whose_deltas_had_not_begun_is_dispatched_again(self):
        gate, server = self.gated(held=True)
        with server.say_streaming("s1", "t1") as stream:
            self.assertEqual(stream.next().event, "turn.started")
            server.kill9()
        server.start()
        gate.wait_for_calls(2)
        gate.open()
        self.assertEqual(server.say("s1", "t1").text, "You said: Hello.")
        self.assertEqual(gate.count, 2)

    def test_while_it_waits_for_tools_the_set_is_kept(self):
        gate, server = self.gated(calling("a", "b"), "Done.")
        first = server.say("s1", "t1")
        server.restart()
        self.assertEqual(server.state_of(), "awaiting_tools")
        self.assertEqual(server.say("s1", "t1").body, first.body)
        self.assertEqual(server.submit("s1", "t1", ["a", "b"]).text, "Done.")
        self.assertEqual(gate.calls[1].roles, ["system", "user", "assistant", "tool", "tool"])
        self.assertEqual(gate.count, 2)

    def test_while_the_round_after_tools_runs_it_is_dispatched_again_with_the_results(self):
        gate, server = self.gated(calling("a"), Reply(HOLD, "Done."), "Done.")
        first = server.say("s1", "t1")
        running = self.later(answer_or_lost, server.submit, "s1", "t1", ["a"])
        gate.wait_for_calls(2)
        server.restart()
        self.assertIsNone(running.result())
        gate.wait_for_calls(3)
        final = server.submit("s1", "t1", ["a"])
        self.assertEqual(final.text, "Done.")
        self.assertEqual(gate.calls[2].tool_results, [("a", '{"ok":true}')])
        self.assertEqual(server.say("s1", "t1").body, first.body)
        self.assertEqual(gate.count, 3)

    def test_a_turn_that_is_dispatched_again_keeps_its_warnings(self):
        gate, server = self.gated(held=True)
        running = self.later(answer_or_lost, server.say, "s1", "t1", Surprise=1)
        gate.wait_for_calls(1)
        server.restart()
        self.assertIsNone(running.result())
        gate.wait_for_calls(2)
        gate.open()
        again = server.say("s1", "t1", Surprise=1)
        self.assertEqual((again.status, gate.count), (200, 2))
        self.assertEqual([(one["ErrorCode"], one["Details"]) for one in again.json["Warnings"]],
                         [("contract_warning", "REQ-15")])
        self.assertEqual(server.say("s2", "t1", Surprise=1).json["Warnings"], again.json["Warnings"])

    def test_a_turn_whose_request_cannot_be_read_fails_and_the_session_goes_on(self):
        gate, server = self.gated(held=True)
        running = self.later(answer_or_lost, server.say, "s1", "t1")
        gate.wait_for_calls(1)
        server.kill9()
        self.assertIsNone(running.result())
        with sqlite3.connect(server.databases()[0]) as database:
            database.execute("UPDATE requests SET body = '{'")
        database.close()
        server.start()
        gate.open()

        self.until(lambda: server.state_of() == "failed", "the failure")
        self.assert_refused(server.say("s1", "t1"), 500, "internal", "journal", "new turn")
        with server.events("s1") as events:
            kinds = [event.event for event in events.until("turn.failed")]
        self.assertEqual(kinds[-3:], ["turn.recovered", "request.unreadable", "turn.failed"])
        self.assertIn("turn t1 of session s1", server.errors())
        self.assertEqual(server.say("s1", "t2", "Go on.").text, "You said: Go on.")
        server.restart()
        self.assertEqual((server.state_of("s1", "t1"), gate.count), ("failed", 2))

    def test_a_cancelled_turn_stays_cancelled(self):
        gate, server = self.gated(held=True)
        running = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)
        server.post("/v1/sessions/s1/turns/t1/cancel")
        first = running.result()
        server.restart()
        self.assertEqual((server.state_of(), server.say("s1", "t1").body), ("cancelled", first.body))
        self.assertEqual(gate.count, 1)


class Answered(ServingTest):
    def test_every_answered_turn_answers_again_byte_for_byte(self):
        def reply(call):
            if call.tool_results:
                return Reply(f"Told of {len(call.tool_results)}.")
            if call.user.startswith("Look"):
                return calling("a", "b")
            if call.user.startswith("Fail"):
                return Reply(error=(400, {"error": {"message": "Not like this."}}))
            return Reply(f"You said: {call.user}", " Grüße. " * 50)

        gate, server = self.gated(reply)
        requests = []
        for session in ("s1", "s2", "s/3"):
            requests += [user_turn(session, "t1", "One."), user_turn(session, "t2", "Look."),
                         tool_results(session, "t2", ["a", "b"]), user_turn(session, "t3", "Fail."),
                         user_turn(session, "t4", "Two.", Streaming=True),
                         {"sessionId": session, "turnId": "t5", "instruction": "camel"}]
        told = [self.told(server, request) for request in requests]
        calls = gate.count
        for _ in range(3):
            server.restart()
            self.assertEqual([self.told(server, request) for request in requests], told)
        self.assertEqual(gate.count, calls)
        server.kill9()
        assert_clean(self, server)

    def told(self, server, request):
        """Status and bytes; of a stream, its events."""
        if request.get("Streaming"):
            with server.stream("POST", "/v1/agent/execute", request) as stream:
                return stream.status, [(event.event, event.id, event.data) for event in stream]
        answer = server.execute(request)
        return answer.status, answer.body

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_a_crash_before_any_of_the_writes_of_a_turn_loses_nothing(self):
        """The disk kills the server before its first write, its second, … until a turn needs no more of them."""
        gate = self.gate()
        server = self.server(configuration(gate), faults=True)
        told = {}
        for operation in ("write", "fsync"):
            for skip in range(40):
                name = f"{operation}{skip}"
                server.disk(f"KILL {operation} {skip}")
                answer = answer_or_lost(server.say, "s1", name, f"Say {name}.")
                if answer is not None:
                    told[name] = answer.body
                alive = server.process.poll() is None
                server.disk()
                if alive and answer is not None and skip > 3:
                    break
                server.restart()
                answer = server.say("s1", name, f"Say {name}.")
                self.assertEqual(answer.text, f"You said: Say {name}.")
                self.assertEqual(told.setdefault(name, answer.body), answer.body)
            else:
                self.fail("a turn takes more than forty operations")
        server.restart()
        for name, body in told.items():
            self.assertEqual(server.say("s1", name, f"Say {name}.").body, body)
        turns = [turn["TurnId"] for turn in server.get("/v1/sessions/s1/turns?limit=500").json["Turns"]]
        self.assertEqual(turns, list(told))


class TwoProcesses(ServingTest):
    def both(self, *replies, held=False, **members):
        gate = self.gate(*replies, held=held)
        config = configuration(gate, **members)
        one = self.server(config)
        two = Server(self.folder, config, name="second", state=one.state)
        self.servers.append(two)
        return gate, one, two

    def test_what_one_runs_the_other_does_not_take(self):
        gate, one, two = self.both(held=True)
        running = self.later(one.say, "s1", "t1")
        gate.wait_for_calls(1)
        two.start()
        self.assertIn(two.state_of(), ("accepted", "running"))
        gate.open()
        first = running.result()
        self.assertEqual(first.status, 200)
        self.assertEqual(two.say("s1", "t1").body, first.body)
        self.assertEqual(gate.count, 1)

    def test_a_repeat_at_the_other_gets_the_answer_of_the_one_that_runs(self):
        gate, one, two = self.both(held=True)
        two.start()
        running = self.later(one.say, "s1", "t1")
        gate.wait_for_calls(1)
        joined = self.later(two.say, "s1", "t1")
        self.assert_refused(two.say("s1", "t2", "Other."), 409, "turn_in_progress")
        gate.open()
        self.assertEqual(joined.result().body, running.result().body)
        self.assertEqual(gate.count, 1)

    def assert_head_at_once_no_connection_kept_and_the_result(self, ask):
        most = 4
        gate, one, two = self.both(held=True, http={"max_connections": most})
        two.start()
        running = self.later(one.say, "s1", "t1")
        gate.wait_for_calls(1)

        def followed():
            stream = answer_or_lost(ask, two)
            return stream if stream and stream.status == 200 else None

        for _ in range(3):
            streams = [self.until(followed, "a free connection") for _ in range(most)]
            for stream in streams:
                stream.reset()
        with self.until(followed, "a free connection") as stream:
            gate.open()
            events = list(stream)
        self.assertEqual([event.event for event in events], ["turn.started", "turn.result"])
        self.assertEqual(events[-1].data.encode(), running.result().body)
        self.assertEqual(gate.count, 1)

    def test_followers_at_the_other_get_the_head_at_once_keep_no_connection_and_get_the_result(self):
        self.assert_head_at_once_no_connection_kept_and_the_result(lambda two: two.follow("s1", "t1"))

    def test_streamed_repeats_at_the_other_get_the_head_at_once_keep_no_connection_and_get_the_result(self):
        self.assert_head_at_once_no_connection_kept_and_the_result(lambda two: two.say_streaming("s1", "t1"))

    def test_a_repeat_without_ids_at_the_other_gets_the_answer_of_the_one_that_runs(self):
        gate, one, two = self.both(held=True, sessions={"initial": True})
        two.start()
        running = self.later(one.execute, {"Instruction": "Hello."}, key="k1")
        gate.wait_for_calls(1)
        with two.stream("POST", EXECUTE, {"Instruction": "Hello.", "Streaming": True}, {"Idempotency-Key": "k1"}) as stream:
            gate.open()
            events = list(stream)
        self.assertEqual(events[-1].data.encode(), running.result().body)
        self.assertEqual(gate.count, 1)

    def test_a_repeat_at_the_other_gets_the_failure_of_the_one_that_runs_and_no_second_attempt(self):
        gate, one, two = self.both(Reply(HOLD, error=(500, {"error": {"message": "Broken."}})), "A second attempt.")
        two.start()
        running = self.later(one.say, "s1", "t1")
        gate.wait_for_calls(1)
        with two.say_streaming("s1", "t1") as stream:
            gate.open()
            events = list(stream)
        failure = running.result()
        self.assertEqual(failure.status, 502)
        self.assertEqual(events[-1].data.encode(), failure.body)
        self.assertEqual(gate.count, 1)

    def test_the_same_request_at_both_at_once_is_one_call(self):
        gate, one, two = self.both()
        two.start()
        for number in range(15):
            answers = self.at_once(8, lambda place, number=number: (one, two)[place % 2].say("s1", f"t{number}"))
            self.assertEqual(len({(answer.status, answer.body) for answer in answers}), 1, answers)
            self.assertEqual((answers[0].status, gate.count), (200, number + 1))

    def test_tool_results_at_both_at_once_are_taken_once(self):
        gate, one, two = self.both(lambda call: "Done." if call.tool_results else calling("a"))
        two.start()
        for number in range(10):
            one.say("s1", f"t{number}", f"Look {number}.")
            answers = self.at_once(6, lambda place, number=number: (one, two)[place % 2].submit("s1", f"t{number}", ["a"]))
            self.assertEqual(len({(answer.status, answer.body) for answer in answers}), 1, answers)
            self.assertEqual((answers[0].status, gate.count), (200, 2 * number + 2))

    def test_who_waits_at_the_other_when_the_one_dies_gets_the_answer_all_of_them(self):
        gate, one, two = self.both(held=True)
        two.start()
        lost = self.later(answer_or_lost, one.say, "s1", "t1")
        gate.wait_for_calls(1)
        waiting = [self.later(two.say, "s1", "t1") for _ in range(3)]
        streamed = self.later(lambda: list(two.say_streaming("s1", "t1")))
        one.kill9()
        self.assertIsNone(lost.result())
        gate.wait_for_calls(2)
        gate.open()
        answers = [joined.result() for joined in waiting]
        self.assertEqual(len({(answer.status, answer.body) for answer in answers}), 1)
        self.assertEqual((answers[0].status, gate.count), (200, 2))
        self.assertEqual(streamed.result()[-1].data.encode(), answers[0].body)

    def test_what_a_dead_one_left_the_next_one_takes(self):
        gate, one, two = self.both(held=True)
        lost = self.later(answer_or_lost, one.say, "s1", "t1")
        gate.wait_for_calls(1)
        one.kill9()
        self.assertIsNone(lost.result())
        two.start()
        gate.wait_for_calls(2)
        gate.open()
        self.assertEqual(two.say("s1", "t1").status, 200)
        self.assertEqual(gate.count, 2)

    def test_who_repeats_at_the_one_that_lives_gets_what_the_dead_one_began(self):
        gate, one, two = self.both(held=True)
        two.start()
        lost = self.later(answer_or_lost, one.say, "s1", "t1")
        gate.wait_for_calls(1)
        joined = self.later(two.say, "s1", "t1")
        one.kill9()
        self.assertIsNone(lost.result())
        gate.wait_for_calls(2)
        gate.open()
        self.assertEqual(joined.result().status, 200)
        self.assertEqual(two.say("s1", "t1").body, joined.result().body)
        self.assertEqual(gate.count, 2)

    def streaming_and_killed(self, *replies):
        """(gate, the one that lives): the other died while the deltas of s1/t1 left."""
        gate, one, two = self.both(Reply("One ", HOLD, "two."), *replies)
        two.start()
        with one.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
            one.kill9()
        return gate, two

    def assert_interrupted(self, answer):
        self.assert_refused(answer, 502, "server_error", "interrupted")
        self.assertIs(answer.error["FatalError"], False, "it may be tried again")

    def test_who_waits_for_a_stream_of_a_dead_one_is_answered_and_the_session_goes_on(self):
        gate, one, two = self.both(Reply("One ", HOLD, "two."), "Afresh.", "Next.")
        two.start()
        with one.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
            waiting = [self.later(two.say, "s1", "t1") for _ in range(3)]
            one.kill9()
        for answer in [joined.result() for joined in waiting]:  # The failure, or what its repetition gets.
            if answer.status != 200:
                self.assert_interrupted(answer)
        self.assertEqual(two.say("s1", "t1").text, "Afresh.")
        self.assertEqual(two.say("s1", "t2", "Go on.").text, "Next.")
        self.assertEqual(gate.count, 3)

    def test_who_repeats_a_stream_of_a_dead_one_is_answered(self):
        gate, two = self.streaming_and_killed("Afresh.")
        answer = two.say("s1", "t1")
        if answer.status != 200:  # Otherwise the turn had been recovered already, and this repeats it.
            self.assert_interrupted(answer)
            answer = two.say("s1", "t1")
        self.assertEqual((answer.text, two.state_of(), gate.count), ("Afresh.", "completed", 2))

    def test_a_stream_of_a_dead_one_does_not_keep_its_session(self):
        gate, two = self.streaming_and_killed("Next.")
        self.assertEqual(two.say("s1", "t2", "Go on.").text, "Next.")
        self.assertEqual((two.state_of("s1", "t1"), gate.count), ("failed", 2))

    def test_a_turn_of_a_dead_one_can_be_cancelled(self):
        gate, one, two = self.both(held=True)
        two.start()
        lost = self.later(answer_or_lost, one.say, "s1", "t1")
        gate.wait_for_calls(1)
        one.kill9()
        self.assertIsNone(lost.result())
        answer = two.post("/v1/sessions/s1/turns/t1/cancel")
        self.assertEqual((answer.status, answer.json.get("State")), (200, "cancelled"), answer)

    def test_a_session_with_a_turn_of_a_dead_one_can_be_deleted(self):
        _, two = self.streaming_and_killed()
        self.until(lambda: two.ask("DELETE", "/v1/sessions/s1").status == 204, "the end of the session")
        self.assertEqual(two.get("/v1/sessions/s1").status, 404)

    def test_a_turn_of_a_dead_one_is_recovered_without_a_request(self):
        gate, one, two = self.both(held=True)
        two.start()
        lost = self.later(answer_or_lost, one.say, "s1", "t1")
        gate.wait_for_calls(1)
        one.kill9()
        self.assertIsNone(lost.result())
        gate.wait_for_calls(2)
        gate.open()
        self.until(lambda: two.state_of() == "completed", "the end of the turn")

    def test_they_serve_one_session_in_turns(self):
        gate, one, two = self.both(lambda call: f"{len(call.messages)} messages.")
        two.start()
        for number in range(6):
            server = (one, two)[number % 2]
            self.assertEqual(server.say("s1", f"t{number}", f"Say {number}.").text, f"{2 * number + 2} messages.")
        self.assertEqual(gate.count, 6)


if __name__ == "__main__":
    unittest.main()
