"""Whole-binary tests of what models think between two rounds of tools: kept, sent back to them alone, shown to nobody."""
import json
import subprocess
import threading
import unittest

from fake_provider import FakeProvider, answer, open_answer
from serving import LOOK, ServingTest, quoted
from treaty_binary import BINARY, SECONDS

SECRET = "c2lnbmVkIGJ5IHRoZSBtb2RlbA=="  # A signature, or what only the model can read.
WORDS = "First I should look \"here\" \\ caf\u00e9."
LAST, BRIEF = -1, 2  # Steps of a turn: its last answer, and the round in which the model does not think.
STAND_IN = "skip_thought_signature_validator"  # What Gemini takes for a signature that nobody knows.


def arguments(step):
    """Arguments of a call: the same call over and over would end the turn."""
    return {"what": f"a{step}"}


def secret(step):
    """What only the model can read of its thoughts in a round."""
    return SECRET if step == 0 else f"{SECRET}{step}"


def sse(*events):
    """Server-sent events; a pair has a name."""
    return "".join(f"event: {event[0]}\ndata: {json.dumps(event[1])}\n\n" if isinstance(event, tuple) else
                   f"data: {event if isinstance(event, str) else json.dumps(event)}\n\n" for event in events).encode()


class DeepSeek:
    kind, model, key = "deepseek", "deepseek-reasoner", "DEEPSEEK_API_KEY"
    words = WORDS

    def call(self, step):
        return {"id": f"call_0{step}", "type": "function",
                "function": {"name": "look", "arguments": json.dumps(arguments(step))}}

    def message(self, step):
        if step == LAST:
            return {"role": "assistant", "content": "Done."}
        thoughts = {} if step == BRIEF else {"reasoning_content": self.thought(step)}
        return {"role": "assistant", "content": "", **thoughts, "tool_calls": [self.call(step)]}

    def thought(self, step):
        return self.words + " Again." * step

    def thoughts(self, body):
        """Without the blank that stands for none: the provider answers 400 to a message that lacks the member."""
        found = [message["reasoning_content"] for message in body["messages"] if "reasoning_content" in message]
        return [text for text in found if text.strip()]

    def expected(self, steps):
        return [self.thought(step) for step in steps if step != BRIEF]

    def plain(self, step):
        return {"model": self.model, "choices": [
            {"index": 0, "message": self.message(step), "finish_reason": "stop" if step == LAST else "tool_calls"}],
            "usage": {"prompt_tokens": 9, "completion_tokens": 4, "total_tokens": 13}}

    def stream(self, step):
        def chunk(delta, finish=None):
            return {"model": self.model, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}]}
        if step == LAST:
            return sse(chunk({"content": "Done."}), chunk({}, "stop"), "[DONE]")
        thought = "" if step == BRIEF else self.thought(step)
        return sse(*(chunk({"reasoning_content": piece}) for piece in (thought[:9], thought[9:]) if piece),
                   chunk({"tool_calls": [{"index": 0, **self.call(step)}]}), chunk({}, "tool_calls"), "[DONE]")


