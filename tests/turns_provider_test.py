"""Whole-binary tests of S4: whatever a provider does, a turn ends in a final, a continuation or one error."""
import json
import socket
import unittest

from mock_server import Mock
from serving import ServingTest, configuration

TEXT = "A text that is long enough to be cut somewhere in the middle of it."
FAULTS = [
    {"cut": "head"}, {"cut": 0}, {"cut": 10}, {"cut": 200}, {"reset": "head"}, {"reset": 0}, {"reset": 150},
    {"garbage": 50}, {"garbage": 4000}, {"garbage": {"bytes": 40, "after": 100}}, {"malformed_chunk": "framing"},
    {"malformed_chunk": "json"}, {"body": ""}, {"body": "{}"}, {"body": "null"}, {"body": "[]"}, {"html": True},
    {"error": 429}, {"error": 500}, {"error": 502}, {"error": 503}, {"error": 529},
    {"error": {"status": 400, "message": "maximum context length"}}, {"error": 401}, {"error": 403}, {"error": 404},
    {"error": {"status": 418, "body": "<teapot>"}}, {"status": 204}, {"status": 301, "body": "moved"},
    {"finish_reason": "content_filter"}, {"finish_reason": "some_new_word"}, {"refusal": "No."},
]
FINE = [{}, {"missing_ids": True}, {"chunk_size": 1}, {"chunk_size": 7, "chunk_delay": 1}, {"finish_reason": "length"}]


