"""What providers send that makes no sense, on chains of backends: every turn ends in time, with one answer or one
error, and every attempt is told."""
import json
import unittest

import faults
from fake_provider import answer, chunk, completion
from faults import LAST, SCALE, SLACK, TEXT, WITH_NEXT, Fault, Provider, ask, chain, diary, healthy, patience
from gate import Closed
from serving import LOOK, ServingTest, ok

DAY = 86_400


class BadInputTest(ServingTest):
    def provider(self, play, scale=SCALE):
        made = Provider(play, scale)
        self.gates.append(made)
        return made

    def two(self, play, second=healthy, **members):
        """(server, both providers) with the chain of faults.py."""
        providers = [self.provider(play), self.provider(second)]
        configured, agent = chain(Fault("bad", play), "f", True, SCALE, [one.port for one in providers])
        return self.server({"providers": configured, "agents": {"default": {**agent, **members}}}), providers

    def alone(self, play, dispatch=None, kind="openai", **members):
        """(server, the only provider)."""
        provider = self.provider(play)
        configured = {"one": {"kind": kind, "base_url": provider.base_url, "key": "k"}}
        agent = {"backends": [{"provider": "one", "model": "m"}], "dispatch": dispatch or patience(LAST, SCALE), **members}
        return self.server({"providers": configured, "agents": {"default": agent}}), provider

    def assert_whole(self, outcome, asked):
        self.assertEqual((outcome.errors, outcome.text, outcome.results, outcome.asked()), ((), TEXT, 1, asked), outcome)
        self.assertIn(outcome.deltas, (None, TEXT))
        self.assertLess(outcome.seconds, faults.LONGEST + SLACK)


class RetryAfter(BadInputTest):
    def refusing(self, value):
        return faults.refusing(429, "rate_limit_exceeded", "requests", retry_after=value)

    def test_a_year_is_not_waited_for(self):
        server, providers = self.two(self.refusing(365 * DAY))
        self.assert_whole(ask(server, providers, "r1", False, scale=SCALE), (1, 1))

    def test_a_year_is_at_most_a_day_for_the_client_of_the_only_backend(self):
        server, provider = self.alone(self.refusing(365 * DAY))
        refusal = server.say()
        self.assert_refused(refusal, 429, "rate_limit")
        self.assertLessEqual(int(refusal.headers["retry-after"]), DAY)
        self.assertEqual(provider.count, 1)

    def test_what_is_no_time_is_as_if_there_were_no_header(self):
        for value in (-1, "soon", "", "1e400", "NaN", "-0", "Wed, 21 Oct 2015 07:28:00 GMT"):
            with self.subTest(value):
                server, providers = self.two(self.refusing(value))
                self.assert_whole(ask(server, providers, "r1", True, scale=SCALE), (2, 1))


def dripping(before):
    """Text, and then one byte of the next chunk every 14 s."""
    def play(exchange):
        exchange.begin()
        exchange.say(before)
        if not exchange.call.streams:
            return exchange.end()
        for byte in chunk(TEXT[len(before):]):
            exchange.wait(14)
            exchange.send(bytes([byte]))
        return exchange.end()
    return play


def commenting(before):
    """Text, and then comments for ever."""
    def play(exchange):
        exchange.begin()
        exchange.say(before)
        while not exchange.provider.is_closed:
            exchange.send(b": keep-alive\n\n")
            exchange.wait(1)
        raise Closed
    return play


