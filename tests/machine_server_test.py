"""Whole-binary tests of machines as backends: answers, events, streams, failures, kill -9, cancelling."""
import http.client
import json
import unittest

from gate import Reply
from machine_serving import GATE, TWICE, TWO, MachineServingTest, asking, final, machine
from serving import turn_path
from treaty_binary import SECONDS


def answer_or_lost(ask, *arguments, **named):
    try:
        return ask(*arguments, **named)
    except (OSError, http.client.HTTPException):
        return None


class Answers(MachineServingTest):
    def test_its_output_is_the_answer(self):
        gate, server = self.behind()

        answer = server.say()

        self.assertEqual(answer.text, TWICE)
        self.assertEqual([call.user for call in gate.calls], ["Draft: Hello.", "Polish: You said: Draft: Hello."])
        self.assertEqual([call.system for call in gate.calls], ["Write.", "Edit."])
        usage = answer.result["Usage"]
        self.assertEqual((usage["PromptTokens"], usage["CompletionTokens"]), (24, 6))

    def test_the_same_request_again_is_answered_from_the_journal(self):
        gate, server = self.behind()

        first, second = server.say(), server.say()

        self.assertEqual(first.body, second.body)
        self.assertEqual(gate.count, 2)

    def test_every_turn_is_an_execution_of_its_own(self):
        gate, server = self.behind()

        texts = [server.say(turn=turn, instruction=turn).text for turn in ("t1", "t2")]

        self.assertEqual(texts, [f"You said: Polish: You said: Draft: {turn}" for turn in ("t1", "t2")])
        self.assertEqual(gate.count, 4)

    def test_a_session_that_was_deleted_and_opened_again_begins_anew(self):
        gate, server = self.behind()
        server.say()
        self.assertEqual(server.ask("DELETE", "/v1/sessions/s1").status, 204)

        self.assertEqual(server.say().text, TWICE)

        self.assertEqual(gate.count, 4)

    def test_it_is_told_the_conversation_and_the_system_text(self):
        states = {"only": asking("writer", "{{ input.system }} | {{ input.messages | tojson }}", "text", "done"),
                  "done": final("{{ context.text }}")}
        gate, server = self.behind("One.", "Two.", states=machine("told", states))
        server.say(turn="t1", instruction="First.")
        server.say(turn="t2", instruction="Second.")

        system, _, messages = gate.calls[1].user.partition(" | ")
        self.assertEqual(system, "You are brief.")
        self.assertEqual(json.loads(messages), [{"role": "user", "content": "First."},
                                                {"role": "assistant", "content": "One."},
                                                {"role": "user", "content": "Second."}])

    def test_the_user_is_warned_of_pictures_that_it_cannot_take(self):
        picture = {"Id": "i1", "MimeType": "image/png", "DataBase64": "iVBORw0KGgo="}
        _, server = self.behind()

        warned = server.say(turn="t1", ClipboardImages=[picture])
        silent = server.say(turn="t2")

        self.assertEqual(len(warned.result["UserWarnings"]), 1, warned)
        self.assertIn("pictures", warned.result["UserWarnings"][0])
        self.assertNotIn("UserWarnings", silent.result, "its pictures are those of an earlier turn")

    def test_an_output_without_a_text_is_told_as_json(self):
        states = {"only": {"type": "final", "output": {"n": 3, "list": ["a"]}}}
        _, server = self.behind(states=machine("plain", states))

        self.assertEqual(server.say().text, '```json\n{"n":3,"list":["a"]}\n```')
        with server.say_streaming("s2") as stream:
            events = stream.until("turn.result")
        text = "".join(event.json["DeltaText"] for event in events if event.event == "output.delta")
        self.assertEqual(text, '```json\n{"n":3,"list":["a"]}\n```')

    def test_streamed_it_is_the_same_answer(self):
        _, server = self.behind()

        with server.say_streaming() as stream:
            events = stream.until("turn.result")

        text = "".join(event.json["DeltaText"] for event in events if event.event == "output.delta")
        self.assertEqual(text, TWICE)
        self.assertEqual(events[-1].json["Result"]["PrimaryOutputText"], TWICE)

    def test_treaty_run_uses_it_too(self):
        self.write("m.yml", TWO)
        gate = self.gate()
        self.write("treaty.yaml", {
            "providers": {"gate": {"kind": "openai", "base_url": gate.base_url}},
            "agents": {"default": {"backends": [{"machine": "m.yml"}]}, "writer": {"backends": GATE},
                       "editor": {"backends": GATE}}})

        ran = self.treaty("run", "Hello.", "--state-dir", "state", OPENAI_API_KEY="k")

        self.assertEqual((ran.code, ran.out.strip()), (0, TWICE), ran)


    def test_treaty_run_tells_of_its_waits(self):
        states = {"rest": {"action": "treaty.wait", "transitions": [{"to": "done"}]}, "done": final("Done.")}
        self.write("m.yml", machine("waits", states, (), context={"wait_seconds": 0.01}))
        self.write("treaty.yaml", {"agents": {"default": {"backends": [{"machine": "m.yml"}]}}})

        ran = self.treaty("run", "Hello.", "--state-dir", "state")

        self.assertEqual((ran.code, ran.out.strip()), (0, "Done."), ran)
        self.assertIn("treaty run: waits waits for 0.0", ran.err)


