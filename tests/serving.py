"""What the tests of `treaty serve` share: starting it, ending it in every way, asking it, reading its streams."""
import concurrent.futures
import dataclasses
import http.client
import json
import os
import pathlib
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import urllib.parse

from fake_provider import CLEAN
from gate import KEY, Gate
from treaty_binary import BINARY, SECONDS, TreatyTest, as_bytes

EXECUTE = "/v1/agent/execute"
DISK_FAULTS = os.environ.get("TREATY_DISK_FAULTS", "")
GRACE = 30  # Seconds for a server that is asked to leave; then it is made to.


def quoted(identifier):
    """An id as a path holds it."""
    return urllib.parse.quote(identifier, safe="")


def turn_path(session, turn, rest=""):
    return f"/v1/sessions/{quoted(session)}/turns/{quoted(turn)}{rest}"


def user_turn(session="s1", turn="t1", instruction="Hello.", **members):
    return {"SessionId": session, "TurnId": turn, "Instruction": instruction, **members}


def ok(call, result='{"ok":true}', **members):
    """A tool that succeeded."""
    return {"ToolCallId": call, "ExecutionMs": 5, "ResultJson": result, **members}


def broken(call, message="No such file."):
    """A tool that failed, which is a result like any other."""
    return {"ToolCallId": call, "ExecutionMs": 5, "ErrorMessage": message}


def tool_results(session, turn, results):
    return {"SessionId": session, "TurnId": turn,
            "ToolResults": [ok(r) if isinstance(r, str) else r for r in results]}


LOOK = {"name": "look", "run": "client", "description": "Looks.",
        "parameters": {"type": "object", "properties": {"what": {"type": "string"}}, "required": ["what"]}}


# `dispatch` of those who test what a turn makes of one answer: nothing is tried again, nobody is left alone.
ONCE = {"max_attempts": 1, "breaker_failures": 0}


def configuration(gate=None, agent=None, **members):
    """treaty.yaml as a value: agent `default` on the gate, with the client tool `look`. JSON is YAML. What fails is not
    tried again unless an agent's `dispatch` says so."""
    default = {"mode": "General", "system": "You are brief.", "tools": [LOOK]}
    if gate is not None:
        default["backends"] = [{"provider": "gate", "model": "small-1"}]
    agents = {"default": {**default, **(agent or {})}, **members.pop("agents", {})}
    agents = {name: {"dispatch": ONCE, **one} for name, one in agents.items()}
    providers = {"gate": {"kind": "openai", "base_url": gate.base_url}} if gate is not None else {}
    providers.update(members.pop("providers", {}))
    return {**({"providers": providers} if providers else {}), "agents": agents, **members}


class Answer:
    """A whole HTTP answer."""

    def __init__(self, status, headers, body):
        self.status, self.body = status, body
        self.headers = {name.lower(): value for name, value in headers}

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def result(self):
        document = self.json
        if not document.get("Successful"):
            raise AssertionError(f"not successful: {self}")
        return document["Result"]

    @property
    def errors(self):
        document = self.json
        return document.get("Errors") or document.get("errors") or []

    @property
    def error(self):
        """The one error of a refusal."""
        found = self.errors
        if len(found) != 1 or self.json.get("Successful", self.json.get("successful")) is not False:
            raise AssertionError(f"not one error: {self}")
        return found[0]

    @property
    def code(self):
        return self.error["ErrorCode"]

    @property
    def text(self):
        return self.result["PrimaryOutputText"]

    @property
    def calls(self):
        return [call["ToolCallId"] for call in self.result["ToolCalls"]]

    def __repr__(self):
        return f"{self.status} {self.headers} {self.body[:3000]!r}"


@dataclasses.dataclass
class Event:
    """One server-sent event."""
    event: str
    id: str
    data: str

    @property
    def json(self):
        return json.loads(self.data)


