"""What the tests of the whole binary share: running it, files of its own for each test, small documents."""
import json
import os
import pathlib
import resource
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent
BINARY = pathlib.Path(os.environ.get("TREATY_BINARY") or ROOT / "build" / "release" / "treaty").resolve()
EXAMPLES = ROOT / "examples"
SAMPLES = ROOT / "docs" / "guide" / "samples"

MIB = 1 << 20
MEMORY = 1 << 30  # What a run with hostile input may take of address space.
UUID = "6f1c2a34-9d0b-4e57-8a1f-2b7c5d90e3a6"
OTHER_UUID = "0b8de6c2-51f7-4a3e-9c44-7d2f1e6ab905"

# A sanitizer reserves terabytes of address space and takes its time.
SANITIZED = any(mark in BINARY.read_bytes() for mark in (b"__asan_init", b"__tsan_init")) if BINARY.exists() else False
SECONDS = 300 if SANITIZED else 60  # More than any run takes;
SOON = SECONDS / 3  # and what hostile input may take, which on an idle machine is a second or two.


def limit_memory():
    """Runs in the child, before the binary starts."""
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))


class Ran:
    """What a run came to. The outputs are bytes; `out` and `err` read them as UTF-8."""

    def __init__(self, done):
        self.code, self.raw_out, self.raw_err = done.returncode, done.stdout or b"", done.stderr

    @property
    def out(self):
        return self.raw_out.decode("utf-8")

    @property
    def err(self):
        return self.raw_err.decode("utf-8")

    def __repr__(self):
        return f"exit {self.code}\nstdout: {self.raw_out[:2000]!r}\nstderr: {self.raw_err[:2000]!r}"


def as_bytes(content):
    """A dict or a list as JSON, a text as UTF-8, bytes as they are."""
    if isinstance(content, bytes):
        return content
    return (content if isinstance(content, str) else json.dumps(content)).encode("utf-8")


class TreatyTest(unittest.TestCase):
    """A test with a folder of its own, in which the binary runs."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def write(self, name, content):
        file = self.folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(as_bytes(content))
        return name

    def read(self, name):
        return (self.folder / name).read_bytes()

    def treaty(self, *arguments, stdin=b"", limited=False, stdout=subprocess.PIPE, seconds=SECONDS, **environment):
        """Runs the binary; `limited` gives it no more memory than MEMORY."""
        return Ran(subprocess.run(
            [BINARY, *arguments], input=as_bytes(stdin), stdout=stdout, stderr=subprocess.PIPE,
            cwd=self.folder, env={**os.environ, **environment}, timeout=seconds, check=False,
            preexec_fn=limit_memory if limited and not SANITIZED else None))

    def verdicts(self, *arguments, code=None, **more):
        """The verdicts of `treaty check ARGUMENTS --format json`."""
        ran = self.treaty("check", *arguments, "--format", "json", **more)
        if code is not None:
            self.assertEqual(ran.code, code, ran)
        self.assertIn(ran.code, (0, 1), ran)
        return [json.loads(line) for line in ran.out.splitlines()]

    def verdict(self, contract, document, *options, **more):
        """The verdict on one document, given on standard input."""
        verdicts = self.verdicts(contract, "-", *options, stdin=document, **more)
        self.assertEqual(len(verdicts), 1)
        return verdicts[0]

    def assert_usage(self, ran, *words):
        """Wrong usage: exit 2, nothing on stdout, the reason and the next step on stderr."""
        self.assertEqual(ran.code, 2, ran)
        self.assertEqual(ran.out, "")
        for word in (*words, "--help"):
            self.assertIn(word, ran.err)


def rules_of(findings):
    return [finding["rule"] for finding in findings]


# Valid documents. A keyword replaces or adds a member; `without` takes members away.

def without(document, *names):
    return {name: value for name, value in document.items() if name not in names}


def user_turn(**members):
    return {"SessionId": "s1", "TurnId": "t1", "Instruction": "Sum it up.", **members}


def tool_result(call="a", **members):
    return {"ToolCallId": call, "ExecutionMs": 5, "ResultJson": "{}", **members}


def tool_continuation(*calls, **members):
    return {"SessionId": "s1", "TurnId": "t1", "ToolResults": [tool_result(call) for call in calls or "a"], **members}


def final(**members):
    return {"Kind": "final", "SessionId": "s1", "TurnId": "t1", "ModeDisplayName": "General",
            "PrimaryOutputText": "Done.", **members}


def waiting(*calls, **members):
    return {"Kind": "client_tool_continuation", "SessionId": "s1", "TurnId": "t1", "ModeDisplayName": "General",
            "ToolCalls": [{"ToolCallId": call, "Name": "look", "ArgumentsJson": "{}"} for call in calls or "a"],
            **members}


def invoke_result(result):
    return {"Successful": True, "Result": result, "Errors": [], "Warnings": []}


def failed_invoke_result():
    return {"Successful": False, "Errors": [{"ErrorCode": "timeout", "Message": "It took too long."}]}


def agent_result(**members):
    return {"content": "Done.", "finish_reason": "stop", **members}


def bridge_request(**members):
    return {"request_id": UUID, "version": "1.0", "agent_name": "reviewer", "prompt": "Review it.",
            "created_at": "2025-11-24T14:22:05Z", **members}


def bridge_response(**members):
    return {"request_id": UUID, "version": "1.0", "status": "success", "response": "Fine.", "error_message": None,
            "error_type": None, "created_at": "2025-11-24T14:22:45Z", "duration_seconds": 1.5, "metadata": {},
            **members}


def assistant(**members):
    return {"assistant_message": "It is done.", "action_taken": "Did it.", "next_steps": ["Look at it"],
            "confidence_level": "high", "trace_id": "trace-1", "response_version": "v1", **members}


VALID = {
    "request": user_turn(),
    "response": final(),
    "invoke-result": invoke_result(final()),
    "agent-result": agent_result(),
    "bridge-request": bridge_request(),
    "bridge-response": bridge_response(),
    "assistant": assistant(),
}