class Anthropic:
    kind, model, key = "anthropic", "claude-sonnet-4-5", "ANTHROPIC_API_KEY"
    reasoning = {"budget_tokens": 2048}
    text = {"type": "text", "text": "I look. \n"}

    def tool(self, step):
        return {"type": "tool_use", "id": f"toolu_0{step}", "name": "look", "input": arguments(step)}

    def thinking(self, step):
        return {"type": "thinking", "thinking": WORDS, "signature": secret(step)}

    def hidden(self, step):
        return {"type": "redacted_thinking", "data": secret(step)[::-1]}

    def expected(self, steps):
        return [block for step in steps if step != BRIEF for block in (self.thinking(step), self.hidden(step))]

    def thoughts(self, body):
        """Between two calls these models need not think, and the turn's setting stays the same all the same."""
        assert body["thinking"] == {"type": "enabled", "budget_tokens": 2048}, body["thinking"]
        found = []
        for message in body["messages"]:
            if message["role"] == "assistant":
                kinds = [block["type"] for block in message["content"]]
                assert kinds in (["thinking", "text", "redacted_thinking", "tool_use"], ["tool_use"], ["text"]), kinds
                assert self.text in message["content"] or len(kinds) == 1, message
                found += [block for block in message["content"] if "thinking" in block["type"]]
        return found

    def content(self, step):
        if step == LAST:
            return [{"type": "text", "text": "Done."}]
        if step == BRIEF:
            return [self.tool(step)]
        return [self.thinking(step), self.text, self.hidden(step), self.tool(step)]

    def plain(self, step):
        return {"id": "msg_1", "type": "message", "role": "assistant", "model": self.model,
                "content": self.content(step), "stop_reason": "end_turn" if step == LAST else "tool_use",
                "usage": {"input_tokens": 9, "output_tokens": 4}}

    @staticmethod
    def pieces(block):
        """How a block begins, and what follows piece by piece."""
        if block["type"] == "text":
            return {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
        if block["type"] == "tool_use":
            return {**block, "input": {}}, [{"type": "input_json_delta", "partial_json": json.dumps(block["input"])}]
        if block["type"] == "redacted_thinking":
            return block, []
        return ({"type": "thinking", "thinking": "", "signature": ""},
                [{"type": "thinking_delta", "thinking": WORDS[:11]}, {"type": "thinking_delta", "thinking": WORDS[11:]},
                 {"type": "signature_delta", "signature": block["signature"]}])

    def stream(self, step):
        def of(kind, **members):
            return kind, {"type": kind, **members}
        events = [of("message_start", message={**self.plain(LAST), "content": [], "stop_reason": None})]
        blocks = [self.pieces(block) for block in self.content(step)]
        for index, (block, deltas) in enumerate(blocks):
            events.append(of("content_block_start", index=index, content_block=block))
            events += [of("content_block_delta", index=index, delta=delta) for delta in deltas]
            events.append(of("content_block_stop", index=index))
        events.append(of("message_delta", delta={"stop_reason": "end_turn" if step == LAST else "tool_use"},
                         usage={"output_tokens": 4}))
        return sse(*events, of("message_stop"))


class Gemini:
    kind, model, key = "gemini", "gemini-3-flash", "GEMINI_API_KEY"

    def expected(self, steps):
        """The first call of a round has to have a signature."""
        return [STAND_IN if step == BRIEF else secret(step) for step in steps]

    def thoughts(self, body):
        return [part["thoughtSignature"] for content in body["contents"] for part in content["parts"]
                if "functionCall" in part]

    def parts(self, step):
        call = {"functionCall": {"name": "look", "args": arguments(step)}}
        if step == LAST:
            return [{"text": "Done."}]
        if step == BRIEF:
            return [call]
        return [{"text": WORDS, "thought": True}, {**call, "thoughtSignature": secret(step)}]

    def plain(self, step):
        parts = self.parts(step)
        return {"candidates": [{"index": 0, "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}],
                "modelVersion": self.model, "usageMetadata": {"promptTokenCount": 9, "candidatesTokenCount": 4}}

    def stream(self, step):
        return sse(self.plain(step))


class Responses:
    kind, model, key = "openai", "gpt-5-mini", "OPENAI_API_KEY"
    protocol = "responses"

    def item(self, step):
        return {"id": f"rs_{step}", "type": "reasoning", "summary": [{"type": "summary_text", "text": WORDS}],
                "encrypted_content": secret(step)}

    def expected(self, steps):
        return [self.item(step) for step in steps if step != BRIEF]

    def thoughts(self, body):
        assert body["store"] is False and body["include"] == ["reasoning.encrypted_content"], body
        return [item for item in body["input"] if item.get("type") == "reasoning"]

    def plain(self, step):
        call = {"id": f"fc_{step}", "type": "function_call", "status": "completed", "call_id": f"call_{step}",
                "name": "look", "arguments": json.dumps(arguments(step))}
        text = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": "Done.", "annotations": []}]}
        return {"id": "resp_1", "object": "response", "status": "completed", "model": self.model,
                "output": [text] if step == LAST else [call] if step == BRIEF else [self.item(step), call],
                "usage": {"input_tokens": 9, "output_tokens": 4, "total_tokens": 13}}

    def stream(self, step):
        whole = self.plain(step)
        events = []
        for index, item in enumerate(whole["output"]):
            events.append(("response.output_item.added",
                           {"type": "response.output_item.added", "output_index": index, "item": item}))
            events.append(("response.output_item.done",
                           {"type": "response.output_item.done", "output_index": index, "item": item}))
        return sse(*events, ("response.completed", {"type": "response.completed", "response": whole}))


WIRES = (DeepSeek(), Anthropic(), Gemini(), Responses())


class ThoughtsTest(ServingTest):
    def provider(self, wire, refuses=None, rounds=1):
        """Answers so many calls with thoughts and a call of a tool, and every later one with the end, in the form
        that was asked for. `refuses`: what it says instead to a request that `refuses` takes."""
        def respond(connection, request):
            if refuses and (refusal := refuses(request)):
                return connection.sendall(refusal)
            asked = [one for one in provider.requests if not (refuses and refuses(one))]
            step = len(asked) - 1 if len(asked) <= rounds else LAST
            if request.json.get("stream") or "streamGenerateContent" in request.target:
                connection.sendall(open_answer() + wire.stream(step))
            else:
                connection.sendall(answer(wire.plain(step)))
        provider = FakeProvider(respond)
        self.addCleanup(provider.close)
        return provider

    def config(self, *backends, agent=None):
        providers, chain = {}, []
        for number, (wire, provider) in enumerate(backends):
            settings = {"kind": wire.kind, "base_url": provider.url + "/v1", "key": "any-key-of-a-test"}
            if getattr(wire, "protocol", None):
                settings["protocol"] = wire.protocol
            providers[f"p{number}"] = settings
            reasoning = getattr(wire, "reasoning", None)
            chain.append({"provider": f"p{number}", "model": wire.model,
                          **({"reasoning": reasoning} if reasoning else {})})
        return {"providers": providers, "agents": {"default": {
            "system": "You are brief.", "tools": [LOOK], "backends": chain, **(agent or {})}}}

    def diary(self, server, session="s1", until=("turn.completed", "turn.failed")):
        with server.events(session) as stream:
            seen = []
            for event in stream:
                seen.append((event.event, event.json))
                if event.event in until:
                    return seen
        return seen

    def first_round(self, server, streamed=False):
        if not streamed:
            return server.say().calls
        with server.say_streaming() as stream:
            return [call["ToolCallId"] for call in list(stream)[-1].json["Result"]["ToolCalls"]]


class Kept(ThoughtsTest):
    def test_what_goes_back_is_what_came_also_through_kill_9(self):
        for wire in WIRES:
            for streamed in (False, True):
                for killed in (False, True):
                    with self.subTest(wire.kind, streamed=streamed, killed=killed):
                        provider = self.provider(wire)
                        server = self.server(self.config((wire, provider)))
                        calls = self.first_round(server, streamed)
                        if killed:
                            server.restart()
                        self.assertEqual(server.submit("s1", "t1", calls).text, "Done.")
                        self.assertEqual(wire.thoughts(provider.requests[1].json), wire.expected([0]))
                        server.close()

    def test_each_round_of_a_turn_sends_the_thoughts_of_all_rounds_before_it(self):
        for wire in WIRES:
            for killed in (False, True):
                with self.subTest(wire.kind, killed=killed):
                    provider = self.provider(wire, rounds=4)  # Thoughts in all but the third.
                    server = self.server(self.config((wire, provider)))
                    calls = self.first_round(server, streamed=killed)
                    for number in (1, 2, 3, 4):
                        if killed:
                            server.restart()
                        said = server.submit("s1", "t1", calls)
                        self.assertEqual(wire.thoughts(provider.requests[number].json), wire.expected(range(number)))
                        calls = said.calls if number < 4 else []
                    self.assertEqual(said.text, "Done.")
                    server.close()

    def test_nobody_but_the_model_sees_them(self):
        for wire in WIRES:
            with self.subTest(wire.kind):
                provider = self.provider(wire)
                server = self.server(self.config((wire, provider)))
                answers = [server.say().body, server.submit("s1", "t1", self.calls_of(server)).body]
                told = json.dumps(self.diary(server)).encode()
                answers += [told, server.turn().body, server.get("/v1/sessions/s1").body, server.get("/metrics").body]
                with server.follow("s1", "t1") as stream:
                    answers.append(stream.rest())
                answers.append(server.get(f"/v1/sessions/{quoted('s1')}/turns").body)
                server.close()
                answers.append(server.errors().encode())
                for verb in (["show", "s1"], ["export", "s1"]):
                    ran = subprocess.run([BINARY, "sessions", *verb, "--state-dir", server.state, "--format", "json"],
                                         capture_output=True, env=server.environment(), cwd=self.folder, check=False)
                    answers.append(ran.stdout + ran.stderr)
                for text in answers:
                    self.assertNotIn(SECRET.encode(), text)
                    self.assertNotIn(SECRET[::-1].encode(), text)
                    self.assertNotIn(b"First I should", text)

    def calls_of(self, server):
        return [call["ToolCallId"] for call in server.say().result["ToolCalls"]]  # The same bytes, repeated.

    def test_the_next_turn_has_them_where_the_provider_wants_that(self):
        for wire in WIRES:
            with self.subTest(wire.kind):
                provider = self.provider(wire)
                server = self.server(self.config((wire, provider)))
                server.submit("s1", "t1", self.first_round(server))
                server.restart()  # From the journal, not from memory.
                server.say("s1", "t2", "And now?")
                body = provider.requests[2].json
                earlier = wire.thoughts(body)
                self.assertEqual(earlier, [] if isinstance(wire, Responses) else wire.expected([0]))


class Elsewhere(ThoughtsTest):
    def test_another_model_does_not_get_them_and_an_event_says_so(self):
        wire, other = Anthropic(), DeepSeek()
        broken = []
        one = self.provider(wire, refuses=lambda request: answer({"error": {"message": "No."}}, 401) if broken else None)
        two = FakeProvider(lambda connection, request: connection.sendall(answer(other.plain(LAST))))
        self.addCleanup(two.close)
        server = self.server(self.config((wire, one), (other, two)))
        calls = self.first_round(server)
        broken.append(True)
        self.assertEqual(server.submit("s1", "t1", calls).text, "Done.")

        self.assertNotIn(SECRET.encode(), two.requests[0].body)
        self.assertNotIn(b"First I should", two.requests[0].body)
        dropped, = [data for kind, data in self.diary(server) if kind == "thoughts.dropped"]
        self.assertEqual((dropped["Backend"], dropped["Model"], dropped["Rule"]), ("p1", other.model, "thoughts"))

    def test_a_signature_that_is_refused_is_left_out_once_and_an_event_says_so(self):
        wire = Anthropic()

        def refuses(request):
            if SECRET.encode() not in request.body:
                return None
            return answer({"type": "error", "error": {"type": "invalid_request_error",
                                                      "message": "Invalid `signature` in `thinking` block"}}, 400)
        provider = self.provider(wire, refuses)
        server = self.server(self.config((wire, provider)))
        calls = self.first_round(server)
        self.assertEqual(server.submit("s1", "t1", calls).text, "Done.")

        self.assertEqual([SECRET.encode() in request.body for request in provider.requests], [False, True, False])
        again, = [data for kind, data in self.diary(server) if kind == "asked_again"]
        self.assertEqual(again["Rule"], "thoughts")
        self.assertNotIn(SECRET, json.dumps(again))

    def test_refused_thoughts_are_not_sent_again_in_later_rounds_and_turns(self):
        wire = Anthropic()
        refused = secret(0) + '"'  # As JSON ends it: the other signatures begin the same.

        def refuses(request):
            if refused.encode() not in request.body:
                return None
            return answer({"type": "error", "error": {"type": "invalid_request_error",
                                                      "message": "Invalid `signature` in `thinking` block"}}, 400)
        for restarted in (False, True):
            with self.subTest(restarted=restarted):
                provider = self.provider(wire, refuses, rounds=2)
                server = self.server(self.config((wire, provider)))
                calls = self.first_round(server)
                calls = server.submit("s1", "t1", calls).calls
                if restarted:
                    server.restart()
                self.assertEqual(server.submit("s1", "t1", calls).text, "Done.")
                if restarted:
                    server.restart()
                self.assertEqual(server.say("s1", "t2", "And now?").text, "Done.")

                sent = [refused.encode() in request.body for request in provider.requests]
                self.assertEqual(sent, [False, True, False, False, False])
                self.assertIn(secret(1).encode(), provider.requests[-1].body)
                server.close()

    def test_thoughts_of_5_mb_are_kept_and_of_9_mb_are_dropped_with_an_event(self):
        for size, is_kept in ((5, True), (9, False)):
            with self.subTest(size=size):
                wire = DeepSeek()
                wire.words = "hm, " * (size << 18)
                provider = self.provider(wire)
                server = self.server(self.config((wire, provider)))
                calls = self.first_round(server)
                server.restart()
                self.assertEqual(server.submit("s1", "t1", calls).text, "Done.")
                sent = wire.thoughts(provider.requests[1].json)
                self.assertEqual([len(one) for one in sent], [size << 20] if is_kept else [])
                kinds = [kind for kind, _ in self.diary(server)]
                self.assertEqual("thoughts.dropped" in kinds, not is_kept)


class Shown(ThoughtsTest):
    def test_they_are_shown_before_the_answer(self):
        shown = threading.Event()

        def respond(connection, request):
            wire, data = DeepSeek(), DeepSeek().stream(0)
            first, rest = data.split(b"\n\n", 1)
            connection.sendall(open_answer() + first + b"\n\n")
            shown.wait(SECONDS)
            connection.sendall(rest if len(provider.requests) == 1 else wire.stream(LAST))
        provider = FakeProvider(respond)
        self.addCleanup(provider.close)
        self.addCleanup(shown.set)
        server = self.server(self.config((DeepSeek(), provider), agent={"show_thinking": True}))
        running = self.later(self.first_round, server, True)
        self.until(lambda: provider.requests, "the call")
        with server.events("s1") as stream:
            thinking = stream.until("thinking")[-1].json["Text"]
        self.assertTrue(thinking and WORDS.startswith(thinking), thinking)  # What may begin a secret is held back.
        shown.set()
        running.result()

    def test_readable_thoughts_are_events_where_the_agent_says_so(self):
        for wire in WIRES:
            for shows in (True, False):
                with self.subTest(wire.kind, shows=shows):
                    provider = self.provider(wire)
                    server = self.server(self.config((wire, provider), agent={"show_thinking": shows}))
                    server.submit("s1", "t1", self.first_round(server, streamed=True))
                    diary = self.diary(server)
                    text = "".join(data["Text"] for kind, data in diary if kind == "thinking")
                    self.assertEqual(text, WORDS if shows else "")
                    self.assertNotIn(SECRET, json.dumps(diary))


if __name__ == "__main__":
    unittest.main()
