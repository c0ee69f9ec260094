"""Whole-binary tests of streams: what comes in which order, replay from every event, readers that are slow or gone."""
import json
import socket
import struct
import threading
import unittest

from gate import HOLD, Reply, calling
from serving import EXECUTE, ServingTest, as_bytes, configuration, tool_results, turn_path, user_turn
from treaty_binary import SANITIZED

FATAL = Reply(error=(400, {"error": {"message": "Not like this.", "type": "invalid_request_error"}}))
NDJSON = "application/x-ndjson"


def told(events):
    return [(event.event, event.id, event.data) for event in events]


class Order(ServingTest):
    def test_started_deltas_and_one_result_in_this_order(self):
        gate, server = self.gated(Reply("One ", "two ", "three."))

        with server.say_streaming("s1", "t1") as stream:
            self.assertEqual((stream.status, stream.headers["content-type"].split(";")[0]), (200, "text/event-stream"))
            events = list(stream)

        kinds = [event.event for event in events]
        self.assertEqual((kinds[0], kinds[-1], set(kinds[1:-1])), ("turn.started", "turn.result", {"output.delta"}))
        self.assertEqual(events[0].json, {"SessionId": "s1", "TurnId": "t1", "ModeDisplayName": "General"})
        deltas = [event.json for event in events[1:-1]]
        self.assertEqual({tuple(delta) for delta in deltas}, {("DeltaText",)})
        self.assertEqual("".join(delta["DeltaText"] for delta in deltas), "One two three.")
        self.assertEqual(events[-1].json["Result"]["PrimaryOutputText"], "One two three.")
        ids = [int(event.id) for event in events]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(gate.count, 1)

    def test_the_result_is_the_same_bytes_that_the_unstreamed_answer_is(self):
        _, server = self.gated(Reply("Grüße, ", "\"quoted\"\n", "日本 \\ 🚲"))
        with server.say_streaming("s1", "t1") as stream:
            result = list(stream)[-1]
        self.assertEqual(server.say("s1", "t1").body, result.data.encode())
        self.assert_keeps("invoke-result", result.data)

    def test_text_that_looks_like_events_stays_text(self):
        nasty = "a\n\nevent: turn.result\ndata: {}\n\nid: 99\r\n: comment\n"
        _, server = self.gated(Reply("Begin ", nasty, "\rend"))
        with server.say_streaming("s1", "t1") as stream:
            events = list(stream)
        self.assertEqual([e.event for e in events].count("turn.result"), 1)
        self.assertEqual("".join(e.json["DeltaText"] for e in events[1:-1]), "Begin " + nasty + "\rend")

    def test_deltas_leave_as_they_come(self):
        gate, server = self.gated(Reply("One ", HOLD, "two."))
        with server.say_streaming("s1", "t1") as stream:
            first = stream.until("output.delta")
            self.assertEqual([event.event for event in first], ["turn.started", "output.delta"])
            self.assertEqual(first[-1].json["DeltaText"], "One ")
            self.assertIn(server.state_of(), ("accepted", "running"))
            gate.open()
            self.assertEqual(list(stream)[-1].json["Result"]["PrimaryOutputText"], "One two.")

    def test_the_dialect_is_that_of_the_request(self):
        _, server = self.gated(Reply("One."))
        body = {"sessionId": "s1", "turnId": "t1", "instruction": "Hello.", "streaming": True}
        with server.stream("POST", EXECUTE, body) as stream:
            events = list(stream)
        self.assertEqual(events[0].json, {"sessionId": "s1", "turnId": "t1", "modeDisplayName": "General"})
        self.assertEqual(events[1].json, {"deltaText": "One."})
        self.assertEqual(events[-1].json["result"]["primaryOutputText"], "One.")

    def test_the_result_of_a_stream_may_be_a_continuation(self):
        _, server = self.gated(calling("a", text="Let me look."), "Done.")
        with server.say_streaming("s1", "t1") as stream:
            result = list(stream)[-1].json
        self.assertEqual(result["Result"]["Kind"], "client_tool_continuation")
        self.assertEqual(server.submit("s1", "t1", ["a"]).text, "Done.")

    def test_a_scripted_agent_streams_too(self):
        self.write("script.yaml", "- text: [One, ' two', ' three.']\n")
        server = self.server(configuration(agent={"backends": [{"script": str(self.folder / "script.yaml")}]}))
        with server.say_streaming("s1", "t1") as stream:
            events = list(stream)
        self.assertEqual([e.json["DeltaText"] for e in events[1:-1]], ["One", " two", " three."])