class Progress(MachineServingTest):
    def test_its_states_are_events_of_the_session(self):
        _, server = self.behind()
        server.say()

        notes = self.notes(server)

        self.assertEqual([(kind, data.get("State"), data.get("Agent")) for kind, data in notes], [
            ("machine.started", None, None),
            ("machine.state", "draft", None), ("machine.call", "draft", "writer"), ("machine.answer", "draft", None),
            ("machine.state", "polish", None), ("machine.call", "polish", "editor"),
            ("machine.answer", "polish", None),
            ("machine.state", "done", None), ("machine.end", "end", None)])
        self.assertEqual({data["Machine"] for _, data in notes}, {"two"})
        self.assertEqual([data["Step"] for kind, data in notes if kind == "machine.state"], [1, 2, 3])
        self.assertEqual(notes[-1][1]["Status"], "completed")
        self.assertTrue(notes[0][1]["Execution"].startswith("turn-"))

    def test_what_was_said_is_in_none_of_them(self):
        _, server = self.behind(Reply(error=(400, {"error": {"message": "SECRET words"}})))
        server.say(instruction="SECRET wish")

        with server.events("s1") as events:
            notes = [event.data for event in events.until("turn.failed") if event.event.startswith("machine.")]

        self.assertNotIn("SECRET", "".join(notes))
        self.assertIn('"ErrorCode":"invalid_request"', "".join(notes))

    def test_a_machine_of_many_steps_fills_no_more_than_its_share(self):
        states = {"on": {"transitions": [{"condition": "context.machine.step >= 700", "to": "done"}, {"to": "off"}]},
                  "off": {"transitions": [{"to": "on"}]}, "done": final("Done.")}
        _, server = self.behind(states=machine("long", states, settings={"max_steps": 3000}))
        self.assertEqual(server.say().text, "Done.")
        states["on"]["transitions"][0]["condition"] = "context.machine.step >= 1500"
        self.write("m.yml", machine("long", states, settings={"max_steps": 3000}))
        server.restart()

        self.assertEqual(server.say("s2").text, "Done.")

        with server.events("s2") as events:
            kinds = [event.event for event in events.until("turn.completed")]
        self.assertEqual(kinds.count("machine.started") + kinds.count("machine.state"), 1000)
        self.assertEqual(kinds.count("progress.dropped"), 1)


