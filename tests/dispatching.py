"""What the tests of dispatch share: agents on chains of gates, answers with limits, and the diaries of their turns."""
import socket
import time

from gate import Reply
from serving import ServingTest, configuration
from treaty_binary import SECONDS

NAMES = ("one", "two", "three")

# `dispatch` of those who try again: as patient as the default, but in a hurry.
QUICK = {"backoff": ["20ms"], "jitter": 0}

ENDS = ("turn.completed", "turn.failed", "turn.cancelled", "turn.awaiting_tools")


def refused(status, code=None, message="No.", kind="error", **headers):
    """A failure in the words of the provider. Underscores in the names of headers stand for dashes."""
    return Reply(error=(status, {"error": {"message": message, "type": kind, "code": code}}), headers=headers)


def limited(**headers):
    """A 429; `Retry_After` says for how long."""
    return refused(429, "rate_limit_exceeded", "Slow down.", "requests", **headers)


DOWN = refused(503, message="Down.", kind="server_error")
BROKEN = refused(500, message="Broken.", kind="server_error", x_should_retry="false")  # A failure without another try.


def bucket(span, limit, remaining, reset):
    """The headers of a window with its span in its name: minute, hour, day."""
    return {f"X_Ratelimit_{kind}_Requests_{span.capitalize()}": value
            for kind, value in (("Limit", limit), ("Remaining", remaining), ("Reset", reset))}


def window(limit, remaining, reset, resource="Requests"):
    """The headers of a window that is as long as its reset says."""
    return {f"X_Ratelimit_{kind}_{resource}": value
            for kind, value in (("Limit", limit), ("Remaining", remaining), ("Reset", reset))}


def entries(count, **members):
    """`backends` of an agent that asks providers one, two, three, each under the model of its name."""
    return [{"provider": name, "model": f"{name}-1", **members} for name in NAMES[:count]]


class DispatchTest(ServingTest):
    def setUp(self):
        self.doors = []
        self.addCleanup(lambda: [door.close() for door in self.doors])  # After the gates that opened them.
        super().setUp()

    def closed_door(self):
        """A port that refuses connections and belongs to nobody else; a gate may open it."""
        door = socket.socket()
        door.bind(("127.0.0.1", 0))
        self.doors.append(door)
        return door

    def chain(self, *gates, backends=None, dispatch=None, agent=None, **members):
        """A server whose agent asks the gates in their order, as providers one, two, three. A gate may also be a
        port."""
        ports = [gate if isinstance(gate, int) else gate.port for gate in gates]
        providers = {name: {"kind": "openai", "base_url": f"http://127.0.0.1:{port}/v1"}
                     for name, port in zip(NAMES, ports)}
        more = {"dispatch": {**QUICK, **(dispatch or {})}, "backends": backends or entries(len(gates)), **(agent or {})}
        return self.server(configuration(agent=more, providers=providers, **members))

    def so_far(self, server, session, *kinds):
        """[(kind, data)] of the diary, up to the first entry of one of these kinds or the end of the turn."""
        deadline = time.monotonic() + SECONDS
        while time.monotonic() < deadline:
            with server.events(session) as stream:
                if stream.status == 404:  # The request has not come in yet.
                    time.sleep(0.005)
                    continue
                seen = []
                for event in stream:
                    seen.append((event.event, event.json))
                    if event.event in (*kinds, *ENDS):
                        return seen
                raise AssertionError(f"the diary ended: {seen}")
        raise AssertionError(f"there is no session {session}")

    def diary(self, server, session="s1"):
        """The whole diary of the first turn of a session that has ended."""
        return self.so_far(server, session)

    def kinds(self, server, session="s1"):
        """What happened, in words: "one failed", "switched to two", "waiting for one"…"""
        words = []
        for kind, data in self.diary(server, session)[1:]:
            if kind.startswith("attempt."):
                if kind != "attempt.started":
                    words.append(f"{data['Backend']} {kind.removeprefix('attempt.')}")
            elif kind == "switched":
                words.append(f"switched to {data['To']}")
            elif kind == "waiting":
                words.append(f"waiting for {data['Backend']}")
            elif kind.startswith("breaker."):
                words.append(f"{kind} at {data['Backend']}")
            else:
                words.append(kind)
        return words

    def reasons(self, server, kind, session="s1"):
        return [data["Reason"] for one, data in self.diary(server, session) if one == kind]