class Silence(BadInputTest):
    def test_bytes_and_comments_without_text_are_silence(self):
        for play in (dripping(""), commenting("")):
            for streamed in (True, False):
                server, providers = self.two(play)
                outcome = ask(server, providers, "r1", streamed, scale=SCALE)
                self.assert_whole(outcome, (1, 1))
                self.assertGreater(outcome.seconds, 9.5)
                providers[0].wait_for_gone(1)

    def test_the_body_of_a_failure_is_waited_for_where_it_says_more_than_the_status(self):
        def slow_body(exchange):
            if exchange.call.number > 1:
                return healthy(exchange)
            data = faults.failure(400, "context_length_exceeded", kind="invalid_request_error")
            head, _, body = data.partition(b"\r\n\r\n")
            exchange.send(head + b"\r\n\r\n")
            exchange.wait(5)
            return exchange.send(body)
        server, providers = self.two(slow_body)
        self.assertEqual(ask(server, providers, "r1", True, scale=SCALE).errors, ("context_length",))

    def test_the_rest_of_a_failure_is_not_waited_for(self):
        for streamed in (True, False):
            server, providers = self.two(dripping_failure)
            outcome = ask(server, providers, "r1", streamed, scale=SCALE)
            self.assert_whole(outcome, (2, 1))
            failed = [event.json for event in diary(server, "r1", "attempt.failed")]
            self.assertEqual([(one["ErrorCode"], one["Status"]) for one in failed], [("server_error", 503)] * 2)

    def test_bytes_of_an_unstreamed_answer_are_one_piece(self):
        for streamed in (True, False):
            server, providers = self.two(dripping_plain)
            self.assert_whole(ask(server, providers, "r1", streamed, scale=SCALE), (1, 1))
            providers[0].wait_for_gone(1)

    def test_empty_arguments_of_calls_are_silence(self):
        def play(exchange):
            call = {"index": 0, "id": "c", "type": "function", "function": {"name": "look", "arguments": ""}}
            exchange.begin()
            while not exchange.provider.is_closed:
                exchange.send(chunk(choices=[{"index": 0, "delta": {"tool_calls": [call]}, "finish_reason": None}]))
                exchange.wait(4)
            raise Closed
        server, providers = self.two(play)
        self.assert_whole(ask(server, providers, "r1", True, scale=SCALE), (1, 1))

    def test_they_are_silence_in_the_middle_of_an_answer_too(self):
        for play in (dripping(TEXT[:100]), commenting(TEXT[:100])):
            server, providers = self.two(play)
            outcome = ask(server, providers, "r1", True, scale=SCALE)
            self.assert_whole(outcome, (1, 1))
            self.assertGreater(outcome.seconds, 19)
            providers[0].wait_for_gone(1)

    def test_the_last_backend_is_not_waited_for_without_end_either(self):
        quick = {"first_token": "300ms", "stall": "300ms", "max_attempts": 1}
        for play in (dripping(""), commenting(""), commenting(TEXT[:100])):
            server, provider = self.alone(play, quick)
            outcome = ask(server, [provider], "r1", True, scale=SCALE)
            self.assertEqual((outcome.errors, outcome.results, outcome.asked()), (("timeout",), 1, (1,)), outcome)
            provider.wait_for_gone(1)


def dripping_failure(exchange):
    """The head of a 503, and one byte of its body every 4 s."""
    data = faults.failure(503)
    head, _, body = data.partition(b"\r\n\r\n")
    exchange.send(head + b"\r\n\r\n")
    for byte in body:
        exchange.send(bytes([byte]))
        exchange.wait(4)


def dripping_plain(exchange):
    """No stream although one was asked for: one byte of a whole answer every 4 s."""
    data = answer(completion(TEXT))
    head, _, body = data.partition(b"\r\n\r\n")
    exchange.send(head + b"\r\n\r\n")
    for byte in body:
        exchange.send(bytes([byte]))
        exchange.wait(4)


def dripping_of(deltas, end):
    """The head of an answer, deltas that are no text every 14 s, and an end."""
    def play(exchange):
        exchange.begin()
        for delta in deltas:
            exchange.wait(14)
            exchange.send(chunk(choices=[{"index": 0, "delta": delta, "finish_reason": None}]))
        return end(exchange)
    return play


def ending_with_calls(exchange):
    exchange.send(chunk(finish_reason="tool_calls") + b"data: [DONE]\n\n")


def ending_with_text(exchange):
    exchange.say(exchange.text)
    exchange.end()