class Faults(ServingTest):
    def play(self, replies, **provider):
        self.write("faults.yaml", json.dumps(replies))
        mock = Mock(self.folder, ["--script", "faults.yaml", "--seed", "7"])
        self.addCleanup(mock.stop)
        return mock, self.server(configuration(
            agent={"backends": [{"provider": "mock", "model": "m"}]},
            providers={"mock": {"kind": "openai", "base_url": f"http://127.0.0.1:{mock.port}/v1", **provider}}))

    def rules(self, faults):
        """A reply of the script for each fault, found by the text of the user, whatever the order of calls."""
        return {"rules": [{"when": {"user_contains": f"fault-{number}-"}, **self.reply(fault)}
                          for number, fault in enumerate(faults)], "replies": ["Not meant."]}

    def reply(self, fault):
        return fault if {"body", "html", "error", "refusal"} & fault.keys() else {"text": TEXT, **fault}

    def one_end(self, server, number, streamed):
        """The InvokeResult in which the turn ends, after all was checked that holds for each."""
        session = f"{'stream' if streamed else 'plain'}-{number}"
        if streamed:
            with server.say_streaming(session, "t1", f"fault-{number}-") as stream:
                if stream.headers["content-type"].startswith("text/event-stream"):
                    events = list(stream)
                    self.assertEqual([e.event for e in events].count("turn.result"), 1)
                    body = events[-1].data.encode()
                else:
                    body = stream.rest()
        else:
            body = server.say(session, "t1", f"fault-{number}-").body
        document = json.loads(body)
        self.assert_keeps("invoke-result", body)
        self.assertEqual(len(document["Errors"] or []), 0 if document["Successful"] else 1)
        self.assertEqual(server.state_of(session, "t1"), "completed" if document["Successful"] else "failed")
        return document

    def test_every_fault_ends_in_one_error_streamed_and_plain(self):
        _, server = self.play(self.rules(FAULTS))
        for number, fault in enumerate(FAULTS):
            for streamed in (False, True):
                with self.subTest(fault=fault, streamed=streamed):
                    document = self.one_end(server, number, streamed)
                    if document["Successful"]:
                        # Nothing of it was lost, else it would be a success that is none.
                        self.assertIn(document["Result"]["PrimaryOutputText"].strip(), (TEXT,))
                        self.assertIn(fault, ({"finish_reason": "some_new_word"},))
        self.assertEqual(server.say("after", "t1").text, "Not meant.")

    def test_what_is_only_odd_is_a_final(self):
        _, server = self.play(self.rules(FINE))
        for number, fault in enumerate(FINE):
            for streamed in (False, True):
                with self.subTest(fault=fault, streamed=streamed):
                    document = self.one_end(server, number, streamed)
                    self.assertEqual(document["Result"]["PrimaryOutputText"], TEXT)

    def test_an_answer_without_any_choice_is_a_final_with_a_warning(self):
        _, server = self.play(self.rules([{"body": '{"choices": []}'}]))
        for streamed in (False, True):
            self.assertTrue(self.one_end(server, 0, streamed)["Result"]["UserWarnings"])

    def test_a_stream_cut_at_any_byte_is_no_success(self):
        cuts = [{"cut": place} for place in range(0, 700, 23)]
        _, server = self.play(self.rules(cuts))
        for number in range(len(cuts)):
            document = self.one_end(server, number, True)
            self.assertFalse(document["Successful"], cuts[number])
            self.assertEqual(document["Errors"][0]["ErrorCode"], "server_error")

    def test_a_provider_that_stalls_is_given_up_at_the_deadline(self):
        _, server = self.play(self.rules([{"stall": "head"}, {"stall": 60}]), timeout="500ms")
        for number in range(2):
            for streamed in (False, True):
                document = self.one_end(server, number, streamed)
                self.assertEqual(document["Errors"][0]["ErrorCode"], "timeout")

    def test_a_turn_is_given_up_at_its_own_deadline(self):
        self.write("stall.yaml", json.dumps([{"text": TEXT, "stall": "head"}]))
        server = self.server(configuration(agent={
            "backends": [{"script": str(self.folder / "stall.yaml")}], "deadline": "300ms"}))
        self.assert_refused(server.say("s1", "t1"), 504, "timeout")

    def test_an_endless_answer_ends(self):
        _, server = self.play(self.rules([{"endless": True}]), timeout="1s")
        for streamed in (False, True):
            self.assertFalse(self.one_end(server, 0, streamed)["Successful"])

    def test_a_provider_that_is_not_there(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]
        server = self.server(configuration(
            agent={"backends": [{"provider": "gone", "model": "m"}]},
            providers={"gone": {"kind": "openai", "base_url": f"http://127.0.0.1:{port}/v1"}}))
        self.assert_refused(server.say("s1", "t1"), 502, "server_error")

    def test_a_provider_that_speaks_no_tls(self):
        mock, _ = self.play(["Fine."])
        server = self.server(configuration(
            agent={"backends": [{"provider": "tls", "model": "m"}]},
            providers={"tls": {"kind": "openai", "base_url": f"https://127.0.0.1:{mock.port}/v1"}}))
        self.assert_refused(server.say("s1", "t1"), 502, "server_error")

    def test_tools_of_every_protocol_end_in_a_continuation(self):
        self.write("tools.yaml", json.dumps({"rules": [
            {"when": {"tool_results": True}, "text": "It is {{tool_results}}."},
            {"when": {"user_contains": "look"}, "tool_calls": [
                {"name": "look", "arguments": {"what": "a"}, "id": "call_a"},
                {"name": "look", "arguments": {"what": "b"}, "id": "call_b"}]}], "replies": ["Plain."]}))
        mock = Mock(self.folder, ["--script", "tools.yaml"])
        self.addCleanup(mock.stop)
        root = f"http://127.0.0.1:{mock.port}"
        kinds = {"openai": f"{root}/v1", "anthropic": f"{root}/v1", "gemini": f"{root}/v1beta", "mistral": f"{root}/v1"}
        providers = {kind: {"kind": kind, "base_url": url, "key": "k"} for kind, url in kinds.items()}
        agents = {kind: {"backends": [{"provider": kind, "model": "m"}],
                         "tools": [{"name": "look", "run": "client", "description": "Looks."}]} for kind in kinds}
        server = self.server(configuration(agent={"backends": [{"provider": "openai", "model": "m"}]}, agents=agents,
                                           providers=providers))
        for kind in kinds:
            with self.subTest(kind):
                first = server.say(kind, "t1", "Please look.", AgentContextId=kind)
                self.assertEqual(first.status, 200, first)
                self.assertEqual(len(first.calls), 2)
                final = server.submit(kind, "t1", first.calls)
                self.assertIn("It is", final.text)
                self.assertEqual(server.say(kind, "t2", "Go on.").text, "Plain.")


if __name__ == "__main__":
    unittest.main()
