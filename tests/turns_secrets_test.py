"""Whole-binary tests of S14: a canary key is in no file of the state, no answer, no event, no line on stderr."""
import hashlib
import json
import unittest

from fake_provider import FakeProvider, answer, open_answer
from gate import HOLD, KEY, Reply
from serving import LOOK, ServingTest, configuration, ok, tool_results, user_turn

ACCESS = "access-CANARY-41d8e07b2c"
WRITTEN = "cfgCANARY/secret+0001=xyz"  # In treaty.yaml; without the shape of a key.
SPARE = "PlainCanary99zzQQxx77"  # In the environment, of a provider that no agent uses.
CANARIES = [KEY, ACCESS, WRITTEN, SPARE]
SAID = f"Keys: {KEY}, {WRITTEN}; and {SPARE}."
MASKED = "Keys: ***, ***; and ***."


def pieces(text, size=5):
    return [text[at:at + size] for at in range(0, len(text), size)]


class Echo:
    """A provider that says all keys in every field of its answer. The instruction tells what kind of answer."""

    def __init__(self):
        self.keys = []
        self.fake = FakeProvider(self.answer)
        self.base_url = self.fake.url + "/v1"

    def answer(self, connection, request):
        self.keys.append(request.headers["authorization"].removeprefix("Bearer "))
        wanted = request.json["messages"][-1]["content"]
        stream = request.json.get("stream", False)
        error = {"error": {"message": SAID, "type": SPARE, "code": WRITTEN, "param": KEY}}
        if wanted.startswith("fail "):
            sent = answer(error, int(wanted.split()[1]), X_Echo=KEY, X_Request_Id=SPARE)
        elif stream:
            connection.sendall(open_answer())
            for event in self.events(wanted, error):
                connection.sendall(b"data: %s\n\n" % json.dumps(event).encode())
            sent = b"data: [DONE]\n\n"
        else:
            message = {"role": "assistant", "content": SAID, "reasoning_content": SAID}
            if wanted == "call":
                message["tool_calls"] = self.calls()
            sent = answer(self.frame({"message": message, "finish_reason": "tool_calls" if wanted == "call" else "stop"}),
                          X_Echo=KEY, X_Request_Id=SPARE)
        connection.sendall(sent)

    def frame(self, choice):
        return {"id": KEY, "model": SPARE, "system_fingerprint": WRITTEN, KEY: SPARE,
                "choices": [{"index": 0, "finish_reason": None, **choice}],
                "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}

    def calls(self):
        return [{"index": place, "id": f"call {key}", "type": "function",
                 "function": {"name": name, "arguments": json.dumps({"what": key, key: key})}}
                for place, (key, name) in enumerate([(KEY, "look"), (WRITTEN, "look"), (SPARE, SPARE)])]

    def events(self, wanted, error):
        for piece in pieces(SAID):
            yield self.frame({"delta": {"content": piece, "reasoning_content": piece}})
        if wanted == "break":
            yield error
            return
        for call in self.calls() if wanted == "call" else ():
            head = {**call, "function": {**call["function"], "arguments": ""}}
            yield self.frame({"delta": {"tool_calls": [head]}})
            for piece in pieces(call["function"]["arguments"]):
                yield self.frame({"delta": {"tool_calls": [{"index": call["index"], "function": {"arguments": piece}}]}})
        yield self.frame({"delta": {}, "finish_reason": "tool_calls" if wanted == "call" else "stop"})


class Secrets(ServingTest):
    def setUp(self):
        super().setUp()
        self.seen = []

    def serve(self, *replies, held=False):
        gate = self.gate(*replies, held=held)
        server = self.server(configuration(
            gate, keys=[{"tenant": "acme", "sha256": hashlib.sha256(ACCESS.encode()).hexdigest()}]))
        return gate, server

    def ask(self, server, method, path, body=None, **headers):
        answer = server.ask(method, path, body, {"Authorization": f"Bearer {ACCESS}", **headers})
        self.seen.append(answer.body + repr(answer.headers).encode())
        return answer

    def say(self, server, turn="t1", **members):
        return self.ask(server, "POST", "/v1/agent/execute", user_turn("s1", turn, **members))

    def stream(self, server, body):
        """The events of a streamed request; a failure before the first delta is no stream."""
        with server.stream("POST", "/v1/agent/execute", {**body, "Streaming": True},
                           {"Authorization": f"Bearer {ACCESS}"}) as stream:
            if stream.headers["content-type"] != "text/event-stream":
                self.seen.append(stream.rest())
                return []
            events = list(stream)
        self.seen += [event.data.encode() for event in events]
        return events

    def look_at_files(self, server):
        files = [file for file in server.state.rglob("*") if file.is_file()]
        self.assertTrue(files)
        self.seen += [file.read_bytes() for file in files]

    def assert_silent(self, server, sessions=("s1",)):
        """Looks at everything that can be asked for, then at every file, the log of SQLite too, and at stderr."""
        for path, methods in server.addresses().items():
            if "GET" in methods and "ID" not in path:
                self.ask(server, "GET", path)
        for session in sessions:
            room = f"/v1/sessions/{session}"
            for rest in ("", "/turns", "/turns/t1", "/turns/t1/assistant", "/turns/t1/stream", "/events?follow=false"):
                self.assertEqual(self.ask(server, "GET", room + rest).status, 200, room + rest)
            self.assertIn(b"turn.accepted", self.seen[-1])
        self.look_at_files(server)
        server.terminate()
        server.wait()
        self.look_at_files(server)
        self.seen.append(server.errors().encode())
        for secret in CANARIES:
            for spelling in (secret, json.dumps(secret)[1:-1].replace("/", "\\/")):
                for place in self.seen:
                    self.assertNotIn(spelling.encode(), place)

    def test_after_a_plain_turn(self):
        gate, server = self.serve()
        self.assertEqual(self.say(server).status, 200)
        self.assertEqual(gate.calls[0].request.headers["authorization"], f"Bearer {KEY}", "the canary was used")
        self.assert_silent(server)

    def test_after_an_error_of_the_provider_that_quotes_the_key(self):
        for status in (401, 400, 500):
            with self.subTest(status):
                self.seen = []
                _, server = self.serve(Reply(error=(status, {"error": {
                    "message": f"Incorrect API key provided: {KEY}. Header was 'Authorization: Bearer {KEY}'.",
                    "type": "invalid_request_error", "code": None}}), headers={"X_Echo": KEY, "X_Request_Id": KEY}))
                answer = self.say(server)
                self.assertIn(answer.status, (502,), answer)
                self.assert_silent(server)

    def echo(self):
        """A server with an agent for each way to give a key, all on a provider that tells what it was given."""
        echo = Echo()
        self.addCleanup(echo.fake.close)
        written = {"kind": "custom", "base_url": echo.base_url, "key": WRITTEN}
        server = self.server(configuration(
            echo, providers={"written": written},
            keys=[{"tenant": "acme", "sha256": hashlib.sha256(ACCESS.encode()).hexdigest()}],
            agents={"written": {"backends": [{"provider": "written", "model": "m"}], "tools": [LOOK]}}),
            environment={"ANTHROPIC_API_KEY": SPARE})
        return echo, server

    def test_whatever_a_provider_echoes_is_masked_on_its_way_in(self):
        echo, server = self.echo()
        sessions = []
        for agent in ("default", "written"):
            for kind in ("say", "call", "break", "fail 400", "fail 401", "fail 422", "fail 500"):
                for streams in (False, True):
                    if kind == "break" and not streams:
                        continue
                    session = f"{agent}-{kind}-{streams}".replace(" ", "-")
                    sessions.append(session)
                    body = user_turn(session, "t1", kind, AgentContextId=agent)
                    if streams:
                        self.stream(server, body)
                    else:
                        self.ask(server, "POST", "/v1/agent/execute", body)
        self.assertEqual(set(echo.keys), {KEY, WRITTEN})
        self.assert_silent(server, sessions)

    def test_what_is_masked_is_the_same_streamed_and_not(self):
        _, server = self.echo()
        self.assertEqual(self.say(server, Instruction="say").text, MASKED)
        events = self.stream(server, user_turn("s2", "t1", "say"))
        deltas = [event.json["DeltaText"] for event in events if event.event == "output.delta"]
        self.assertEqual("".join(deltas), MASKED)
        self.assertEqual(events[-1].json["Result"]["PrimaryOutputText"], MASKED)

    def test_only_what_may_be_a_key_is_held_back(self):
        gate, server = self.serve(Reply("Your key is ", KEY[:9], HOLD, KEY[9:], ", keep it: ", KEY[:9]))
        with server.stream("POST", "/v1/agent/execute", user_turn("s1", "t1", Streaming=True),
                           {"Authorization": f"Bearer {ACCESS}"}) as stream:
            self.assertEqual(stream.until("output.delta")[-1].json, {"DeltaText": "Your key is "})
            gate.release()
            rest = stream.until("turn.result")
        told = "".join(event.json["DeltaText"] for event in rest[:-1])
        self.assertEqual(told, "***, keep it: " + KEY[:9])
        self.assertEqual(rest[-1].json["Result"]["PrimaryOutputText"], "Your key is " + told)
        self.assert_silent(server)

    def test_a_tool_round_with_masked_calls_goes_on(self):
        _, server = self.echo()
        calls = self.say(server, Instruction="call").result["ToolCalls"]
        self.assertEqual([(call["Name"], json.loads(call["ArgumentsJson"])["what"]) for call in calls],
                         [("look", "***"), ("look", "***")])
        self.assertEqual(len({call["ToolCallId"] for call in calls}), 2)
        final = self.ask(server, "POST", "/v1/agent/execute",
                         tool_results("s1", "t1", [ok(call["ToolCallId"]) for call in calls]))
        self.assertEqual(final.text, MASKED)
        self.assert_silent(server)

    def test_a_key_is_masked_however_its_characters_are_escaped(self):
        spellings = [WRITTEN.replace("/", "\\u002f"), WRITTEN.replace("/", "\\u002F"), WRITTEN.replace("/", "\\/"),
                     "".join(f"\\u{ord(c):04x}" for c in WRITTEN), "\\u0063" + WRITTEN[1:], WRITTEN.replace("/", "\\\\u002f"),
                     WRITTEN.replace("/", "%2f")]
        said = ", ".join(f"key {spelling}" for spelling in spellings) + "."
        masked = ", ".join(["key ***"] * len(spellings)) + "."
        calls = [(f"c{place}", "look", f'{{"what": "{spelling}", "{spelling}": [1]}}')
                 for place, spelling in enumerate(spellings)]
        for size in (1, 3, 7, len(said)):
            gate = self.gate(Reply(*pieces(said, size), calls=calls), Reply(error=(400, {"error": {"message": said}})))
            server = self.server(configuration(gate, providers={
                "gate": {"kind": "custom", "base_url": gate.base_url, "key": WRITTEN}}))
            with server.say_streaming("s1", "t1") as stream:
                events = list(stream)
            deltas = "".join(event.json["DeltaText"] for event in events if event.event == "output.delta")
            self.assertEqual(deltas, masked)
            for call in events[-1].json["Result"]["ToolCalls"]:
                self.assertEqual(json.loads(call["ArgumentsJson"]), {"what": "***", "***": [1]})
            failed = server.say("s2", "t1")
            server.terminate()
            server.wait()
            for place in [failed.body, server.errors().encode(),
                          *(file.read_bytes() for file in server.state.rglob("*") if file.is_file())]:
                for spelling in (WRITTEN, *spellings):
                    for written in (spelling, json.dumps(spelling)[1:-1]):
                        self.assertNotIn(written.encode(), place)

    def test_a_key_that_a_reload_replaced_stays_masked(self):
        old, new = "old-CANARY-0a1b2c3d4e", "new-CANARY-5f6a7b8c9d"
        said = f"They were {old} and are {new}."
        gate = self.gate(Reply(*pieces(said)))

        def provided(key):
            return configuration(gate, providers={"gate": {"kind": "custom", "base_url": gate.base_url, "key": key}})

        server = self.server(provided(old))
        self.assertEqual(server.say("s1", "t1").text, f"They were *** and are {new}.")
        for _ in range(2):  # Another reload does not forget it.
            said_before = server.errors().count("is reloaded")
            server.write_config(provided(new))
            server.hang_up()
            self.until(lambda: server.errors().count("is reloaded") > said_before, "a reload")

        self.assertEqual(server.say("s2", "t1").text, "They were *** and are ***.")
        with server.say_streaming("s3", "t1") as stream:
            deltas = [event.json["DeltaText"] for event in stream if event.event == "output.delta"]
        self.assertEqual("".join(deltas), "They were *** and are ***.")
        self.assertEqual(gate.calls[-1].request.headers["authorization"], f"Bearer {new}")

    def test_after_requests_that_were_refused(self):
        _, server = self.serve()
        self.say(server)
        server.ask("POST", "/v1/agent/execute", "{", {"Authorization": f"Bearer {ACCESS}"})
        for value in (f"Basic {ACCESS}", f"Bearer  {ACCESS}x", ACCESS):
            self.seen.append(server.ask("GET", "/v1/sessions", None, {"Authorization": value}).body)
        self.seen.append(server.get("/v1/nowhere", {"Authorization": f"Bearer {ACCESS}"}).body)
        self.assert_silent(server)


if __name__ == "__main__":
    unittest.main()