def said_by_anthropic(text="", pings=0, stop=True):
    """The stream of an answer on Anthropic's wire, with a ping every second before the text."""
    def event(kind, **members):
        return f"event: {kind}\ndata: {json.dumps({'type': kind, **members})}\n\n".encode()

    def play(exchange):
        exchange.begin()
        exchange.send(event("message_start", message={
            "id": "msg_1", "type": "message", "role": "assistant", "model": "claude-1", "content": [],
            "stop_reason": None, "usage": {"input_tokens": 10, "output_tokens": 1}}))
        for _ in range(pings):
            exchange.send(event("ping"))
            exchange.wait(1)
        exchange.send(event("content_block_start", index=0, content_block={"type": "text", "text": ""}))
        exchange.send(event("content_block_delta", index=0, delta={"type": "text_delta", "text": text}))
        if stop:
            exchange.send(event("content_block_stop", index=0))
            exchange.send(event("message_delta", delta={"stop_reason": "end_turn"}, usage={"output_tokens": 9}))
            exchange.send(event("message_stop"))
    return play


class Pieces(BadInputTest):
    """What is no text may be work, and may be silence."""

    CALL = {"index": 0, "id": "c1", "type": "function", "function": {"name": "look", "arguments": ""}}
    ARGUMENTS = [{"tool_calls": [CALL]}] + [{"tool_calls": [{"index": 0, "function": {"arguments": part}}]}
                                           for part in ('{"wh', 'at": ', '"x"}')]
    SLOW_START = {"first_token": "60s"}  # 14 s are longer than the 10 s of the default.

    def pieces(self, deltas, end):
        """With a first_token that waits for the first of them."""
        providers = [self.provider(dripping_of(deltas, end)), self.provider(healthy)]
        configured, agent = chain(Fault("pieces", healthy), "f", True, SCALE, [one.port for one in providers])
        agent["backends"][0]["dispatch"].update(self.SLOW_START)
        return self.server({"providers": configured, "agents": {"default": {**agent, "tools": [LOOK]}}}), providers

    def test_the_arguments_of_a_call_are_work(self):
        server, (one, two) = self.pieces(self.ARGUMENTS, ending_with_calls)
        self.assertEqual(server.say().calls, ["c1"])
        self.assertEqual((one.count, two.count), (1, 0))

    def test_thoughts_are_work(self):
        server, providers = self.pieces([{"reasoning_content": "Hm. "}] * 4, ending_with_text)
        outcome = ask(server, providers, "r1", True, scale=SCALE)
        self.assertEqual((outcome.text, outcome.asked()), (TEXT, (1, 0)), outcome)

    def anthropic(self, first, second, **members):
        """(server, both providers), with the dispatch of their positions."""
        providers = [self.provider(first), self.provider(second)]
        names = ("one", "two")
        configured = {name: {"kind": "anthropic", "base_url": provider.base_url, "key": "k"}
                      for name, provider in zip(names, providers)}
        backends = [{"provider": name, "model": "claude-1", "dispatch": patience(defaults, SCALE)}
                    for name, defaults in zip(names, (WITH_NEXT, LAST))]
        return self.server({"providers": configured, "agents": {"default": {"backends": backends, **members}}}), providers

    def test_pings_are_silence(self):
        server, providers = self.anthropic(said_by_anthropic("Late.", pings=60), said_by_anthropic("From two."))
        outcome = ask(server, providers, "r1", True, scale=SCALE)
        self.assertEqual((outcome.text, outcome.asked()), ("From two.", (1, 1)), outcome)

    def test_anthropic_continues_the_text_that_has_left(self):
        server, providers = self.anthropic(said_by_anthropic("One two", stop=False), said_by_anthropic(" three."),
                                           on_cut="continue")
        outcome = ask(server, providers, "r1", True, scale=SCALE)
        self.assertEqual((outcome.text, outcome.deltas, outcome.asked()), (*["One two three."] * 2, (1, 1)), outcome)


SECRET = "What-the-model-thought"