class Lines(ServingTest):
    """application/x-ndjson, for clients that ask for it."""

    def test_partial_lines_then_one_final(self):
        _, server = self.gated(Reply("One ", "two."))
        with server.say_streaming("s1", "t1", accept=NDJSON) as stream:
            self.assertEqual((stream.status, stream.headers["content-type"].split(";")[0]), (200, NDJSON))
            lines = [line for line in stream.lines() if line]
        objects = [json.loads(line) for line in lines]

        self.assertEqual([o["kind"] for o in objects], ["partial"] * (len(objects) - 1) + ["final"])
        self.assertEqual("".join(o["deltaText"] for o in objects[:-1]), "One two.")
        indices = [o["index"] for o in objects[:-1]]
        self.assertEqual(indices, list(range(indices[0], indices[0] + len(indices))))
        for partial in objects[:-1]:
            self.assertNotIn("final", partial)
        self.assertEqual(objects[-1]["final"]["Result"]["PrimaryOutputText"], "One two.")
        self.assertIn(server.say("s1", "t1").body.decode(), lines[-1], "the same bytes")

    def test_a_replay_can_be_asked_for_in_lines_too(self):
        _, server = self.gated(Reply("One ", "two."))
        body = server.say("s1", "t1").body
        with server.follow("s1", "t1", accept=NDJSON) as stream:
            objects = stream.objects()
        self.assertEqual(objects[-1]["final"], json.loads(body))

    def test_the_index_counts_the_deltas_of_the_turn_over_its_rounds(self):
        _, server = self.gated(Reply("One ", "two.", calls=[("a", "look", {"what": "a"})]), Reply("Three ", "four."))
        with server.say_streaming("s1", "t1", accept=NDJSON) as stream:
            first = stream.objects()
        body = tool_results("s1", "t1", ["a"])
        with server.stream("POST", EXECUTE, body, {"Accept": NDJSON}) as stream:
            second = stream.objects()

        deltas = [o for o in first + second if o["kind"] == "partial"]
        self.assertGreaterEqual(len(deltas), 2)
        self.assertEqual([o["index"] for o in deltas], list(range(len(deltas))))
        self.assertEqual([first[-1]["index"], second[-1]["index"]], [len(first) - 1, len(deltas)])
        with server.stream("POST", EXECUTE, body, {"Accept": NDJSON}) as stream:
            self.assertEqual(stream.objects(), second, "the same request once more")

    def test_the_index_goes_on_where_a_stream_is_resumed(self):
        gate, server = self.gated(Reply("One ", HOLD, "two ", HOLD, "three."))
        with server.say_streaming("s1", "t1", accept=NDJSON) as stream:
            lines = stream.lines()
            seen = [json.loads(next(lines))]
            gate.release()
            seen.append(json.loads(next(lines)))
        with server.follow("s1", "t1", last_id=3, accept=NDJSON) as resumed:
            gate.open()
            rest = resumed.objects()

        self.assertEqual([(o["deltaText"], o["index"]) for o in seen], [("One ", 0), ("two ", 1)])
        self.assertEqual([o["index"] for o in rest], [2, 3])
        for restarted in (False, True):
            if restarted:
                server.restart()
            for place, last_id in enumerate((1, 2, 3, 4)):
                with server.follow("s1", "t1", last_id, accept=NDJSON) as replay:
                    self.assertEqual(replay.objects(), (seen + rest)[place:])

    def test_a_failure_after_the_first_delta_is_the_final_line(self):
        _, server = self.gated(Reply("One ", HOLD, cut=True))
        with server.say_streaming("s1", "t1", accept=NDJSON) as stream:
            self.gates[0].open()
            objects = stream.objects()
        self.assertEqual(objects[-1]["final"]["Errors"][0]["ErrorCode"], "server_error")


