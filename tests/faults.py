"""The sixteen provider faults, as values: what a chain of two backends does, and what its caller has to get.

`scale` is the length of a second: 1 with the defaults of the product, less with `dispatch` shortened by the same factor
(`patience`), so that only the time differs. The provider waits only for its caller to hang up."""
import dataclasses
import json
import re
import select
import socket
import time
import typing

from fake_provider import answer, chunk, completion, open_answer, reset
from gate import Closed, Gate, text_of
from serving import Server
from treaty_binary import SANITIZED

WORDS = [f"word{number:02}" for number in range(1, 61)]
TEXT = " ".join(WORDS) + "."
LONGEST = 25  # Seconds that a caller may wait.
SCALE = 0.3 if SANITIZED else 0.08  # The length of a second in tests,
SLACK = 2 / SCALE  # and how many of them a loaded machine may be slow by.
AT_ONCE, MOST_AT_ONCE, MOST = 1.5, 2, 6  # Attempts at one provider: in the first seconds, and in all.

# The defaults of the product by the position of an entry, in seconds; results.md, section 5.
WITH_NEXT = {"max_wait": 10, "max_attempts": 2, "backoff": [0.5], "connect": 5, "first_token": 10, "stall": 20,
             "breaker_open": 30}
LAST = {**WITH_NEXT, "max_wait": 60, "max_attempts": 5, "backoff": [2, 8, 16, 35], "first_token": 60}


def patience(defaults, scale):
    """`dispatch` of an entry: the defaults of its position with seconds of another length. After a 429 a pool waits for
    a second at least, whatever is configured, so that `max_wait` stays as it is."""
    def short(seconds):
        return f"{max(1, round(1000 * seconds * scale))}ms"

    times = {name: short(defaults[name]) for name in ("connect", "first_token", "stall", "breaker_open")}
    return {**times, "max_wait": f"{defaults['max_wait']}s", "max_attempts": defaults["max_attempts"], "backoff": [short(one) for one in defaults["backoff"]]}


def failure(status, code=None, message="No.", kind="server_error", **headers):
    return answer({"error": {"message": message, "type": kind, "code": code}}, status, **headers)


class Exchange:
    """One call of a provider, and how it is answered."""

    def __init__(self, provider, connection, call):
        self.provider, self.connection, self.call = provider, connection, call
        self.scale = provider.scale
        last = call.messages[-1]
        self.given = text_of(last) if last["role"] == "assistant" else ""
        self.usage = {"prompt_tokens": provider.tokens[0], "completion_tokens": provider.tokens[1],
                      "total_tokens": sum(provider.tokens)}

    @property
    def text(self):
        """What the model says: the whole, or what follows the beginning that it is given."""
        return TEXT[len(self.given):] if TEXT.startswith(self.given) else TEXT

    def send(self, data):
        self.connection.sendall(data)

    def wait(self, seconds):
        """Until then, or until the caller hangs up, which ends the exchange."""
        end = time.monotonic() + seconds * self.scale
        while (left := end - time.monotonic()) > 0 and not self.provider.is_closed:
            readable, _, _ = select.select([self.connection], [], [], min(left, 0.05))
            if readable and not self.connection.recv(1, socket.MSG_PEEK):
                raise Closed

    def begin(self):
        if self.call.streams:
            self.send(open_answer())

    def say(self, text):
        """Of a stream; nothing of a whole answer leaves before it is whole."""
        if self.call.streams:
            for piece in re.findall(r"\s*\S+\s*", text):
                self.send(chunk(piece))

    def end(self, done=True):
        if self.call.streams:
            self.send(chunk(finish_reason="stop") + chunk(choices=[], usage=self.usage)
                      + (b"data: [DONE]\n\n" if done else b""))
        else:
            self.send(answer(completion(self.text, usage=self.usage)))

    def break_off(self):
        """The connection ends in the middle of the answer."""
        if not self.call.streams:
            self.send(answer(completion(self.text, usage=self.usage))[:-40])


class Provider(Gate):
    """Chat completions; `play` is a function of the exchange. `tokens` is the usage that it reports."""

    def __init__(self, play, scale=1.0, tokens=(100, 60)):
        self.play, self.scale, self.tokens = play, scale, tokens
        self.first_at = None
        super().__init__()

    @property
    def is_closed(self):
        return self._done

    def _reply_to(self, call):
        if self.first_at is None:
            self.first_at = call.at
        return None

    def _answer(self, connection, call, reply):
        self.play(Exchange(self, connection, call))

    def seconds(self):
        """Since it was first asked, in its own seconds."""
        return (time.monotonic() - self.first_at) / self.scale

    def calls_of(self, mark):
        """When it was asked for one request, in its own seconds since the first time."""
        times = [call.at for call in list(self.calls) if f"[{mark}]".encode() in call.request.body]
        return [(at - times[0]) / self.scale for at in times]


# --- What providers do.

def healthy(exchange):
    exchange.begin()
    exchange.say(exchange.text)
    exchange.end()


