"""Whole-binary tests of an agent behind the file bridge: the server asks by file and waits for the answer."""
import datetime
import json
import os
import pathlib
import shutil
import threading
import unittest

from serving import DISK_FAULTS, LOOK, ONCE, ServingTest
from treaty_binary import OTHER_UUID, bridge_response


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat()


class BridgeTest(ServingTest):
    """A server whose agent `default` is asked in the folder `room`."""

    def setUp(self):
        super().setUp()
        self.room = self.folder / "room"
        self.room.mkdir()

    def config(self, timeout="60s", agent=None, **members):
        bridge = {"dir": "room", "agent_name": "reviewer", "timeout": timeout}
        return {"agents": {"default": {"system": "You are brief.", "backends": [{"bridge": bridge}],
                                       "dispatch": ONCE, **(agent or {})}}, **members}

    def bridged(self, timeout="60s", agent=None, **members):
        return self.server(self.config(timeout, agent, **members))

    def on_failing_disk(self):
        """A server whose disk fails on command, but for its journal."""
        name = f"server{len(self.servers) + 1}"
        return self.server(self.config(), environment={
            "LD_PRELOAD": DISK_FAULTS, "DISK_FAULTS_FILES": ".agent-*:quarantine",
            "DISK_FAULTS_CONTROL": str(self.folder / f"{name}.control")})

    # --- The other side.

    def requests(self):
        """What waits, by file."""
        return sorted(self.room.glob(".agent-request*.json"))

    def wait_for_requests(self, count=1):
        self.until(lambda: len(self.requests()) == count, f"{count} requests")
        return [json.loads(path.read_bytes()) for path in self.requests()]

    def wait_for_request(self):
        request, = self.wait_for_requests()
        return request

    def put(self, path, content):
        """A file that is there at once."""
        fresh = pathlib.Path(f"{path}.new")
        fresh.write_bytes(content if isinstance(content, bytes) else json.dumps(content).encode())
        fresh.replace(path)

    def response_to(self, request, text="It is.", **members):
        return bridge_response(request_id=request["request_id"], created_at=now(), response=text, **members)

    def answer(self, request, text="It is.", **members):
        self.put(request["response_file"], self.response_to(request, text, **members))

    def files(self):
        return sorted(path.name for path in self.room.iterdir() if path.is_file())

    def quarantined(self):
        folder = self.room / ".treaty-bridge" / "quarantine"
        return sorted(path.name for path in folder.iterdir()) if folder.exists() else []