class Replay(ServingTest):
    PIECES = ("One ", "two ", "three ", "four.")

    def whole(self, server, **names):
        with server.say_streaming(**names) as stream:
            return told(stream)

    def assert_replays(self, server, session, turn, events):
        """From every event id, 0 included: what came after it, the same bytes; after the last one: 204."""
        for place in range(len(events) + 1):
            last = 0 if place == 0 else events[place - 1][1]
            with server.follow(session, turn, last) as stream:
                if place == len(events):
                    self.assertEqual((stream.status, stream.rest()), (204, b""))
                else:
                    self.assertEqual(stream.status, 200)
                    self.assertEqual(told(stream), events[place:])

    def test_from_every_event_after_the_turn_and_after_a_restart(self):
        gate, server = self.gated(Reply(*self.PIECES))
        events = self.whole(server, session="s1", turn="t1")
        self.assertGreaterEqual(len(events), 3)

        self.assert_replays(server, "s1", "t1", events)
        server.restart()
        self.assert_replays(server, "s1", "t1", events)

        self.assertEqual(gate.count, 1)

    def test_from_every_event_during_the_turn(self):
        gate, server = self.gated(Reply("One ", HOLD, "two ", HOLD, "three."))
        with server.say_streaming("s1", "t1") as stream:
            seen = told(stream.until("output.delta"))
            followers = [server.follow("s1", "t1", last) for last in [0] + [event[1] for event in seen]]
            gate.release()
            seen += told(stream.until("output.delta"))
            followers += [server.follow("s1", "t1", last) for last in [0] + [event[1] for event in seen]]
            gate.open()
            seen += told(stream)
        self.assertEqual(len(followers), 7)
        for place, follower in zip([0, 1, 2, 0, 1, 2, 3], followers):
            with follower:
                self.assertEqual(told(follower), seen[place:])
        self.assertEqual(gate.count, 1)

    def test_without_an_id_everything_is_told(self):
        _, server = self.gated(Reply(*self.PIECES))
        events = self.whole(server, session="s1", turn="t1")
        with server.follow("s1", "t1") as stream:
            self.assertEqual(told(stream), events)

    def test_ids_beyond_the_last_have_nothing_after_them(self):
        _, server = self.gated(Reply(*self.PIECES))
        events = self.whole(server, session="s1", turn="t1")
        for last in (int(events[-1][1]) + 1, 10**15):
            with server.follow("s1", "t1", last) as stream:
                self.assertEqual(stream.status, 204)

    def test_an_id_that_is_no_number_is_refused(self):
        _, server = self.gated()
        server.say("s1", "t1")
        for last in ("x", "-1", "1.5", "99999999999999999999999"):
            answer = server.get(turn_path("s1", "t1", "/stream"), {"Last-Event-ID": last})
            self.assertIn(answer.status, (204, 400), last)

    def test_a_turn_that_was_not_streamed_can_be_followed(self):
        gate, server = self.gated(Reply("One ", HOLD, "two."))
        running = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)
        with server.follow("s1", "t1") as stream:
            gate.open()
            events = list(stream)
        self.assertEqual(events[-1].data.encode(), running.result().body)
        with server.follow("s1", "t1") as stream:
            self.assertEqual(list(stream)[-1].data.encode(), running.result().body)

    def test_a_repeated_streaming_request_is_a_replay(self):
        gate, server = self.gated(Reply(*self.PIECES))
        events = self.whole(server, session="s1", turn="t1")
        self.assertEqual(self.whole(server, session="s1", turn="t1"), events)
        self.assertEqual(gate.count, 1)

    def test_rounds_of_tools_go_on_counting(self):
        _, server = self.gated(calling("a", text="Looking."), Reply("Do", "ne."))
        first = self.whole(server, session="s1", turn="t1")
        done = server.submit("s1", "t1", ["a"])

        with server.follow("s1", "t1") as stream:
            second = told(stream)
        self.assertEqual(second[0][0], "turn.started")
        self.assertEqual(second[-1][2].encode(), done.body)
        self.assertGreater(int(second[0][1]), int(first[-1][1]))
        with server.follow("s1", "t1", first[-1][1]) as stream:
            self.assertEqual(told(stream), second)
        with server.follow("s1", "t1", first[0][1]) as stream:
            self.assertEqual(told(stream)[:len(first) - 1], first[1:])
        with server.follow("s1", "t1", second[-1][1]) as stream:
            self.assertEqual(stream.status, 204)

    def test_the_answer_after_tools_comes_in_pieces_when_it_is_asked_for(self):
        gate, server = self.gated(calling("a", text="Looking."), Reply("Do", HOLD, "ne."))
        self.whole(server, session="s1", turn="t1")

        with server.stream("POST", EXECUTE, tool_results("s1", "t1", ["a"]),
                           {"Accept": "text/event-stream"}) as stream:
            started, first = stream.next(), stream.next()
            gate.open()
            rest = told(stream)
        self.assertEqual((started.event, first.event, json.loads(first.data)["DeltaText"]),
                         ("turn.started", "output.delta", "Do"))
        self.assertEqual([event for event, _, _ in rest], ["output.delta", "turn.result"])
        with server.follow("s1", "t1", first.id) as stream:
            self.assertEqual(told(stream), rest)

    def test_a_turn_that_runs_again_goes_on_counting(self):
        failing = Reply("Half ", HOLD, cut=True)
        gate, server = self.gated(failing, Reply("Who", "le."))
        with server.say_streaming("s1", "t1") as stream:
            gate.open()
            first = told(stream)
        self.assertIn("server_error", first[-1][2])
        second = self.whole(server, session="s1", turn="t1")
        self.assertIn("Whole.", second[-1][2])
        self.assertGreater(int(second[0][1]), int(first[-1][1]))
        with server.follow("s1", "t1", first[-1][1]) as stream:  # As an EventSource that saw it fail.
            self.assertEqual(told(stream), second)
        server.restart()
        self.assert_replays(server, "s1", "t1", second)

    def test_who_reconnects_all_the_time_is_told_each_event_once(self):
        _, server = self.gated(lambda call: Reply("Do", "ne", ".") if call.tool_results else
                               calling(f"c{call.number}", text="Looking."))
        for number in range(10):
            session = f"s{number}"
            with server.say_streaming(session, "t1") as asking:
                asking.next()
                watched = self.later(self.reconnecting, server, session)
                result = list(asking)[-1].json["Result"]
            server.submit(session, "t1", [call["ToolCallId"] for call in result["ToolCalls"]])
            seen = watched.result()
            kinds = [kind for kind, _, _ in seen]
            self.assertEqual((kinds.count("turn.started"), kinds.count("turn.result")), (2, 2), seen)
            ids = [int(identifier) for _, identifier, _ in seen]
            self.assertEqual(ids, list(range(1, len(ids) + 1)))

    def reconnecting(self, server, session):
        """Reads one event a connection until both rounds have ended."""
        seen = []
        while [kind for kind, _, _ in seen].count("turn.result") < 2:
            with server.follow(session, "t1", seen[-1][1] if seen else 0) as stream:
                if stream.status == 200:
                    seen += told([stream.next()])
        return seen

    def test_nothing_there_to_follow(self):
        _, server = self.gated()
        self.assert_refused(server.get(turn_path("s9", "t1", "/stream")), 404, "session_not_found")
        server.say("s1", "t1")
        self.assert_refused(server.get(turn_path("s1", "t9", "/stream")), 404, "turn_not_found")