def refusing(status, code=None, kind="server_error", times=None, **headers):
    """Refuses so many calls, or all."""
    def play(exchange):
        if times is not None and exchange.call.number > times:
            return healthy(exchange)
        return exchange.send(failure(status, code, kind=kind, **headers))
    return play


def limited_for(seconds):
    """A 429 with the wait that it asks for, then healthy."""
    def play(exchange):
        if exchange.call.number > 1:
            return healthy(exchange)
        wait = {"retry_after": seconds} if exchange.scale == 1 else \
            {"retry_after_ms": round(1000 * seconds * exchange.scale)}
        return exchange.send(failure(429, "rate_limit_exceeded", kind="requests", **wait))
    return play


def resetting(exchange):
    reset(exchange.connection)


def silent(seconds):
    """Accepts the call and sends nothing."""
    def play(exchange):
        exchange.wait(seconds)
        healthy(exchange)
    return play


def late(seconds):
    """The head of a stream at once, and its first piece late."""
    def play(exchange):
        exchange.begin()
        exchange.wait(seconds)
        exchange.say(exchange.text)
        exchange.end()
    return play


def cut(words):
    """So many words, and then the end of the connection."""
    def play(exchange):
        exchange.begin()
        exchange.say(" ".join(WORDS[:words]) + (" " if words < len(WORDS) else "."))
        exchange.break_off()
    return play


def stalling(words, seconds):
    """Silence in the middle of the answer."""
    def play(exchange):
        exchange.begin()
        exchange.say(" ".join(WORDS[:words]))
        exchange.wait(seconds)
        exchange.say(TEXT[len(" ".join(WORDS[:words])):])
        exchange.end()
    return play


def malformed(words):
    """A chunk that is no JSON, and then the rest as if nothing had happened."""
    def play(exchange):
        exchange.begin()
        exchange.say(" ".join(WORDS[:words]))
        if exchange.call.streams:
            exchange.send(chunk(" " + WORDS[words]).replace(b'"}', b'', 1))
            exchange.say(TEXT[len(" ".join(WORDS[:words + 1])):])
            exchange.end()
        else:
            exchange.send(answer('{"choices": [{"message": {"role": "assistant", "content": "word01'))
    return play


def without_end_marker(exchange):
    """Everything but the last line: the finish reason and the usage came."""
    exchange.begin()
    exchange.say(exchange.text)
    exchange.end(done=False)


def without_prefill(exchange):
    """Refuses a conversation that ends with a message of the assistant."""
    if exchange.given:
        message = "The last message must be from the user."
        return exchange.send(failure(400, "invalid_request_error", message, "invalid_request_error"))
    return healthy(exchange)


def down_for(seconds):
    """An outage of so many seconds, from its first call on."""
    def play(exchange):
        if exchange.provider.seconds() < seconds:
            return exchange.send(failure(503))
        return healthy(exchange)
    return play


def cut_after_usage(exchange):
    """The first call reports what it has used, says nothing and breaks off."""
    if exchange.call.number > 1:
        return exchange.send(failure(503))
    exchange.begin()
    if exchange.call.streams:
        exchange.send(chunk(choices=[], usage=exchange.usage))
    return exchange.break_off()


# --- The faults.

Play = typing.Callable[[Exchange], None]


@dataclasses.dataclass(frozen=True)
class Fault:
    """`asked`: the calls that each provider gets for one request. `least`: seconds before which no answer can come.
    `leaves_text`: some of a streamed answer leaves before the fault. `again`: the calls of the first provider when
    nothing has left, so that it may be asked again."""
    name: str
    one: Play
    two: Play = healthy
    error: str = ""
    status: int = 200
    asked: tuple = (2, 1)
    least: float = 0
    leaves_text: bool = False
    again: int = 1

    def asked_when(self, streamed):
        return self.asked if streamed or not self.leaves_text else (self.again, 1)


OUTAGE = Fault("a 60 s outage under 20 requests", down_for(60))
CONTEXT = {"code": "context_length_exceeded", "kind": "invalid_request_error"}
FILTER = {"code": "content_filter", "kind": "invalid_request_error"}

FAULTS = [
    Fault("429 with retry-after 2, then healthy", limited_for(2), asked=(2, 0), least=2),
    Fault("429 without a header, for ever", refusing(429, "rate_limit_exceeded", "requests")),
    Fault("500 once", refusing(500, times=1), asked=(2, 0)),
    Fault("503 for ever", refusing(503)),
    Fault("reset before headers", resetting),
    Fault("silence for 120 s", silent(120), asked=(1, 1), least=10),
    Fault("first token after 20 s", late(20), asked=(1, 1), least=10),
    Fault("cut after 40 of 60 words", cut(40), asked=(1, 1), leaves_text=True, again=2),
    Fault("stall of 30 s in the middle", stalling(30, 30), asked=(1, 1), least=20, leaves_text=True),
    Fault("a malformed chunk", malformed(30), asked=(1, 1), leaves_text=True, again=2),
    Fault("no end marker but complete", without_end_marker, asked=(1, 0)),
    Fault("context length", refusing(400, **CONTEXT), error="context_length", status=422, asked=(1, 0)),
    Fault("content filter", refusing(400, **FILTER), error="content_filter", status=422, asked=(1, 0)),
    Fault("cut, and a fallback that refuses prefill", cut(40), without_prefill, asked=(1, 2), leaves_text=True,
          again=2),
    OUTAGE,
    Fault("accounting after a switch", cut_after_usage),
]


