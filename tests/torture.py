#!/usr/bin/env python3
"""Kills servers under load, again and again, and compares their answers with the answers that clients had before.

    tests/torture.py [--rounds N] [--seed N]

Two servers share one store. Clients drive sessions on both: plain and streamed turns, rounds of tools, failures,
repeats of earlier requests; two clients often send the same request at once. Each round ends with the death of one
server, sometimes of both: by kill -9 after some answers, or by the disk (tests/disk_faults) before one of its writes,
or by a SIGTERM that waits for nothing. A client that loses its server asks the other one at once. The rules:

- an answer that a client received whole is given again by either server, byte for byte, streams event for event;
- no turn runs to two answers;
- the model is shown exactly the turns that were answered, in their order;
- no session stays locked: after the last crash every client finishes its session;
- the database passes its integrity check after every crash.

The plans of the clients and of the crashes follow from the seed. Exit 0 when no rule was broken.
"""
import argparse
import dataclasses
import http.client
import json
import os
import pathlib
import random
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

from gate import Gate, Reply, text_of  # noqa: E402
from serving import (  # noqa: E402
    DISK_FAULTS, EXECUTE, Server, configuration, tool_results, turn_path, user_turn)
from treaty_binary import SECONDS  # noqa: E402

CLIENTS = 8  # The first four are two pairs, each of which says the same.
TURNS = 6  # In a session.


class Wrong(Exception):
    """Something does not hold."""


class Stopped(Exception):
    """The torture has ended early."""


class Model:
    """The provider's side: every run of a turn says something else, so that a second answer would be seen."""

    def __init__(self):
        self.shown = {}  # What the model was shown, by the text of the user.

    def __call__(self, call):
        self.shown[call.user] = call.messages
        kind = call.user.split()[0]
        said = f"Run {call.number} of: {call.user}"
        if kind == "fatal":
            return Reply(error=(400, {"error": {"message": said, "type": "invalid_request_error"}}))
        if kind == "flaky" and call.number % 2:
            return Reply(error=(500, {"error": {"message": said, "type": "server_error"}}))
        if kind in ("tools", "cancel") and not call.tool_results:
            count = 1 + call.number % 3
            return Reply(calls=[(f"c{call.number}-{place}", "look", {"what": f"{call.number} {place}"})
                                for place in range(count)])
        if kind == "slow":  # Many die in the middle of it.
            return Reply(said, 0.03, " And", 0.03, " so", 0.03, " on.")
        return Reply(said, " And", " so", " on.")


@dataclasses.dataclass
class Told:
    """One request and the answer that a client got whole."""
    request: dict
    key: str
    status: int
    body: bytes
    events: list = None  # Of a stream.