class Stream:
    """An answer that is read as it comes: events of SSE, lines of NDJSON, or bytes."""

    def __init__(self, connection, response):
        self._connection, self._response = connection, response
        self._socket = connection.sock
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.comments = 0
        self.last_id = ""

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        """Hangs up."""
        self._response.close()
        self._connection.close()

    def reset(self):
        """Closes the connection by RST."""
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.close()

    def lines(self):
        while line := self._response.readline():
            yield line.decode("utf-8").rstrip("\n").rstrip("\r")

    def next(self):
        """The next event, or None when the stream has ended."""
        kind, data = "", []
        for line in self.lines():
            if line == "":
                if data:
                    return Event(kind, self.last_id, "\n".join(data))
                kind = ""
                continue
            if line.startswith(":"):
                self.comments += 1
                continue
            name, _, value = line.partition(":")
            value = value.removeprefix(" ")
            if name == "event":
                kind = value
            elif name == "data":
                data.append(value)
            elif name == "id":
                self.last_id = value
        return None

    def __iter__(self):
        while (event := self.next()) is not None:
            yield event

    def until(self, kind):
        """Events up to the first of that kind, it included."""
        seen = []
        for event in self:
            seen.append(event)
            if event.event == kind:
                return seen
        raise AssertionError(f"the stream ended without {kind}: {seen}")

    def objects(self):
        """The lines of NDJSON."""
        return [json.loads(line) for line in self.lines() if line]

    def rest(self):
        return self._response.read()


