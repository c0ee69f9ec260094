"""What the tests of `treaty bridge watch` share: starting it, ending it in every way, requests and what came of them."""
import datetime
import json
import pathlib
import select
import signal
import subprocess
import uuid

from fake_provider import CLEAN
from gate import KEY
from serving import DISK_FAULTS, ServingTest, configuration, until
from treaty_binary import BINARY, SECONDS, as_bytes

REQUEST, RESPONSE, FOLDER = ".agent-request{}.json", ".agent-response{}.json", ".treaty-bridge"


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def request(prompt="Why?", **members):
    """A bridge request with an id of its own."""
    return {"request_id": str(uuid.uuid4()), "version": "1.0", "agent_name": "default", "prompt": prompt,
            "created_at": now(), **members}


class Directory:
    """A directory as a program that asks sees it."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.path.mkdir(parents=True, exist_ok=True)

    def request_file(self, suffix=""):
        return self.path / REQUEST.format(suffix)

    def response_file(self, suffix=""):
        return self.path / RESPONSE.format(suffix)

    def ask(self, document=None, suffix=""):
        """Writes a request as a whole; answers it."""
        document = document or request()
        fresh = self.path / f"fresh{suffix}"
        fresh.write_bytes(as_bytes(document))
        fresh.replace(self.request_file(suffix))
        return document

    def response(self, suffix=""):
        """The answer, when there is one; it is never seen in part."""
        file = self.response_file(suffix)
        try:
            return json.loads(file.read_text("utf-8"))
        except FileNotFoundError:  # Not yet; or it just went to the quarantine.
            return None

    def await_response(self, document, suffix=""):
        """The answer to this request, when it is there and journalled."""
        def of_this_request():
            found = self.response(suffix)
            noted = [entry["request_id"] for entry in self.journal("answer.written", "answer.found")]
            is_it = found and found["request_id"] == document["request_id"] and document["request_id"] in noted
            return found if is_it else None

        return until(of_this_request, f"the answer to {document['request_id']}")

    def journal(self, *events):
        """Its entries, of these kinds; a line that is being written is left out."""
        file = self.path / FOLDER / "journal.ndjson"
        lines = file.read_text("utf-8").splitlines(keepends=True) if file.exists() else []
        entries = [json.loads(line) for line in lines if line.endswith("\n")]
        return [entry for entry in entries if not events or entry["event"] in events]

    def quarantined(self):
        return sorted(file.name for file in (self.path / FOLDER / "quarantine").iterdir())


class Watch:
    """A `treaty bridge watch`, and the state that outlives each of its processes."""

    def __init__(self, folder, config, *directories, arguments=(), form="json", name="watch"):
        self.folder, self.name, self.form = pathlib.Path(folder), name, form
        self.directories, self.arguments, self.extra = directories, list(arguments), {}
        self.config = self.folder / f"{name}.yaml"
        self.config.write_text(json.dumps(config), "utf-8")
        self.control, self.log = self.folder / f"{name}.control", self.folder / f"{name}.stderr"
        self.process = None

    def environment(self):
        return {**CLEAN, "OPENAI_API_KEY": KEY, "HOME": str(self.folder), **self.extra}

    def use_disk_faults(self, files):
        self.extra |= {"LD_PRELOAD": DISK_FAULTS, "DISK_FAULTS_FILES": files, "DISK_FAULTS_CONTROL": str(self.control)}
        return self

    def disk(self, line=""):
        """What the disk does from now on (tests/disk_faults)."""
        fresh = self.control.with_suffix(".new")
        fresh.write_text(line)
        fresh.replace(self.control)

    def command(self):
        return [BINARY, "bridge", "watch", *(d.path for d in self.directories), "--config", self.config,
                "--state-dir", self.folder / f"{self.name}-state", "--format", self.form, *self.arguments]

    def launch(self):
        """Starts it and does not wait."""
        with open(self.log, "ab") as log:
            self.log_start = log.tell()
            self.process = subprocess.Popen(self.command(), cwd=self.folder, env=self.environment(),
                                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=log, bufsize=0)
        return self

    def start(self):
        self.launch()
        until(lambda: "watching" in self.errors() or self.process.poll() is not None, "the watch")
        if self.process.poll() is not None:
            raise AssertionError(f"it did not start: exit {self.process.returncode}\n{self.errors()}")
        return self

    def errors(self):
        """What the last process has told."""
        return self.log.read_bytes()[self.log_start:].decode("utf-8") if self.log.exists() else ""

    def await_told(self, text):
        return until(lambda: text in self.errors(), f"{text!r} in\n{self.errors()}\n")

    def next_line(self):
        """Of stdout."""
        readable, _, _ = select.select([self.process.stdout], [], [], SECONDS)
        line = self.process.stdout.readline() if readable else b""
        if not line:
            raise AssertionError(f"no answer was told\n{self.errors()}")
        return line.decode("utf-8")

    def next_answer(self):
        return json.loads(self.next_line())

    def kill9(self):
        self.process.kill()
        return self.wait()

    def terminate(self, number=signal.SIGTERM):
        """Asks it to leave and does not wait."""
        self.process.send_signal(number)

    def wait(self):
        """Its exit code."""
        code = self.process.wait(SECONDS)
        self.process.stdout.close()
        return code

    def leave(self):
        self.terminate()
        return self.wait()

    def close(self):
        if self.process is None or self.process.stdout.closed:
            return
        if self.process.poll() is None:
            self.process.kill()
        self.wait()


class WatchTest(ServingTest):
    """A test with watches, directories and gates of its own."""

    def setUp(self):
        super().setUp()
        self.watches = []
        self.addCleanup(self._end_watches)

    def _end_watches(self):
        for watch in self.watches:
            watch.close()
            self.assertNotIn("Sanitizer", watch.log.read_text("utf-8") if watch.log.exists() else "")

    def directory(self, name="work"):
        return Directory(self.folder / name)

    def watch(self, config, *directories, **more):
        """A watch that has not been started."""
        watch = Watch(self.folder, config, *directories, name=f"watch{len(self.watches) + 1}", **more)
        self.watches.append(watch)
        return watch

    def gated_watch(self, *replies, held=False, place="work", **more):
        """(gate, directory, running watch of it)."""
        gate, directory = self.gate(*replies, held=held), self.directory(place)
        watch = self.watch(configuration(gate), directory, **more).start()
        return gate, directory, watch

    def assert_answered_once(self, directory, document, suffix="", status="success"):
        """By its own answer, and journalled so."""
        found = directory.response(suffix)
        self.assertIsNotNone(found)
        self.assertEqual((found["request_id"], found["status"]), (document["request_id"], status))
        def noted():
            return [entry for entry in directory.journal("answer.written", "answer.found")
                    if entry["request_id"] == document["request_id"]]

        until(noted, "the answer in the journal")  # Which tells of it once it is there.
        self.assertEqual(len(noted()), 1, noted())
        return found