@dataclasses.dataclass
class Outcome:
    """What the caller got, and what the providers were asked."""
    seconds: float
    text: str = ""
    errors: tuple = ()
    results: int = 1
    deltas: typing.Optional[str] = None  # Of a stream.
    usage: dict = dataclasses.field(default_factory=dict)
    calls: tuple = ()  # For each provider: when it was asked, in seconds since it was first asked.

    def asked(self):
        return tuple(len(times) for times in self.calls)

    def at_once(self):
        return tuple(len([at for at in times if at < AT_ONCE]) for times in self.calls)


def ask(server: Server, providers, mark, streamed, agent="default", scale=1.0):
    """One request; `mark` tells it from others at the providers."""
    body = {"instruction": f"Say sixty words. [{mark}]", "AgentContextId": agent}
    began = time.monotonic()
    if streamed:
        with server.say_streaming(mark, "t1", **body) as stream:
            # An immediate failure is an answer with a status of its own.
            events = list(stream) if stream.status == 200 else []
            ends = [] if stream.status == 200 else [json.loads(stream.rest())]
        took = time.monotonic() - began
        ends += [event.json for event in events if event.event == "turn.result"]
        deltas = "".join(event.json["DeltaText"] for event in events if event.event == "output.delta")
        document, results = (ends[-1] if ends else {}), len(ends)
    else:
        document, results, deltas = server.say(mark, "t1", **body).json, 1, None
        took = time.monotonic() - began
    result = document.get("Result") or {}
    return Outcome(seconds=took / scale, text=result.get("PrimaryOutputText", ""), results=results, deltas=deltas,
                   errors=tuple(error["ErrorCode"] for error in document.get("Errors") or ()),
                   usage=result.get("Usage") or {}, calls=tuple(one.calls_of(mark) for one in providers))


def diary(server, session, *kinds):
    """The events of these kinds, or all, up to the end of the turn."""
    with server.events(session) as stream:
        events = []
        for event in stream:
            events.append(event)
            if event.event in ("turn.completed", "turn.failed"):
                break
    return [event for event in events if event.event in kinds or not kinds]


def violations(fault, outcome, goes_on=True, slack=0.0):
    """What breaks a promise, in words. `goes_on`: on_cut is `continue`. `slack`: seconds that the machine may be slow
    by."""
    streamed = outcome.deltas is not None
    fails = fault.error or (streamed and fault.leaves_text and not goes_on and "any")
    found = []
    if outcome.results != 1:
        found.append(f"{outcome.results} results")
    if fails:
        if len(outcome.errors) != 1 or outcome.text or (fault.error and outcome.errors != (fault.error,)):
            found.append(f"errors {outcome.errors} and {len(outcome.text)} bytes of text")
        if streamed and not TEXT.startswith(outcome.deltas):
            found.append("the text that has left is wrong")
    else:
        if outcome.errors or outcome.text != TEXT:
            found.append(f"errors {outcome.errors}, text {outcome.text!r}")
        if streamed and outcome.deltas != TEXT:
            found.append(f"{len(outcome.deltas)} bytes left, {len(TEXT)} were expected")
    if outcome.seconds > LONGEST + slack:
        found.append(f"it took {outcome.seconds:.1f} s")
    if outcome.seconds < fault.least * 0.95:
        found.append(f"it took {outcome.seconds:.1f} s, {fault.least} were expected")
    for name, count, at_once in zip(("first", "second"), outcome.asked(), outcome.at_once()):
        if count > MOST or at_once > MOST_AT_ONCE:
            found.append(f"the {name} backend was asked {at_once} times at once and {count} in all")
    return found


def chain(fault, number, goes_on, scale, ports, kinds=("openai", "mistral")):
    """(providers, agent) of treaty.yaml. With `scale` 1 nothing is configured but the chain."""
    names = [f"{number}-one", f"{number}-two"]
    providers = {name: {"kind": kind, "base_url": f"http://127.0.0.1:{port}/v1", "key": "k"}
                 for name, kind, port in zip(names, kinds, ports)}
    backends = [{"provider": name, "model": f"{name}-model"} for name in names]
    if scale != 1:
        for entry, defaults in zip(backends, (WITH_NEXT, LAST)):
            entry["dispatch"] = patience(defaults, scale)
    return providers, {"backends": backends, **({"on_cut": "continue"} if goes_on else {})}