def thinking(size):
    """Thoughts of so many bytes before the answer, as DeepSeek has them."""
    def play(exchange):
        thought = (SECRET + " ") * (size // (len(SECRET) + 1) + 1)
        exchange.begin()
        if exchange.call.streams:
            for at in range(0, len(thought), 1 << 16):
                exchange.send(chunk(choices=[{"index": 0, "finish_reason": None,
                                              "delta": {"reasoning_content": thought[at:at + (1 << 16)]}}]))
            exchange.say(exchange.text)
            return exchange.end()
        return exchange.send(answer(completion(TEXT, message={"reasoning_content": thought}, usage=exchange.usage)))
    return play


class Thoughts(BadInputTest):
    def test_five_megabytes_of_thoughts_cost_no_answer_and_are_shown_nowhere(self):
        server, provider = self.alone(thinking(5 << 20), kind="deepseek")
        for number, streamed in enumerate((True, False)):
            outcome = ask(server, [provider], f"r{number}", streamed, scale=SCALE)
            self.assertEqual((outcome.text, outcome.errors, outcome.asked()), (TEXT, (), (1,)), outcome.errors)
            shown = json.dumps([event.data for event in diary(server, f"r{number}")])
            self.assertNotIn(SECRET, shown)
            self.assertNotIn(SECRET, server.turn(f"r{number}", "t1").body.decode())
            with server.follow(f"r{number}", "t1") as stream:
                self.assertNotIn(SECRET.encode(), stream.rest())
        self.assertNotIn(SECRET, server.errors())

    def refusing_thoughts(self, exchange):
        """Asks for a tool with a thought, and refuses that thought when it comes back."""
        roles = [message["role"] for message in exchange.call.messages]
        if "tool" not in roles:
            calls = [{"id": "c1", "type": "function", "function": {"name": "look", "arguments": '{"what": "x"}'}}]
            return exchange.send(answer(completion(
                "", message={"reasoning_content": SECRET, "tool_calls": calls}, finish_reason="tool_calls")))
        if SECRET.encode() in exchange.call.request.body:
            return exchange.send(faults.failure(400, "invalid_request_error", "Invalid signature in thinking block.",
                                                "invalid_request_error"))
        return healthy(exchange)

    def test_thoughts_that_the_provider_refuses_are_left_out_once_and_that_is_told(self):
        server, provider = self.alone(self.refusing_thoughts, kind="deepseek", tools=[LOOK])
        self.assertEqual(server.say("s1", "t1").calls, ["c1"])
        self.assertEqual(server.submit("s1", "t1", [ok("c1")]).text, TEXT)

        sent = [SECRET.encode() in call.request.body for call in provider.calls]
        self.assertEqual(sent, [False, True, False])
        rules = [event.json.get("Rule") for event in diary(server, "s1")]
        self.assertIn("thoughts", rules)

    def test_a_provider_that_refuses_without_thoughts_too_is_the_error(self):
        def refusing(exchange):
            if any(message["role"] == "tool" for message in exchange.call.messages):
                return exchange.send(faults.failure(400, "invalid_request_error", kind="invalid_request_error"))
            return self.refusing_thoughts(exchange)

        server, provider = self.alone(refusing, kind="deepseek", tools=[LOOK])
        server.say("s1", "t1")
        self.assert_refused(server.submit("s1", "t1", [ok("c1")]), 502, "invalid_request")
        self.assertEqual(provider.count, 3)


class Chains(BadInputTest):
    def long_chain(self, play, count, **members):
        """(server, the provider of all backends, each of another model)."""
        provider = self.provider(play)
        entries = [{"provider": "one", "model": f"m{number}", "dispatch": patience(WITH_NEXT, SCALE)}
                   for number in range(count - 1)]
        entries.append({"provider": "one", "model": "last", "dispatch": {**patience(LAST, SCALE), "max_attempts": 2}})
        configured = {"one": {"kind": "openai", "base_url": provider.base_url, "key": "k"}}
        return self.server({"providers": configured,
                            "agents": {"default": {"backends": entries, **members}}}), provider

    def test_every_attempt_at_twenty_backends_that_fail_is_told(self):
        server, provider = self.long_chain(faults.refusing(503), 20)
        outcome = ask(server, [provider], "r1", True, scale=SCALE)

        self.assertEqual((outcome.errors, outcome.asked()), (("server_error",), (40,)), outcome)
        told = diary(server, "r1")
        started = [(event.json["Model"], event.json["Attempt"]) for event in told if event.event == "attempt.started"]
        models = [f"m{number}" for number in range(19)] + ["last"]
        self.assertEqual(started, [(model, attempt) for model in models for attempt in (1, 2)])
        self.assertEqual(len([event for event in told if event.event == "attempt.failed"]), 40)
        self.assertEqual(len([event for event in told if event.event == "switched"]), 19)

    def test_the_deadline_ends_a_chain_of_twenty(self):
        server, provider = self.long_chain(faults.silent(120), 20, deadline="1200ms")
        outcome = ask(server, [provider], "r1", False, scale=1)

        self.assertEqual((outcome.errors, outcome.results), (("timeout",), 1), outcome)
        self.assertLess(outcome.seconds, 1.2 + SLACK * SCALE)
        started = [event.json["Model"] for event in diary(server, "r1", "attempt.started")]
        self.assertEqual((len(started), started), (provider.count, [f"m{number}" for number in range(len(started))]))

    def same_pool(self, play, count, *others):
        provider = self.provider(play)
        dispatch = {"backoff": "20ms", "max_wait": "10s", "breaker_failures": 0}
        configured = {name: {"kind": "openai", "base_url": one.base_url, "key": "k"}
                      for name, one in zip(("one", "two"), (provider, *others))}
        backends = [{"provider": "one", "model": "m"} for _ in range(count)]
        backends += [{"provider": "two", "model": "m"} for _ in others]
        return self.server({"providers": configured,
                            "agents": {"default": {"backends": backends, "dispatch": dispatch}}}), provider

    def test_two_entries_of_one_pool_are_one_backend(self):
        server, provider = self.same_pool(faults.refusing(503), 2)
        outcome = ask(server, [provider], "r1", True, scale=SCALE)

        self.assertEqual((outcome.errors, outcome.asked()), (("server_error",), (5,)), outcome)
        self.assertEqual(diary(server, "r1", "switched"), [])

    def test_behind_two_entries_of_one_pool_the_next_backend_is_asked_at_once(self):
        second = self.provider(healthy)
        server, provider = self.same_pool(faults.refusing(503), 2, second)
        self.assert_whole(ask(server, [provider, second], "r1", True, scale=SCALE), (2, 1))
        self.assertEqual([event.json["To"] for event in diary(server, "r1", "switched")], ["two"])


def saying(*pieces, cut=True):
    """Pieces of a stream, as JSON texts of their content, and the end of the connection."""
    def play(exchange):
        exchange.begin()
        for piece in pieces:
            exchange.send(b'data: {"choices":[{"index":0,"delta":{"content":%s}}]}\n\n' % piece)
        if not cut:
            exchange.end()
    return play


def quoted(text):
    return json.dumps(text).encode()


class Unseen(BadInputTest):
    """What the gateway holds back has not left: the call is made again."""

    def test_an_answer_in_json_that_is_cut_is_asked_for_again(self):
        text = json.dumps({"words": faults.WORDS})

        def cut_json(exchange):
            exchange.begin()
            exchange.say(text[:200])

        def whole_json(exchange):
            exchange.begin()
            exchange.say(text)
            exchange.end()
        for members in ({}, {"on_cut": "fail"}):
            server, providers = self.two(cut_json, whole_json, **members)
            outcome = ask(server, providers, "r1", True, scale=SCALE)
            self.assertEqual((outcome.errors, outcome.results, outcome.asked()), ((), 1, (2, 1)), outcome)
            self.assertEqual((json.loads(outcome.text.strip("`json\n")), outcome.deltas),
                             (json.loads(text), outcome.text), outcome)


class Refusing(BadInputTest):
    def test_a_provider_that_refuses_to_stream_is_asked_without_a_stream(self):
        def play(exchange):
            if exchange.call.streams:
                return exchange.send(faults.failure(400, "unsupported_value", "You must be verified to stream this model.",
                                                    "invalid_request_error"))
            return healthy(exchange)
        server, providers = self.two(play)
        self.assert_whole(ask(server, providers, "r1", False, scale=SCALE), (2, 0))
        again, = diary(server, "r1", "asked_again")
        self.assertEqual(again.json["Rule"], "stream")


class Joining(BadInputTest):
    """A fallback that begins again, or nearly."""

    def joined(self, first, second, kind="openai"):
        providers = [self.provider(first), self.provider(second)]
        configured, agent = chain(Fault("joined", first), "f", True, SCALE, [one.port for one in providers],
                                  ("openai", kind))
        self.joining = server = self.server({"providers": configured, "agents": {"default": agent}})
        outcome = ask(server, providers, "r1", True, scale=SCALE)
        self.assertEqual((outcome.results, outcome.asked()), (1, (1, 1)), outcome)
        return outcome

    def test_white_space_that_differs_in_a_repetition_is_not_doubled(self):
        outcome = self.joined(saying(quoted("One two\n\nthree")),
                              saying(quoted("One  two three"), quoted(" four."), cut=False), "mistral")
        self.assertEqual((outcome.errors, outcome.text, outcome.deltas), ((), *["One two\n\nthree four."] * 2), outcome)

    def test_a_whole_answer_whose_white_space_differs_is_one_error(self):
        outcome = self.joined(saying(quoted("One two\n\nthree")), saying(quoted("One  two three four."), cut=False))
        self.assertEqual((outcome.errors, outcome.deltas), (("server_error",), "One two\n\nthree"), outcome)

    def test_another_answer_is_not_read_to_its_end(self):
        def talking(exchange):
            exchange.begin()
            while not exchange.provider.is_closed:
                exchange.say("Something else. ")
                exchange.wait(1)
            raise Closed
        outcome = self.joined(saying(quoted("One two three")), talking)
        self.assertEqual((outcome.errors, outcome.deltas), (("server_error",), "One two three"), outcome)
        self.gates[1].wait_for_gone(1)
        pools = {pool["Provider"]: pool["Breaker"]["Failures"] for pool in self.joining.get("/v1/limits").json["Pools"]}
        self.assertEqual(pools, {"f-one": 1, "f-two": 0}, "that the gateway hung up is no failure of the backend")

    def test_a_seam_with_white_space_on_both_sides_has_it_once(self):
        outcome = self.joined(saying(quoted("One two ")), saying(quoted(" three."), cut=False), "mistral")
        self.assertEqual((outcome.errors, outcome.text), ((), "One two three."), outcome)

    def test_a_cut_in_the_middle_of_a_character_loses_and_doubles_nothing(self):
        for kind, rest in (("openai", "Un café 😀 noir."), ("mistral", " café 😀 noir.")):
            with self.subTest(kind=kind):
                outcome = self.joined(saying(quoted("Un "), b'"caf\xc3\xa9 \xf0\x9f"'),
                                      saying(quoted(rest), cut=False), kind)
                self.assertEqual((outcome.errors, outcome.text, outcome.deltas),
                                 ((), *["Un café 😀 noir."] * 2), outcome)

    def test_an_answer_that_differs_in_the_middle_of_a_character_is_one_error(self):
        """é and è have the same first byte."""
        outcome = self.joined(saying(quoted("Un caf\u00e9")), saying(quoted("Un caf\u00e8 noir."), cut=False))
        self.assertEqual((outcome.errors, outcome.deltas), (("server_error",), "Un caf\u00e9"), outcome)

    def test_characters_of_one_letter_in_two_spellings_are_a_difference(self):
        """é as one character, and as e with an accent: the text that has left stays as it is."""
        outcome = self.joined(saying(quoted("Un caf\u00e9")), saying(quoted("Un cafe\u0301 noir."), cut=False))
        self.assertEqual((outcome.errors, outcome.deltas), (("server_error",), "Un caf\u00e9"), outcome)


if __name__ == "__main__":
    unittest.main()
