#!/usr/bin/env python3
"""Kills the server under load, again and again, and compares what it says afterwards with what clients were told.

    tests/torture.py [--rounds N] [--seed N]

Clients drive sessions: plain and streamed turns, rounds of tools, failures, repeats of what they were told before,
two of them often the same request at once. Each round ends in a kill -9: after some answers, or by the disk
(tests/disk_faults) before one of its writes; now and then in a SIGTERM that waits for nobody. What has to hold:

- an answer that a client got whole is given again, byte for byte, streams event for event;
- no turn runs to two answers, whoever asks;
- the model is shown exactly the turns that were answered, in their order;
- the database is whole after every crash.

The plan of every client and of every crash follows from the seed. Exit 0 when all of it held.
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
    """The torture is over."""


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
        self.failure = None

    def live(self):
        try:
            session = 0
            while True:
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
            kind = self.plan.choice(["plain"] * 4 + ["stream"] * 4 + ["tools"] * 4 + ["fatal", "cancel"] + ["flaky"] * 2)
            text = f"{kind} {name} {turn}"
            key = f"key {text}" if self.plan.random() < 0.2 else None
            if kind == "cancel":
                self.cancel(name, f"t{turn}", text, key)
            elif (answer := self.turn(name, f"t{turn}", text, kind == "stream", key)) is not None:
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
            server = self.torture.running()
            try:
                told = self.exchange(server, request, key, path)
                if told.status != 503:
                    return told
            except (OSError, http.client.HTTPException, Cut):
                pass
            self.torture.gone(server)

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
        self.server = Server(folder, config, faults=bool(DISK_FAULTS), name="torture")
        self.answers = {}  # By request: the one answer that there may be.
        self._changed = threading.Condition()
        self._port, self._answered, self._stopped = None, 0, False
        self.clients = [Client(self, number) for number in range(CLIENTS)]

    # --- Asked by clients, on their threads.

    def running(self):
        """The port of the server, as soon as there is one."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._port or self._stopped, 4 * SECONDS):
                raise Wrong("no server came up")
            if self._stopped:
                raise Stopped
            return self._port

    def gone(self, port):
        """A connection to it broke: it is dead, or about to be."""
        with self._changed:
            deadline = time.monotonic() + SECONDS
            while self._port == port and not self._stopped:
                if time.monotonic() > deadline:
                    raise Wrong("a connection broke and the server lives")
                self._changed.notify_all()  # The killer looks whether it is dead.
                self._changed.wait(0.02)

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
            self.stop()
            for thread in threads:
                thread.join(4 * SECONDS)
            self.complain()
            self.compare_all()
        finally:
            self.stop()
            if self.server.process is not None and self.server.process.poll() is None:
                self.server.kill9()
            self.gate.close()
        return sum(len(client.ledger) for client in self.clients), self.gate.count

    def round(self, number):
        chance = self.random.random()
        by_disk, politely = bool(DISK_FAULTS) and chance < 0.5, chance > 0.9
        if by_disk:
            self.server.disk(f"KILL {self.random.choice(['write', 'fsync', 'any'])} {self.random.randrange(600)} ")
        try:
            self.server.start()
        except AssertionError:
            if not by_disk or self.server.process.returncode != -9:
                raise
        else:
            with self._changed:
                self._port, before = self.server.port, self._answered
                self._changed.notify_all()
            wanted, nap = self.random.randrange(1, 250), self.random.random() * 0.01
            with self._changed:
                self._changed.wait_for(lambda: self._stopped or self._answered - before >= wanted or self.dead(),
                                       SECONDS / 2)
            if not by_disk:
                time.sleep(nap)  # Somewhere in the middle of whatever happens then.
            with self._changed:
                self._port = None
            self.end(politely)
            with self._changed:
                self._changed.notify_all()
        self.server.disk()
        self.check_database(number)

    def end(self, politely):
        if not politely:
            return self.server.kill9()
        self.server.terminate()
        if (code := self.server.wait()) != 0:
            raise Wrong(f"it left with exit code {code}")
        return None

    def dead(self):
        return self.server.process.poll() is not None

    def check_database(self, number):
        """On a copy, so that the server itself meets what the crash left."""
        with tempfile.TemporaryDirectory() as copy:
            for file in self.server.state.rglob("*"):
                if file.is_file() and not file.name.endswith("-shm"):
                    shutil.copy(file, copy)
            for file in pathlib.Path(copy).glob("*.db"):
                database = sqlite3.connect(file)
                found = database.execute("PRAGMA integrity_check").fetchall()
                database.close()
                if found != [("ok",)]:
                    raise Wrong(f"round {number}: {file.name}: {found}")

    def complain(self):
        for client in self.clients:
            if client.failure is not None:
                raise client.failure

    def compare_all(self):
        """Everything that anybody was told, once more."""
        self.server.start()
        with self._changed:
            self._port, self._stopped = self.server.port, False
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
        # Turns that the last crash left behind run meanwhile: one for each client at most.
        if self.gate.count > calls + 2 * CLIENTS:
            raise Wrong(f"{self.gate.count - calls} calls for turns that were answered before")
        self.server.terminate()
        if self.server.wait() != 0:
            raise Wrong("it does not leave when it is asked to")


def torture(rounds, seed):
    """Runs it and answers its report; raises when something does not hold."""
    with tempfile.TemporaryDirectory() as folder:
        started = time.monotonic()
        task = Torture(rounds, seed, folder)
        try:
            answers, calls = task.run()
        except BaseException:
            print(f"seed {seed}\n{task.server.errors()[-6000:]}", file=sys.stderr)
            raise
        how = "kills by signal and by the disk" if DISK_FAULTS else "kills by signal alone (TREATY_DISK_FAULTS is not set)"
        return (f"torture: {rounds} rounds, {answers} answers, {calls} calls of the backend, no difference; "
                f"{how}; seed {seed}; {time.monotonic() - started:.0f} s")


def main():
    parser = argparse.ArgumentParser(description="Kills the server under load and compares what it says afterwards.")
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