class Failures(MachineServingTest):
    def test_a_machine_that_fails_is_the_turns_error(self):
        states = {"only": {"transitions": [{"condition": "false", "to": "only"}]}}
        _, server = self.behind(states=machine("stuck", states))

        answer = server.say()

        self.assertEqual((answer.status, answer.code), (502, "no_transition"))
        self.assertEqual(server.state_of(), "failed")

    def test_after_a_failure_that_may_pass_the_same_request_goes_on_at_the_failed_state(self):
        gate, server = self.behind("Draft.", Reply(error=(500, {"error": {"message": "ill"}})), "Polished.")
        first = server.say()
        self.assertEqual((first.status, first.code), (502, "server_error"))

        second = server.say()

        self.assertEqual(second.text, "Polished.")
        self.assertEqual([call.user for call in gate.calls],
                         ["Draft: Hello.", "Polish: Draft.", "Polish: Draft."])
        kinds = [kind for kind, _ in self.notes(server)]
        self.assertEqual((kinds.count("machine.started"), kinds.count("machine.resumed")), (1, 1))

    def test_dispatch_goes_on_at_the_failed_state_when_it_is_told_to_try_again(self):
        gate, server = self.behind("Draft.", Reply(error=(500, {"error": {"message": "ill"}})), "Polished.",
                                   agent={"dispatch": {"max_attempts": 2, "backoff": ["1ms"]}})

        self.assertEqual(server.say().text, "Polished.")

        self.assertEqual(gate.count, 3)

    def test_the_next_backend_takes_over_from_a_machine_that_fails(self):
        states = {"only": {"transitions": [{"condition": "false", "to": "only"}]}}
        _, server = self.behind(states=machine("stuck", states),
                                agent={"backends": [{"machine": "m.yml"}, *GATE]})

        self.assertEqual(server.say().text, "You said: Hello.")

    def test_an_error_that_the_machine_deals_with_is_none_of_the_turns(self):
        states = {"try": asking("writer", "Try.", "text", "done", on_error="sorry"),
                  "done": final("{{ context.text }}"), "sorry": final("Sorry: {{ context.last_error_code }}")}
        _, server = self.behind(Reply(error=(400, {"error": {"message": "no"}})), states=machine("calm", states))

        self.assertEqual(server.say().text, "Sorry: invalid_request")