class Client:
    """Lives through all rounds. What it was about to ask when the server died, it asks again."""

    def __init__(self, torture, number):
        self.torture, self.number = torture, number
        plan = number // 2 if number < 4 else number  # A pair has one plan.
        self.name = f"client{plan}"
        self.plan = random.Random(f"{torture.seed} plan {plan}")
        self.own = random.Random(f"{torture.seed} own {number}")
        self.ledger = []
        self.broken = {}  # Servers that left this client without an answer: port, how.
        self.failure = None

    def live(self):
        try:
            session = 0
            while not self.torture.ending:
                session += 1
                self.session(f"{self.name}/{session}")
        except Stopped:
            pass
        except Exception as failure:  # pylint: disable=broad-except
            self.failure = failure
            self.torture.stop()

    def session(self, name):
        finals = []
        for turn in range(TURNS):
            kind = self.plan.choice(["plain"] * 4 + ["stream", "slow"] * 3 + ["tools"] * 4 + ["fatal", "cancel"] + ["flaky"] * 2)
            text = f"{kind} {name} {turn}"
            key = f"key {text}" if self.plan.random() < 0.2 else None
            if kind == "cancel":
                self.cancel(name, f"t{turn}", text, key)
            elif (answer := self.turn(name, f"t{turn}", text, kind in ("stream", "slow"), key)) is not None:
                finals.append((text, answer))
            while self.own.random() < 0.3:
                self.repeat(self.own.choice(self.ledger))
        # The last one looks at what the model is shown.
        text = f"plain {name} history"
        self.turn(name, "last", text, False, None)
        shown = [(m["role"], text_of(m)) for m in self.torture.model.shown[text]
                 if m["role"] in ("user", "assistant") and not m.get("tool_calls")]
        wanted = [line for said, answer in finals for line in (("user", said), ("assistant", answer))]
        if shown != wanted + [("user", text)]:
            raise Wrong(f"history of {name}: shown {shown}, not {wanted}")

    def cancel(self, session, turn, text, key):
        """A turn that waits for tools and never gets them."""
        told = self.ask(user_turn(session, turn, text), key)
        if json.loads(told.body)["Result"]["Kind"] != "client_tool_continuation":
            raise Wrong(f"{text!r} was answered with {told.body!r}")
        state = json.loads(self.once({}, None, turn_path(session, turn, "/cancel")).body).get("State")
        if state != "cancelled":
            raise Wrong(f"{session} {turn} is {state} after it was cancelled")

    def turn(self, session, turn, text, streaming, key):
        """The text of its final; nothing when it failed."""
        request = user_turn(session, turn, text, **({"Streaming": True} if streaming else {}))
        told = self.ask(request, key)
        while True:
            document = json.loads(told.body)
            if not document["Successful"]:
                return None
            result = document["Result"]
            if (result["SessionId"], result["TurnId"]) != (session, turn):
                raise Wrong(f"{session} {turn} was answered as {result['SessionId']} {result['TurnId']}")
            if result["Kind"] == "final":
                if text not in result["PrimaryOutputText"]:
                    raise Wrong(f"{text!r} was answered with {result['PrimaryOutputText']!r}")
                return result["PrimaryOutputText"]
            told = self.ask(tool_results(session, turn, [c["ToolCallId"] for c in result["ToolCalls"]]), None)

    def ask(self, request, key):
        """Asks until it is answered, and keeps the answer."""
        while True:
            told = self.once(request, key)
            if told.status == 200 or "invalid_request" in told.body.decode():
                document = json.loads(told.body)
                if document["Successful"] or document["Errors"][0]["ErrorCode"] == "invalid_request":
                    break
            code = json.loads(told.body)["Errors"][0]["ErrorCode"]
            if code != "server_error":
                raise Wrong(f"{request}: {told.status} {told.body!r}")
        self.torture.remember(request, told.body)
        self.ledger.append(told)
        self.torture.count()
        return told

    def repeat(self, told):
        again = self.once(told.request, told.key)
        if (again.status, again.body, again.events) != (told.status, told.body, told.events):
            raise Wrong(f"{told.request}\nwas answered {told.status} {told.body!r} {told.events}\n"
                        f"and is answered {again.status} {again.body!r} {again.events}")

    def once(self, request, key, path=EXECUTE):
        """One whole answer, however many servers die meanwhile."""
        while True:
            port = self.torture.running(self)
            try:
                told = self.exchange(port, request, key, path)
                if told.status != 503:
                    return told
                how = told.body
            except (OSError, http.client.HTTPException, Cut) as failure:
                how = failure
            self.torture.broke(self, port, f"{path} {request}: {how!r}")

    def exchange(self, port, request, key, path):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=SECONDS)
        try:
            headers = {"Content-Type": "application/json", **({"Idempotency-Key": key} if key else {})}
            connection.request("POST", path, json.dumps(request), headers)
            response = connection.getresponse()
            whole = response.read()
        finally:
            connection.close()
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            return Told(request, key, response.status, whole)
        events = [block for block in whole.decode().split("\n\n") if block and not block.startswith(":")]
        last = dict(line.split(": ", 1) for line in events[-1].split("\n")) if events else {}
        if last.get("event") != "turn.result" or not whole.endswith(b"\n\n"):
            raise Cut
        return Told(request, key, response.status, last["data"].encode(), events)


class Cut(Exception):
    """A stream that ended before its result."""