class Server:
    """A `treaty serve` on a free port, with a folder for its state that outlives each of its processes."""

    def __init__(self, folder, config, environment=None, arguments=(), faults=False, name="server", state=None):
        self.folder = pathlib.Path(folder)
        self.name = name
        self.state = state or self.folder / f"{name}-state"
        self.config = self.folder / f"{name}.yaml"
        self.log = self.folder / f"{name}.stderr"
        self.arguments, self.extra = list(arguments), dict(environment or {})
        self.control, self.counts = self.folder / f"{name}.control", self.folder / f"{name}.counts"
        self.use_faults = faults
        self.process = None
        self.write_config(config)

    def write_config(self, config):
        text = config if isinstance(config, (str, bytes)) else json.dumps(config, indent=1, ensure_ascii=False)
        fresh = self.config.with_suffix(".new")  # A reload never sees half of it.
        fresh.write_bytes(as_bytes(text))
        fresh.replace(self.config)

    def environment(self):
        variables = {**CLEAN, "OPENAI_API_KEY": KEY, "XDG_STATE_HOME": str(self.folder / "xdg"),
                     "HOME": str(self.folder), **self.extra}
        if self.use_faults:
            variables |= {"LD_PRELOAD": DISK_FAULTS, "DISK_FAULTS_FILES": "*.db*",
                          "DISK_FAULTS_CONTROL": str(self.control), "DISK_FAULTS_COUNTS": str(self.counts)}
        return variables

    def command(self):
        return [BINARY, "serve", "--config", self.config, "--state-dir", self.state, "--listen", "127.0.0.1:0",
                "--format", "json", *self.arguments]

    def start(self):
        """Starts it and waits until it is ready."""
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.command(), cwd=self.folder, env=self.environment(),
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log)
        readable, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if readable else b""
        if not line:
            self.kill9()
            raise AssertionError(f"it did not start: exit {self.process.returncode}\n{self.errors()}")
        self.ready = json.loads(line)
        self.port = self.ready["port"]
        return self

    def __enter__(self):
        return self if self.process else self.start()

    def __exit__(self, *_):
        self.close()

    @property
    def pid(self):
        return self.process.pid

    def kill9(self):
        self.process.kill()
        self.process.wait(SECONDS)
        self.process.stdout.close()

    def terminate(self):
        """Asks it to leave and does not wait."""
        self.process.send_signal(signal.SIGTERM)

    def hang_up(self):
        """SIGHUP: the configuration is read again."""
        self.process.send_signal(signal.SIGHUP)

    def wait(self, seconds=SECONDS):
        """Its exit code."""
        code = self.process.wait(seconds)
        self.process.stdout.close()
        return code

    def restart(self):
        """kill -9 and a new process on the same state."""
        if self.process.poll() is None:
            self.kill9()
        return self.start()

    def close(self):
        if self.process is None or self.process.stdout.closed:
            return
        if self.process.poll() is None:
            self.terminate()
            try:
                self.process.wait(GRACE)
            except subprocess.TimeoutExpired:
                self.process.kill()
                self.process.wait(SECONDS)
        self.process.stdout.close()

    def errors(self):
        return self.log.read_text("utf-8", "replace") if self.log.exists() else ""

    def disk(self, line=""):
        """What the disk does from now on (tests/disk_faults): "ENOSPC write", "EIO fsync 3", "" for its duty."""
        fresh = self.control.with_suffix(".new")
        fresh.write_text(line)
        fresh.replace(self.control)

    def disk_counts(self):
        """(writes, bytes, fsyncs, truncations, failures made) of all processes on this state."""
        return struct.unpack("8Q", self.counts.read_bytes()[:64])[:5]

    def resident(self):
        """Bytes of memory that it has now."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        raise AssertionError("no VmRSS")

    def databases(self):
        """The SQLite files below its state."""
        return [file for file in self.state.rglob("*") if file.is_file()
                and file.read_bytes()[:15] == b"SQLite format 3"]

    # --- Asking.

    def connect(self):
        """A bare socket."""
        return socket.create_connection(("127.0.0.1", self.port), SECONDS)

    def connection(self):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        connection.connect()
        connection.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return connection

    def ask(self, method, path, body=None, headers=None, on=None):
        """One request and its whole answer, on a connection of its own unless one is given."""
        connection = on or self.connection()
        try:
            connection.request(method, path, None if body is None else as_bytes(body),
                               {**({"Content-Type": "application/json"} if body is not None else {}),
                                **(headers or {})})
            response = connection.getresponse()
            return Answer(response.status, response.getheaders(), response.read())
        finally:
            if on is None:
                connection.close()

    def get(self, path, headers=None):
        return self.ask("GET", path, None, headers)

    def addresses(self):
        """Every path of the server with its methods, as a 404 lists them; ID stands for a name of the client's."""
        lines = self.get("/nowhere").error["Details"].splitlines()
        return {path: methods.split(", ") for path, methods in (line.split(": ") for line in lines)}

    def post(self, path, body=None, headers=None):
        return self.ask("POST", path, {} if body is None else body, headers)

    def execute(self, body, key=None, path=EXECUTE, headers=None, on=None):
        """A request of the contract; `key` is its Idempotency-Key."""
        return self.ask("POST", path, body, {**({"Idempotency-Key": key} if key else {}), **(headers or {})}, on)

    def say(self, session="s1", turn="t1", instruction="Hello.", key=None, **members):
        """A user turn."""
        return self.execute(user_turn(session, turn, instruction, **members), key)

    def submit(self, session, turn, results, key=None):
        """A tool continuation; a text stands for a tool that succeeded under that id."""
        return self.execute(tool_results(session, turn, results), key)

    def stream(self, method, path, body=None, headers=None):
        """A request whose answer is read as it comes."""
        connection = self.connection()
        connection.request(method, path, None if body is None else as_bytes(body),
                           {**({"Content-Type": "application/json"} if body is not None else {}), **(headers or {})})
        return Stream(connection, connection.getresponse())

    def say_streaming(self, session="s1", turn="t1", instruction="Hello.", accept=None, key=None, **members):
        headers = {**({"Accept": accept} if accept else {}), **({"Idempotency-Key": key} if key else {})}
        return self.stream("POST", EXECUTE, user_turn(session, turn, instruction, Streaming=True, **members), headers)

    def follow(self, session, turn, last_id=None, accept=None):
        """The stream of a turn, after an event when one is named."""
        headers = {**({"Last-Event-ID": str(last_id)} if last_id is not None else {}),
                   **({"Accept": accept} if accept else {})}
        return self.stream("GET", turn_path(session, turn, "/stream"), None, headers)

    def events(self, session, last_id=None):
        """The diary of a session, which does not end."""
        return self.stream("GET", f"/v1/sessions/{quoted(session)}/events", None,
                           {"Last-Event-ID": str(last_id)} if last_id is not None else {})

    def turn(self, session="s1", turn="t1"):
        return self.get(turn_path(session, turn))

    def state_of(self, session="s1", turn="t1"):
        return self.turn(session, turn).json.get("State")