class Interrupted(MachineServingTest):
    def test_kill_9_in_the_middle_repeats_no_state_that_was_done(self):
        gate, server = self.behind(held=True)
        running = self.later(answer_or_lost, server.say)
        gate.wait_for_calls(1)
        gate.release()
        gate.wait_for_calls(2)

        server.kill9()
        self.assertIsNone(running.result())
        gate.open()
        server.start()
        self.until(lambda: server.state_of() == "completed", "the end of the turn")

        self.assertEqual(server.say().text, TWICE)
        self.assertEqual([call.user.partition(":")[0] for call in gate.calls], ["Draft", "Polish", "Polish"])

    def test_what_was_spent_before_a_kill_is_in_the_usage(self):
        part = machine("part", {"ask": asking("writer", "Draft: Hello.", "text", "done"),
                                "done": final("{{ context.text }}")}, agents=("writer",))
        nested = machine("nested", {
            "draft": {"machine": "part", "output_to_context": {"draft": "output.content"},
                      "transitions": [{"to": "polish"}]},
            "polish": asking("editor", "Polish: {{ context.draft }}", "text", "done"),
            "done": final("{{ context.text }}")}, machines={"part": part})
        for states in (TWO, nested):
            with self.subTest(states=states["data"]["name"]):
                name = states["data"]["name"]
                gate, server = self.behind(states=states, held=True, name=f"{name}.yml")
                running = self.later(answer_or_lost, server.say)
                gate.wait_for_calls(1)
                gate.release()
                gate.wait_for_calls(2)

                server.kill9()
                self.assertIsNone(running.result())
                gate.open()
                server.start()
                self.until(lambda: server.state_of() == "completed", "the end of the turn")

                usage = server.say().result["Usage"]
                self.assertEqual((usage["PromptTokens"], usage["CompletionTokens"]), (24, 6))
                server.close()

    def test_machines_that_an_answered_turn_launched_are_resumed(self):
        beside = machine("beside", {"note": asking("editor", "Note: {{ input.text }}", "text", "done"),
                                    "done": final("{{ context.text }}")}, agents=("editor",))
        launching = machine("launching", {
            "begin": {"launch": "beside", "launch_input": {"text": "{{ input.message }}"},
                      "transitions": [{"to": "done"}]},
            "done": final("On its way.")}, agents=(), machines={"beside": beside})
        gate, server = self.behind(states=launching, held=True)
        self.assertEqual(server.say().text, "On its way.")
        gate.wait_for_calls(1)

        server.kill9()
        server.start()

        gate.wait_for_calls(2)
        gate.open()
        self.until(lambda: self.launched(server) == ["completed"], "the end of the launched machine")
        self.assertEqual([call.user for call in gate.calls], ["Note: Hello.", "Note: Hello."])
        self.assertEqual(server.say().text, "On its way.")
        self.assertEqual(gate.count, 2)

    def test_another_server_on_the_store_resumes_what_a_killed_one_launched(self):
        beside = machine("beside", {"note": asking("editor", "Note.", "text", "done"), "done": final("Noted.")},
                         agents=("editor",))
        launching = machine("launching", {"begin": {"launch": "beside", "transitions": [{"to": "done"}]},
                                          "done": final("On its way.")}, agents=(), machines={"beside": beside})
        gate, one = self.behind(states=launching, held=True)
        two = self.server(json.loads(one.config.read_text()), state=one.state)
        self.assertEqual(one.say().text, "On its way.")
        gate.wait_for_calls(1)

        one.kill9()

        gate.wait_for_calls(2)
        gate.open()
        self.until(lambda: self.launched(two) == ["completed"], "the end of the launched machine")

    def test_a_launched_machine_outlives_a_cancelled_turn(self):
        beside = machine("beside", {"note": asking("editor", "Note.", "text", "done"), "done": final("Noted.")},
                         agents=("editor",))
        launching = machine("launching", {
            "begin": {"launch": "beside", "transitions": [{"to": "ask"}]},
            "ask": asking("writer", "Ask.", "text", "done"), "done": final("Done.")}, machines={"beside": beside})
        gate, server = self.behind(states=launching, held=True)
        running = self.later(server.say)
        gate.wait_for_calls(2)

        self.assertEqual(server.post(turn_path("s1", "t1", "/cancel")).status, 200)
        self.assertEqual(running.result().code, "turn_cancelled")
        gate.open()

        self.until(lambda: self.launched(server) == ["completed"], "the end of the launched machine")

    def launched(self, server):
        """The status of each machine that was launched."""
        ran = self.treaty("machine", "list", "--format", "json", "--config", server.config, "--state-dir", server.state,
                          OPENAI_API_KEY="k")
        self.assertEqual(ran.code, 0, ran)
        rows = map(json.loads, ran.out.splitlines())
        return [row["status"] for row in rows if ".launch" in row["execution_id"]]

    def test_cancelling_ends_the_machine_and_its_call(self):
        gate, server = self.behind(held=True)
        running = self.later(server.say)
        gate.wait_for_calls(1)

        self.assertEqual(server.post(turn_path("s1", "t1", "/cancel")).status, 200)

        gate.wait_for_gone()
        self.assertEqual(running.result().code, "turn_cancelled")
        self.assertEqual((server.state_of(), gate.count), ("cancelled", 1))

    def test_cancelling_ends_a_wait(self):
        states = {"wait": {"action": "treaty.wait", "transitions": [{"to": "done"}]}, "done": final("Done.")}
        _, server = self.behind(states=machine("waits", states, context={"wait_seconds": 10 * SECONDS}))
        running = self.later(server.say)
        self.until(lambda: server.turn().status == 200, "the turn")
        with server.events("s1") as events:
            self.assertEqual(events.until("machine.wait")[-1].json["Seconds"], 10 * SECONDS)

        server.post(turn_path("s1", "t1", "/cancel"))

        self.assertEqual(running.result().code, "turn_cancelled")

    def test_the_deadline_of_the_turn_ends_it_and_the_same_request_goes_on(self):
        gate, server = self.behind(held=True, agent={"deadline": "1s"})
        gate.release()
        first = server.say()
        self.assertEqual(first.code, "timeout")
        gate.open()

        self.assertEqual(server.say().text, TWICE)

        self.assertEqual([call.user.partition(":")[0] for call in gate.calls], ["Draft", "Polish", "Polish"])

    def test_a_stop_ends_it_and_the_next_start_goes_on(self):
        gate, server = self.behind(held=True, http={"shutdown_timeout": "100ms"})
        running = self.later(answer_or_lost, server.say)
        gate.release()
        gate.wait_for_calls(2)
        server.terminate()
        self.assertEqual(server.wait(), 0)
        running.result()
        gate.open()

        server.start()
        self.until(lambda: server.state_of() == "completed", "the end of the turn")

        self.assertEqual(server.say().text, TWICE)
        self.assertEqual(gate.count, 3)


if __name__ == "__main__":
    unittest.main()