class Torture:
    def __init__(self, rounds, seed, folder):
        self.rounds, self.seed = rounds, seed
        self.random = random.Random(f"{seed} kills")
        self.model = Model()
        self.gate = Gate(self.model)
        agent = {"backends": [{"provider": "gate", "model": "small-1", "context_window": 1_000_000}]}
        config = configuration(self.gate, agent, http={"shutdown_timeout": "20ms"})
        state = pathlib.Path(folder) / "state"
        self.servers = [Server(folder, config, faults=bool(DISK_FAULTS), name=name, state=state)
                        for name in ("first", "second")]
        self.answers = {}  # The only answer that a request may have.
        self.ending = False  # Clients finish their session and stop.
        self._changed = threading.Condition()
        self._ports, self._answered, self._stopped = [], 0, False
        self.clients = [Client(self, number) for number in range(CLIENTS)]

    # --- Called by clients, on their threads.

    def running(self, client):
        """The port of a running server that did not leave this client without an answer."""
        def usable():
            return [port for port in self._ports if port not in client.broken]

        with self._changed:
            if not self._changed.wait_for(lambda: usable() or self._stopped, 4 * SECONDS):
                raise Wrong(f"no server answers {client.name}: running {self._ports}, broken {client.broken}")
            if self._stopped:
                raise Stopped
            return client.own.choice(usable())

    def broke(self, client, port, how):
        """This server left a client without an answer, so that it must be dead or about to die."""
        with self._changed:
            client.broken[port] = how
            self._changed.notify_all()

    def remember(self, request, body):
        with self._changed:
            first = self.answers.setdefault(json.dumps({**request, "Streaming": None}, sort_keys=True), body)
        if first != body:
            raise Wrong(f"{request}\nran to {first!r}\nand to {body!r}")

    def count(self):
        with self._changed:
            self._answered += 1
            self._changed.notify_all()

    def stop(self):
        with self._changed:
            self._stopped = True
            self._changed.notify_all()

    # --- The killer.

    def run(self):
        threads = [threading.Thread(target=client.live, daemon=True) for client in self.clients]
        try:
            for thread in threads:
                thread.start()
            for number in range(1, self.rounds + 1):
                if self._stopped:
                    break
                self.round(number)
            self.finish(threads)
            self.compare_all()
        finally:
            self.stop()
            for server in self.servers:
                if self.alive(server):
                    server.kill9()
            self.gate.close()
        return sum(len(client.ledger) for client in self.clients), self.gate.count

    def round(self, number):
        chance = self.random.random()
        by_disk, politely, both = bool(DISK_FAULTS) and chance < 0.5, chance > 0.9, self.random.random() < 0.2
        victim = self.random.choice(self.servers)
        if by_disk:
            victim.disk(f"KILL {self.random.choice(['write', 'fsync', 'any'])} {self.random.randrange(600)} ")
        for server in self.servers:
            self.start(server, may_die=by_disk and server is victim)
        wanted, nap = self.random.randrange(1, 250), self.random.random() * 0.01
        with self._changed:
            before = self._answered
            self._changed.wait_for(lambda: self._stopped or self._answered - before >= wanted
                                   or not self.alive(victim), SECONDS / 2)
        if not by_disk:
            time.sleep(nap)  # Somewhere in the middle of whatever happens then.
        for server in self.servers if both else [victim]:
            self.end(server, politely and server is victim)
        victim.disk()
        self.check_progress()
        self.check_survivors()
        self.check_database(number)

    def start(self, server, may_die=False):
        if self.alive(server):
            return
        if server.process is not None:
            self.end(server, politely=False)  # The disk has killed it.
        try:
            server.start()
        except AssertionError:
            if not may_die or server.process.returncode != -9:
                raise
            return
        with self._changed:
            for client in self.clients:
                client.broken.pop(server.port, None)  # An earlier process had the same port.
            self._ports.append(server.port)
            self._changed.notify_all()

    def end(self, server, politely):
        with self._changed:
            if server.port in self._ports:
                self._ports.remove(server.port)
                self._changed.notify_all()
        if politely and self.alive(server):
            server.terminate()
            if (code := server.wait()) != 0:
                raise Wrong(f"it left with exit code {code}")
        else:
            server.kill9()

    @staticmethod
    def alive(server):
        return server.process is not None and server.process.poll() is None

    def check_progress(self):
        """A server that is left alone answers every client, also those whose turn the other one was running."""
        with self._changed:
            before = [len(client.ledger) for client in self.clients]

            def waiting():
                return [client for client, count in zip(self.clients, before) if len(client.ledger) == count]

            if self._ports and not self._changed.wait_for(lambda: self._stopped or not waiting(), SECONDS / 2):
                raise Wrong(f"{waiting()[0].name} gets no answer from the server that lives")

    def check_survivors(self):
        """A server that lives has answered every client."""
        with self._changed:
            for client in self.clients:
                for port in client.broken.keys() & set(self._ports):
                    raise Wrong(f"a server that lives left {client.name} without an answer: {client.broken[port]}")

    def check_database(self, number):
        """On a copy when no server runs, so that the next server itself meets the state that the crash left."""
        if any(self.alive(server) for server in self.servers):
            return self.check_integrity(number, self.servers[0].state)
        with tempfile.TemporaryDirectory() as copy:
            for file in self.servers[0].state.rglob("*"):
                if file.is_file() and not file.name.endswith("-shm"):
                    shutil.copy(file, copy)
            return self.check_integrity(number, pathlib.Path(copy))

    @staticmethod
    def check_integrity(number, folder):
        for file in folder.glob("*.db"):
            database = sqlite3.connect(file, timeout=SECONDS)
            found = database.execute("PRAGMA integrity_check").fetchall()
            database.close()
            if found != [("ok",)]:
                raise Wrong(f"round {number}: {file.name}: {found}")

    def finish(self, threads):
        """Every client finishes its session: none of them stays locked."""
        self.ending = True
        if not self._stopped:
            for server in self.servers:
                self.start(server)
        for thread in threads:
            thread.join(4 * SECONDS)
        self.complain()
        for client, thread in zip(self.clients, threads):
            if thread.is_alive():
                raise Wrong(f"{client.name} cannot finish its session")
        self.check_survivors()

    def complain(self):
        for client in self.clients:
            if client.failure is not None:
                raise client.failure

    def compare_all(self):
        """Every answer of every client, once more."""
        calls = self.gate.count

        def compare(client):
            try:
                for told in client.ledger:
                    client.repeat(told)
            except Exception as failure:  # pylint: disable=broad-except
                client.failure = failure

        threads = [threading.Thread(target=compare, args=(client,)) for client in self.clients]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.complain()
        if self.gate.count > calls:
            raise Wrong(f"{self.gate.count - calls} calls for turns that were answered before")
        for server in self.servers:
            server.terminate()
            if server.wait() != 0:
                raise Wrong("it does not leave when it is asked to")


def torture(rounds, seed):
    """Runs it and answers its report; raises when something does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        task = Torture(rounds, seed, folder)
        try:
            answers, calls = task.run()
        except BaseException:
            for server in task.servers:
                print(f"seed {seed}, {server.name} server\n{server.errors()[-6000:]}", file=sys.stderr)
            raise
        how = "kills by signal and by the disk" if DISK_FAULTS else "kills by signal alone (TREATY_DISK_FAULTS is not set)"
        return (f"torture: {rounds} rounds, {answers} answers, {calls} calls of the backend, no difference; "
                f"{how}; seed {seed}; {time.monotonic() - started:.0f} s")


def main():
    parser = argparse.ArgumentParser(description="Kills servers under load and compares their answers.")
    parser.add_argument("--rounds", type=int, default=200)
    parser.add_argument("--seed", type=int, default=int.from_bytes(os.urandom(4), "big"))
    options = parser.parse_args()
    print(f"torture: seed {options.seed}", flush=True)
    try:
        print(torture(options.rounds, options.seed))
    except (Wrong, AssertionError, subprocess.SubprocessError) as failure:
        print(f"torture: {failure}\ntorture: again with --seed {options.seed}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