class Asking(BridgeTest):
    def test_a_turn_is_a_request_that_keeps_its_contract(self):
        server = self.bridged("90s")
        self.later(server.say, "s1", "t1", "Is it right?")

        request = self.wait_for_request()

        self.assertEqual(self.verdict("bridge-request", json.dumps(request))["violations"], [])
        self.assertEqual((request["agent_name"], request["timeout_seconds"], request["model"]), ("reviewer", 90, None))
        self.assertEqual(request["response_file"], str(self.room.resolve() / ".agent-response.json"))
        self.assertEqual(request["prompt"], "--- instructions\nYou are brief.\n\n--- user\nIs it right?")
        self.assertEqual(request["context"]["system"], "You are brief.")
        self.assertEqual(request["context"]["messages"],
                         [{"role": "user", "content": [{"type": "text", "text": "Is it right?"}]}])
        self.answer(request)

    def test_the_answer_is_the_answer_of_the_turn_and_both_files_are_gone(self):
        server = self.bridged()
        running = self.later(server.say, "s1", "t1", "Is it right?")
        self.answer(self.wait_for_request(), "Yes, it is.", metadata={"input_tokens": 7, "output_tokens": 3})

        answer = running.result()

        self.assertEqual(answer.text, "Yes, it is.")
        self.assertEqual(answer.result["Usage"]["TotalTokens"], 10)
        self.assertEqual(self.files(), [])

    def test_the_next_turn_tells_what_was_said(self):
        server = self.bridged()
        running = self.later(server.say, "s1", "t1", "One.")
        self.answer(self.wait_for_request(), "Two.")
        running.result()
        running = self.later(server.say, "s1", "t2", "Three.")

        request = self.wait_for_request()
        self.answer(request)

        self.assertTrue(request["prompt"].endswith("--- user\nOne.\n\n--- you\nTwo.\n\n--- user\nThree."), request)
        self.assertEqual(running.result().status, 200)

    def test_it_is_streamed_as_one_piece(self):
        server = self.bridged()
        with server.say_streaming("s1", "t1", "Is it?") as stream:
            self.assertEqual(stream.next().event, "turn.started")
            self.answer(self.wait_for_request(), "It is.")
            events = list(stream)

        self.assertEqual([event.event for event in events], ["output.delta", "turn.result"])

    def test_what_is_streamed_is_the_answer(self):
        server = self.bridged()
        for number, (said, text) in enumerate({
                '{"a":1}': '```json\n{"a":1}\n```',
                "See data:image/png;base64,QUJD.": "See `[embedded file removed]`."}.items()):
            with server.say_streaming(f"s{number}", "t1", "Is it?") as stream:
                self.assertEqual(stream.next().event, "turn.started")
                self.answer(self.wait_for_request(), said)
                events = list(stream)

            self.assertEqual("".join(event.json["DeltaText"] for event in events[:-1]), text)
            self.assertEqual(events[-1].json["Result"]["PrimaryOutputText"], text)

    def test_tools_are_called_by_way_of_the_metadata(self):
        server = self.bridged(agent={"tools": [LOOK]})
        running = self.later(server.say, "s1", "t1", "Look.")
        request = self.wait_for_request()
        self.assertIn("look: Looks.", request["prompt"])
        call = {"id": "c1", "name": "look", "arguments": '{"what": "x"}'}
        self.answer(request, "", metadata={"agent_result": {"finish_reason": "tool_use", "tool_calls": [call]}})
        self.assertEqual(running.result().calls, ["c1"])
        running = self.later(server.submit, "s1", "t1", ["c1"])

        request = self.wait_for_request()
        self.answer(request, "Seen.")

        self.assertIn("result of look, c1", request["prompt"])
        self.assertEqual(running.result().text, "Seen.")

    def test_many_at_once_have_a_file_each_and_their_own_answers(self):
        server = self.bridged()
        running = [self.later(server.say, f"s{n}", "t1", f"Say {n}.") for n in range(12)]
        for request in self.wait_for_requests(12):
            self.answer(request, request["context"]["messages"][-1]["content"][0]["text"].replace("Say", "Said"))

        self.assertEqual([one.result().text for one in running], [f"Said {n}." for n in range(12)])
        self.assertEqual(self.files(), [])

    def test_two_servers_in_one_directory_do_not_disturb_each_other(self):
        servers = [self.bridged(), self.bridged()]
        running = [self.later(servers[n % 2].say, f"s{n}", "t1", f"Say {n}.") for n in range(8)]
        for request in self.wait_for_requests(8):
            self.answer(request, request["context"]["messages"][-1]["content"][0]["text"])

        self.assertEqual([one.result().text for one in running], [f"Say {n}." for n in range(8)])

    def test_the_journal_knows_whom_the_bridge_asked(self):
        server = self.bridged()
        running = self.later(server.say, "s1", "t1", "Is it?")
        self.answer(self.wait_for_request())
        running.result()

        with server.events("s1", 0) as events:
            seen = events.until("turn.completed")

        told = "".join(event.data for event in seen)
        self.assertIn(f"bridge:{os.path.basename(self.room)} (", told)
        self.assertNotIn(str(self.room), told)