def until(holds, what="it", seconds=SECONDS):
    """Looks again and again until `holds()` answers something true, and answers that."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if found := holds():
            return found
        time.sleep(0.01)
    raise AssertionError(f"{what} did not come to be in {seconds} s")


class ServingTest(TreatyTest):
    """A test with servers, gates and clients of its own; none of them outlives it."""

    def setUp(self):
        super().setUp()
        self.servers, self.gates = [], []
        self.addCleanup(self._end)

    def _end(self):
        for gate in self.gates:
            gate.open()
        for server in self.servers:
            server.close()
        for gate in self.gates:
            gate.close()
        for server in self.servers:
            self.assertNotIn("Sanitizer", server.errors())

    def run(self, result=None):
        before = 0 if result is None else len(result.failures) + len(result.errors)
        done = super().run(result)
        if result is not None and len(result.failures) + len(result.errors) > before:
            for server in getattr(self, "servers", []):
                self._show(server)
        return done

    def _show(self, server):
        text = self.last_words.get(server.name, "") if hasattr(self, "last_words") else ""
        print(f"--- stderr of {server.name} in {self.id()}\n{text[-6000:]}", file=sys.stderr)

    def doCleanups(self):
        # The folder goes with the cleanups; what servers said is needed after them.
        self.last_words = {server.name: server.errors() for server in getattr(self, "servers", [])}
        return super().doCleanups()

    def gate(self, *replies, held=False, door=None):
        gate = Gate(*replies, held=held, door=door)
        self.gates.append(gate)
        return gate

    def server(self, config, **more):
        """A server that has been started."""
        server = Server(self.folder, config, name=f"server{len(self.servers) + 1}", **more)
        self.servers.append(server)
        return server.start()

    def gated(self, *replies, held=False, agent=None, **members):
        """(gate, server on it)."""
        gate = self.gate(*replies, held=held)
        return gate, self.server(configuration(gate, agent, **members))

    def later(self, function, *arguments, **named):
        """Runs it beside the test; .result() waits for what it answers."""
        future = concurrent.futures.Future()

        def run():
            try:
                future.set_result(function(*arguments, **named))
            except BaseException as failure:  # pylint: disable=broad-except
                future.set_exception(failure)

        threading.Thread(target=run, daemon=True).start()
        return Later(future)

    def at_once(self, count, function):
        """function(i) for each i below `count`, all at the same moment; what they answer, in order."""
        barrier = threading.Barrier(count)

        def one(number):
            barrier.wait(SECONDS)
            return function(number)

        return [running.result() for running in [self.later(one, number) for number in range(count)]]

    def assert_refused(self, answer, status, code, *words):
        """One error with that code under that status, which says these words somewhere."""
        self.assertEqual((answer.status, answer.error.get("ErrorCode")), (status, code), answer)
        self.assertTrue(answer.error["Message"].strip(), answer)
        for word in words:
            self.assertIn(word, json.dumps(answer.error, ensure_ascii=False))
        self.assertNotIn("Result", {name for name, value in answer.json.items() if value is not None})
        self.assert_keeps("invoke-result", answer.body)

    def assert_keeps(self, contract, document):
        verdict = self.verdict(contract, document)
        self.assertEqual((verdict["valid"], verdict["violations"]), (True, []), document)

    def until(self, holds, what="it"):
        return until(holds, what)


class Later:
    """What runs beside a test. Its answer is waited for, but not for ever."""

    def __init__(self, future):
        self.future = future

    def done(self):
        return self.future.done()

    def result(self):
        return self.future.result(2 * SECONDS)
