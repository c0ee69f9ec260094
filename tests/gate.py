"""A provider that holds its answers until a test lets them go: it counts calls and keeps what it was asked."""
import collections
import json
import select
import socket
import threading
import time

from fake_provider import answer, chunk, completion, open_answer, read_request, reset
from treaty_binary import SECONDS

HOLD = object()  # In a reply's pieces: nothing more until the gate lets one go.
KEY = "sk-proj-CANARY7f3b9d1e5a2c8064KEY"  # What the server is given for this provider.


class Closed(Exception):
    """Whoever called has hung up."""


class Reply:
    """What the model says. `pieces` are the deltas of a stream, among them HOLD, and seconds of silence as a number;
    unstreamed they are joined."""

    def __init__(self, *pieces, calls=(), finish=None, error=None, headers=None, usage=(12, 3), cut=False):
        self.pieces, self.calls, self.error, self.headers, self.cut = pieces, list(calls), error, headers or {}, cut
        self.finish = finish or ("tool_calls" if self.calls else "stop")
        self.usage = {"prompt_tokens": usage[0], "completion_tokens": usage[1], "total_tokens": sum(usage)}

    @property
    def text(self):
        return "".join(piece for piece in self.pieces if isinstance(piece, str))

    def tool_calls(self):
        return [{"id": identifier, "type": "function", "function": {
            "name": name, "arguments": given if isinstance(given, str) else json.dumps(given)}}
            for identifier, name, given in self.calls]


def calling(*identifiers, name="look", text="", **arguments):
    """A reply that asks for one call of a tool under each id; arguments differ by the id."""
    return Reply(*([text] if text else []), calls=[(identifier, name, {"what": identifier, **arguments})
                                                    for identifier in identifiers])


class Call:
    """One request that the provider got."""

    def __init__(self, request, number):
        self.request, self.number, self.json = request, number, request.json
        self.at = time.monotonic()

    @property
    def messages(self):
        return self.json["messages"]

    @property
    def streams(self):
        return bool(self.json.get("stream"))

    @property
    def roles(self):
        return [message["role"] for message in self.messages]

    @property
    def system(self):
        return "\n".join(text_of(m) for m in self.messages if m["role"] in ("system", "developer"))

    @property
    def user(self):
        """The text of the last user message."""
        return [text_of(m) for m in self.messages if m["role"] == "user"][-1]

    @property
    def tool_results(self):
        """(id, text) of the results after the last assistant message."""
        found = []
        for message in reversed(self.messages):
            if message["role"] != "tool":
                break
            found.insert(0, (message["tool_call_id"], text_of(message)))
        return found

    @property
    def tools(self):
        return [tool["function"]["name"] for tool in self.json.get("tools", [])]


def text_of(message):
    content = message.get("content")
    if isinstance(content, list):
        return "".join(part.get("text", "") for part in content)
    return content or ""