class Failures(ServingTest):
    def test_an_immediate_failure_has_its_own_status(self):
        _, server = self.gated(FATAL)
        answer = server.say("s1", "t1", Streaming=True)
        self.assert_refused(answer, 502, "invalid_request")
        self.assertEqual(answer.headers["content-type"].split(";")[0], "application/json")

    def test_a_refusal_has_its_own_status(self):
        _, server = self.gated()
        self.assert_refused(server.execute({"SessionId": "s1", "TurnId": "t1", "Streaming": True}), 400,
                            "contract_violation")
        self.assert_refused(server.say("s1", "t1", Streaming=True, AgentContextId="nobody"), 404, "agent_not_found")

    def test_a_failure_that_was_journalled_has_its_own_status_again(self):
        _, server = self.gated(FATAL)
        first = server.say("s1", "t1")
        again = server.say("s1", "t1", Streaming=True)
        self.assertEqual((again.status, again.body), (first.status, first.body))

    def test_headers_leave_after_a_second_though_the_backend_is_silent(self):
        gate, server = self.gated(held=True)
        with server.say_streaming("s1", "t1") as stream:  # Returns when the headers are there.
            self.assertEqual((stream.status, gate.count), (200, 1))
            self.assertEqual(stream.next().event, "turn.started")
            gate.open()
            self.assertEqual(list(stream)[-1].event, "turn.result")

    def test_a_failure_after_the_head_has_left_is_the_result(self):
        gate, server = self.gated(FATAL, held=True)
        with server.say_streaming("s1", "t1") as stream:
            gate.open()
            events = list(stream)
        self.assertEqual([e.event for e in events], ["turn.started", "turn.result"])
        self.assertEqual(events[-1].json["Errors"][0]["ErrorCode"], "invalid_request")
        self.assertEqual(server.say("s1", "t1").body, events[-1].data.encode())

    def test_a_stream_that_is_cut_is_a_failure_and_no_success(self):
        _, server = self.gated(Reply("One ", "two ", HOLD, cut=True))
        with server.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
            self.gates[0].open()
            events = list(stream)
        self.assertEqual(events[-1].event, "turn.result")
        self.assertEqual(events[-1].json["Errors"][0]["ErrorCode"], "server_error")
        self.assertEqual(server.state_of(), "failed")

    def test_a_cancelled_stream_ends_with_its_result(self):
        gate, server = self.gated(Reply("One ", HOLD, "two."))
        with server.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
            server.post(turn_path("s1", "t1", "/cancel"))
            events = list(stream)
        self.assertEqual([e.event for e in events], ["turn.result"])
        self.assertEqual(events[0].json["Errors"][0]["ErrorCode"], "turn_cancelled")
        gate.wait_for_gone(1)


