"""What the tests of `treaty bridge` share: an agent, programs that ask it, and a look into the directory."""
import json
import subprocess
import sys

from fake_provider import CLEAN
from gate import KEY
from serving import DISK_FAULTS, ServingTest, configuration
from treaty_binary import BINARY, EXAMPLES, SECONDS, Ran

REVIEW = [sys.executable, str(EXAMPLES / "bridge" / "review.py"), "draft.txt"]
RELEASE_NOTES = [str(BINARY.parent / "examples" / "release_notes"), "changes.txt"]

# What the programs of the tests begin with. `ask` leaves with 42.
PRELUDE = """\
import datetime, json, os, sys, uuid
RESUMED = "--resume" in sys.argv

def now(seconds=0):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat()

def name(kind, suffix=""):
    return f".agent-{kind}{suffix}.json"

def write(path, content):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(content if isinstance(content, str) else json.dumps(content))
    os.replace(path + ".new", path)

def read(path):
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except FileNotFoundError:
        return None

def request(**members):
    return {"request_id": str(uuid.uuid4()), "version": "1.0", "agent_name": "default", "prompt": "Say it.",
            "created_at": now(), **members}

def response(**members):
    return {"request_id": "", "version": "1.0", "status": "success", "response": "By hand.", "error_message": None,
            "error_type": None, "created_at": now(), "duration_seconds": 0.5, "metadata": {}, **members}

def ask(suffix="", **members):
    write(name("request", suffix), request(**members))
    sys.exit(42)

def answer(suffix=""):
    return read(name("response", suffix))

def count():
    # How often the program was started, this time included.
    starts = (read("starts.json") or 0) + 1
    write("starts.json", starts)
    return starts
"""

# Asks twice; what it was told is in result.txt in the end.
TWO_PHASES = """
state = read("state.json") or {}
for phase in (1, 2):
    suffix = f"-phase{phase}"
    if str(phase) in state:
        continue
    asked = read(name("request", suffix))
    told = answer(suffix)
    if not RESUMED or asked is None or told is None or told["request_id"] != asked["request_id"]:
        ask(suffix, phase=phase, prompt=f"Part {phase}.")
    state[str(phase)] = told["response"]
    write("state.json", state)
write("result.txt", " / ".join(state.values()))
"""


class BridgeTest(ServingTest):
    """A directory of its own for each test, with a configuration whose agents ask a gate."""

    def setUp(self):
        super().setUp()
        self.folder = self.folder.resolve()
        self.work = self.folder / "work"
        self.work.mkdir()

    def agent(self, *replies, held=False, agent=None, **members):
        """A gate, and a treaty.yaml whose agents ask it."""
        gate = self.gate(*replies, held=held)
        self.write("treaty.yaml", configuration(gate, agent, **members))
        return gate

    def environment(self, **more):
        return {**CLEAN, "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "state"), "OPENAI_API_KEY": KEY,
                "TREATY_CONFIG": str(self.folder / "treaty.yaml"), "PYTHONDONTWRITEBYTECODE": "1",
                **{name: str(value) for name, value in more.items()}}

    def faults(self, line, files, program="treaty"):
        """Variables for a disk that fails in the named program."""
        (self.folder / "control").write_text(line)
        return {"LD_PRELOAD": DISK_FAULTS, "DISK_FAULTS_FILES": files, "DISK_FAULTS_PROGRAM": program,
                "DISK_FAULTS_CONTROL": self.folder / "control"}

    def program(self, source, name="program.py"):
        """The command of a program that begins with PRELUDE."""
        (self.folder / name).write_text(PRELUDE + source)
        return [sys.executable, str(self.folder / name)]

    def bridge(self, verb, *arguments, stdin=b"", cwd=None, **environment):
        return Ran(subprocess.run([BINARY, "bridge", verb, *arguments], cwd=cwd or self.work, input=stdin,
                                  env=self.environment(**environment), capture_output=True, timeout=SECONDS,
                                  check=False))

    def drive(self, program, *options, **more):
        return self.bridge("run", *options, "--", *program, **more)

    def start(self, verb, *arguments, **environment):
        """The same in the background."""
        child = subprocess.Popen([BINARY, "bridge", verb, *arguments], cwd=self.work, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=self.environment(**environment))
        self.addCleanup(self.reap, child)
        return child

    @staticmethod
    def reap(child):
        if child.poll() is None:
            child.kill()
        child.communicate()

    def ended(self, child):
        out, err = child.communicate(timeout=SECONDS)
        return Ran(subprocess.CompletedProcess([], child.returncode, out, err))

    def put(self, name, content):
        """A file in the directory of the bridge."""
        return self.write(f"work/{name}", content)

    def document(self, name):
        return json.loads((self.work / name).read_bytes())

    def request(self, suffix=""):
        return self.document(f".agent-request{suffix}.json")

    def response(self, suffix=""):
        self.assert_keeps("bridge-response", (self.work / f".agent-response{suffix}.json").read_bytes())
        return self.document(f".agent-response{suffix}.json")

    def journal(self, *events):
        """The entries of these kinds; all of them when none is named."""
        path = self.work / ".treaty-bridge" / "journal.ndjson"
        entries = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
        return [entry for entry in entries if not events or entry["event"] in events]

    def quarantined(self):
        """The files that are kept, by their reasons."""
        return {entry["reason"]: (self.work / entry["kept_as"]).read_bytes() for entry in
                self.journal("file.quarantined")}