class Gate:
    """Chat completions, plain and streamed. `replies`: one after the other, the last stays; or a function of the
    call. A text is a reply. `held`: every answer waits for release(). `door`: a bound socket to listen on."""

    def __init__(self, *replies, held=False, door=None):
        self.calls, self.gone = [], 0
        self.held = held
        self.replies = list(replies)
        self._changed = threading.Condition()
        self._tokens, self._open, self._done = 0, False, False
        self._threads = collections.deque()
        self._listener = door or socket.create_server(("127.0.0.1", 0))
        self._listener.listen(512)
        self.port = self._listener.getsockname()[1]
        self._acceptor = threading.Thread(target=self._accept, daemon=True)
        self._acceptor.start()

    @property
    def base_url(self):
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def count(self):
        with self._changed:
            return len(self.calls)

    def release(self, count=1):
        """Lets so many holds pass, those to come included."""
        with self._changed:
            self._tokens += count
            self._changed.notify_all()

    def open(self):
        """Holds nothing any more."""
        with self._changed:
            self._open = True
            self._changed.notify_all()

    def wait_for_calls(self, count):
        """Until so many calls have come, all told; answers the last of them."""
        with self._changed:
            if not self._changed.wait_for(lambda: len(self.calls) >= count, SECONDS):
                raise AssertionError(f"{len(self.calls)} calls came, {count} were expected")
            return self.calls[count - 1]

    def wait_for_gone(self, count=1):
        """Until so many callers have hung up before their answer was whole."""
        with self._changed:
            if not self._changed.wait_for(lambda: self.gone >= count, SECONDS):
                raise AssertionError(f"{self.gone} callers hung up, {count} were expected")

    def close(self):
        with self._changed:
            self._done = self._open = True
            self._changed.notify_all()
        try:
            self._listener.shutdown(socket.SHUT_RDWR)
        except OSError:
            pass
        self._listener.close()
        self._acceptor.join(SECONDS)
        for thread in self._threads:
            thread.join(SECONDS)

    def _accept(self):
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            while self._threads and not self._threads[0].is_alive():
                self._threads.popleft()
            thread = threading.Thread(target=self._serve, args=(connection,), daemon=True)
            self._threads.append(thread)
            thread.start()

    def _serve(self, connection):
        try:
            with connection:
                request = read_request(connection)
                if request is None:
                    return
                with self._changed:
                    call = Call(request, len(self.calls) + 1)
                    self.calls.append(call)
                    reply = self._reply_to(call)
                    self._changed.notify_all()
                self._answer(connection, call, reply)
        except (OSError, Closed):
            with self._changed:
                self.gone += 1
                self._changed.notify_all()

    def _reply_to(self, call):
        if not self.replies:
            reply = Reply(f"You said: {call.user}")
        elif callable(self.replies[0]):
            reply = self.replies[0](call)
        else:
            reply = self.replies[min(call.number, len(self.replies)) - 1]
        return Reply(reply) if isinstance(reply, str) else reply

    def _hold(self, connection):
        """Waits for a token; a caller that hangs up meanwhile is noticed."""
        deadline = time.monotonic() + 4 * SECONDS
        while time.monotonic() < deadline:
            with self._changed:
                if self._open:
                    return
                if self._tokens > 0:
                    self._tokens -= 1
                    return
                self._changed.wait(0.02)
            readable, _, _ = select.select([connection], [], [], 0)
            if readable and not connection.recv(1, socket.MSG_PEEK):
                raise Closed
        raise Closed

    def _answer(self, connection, call, reply):
        if self.held:
            self._hold(connection)
        if reply.error is not None:
            for _ in (piece for piece in reply.pieces if piece is HOLD):
                self._hold(connection)
            status, body = reply.error
            connection.sendall(answer(body, status, **reply.headers))
        elif call.streams:
            self._stream(connection, reply)
        else:
            for _ in (piece for piece in reply.pieces if piece is HOLD):
                self._hold(connection)
            message = {"tool_calls": reply.tool_calls()} if reply.calls else {}
            body = completion(reply.text, message=message, finish_reason=reply.finish, usage=reply.usage)
            whole = answer(body, **reply.headers)
            connection.sendall(whole[:-10] if reply.cut else whole)

    def _stream(self, connection, reply):
        connection.sendall(open_answer(**reply.headers))
        for piece in reply.pieces:
            if piece is HOLD:
                self._hold(connection)
            elif isinstance(piece, float):
                time.sleep(piece)
            else:
                connection.sendall(chunk(piece))
        for index, call in enumerate(reply.tool_calls()):
            delta = {"choices": [{"index": 0, "delta": {"tool_calls": [{"index": index, **call}]},
                                  "finish_reason": None}]}
            connection.sendall(chunk(**delta))
        if reply.cut:
            reset(connection)
            return
        connection.sendall(chunk(finish_reason=reply.finish) + chunk(choices=[], usage=reply.usage)
                           + b"data: [DONE]\n\n")