class Answers(BridgeTest):
    def asked(self, **more):
        """(the turn that runs, its request)"""
        self.gateway = self.bridged(**more)
        running = self.later(self.gateway.say, "s1", "t1", "Is it?")
        return running, self.wait_for_request()

    def test_an_error_is_the_error_of_the_turn(self):
        running, request = self.asked()
        self.answer(request, None, status="error", error_message="Out of quota.", error_type="rate_limit",
                    metadata={"retryable": True, "status_code": 429})

        answer = running.result()

        self.assertFalse(answer.json["Successful"])
        self.assertEqual(answer.code, "rate_limit")
        self.assertEqual(self.files(), [])

    def test_a_timeout_is_a_timeout(self):
        running, request = self.asked()
        self.answer(request, None, status="timeout", error_message="Too slow.", error_type="timeout")

        self.assertEqual(running.result().code, "timeout")

    def test_without_an_answer_the_request_is_taken_back(self):
        running, _ = self.asked(timeout="300ms")

        self.assertEqual(running.result().code, "timeout")
        self.until(lambda: self.files() == [], "the end of the request")

    def test_the_next_backend_is_asked_after_a_timeout(self):
        self.write("play.yaml", "- From the script.")
        server = self.server({"agents": {"default": {"dispatch": ONCE, "backends": [
            {"bridge": {"dir": "room", "timeout": "200ms"}}, {"script": "play.yaml"}]}}})

        self.assertEqual(server.say("s1", "t1", "Is it?").text, "From the script.")

    def test_an_answer_that_is_written_in_pieces_is_read_when_it_is_whole(self):
        running, request = self.asked()
        whole = json.dumps(self.response_to(request, "In pieces.")).encode()
        for end in (0, 1, len(whole) // 2):
            with open(request["response_file"], "wb") as file:
                file.write(whole[:end])
        with open(request["response_file"], "wb") as file:
            file.write(whole[:50])
            file.flush()
            os.fsync(file.fileno())
            self.assertFalse(running.done())
            file.write(whole[50:])

        self.assertEqual(running.result().text, "In pieces.")
        self.assertEqual(self.quarantined(), [])

    def test_an_answer_to_another_request_is_waited_past(self):
        running, request = self.asked()
        self.answer({**request, "request_id": OTHER_UUID}, "Not for you.")
        with self.gateway.events("s1", 0) as events:
            events.until("attempt.started")
        self.assertFalse(running.done())

        self.answer(request, "For you.")

        self.assertEqual(running.result().text, "For you.")

    def test_a_broken_answer_is_an_error_and_is_kept(self):
        running, request = self.asked()
        self.put(request["response_file"], {**self.response_to(request), "result": "x"})

        answer = running.result()

        self.assertEqual(answer.code, "server_error")
        self.assertEqual(self.files(), [])
        kept, = self.quarantined()
        self.assertIn("broken", kept)
        journal = (self.room / ".treaty-bridge" / "journal.ndjson").read_text("utf-8")
        self.assertIn("BRS-02", json.loads(journal)["problem"])

    def test_the_answer_may_get_its_name_by_a_link(self):
        running, request = self.asked()
        beside = self.room / "answer.json"
        beside.write_text(json.dumps(self.response_to(request, "By a link.")))
        os.link(beside, request["response_file"])

        self.assertEqual(running.result().text, "By a link.")

    def test_a_cancelled_turn_takes_its_request_back(self):
        running, _ = self.asked()
        self.gateway.post("/v1/sessions/s1/turns/t1/cancel")

        self.assertEqual(running.result().code, "turn_cancelled")
        self.until(lambda: self.files() == [], "the end of the request")

    def test_an_answer_that_comes_too_late_does_not_reach_the_next_turn(self):
        running, request = self.asked(timeout="300ms")
        running.result()
        self.until(lambda: self.files() == [], "the end of the request")
        self.answer(request, "Too late.")
        running = self.later(self.gateway.say, "s1", "t2", "And now?")

        again = self.wait_for_request()
        self.assertNotEqual(again["request_id"], request["request_id"])
        self.answer(again, "In time.")

        self.assertEqual(running.result().text, "In time.")
        self.assertEqual(len(self.quarantined()), 1)

    def test_the_answer_of_another_treaty_keeps_its_cost_and_its_model(self):
        running, request = self.asked()
        self.answer(request, "Counted.", metadata={
            "agent": "writer", "model": "small-1", "agent_result": {
                "finish_reason": "length", "usage": {"input_tokens": 5, "output_tokens": 2, "total_tokens": 7}}})

        answer = running.result()

        self.assertEqual(answer.result["Usage"]["TotalTokens"], 7)
        self.assertTrue(answer.result["UserWarnings"])


class Directories(BridgeTest):
    def test_one_that_is_not_there_is_an_error_until_it_is(self):
        self.room.rmdir()
        server = self.bridged()
        self.assertEqual(server.say("s1", "t1", "Is it?").code, "server_error")
        self.room.mkdir()
        running = self.later(server.say, "s1", "t2", "And now?")

        self.answer(self.wait_for_request())

        self.assertEqual(running.result().text, "It is.")

    def test_one_that_goes_away_ends_the_turn(self):
        server = self.bridged()
        running = self.later(server.say, "s1", "t1", "Is it?")
        self.wait_for_request()

        shutil.rmtree(self.room)

        self.assertEqual(running.result().code, "server_error")
        self.room.mkdir()
        running = self.later(server.say, "s1", "t2", "And now?")
        self.answer(self.wait_for_request())
        self.assertEqual(running.result().text, "It is.")

    def test_one_in_which_nothing_can_be_written_is_an_error(self):
        (self.room / ".treaty-bridge").write_text("in the way")
        server = self.bridged()

        self.assertEqual(server.say("s1", "t1", "Is it?").code, "server_error")

    def test_nothing_of_the_server_is_shown_to_the_client(self):
        self.room.rmdir()
        server = self.bridged()

        answer = server.say("s1", "t1", "Is it?")

        self.assertNotIn(str(self.folder).encode(), answer.body)

    def test_the_requests_of_programs_are_left_alone(self):
        mine = json.dumps({"request_id": OTHER_UUID, "version": "1.0", "agent_name": "a", "prompt": "Mine.",
                           "created_at": "2020-01-01T00:00:00Z"}).encode()
        self.put(self.room / ".agent-request.json", mine)
        server = self.bridged()
        running = self.later(server.say, "s1", "t1", "Is it?")

        own = [request for request in self.wait_for_requests(2) if request["request_id"] != OTHER_UUID]
        self.answer(own[0])

        self.assertEqual(running.result().text, "It is.")
        self.assertEqual((self.room / ".agent-request.json").read_bytes(), mine)

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_one_that_is_full_is_an_error_until_it_has_room_again(self):
        server = self.on_failing_disk()
        for number, fault in enumerate(("ENOSPC write", "SHORT write", "EIO fsync", "EROFS name", "EACCES name 1")):
            with self.subTest(fault):
                server.disk(fault)
                self.assertEqual(server.say("s1", f"t{number}", "Is it?").code, "server_error")
                server.disk()
                self.assertEqual(self.requests(), [])
        running = self.later(server.say, "s1", "t9", "And now?")
        self.answer(self.wait_for_request())

        self.assertEqual(running.result().text, "It is.")


class Killed(BridgeTest):
    def lost(self, function, *arguments):
        """Runs it beside the test; what becomes of it does not matter."""
        threading.Thread(target=lambda: self.quietly(function, *arguments), daemon=True).start()

    @staticmethod
    def quietly(function, *arguments):
        try:
            function(*arguments)
        except Exception:  # pylint: disable=broad-except
            pass

    def answer_what_waits(self, answered):
        """Answers every request that is there and was not answered yet."""
        for path in self.requests():
            try:
                request = json.loads(path.read_bytes())
            except FileNotFoundError:
                continue
            if request["request_id"] not in answered:
                answered.append(request["request_id"])
                self.answer(request)

    def kill_at(self, step):
        """A turn whose server is killed at that step of its work on files; False when it does not get there."""
        server = self.on_failing_disk()
        server.disk(f"KILL any {step}")
        session, answered = f"s{step}", []
        self.lost(server.say, session, "t1", "Is it?")

        def ended():
            self.answer_what_waits(answered)
            return server.process.poll() is not None or server.state_of(session) == "completed"

        self.until(lambda: self.quietly_true(ended), f"the end of step {step}")
        died = server.process.poll() is not None
        server.disk()
        if died:
            server.wait()
            server.start()
            self.until(lambda: self.quietly_true(ended), f"the end of the turn after step {step}")
        self.assertEqual(server.say(session, "t1", "Is it?").text, "It is.")
        server.close()
        return died, answered

    @staticmethod
    def quietly_true(holds):
        try:
            return holds()
        except OSError:  # It dies just now.
            return False

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_at_every_step_the_turn_goes_on_to_its_answer(self):
        step, died = 0, True
        while died:
            with self.subTest(step=step):
                died, answered = self.kill_at(step)
                self.assertLessEqual(len(answered), 2)
            step += 1

        self.assertGreater(step, 6)
        self.assertEqual([name for name in self.files() if name.endswith(".json")], [])

    def test_the_question_is_taken_up_again_and_not_asked_twice(self):
        server = self.bridged()
        self.lost(server.say, "s1", "t1", "Is it?")
        request = self.wait_for_request()
        server.restart()
        self.until(lambda: self.wait_for_request()["context"]["asked_by"]["pid"] == server.pid, "the new asker")
        self.answer(request, "Once.")

        self.until(lambda: server.state_of() == "completed", "the end of the turn")

        self.assertEqual(server.say("s1", "t1", "Is it?").text, "Once.")
        self.assertEqual(self.files(), [])

    def test_an_answer_that_came_meanwhile_is_taken(self):
        server = self.bridged()
        self.lost(server.say, "s1", "t1", "Is it?")
        request = self.wait_for_request()
        server.kill9()
        self.answer(request, "Meanwhile.")

        server.start()
        self.until(lambda: server.state_of() == "completed", "the end of the turn")

        self.assertEqual(server.say("s1", "t1", "Is it?").text, "Meanwhile.")

    def test_a_server_that_was_asked_to_leave_takes_its_question_up_again(self):
        server = self.bridged(http={"shutdown_timeout": "100ms"})
        self.lost(server.say, "s1", "t1", "Is it?")
        request = self.wait_for_request()
        server.terminate()
        server.wait()
        self.answer(request, "Still there.")

        server.start()
        self.until(lambda: server.state_of() == "completed", "the end of the turn")

        self.assertEqual(server.say("s1", "t1", "Is it?").text, "Still there.")

    def test_twenty_questions_survive(self):
        server = self.bridged()
        for number in range(20):
            self.lost(server.say, f"s{number}", "t1", f"Say {number}.")
        requests = self.wait_for_requests(20)
        server.restart()
        for request in requests:
            self.answer(request, request["context"]["messages"][-1]["content"][0]["text"])

        for number in range(20):
            self.until(lambda n=number: server.state_of(f"s{n}") == "completed", f"the end of turn {number}")
            self.assertEqual(server.say(f"s{number}", "t1", f"Say {number}.").text, f"Say {number}.")
        self.assertEqual(self.files(), [])

    def test_a_new_configuration_does_not_disturb_who_waits(self):
        server = self.bridged()
        running = self.later(server.say, "s1", "t1", "Is it?")
        request = self.wait_for_request()
        server.write_config(json.loads(server.config.read_text().replace("You are brief.", "You are long.")))
        server.hang_up()
        other = self.later(server.say, "s2", "t1", "And?")
        second = [one for one in self.wait_for_requests(2) if one["request_id"] != request["request_id"]][0]
        self.answer(request, "First.")
        self.answer(second, "Second.")

        self.assertEqual((running.result().text, other.result().text), ("First.", "Second."))


if __name__ == "__main__":
    unittest.main()