class Readers(ServingTest):
    def test_a_client_that_goes_away_does_not_end_its_turn(self):
        gate, server = self.gated(Reply("One ", HOLD, "two."))
        with server.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
        gate.open()
        self.until(lambda: server.state_of() == "completed", "the end of the turn")
        self.assertEqual(server.say("s1", "t1").text, "One two.")
        self.assertEqual((gate.count, gate.gone), (1, 0))

    def test_a_client_that_goes_away_unstreamed_does_not_end_its_turn(self):
        gate, server = self.gated(held=True)
        body = as_bytes(user_turn("s1", "t1"))
        client = server.connect()
        client.sendall(b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                       % (EXECUTE.encode(), len(body)) + body)
        gate.wait_for_calls(1)
        client.close()
        gate.open()
        self.until(lambda: server.state_of() == "completed", "the end of the turn")
        self.assertEqual(server.say("s1", "t1").text, "You said: Hello.")
        self.assertEqual(gate.count, 1)

    def reset_while_its_turn_runs(self, server, gate, body):
        client = server.connect()
        client.sendall(b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
                       % (EXECUTE.encode(), len(body)) + body)
        gate.wait_for_calls(1)
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        client.close()  # With RST.

    def admitted(self, server):
        """A connection that the server takes, or None while it has too many."""
        connection = server.connection()
        if server.ask("GET", "/healthz", on=connection).status == 200:
            return connection
        connection.close()
        return None

    def test_a_client_that_resets_its_connection_gives_up_its_place(self):
        gate, server = self.gated(held=True, http={"max_connections": 1})
        self.reset_while_its_turn_runs(server, gate, as_bytes(user_turn("s1", "t1")))
        connection = self.until(lambda: self.admitted(server), "a free connection")
        turn = server.ask("GET", turn_path("s1", "t1"), on=connection)
        self.assertEqual(turn.json["State"], "running")
        gate.open()
        answer = server.execute(user_turn("s1", "t1"), on=connection)
        connection.close()
        self.assertEqual((answer.text, gate.count), ("You said: Hello.", 1))

    def test_a_client_that_resets_its_stream_gives_up_its_place(self):
        gate, server = self.gated(held=True, http={"max_connections": 1})
        self.reset_while_its_turn_runs(server, gate, as_bytes(user_turn("s1", "t1", Streaming=True)))
        connection = self.until(lambda: self.admitted(server), "a free connection")
        turn = server.ask("GET", turn_path("s1", "t1"), on=connection)
        connection.close()
        self.assertEqual(turn.json["State"], "running")

    def test_a_client_that_resets_its_connection_gives_up_the_memory_of_its_body(self):
        gate, server = self.gated(held=True, http={"body_memory": "16MiB"})
        large = "Hello. " * 1_500_000
        self.reset_while_its_turn_runs(server, gate, as_bytes(user_turn("s1", "t1", large)))
        # A body that finds no memory is refused with 503; one that breaks its contract, with 400.
        self.until(lambda: server.execute(user_turn("", "t1", large)).status == 400, "memory for another body")
        self.assertEqual(server.state_of(), "running")

    def test_a_client_that_closes_its_half_of_the_connection_gets_its_answer(self):
        gate, server = self.gated(held=True)
        body = as_bytes(user_turn("s1", "t1"))
        with server.connect() as client:
            client.sendall(b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Connection: close\r\nContent-Length: %d\r\n\r\n" % (EXECUTE.encode(), len(body)) + body)
            client.shutdown(socket.SHUT_WR)
            gate.wait_for_calls(1)
            gate.open()
            answer = b"".join(iter(lambda: client.recv(65536), b""))
        self.assertIn(b"You said: Hello.", answer)

    def test_on_disconnect_cancel_ends_the_turn_with_its_client(self):
        gate, server = self.gated(Reply("One ", HOLD, "two."), agent={"on_disconnect": "cancel"})
        with server.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
        gate.wait_for_gone(1)
        self.until(lambda: server.state_of() == "cancelled", "the end of the turn")

    def test_a_slow_reader_gets_the_whole_of_a_large_answer_and_grows_nothing(self):
        piece = "0123456789abcde\n" * 64
        count = 8 * 1024
        gate, server = self.gated(Reply("Begin.", HOLD, *[piece] * count), "Short.")
        readers, sockets = 12, []
        request = as_bytes(user_turn("s1", "t1", Streaming=True))
        for _ in range(readers):
            client = socket.socket()
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 8192)
            client.settimeout(120)
            client.connect(("127.0.0.1", server.port))
            client.sendall(b"POST %b HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                           b"Content-Length: %d\r\nConnection: close\r\n\r\n" % (EXECUTE.encode(), len(request)) + request)
            sockets.append(client)
        for client in sockets:  # Each follows the turn before it goes on.
            self.until(lambda client=client: b"Begin." in client.recv(4096, socket.MSG_PEEK), "the first delta")
        before = server.resident()

        gate.open()
        with server.say_streaming("s1", "t1") as stream:  # One that reads at once.
            fast = "".join(event.json["DeltaText"] for event in stream if event.event == "output.delta")
        begun = [self.read_some(client, 3 << 20) for client in sockets]  # Then they stall, far from the end.
        for number in range(20):
            server.say("other", f"t{number}")
        grown = server.resident() - before

        self.assertEqual(fast, "Begin." + piece * count)
        self.assertEqual(self.read_to_the_end(sockets, begun), [fast] * readers)
        if not SANITIZED:
            # The text itself, its journal and the fast reader's share; 1 MiB and a little for each slow one.
            self.assertLess(grown, (8 * len(fast) + readers * (3 << 20)), f"{grown >> 20} MiB")

    def read_some(self, client, size):
        received = bytearray()
        while len(received) < size:
            received += client.recv(1 << 16)
        return received

    def read_to_the_end(self, sockets, begun):
        texts = [None] * len(sockets)

        def read(place):
            with sockets[place] as client:
                received = begun[place]
                while part := client.recv(1 << 16):
                    received += part
            texts[place] = self.text_of_stream(bytes(received))

        threads = [threading.Thread(target=read, args=(place,)) for place in range(len(sockets))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return texts

    def text_of_stream(self, received):
        head, _, rest = received.partition(b"\r\n\r\n")
        body = rest
        if b"chunked" in head.lower():
            parts, place = [], 0
            while True:
                end = rest.index(b"\r\n", place)
                size = int(rest[place:end], 16)
                if size == 0:
                    break
                parts.append(rest[end + 2:end + 2 + size])
                place = end + 2 + size + 2
            body = b"".join(parts)
        text, last = [], 0
        for block in body.decode().split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
            if "id" in fields:
                self.assertGreater(int(fields["id"]), last)
                last = int(fields["id"])
            if fields.get("event") == "output.delta":
                text.append(json.loads(fields["data"])["DeltaText"])
        return "".join(text)

    def test_a_comment_keeps_a_silent_stream_alive(self):
        gate, server = self.gated(Reply("One ", HOLD, "two."))
        with server.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
            self.assertTrue(next(line for line in stream.lines() if line).startswith(":"))  # After 15 s.
            gate.open()
            self.assertEqual(list(stream)[-1].event, "turn.result")


class Diary(ServingTest):
    """GET /v1/sessions/{s}/events: diagnostics, which never travel in the stream of a turn."""

    def read(self, server, session, count, last_id=None):
        with server.events(session, last_id) as stream:
            self.assertEqual((stream.status, stream.headers["content-type"].split(";")[0]), (200, "text/event-stream"))
            return told(stream.next() for _ in range(count))

    def complete(self, server, session, marker):
        """Events up to the end of the turn."""
        with server.events(session) as stream:
            seen = []
            for event in stream:
                seen.append((event.event, event.id, event.data))
                if event.event == marker:
                    return seen
        raise AssertionError(seen)

    def test_events_can_be_replayed_from_each_of_them_also_after_a_restart(self):
        _, server = self.gated()
        server.say("s1", "t1")
        events = self.complete(server, "s1", "turn.completed")
        self.assertGreaterEqual(len(events), 2)
        ids = [int(event[1]) for event in events]
        self.assertEqual(ids, sorted(set(ids)))
        for _ in range(2):
            for place in range(len(events)):
                last = 0 if place == 0 else events[place - 1][1]
                self.assertEqual(self.read(server, "s1", len(events) - place, last), events[place:])
            server.restart()

    def test_events_come_while_they_are_waited_for(self):
        gate, server = self.gated(held=True)
        running = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)
        with server.events("s1") as stream:
            self.assertEqual(stream.next().event, "turn.accepted")
            gate.open()
            self.assertEqual(stream.until("turn.completed")[-1].event, "turn.completed")
        self.assertEqual(running.result().status, 200)

    def test_who_watches_many_turns_is_told_each_event_once(self):
        _, server = self.gated(lambda call: calling(f"c{call.number}") if call.number % 3 == 1 else Reply("Do", "ne."))
        server.say("s1", "t0", "Begin.")
        with server.events("s1") as watching:
            watched = self.later(lambda: self.until_turns_end(watching, 12))
            for number in range(12):
                name = f"t{number}"
                answer = server.say("s1", name, "Begin." if number == 0 else f"Say {number}.")
                while answer.result["Kind"] != "final":
                    answer = server.submit("s1", name, answer.calls)
            seen = watched.result()
        ids = [int(event[1]) for event in seen]
        self.assertEqual(ids, sorted(set(ids)))
        self.assertEqual(self.read(server, "s1", len(seen)), seen, "live and replayed alike")

    def until_turns_end(self, stream, count):
        seen = []
        for event in stream:
            seen.append((event.event, event.id, event.data))
            if [kind for kind, _, _ in seen].count("turn.completed") == count:
                return seen
        raise AssertionError(seen)

    def test_attempts_that_failed_are_told_there_and_not_in_the_stream(self):
        bad = self.gate(Reply(error=(500, {"error": {"message": "Down.", "type": "server_error"}})))
        good = self.gate("Fine.")
        server = self.server(configuration(
            good, agent={"backends": [{"provider": "bad", "model": "m"}, {"provider": "gate", "model": "small-1"}]},
            providers={"bad": {"kind": "openai", "base_url": bad.base_url}}))
        with server.say_streaming("s1", "t1") as stream:
            events = list(stream)
        self.assertEqual(events[-1].json["Result"]["PrimaryOutputText"], "Fine.")
        self.assertNotIn("Down.", "".join(event.data for event in events))
        diary = self.complete(server, "s1", "turn.completed")
        self.assertIn("attempt.failed", [event[0] for event in diary])
        for event in diary:
            self.assertIsInstance(json.loads(event[2]), dict)

    def test_events_of_nothing_are_refused(self):
        _, server = self.gated()
        self.assert_refused(server.get("/v1/sessions/s9/events"), 404, "session_not_found")


if __name__ == "__main__":
    unittest.main()
