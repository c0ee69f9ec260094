"""A provider made of a socket: it notes what it is asked and answers with whatever bytes a test wants."""
import dataclasses
import json
import os
import socket
import ssl
import struct
import subprocess
import threading

from treaty_binary import BINARY, Ran, SECONDS, TreatyTest

KEY = "sk-proj-CANARY7f3b9d1e5a2c8064KEY"
CLEAN = {name: value for name, value in os.environ.items()
         if not name.upper().endswith(("_PROXY", "_API_KEY", "_TOKEN", "_BASE_URL", "_ENDPOINT", "OLLAMA_HOST"))}


@dataclasses.dataclass
class Request:
    method: str
    target: str
    headers: dict
    body: bytes

    @property
    def json(self):
        return json.loads(self.body)


def read_request(connection):
    """The next request, or None when the client has gone."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ", 2)
    headers = {name.lower(): value.strip() for name, value in (line.split(":", 1) for line in lines)}
    while len(body) < int(headers.get("content-length", 0)):
        piece = connection.recv(65536)
        if not piece:
            return None
        body += piece
    return Request(method, target, headers, body)


class FakeProvider:
    """Answers every request of every connection with `answer`: bytes, or a function of connection and request."""

    def __init__(self, answer, tls=None):
        self.answer, self.tls, self.requests = answer, tls, []
        self.done = threading.Event()  # Set when the test is over: an answer that stalls waits for it.
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.threads = [threading.Thread(target=self.accept, daemon=True)]
        self.threads[0].start()

    @property
    def url(self):
        return f"{'https' if self.tls else 'http'}://127.0.0.1:{self.port}"

    def accept(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            thread = threading.Thread(target=self.serve, args=(connection,), daemon=True)
            self.threads.append(thread)
            thread.start()

    def serve(self, connection):
        try:
            if self.tls:
                connection = self.tls.wrap_socket(connection, server_side=True)
            with connection:
                request = read_request(connection)
                if request is None:
                    return
                self.requests.append(request)
                if isinstance(self.answer, bytes):
                    connection.sendall(self.answer)
                else:
                    self.answer(connection, request)
        except OSError:
            pass  # The client has gone, which is its right.

    def close(self):
        if self.done.is_set():
            return
        self.done.set()
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        for thread in self.threads:
            thread.join(SECONDS)


def answer(body, status=200, content_type="application/json", **headers):
    """A whole HTTP answer. Underscores in the names of headers stand for dashes."""
    body = body if isinstance(body, bytes) else (body if isinstance(body, str) else json.dumps(body)).encode()
    lines = [f"HTTP/1.1 {status} Whatever", f"Content-Length: {len(body)}", "Connection: close"]
    if content_type:
        lines.append(f"Content-Type: {content_type}")
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def open_answer(content_type="text/event-stream", **headers):
    """The head of an answer that goes on until the connection closes."""
    lines = ["HTTP/1.1 200 OK", f"Content-Type: {content_type}", "Connection: close",
             *(f"{name.replace('_', '-')}: {value}" for name, value in headers.items())]
    return "\r\n".join(lines).encode() + b"\r\n\r\n"


def completion(text="Hello there.", **members):
    message = {"role": "assistant", "content": text, **members.pop("message", {})}
    return {"id": "chatcmpl-1", "object": "chat.completion", "model": "small-1-2026",
            "choices": [{"index": 0, "message": message, "finish_reason": members.pop("finish_reason", "stop")}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 3, "total_tokens": 15}, **members}


def chunk(text=None, finish_reason=None, **members):
    delta = {} if text is None else {"content": text}
    data = {"id": "chatcmpl-1", "object": "chat.completion.chunk", "model": "small-1-2026",
            "choices": [{"index": 0, "delta": delta, "finish_reason": finish_reason}], **members}
    return f"data: {json.dumps(data)}\n\n".encode()


USAGE_CHUNK = b'data: {"id":"chatcmpl-1","model":"small-1-2026","choices":[],' \
              b'"usage":{"prompt_tokens":12,"completion_tokens":3,"total_tokens":15}}\n\n'
STREAM = chunk("Hello") + chunk(" there.") + chunk(finish_reason="stop") + USAGE_CHUNK + b"data: [DONE]\n\n"


def reset(connection):
    """Closes a connection by RST."""
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    connection.close()


def certificate(folder, name="127.0.0.1"):
    """A self-signed certificate for an address, and a server's context that shows it."""
    key, pem = folder / "key.pem", folder / "certificate.pem"
    kind = "IP" if name[0].isdigit() else "DNS"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
         "-keyout", key, "-out", pem, "-subj", f"/CN={name}", "-addext", f"subjectAltName={kind}:{name}"],
        check=True, capture_output=True)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem, key)
    return pem, context


class CallTest(TreatyTest):
    """A test that calls a provider of its own."""

    def provider(self, given, tls=None):
        fake = FakeProvider(given, tls)
        self.addCleanup(fake.close)
        return fake

    def arguments(self, fake, *options, provider="openai", model="small-1", path="/v1", text="Say hi."):
        return [BINARY, "call", "--provider", provider, "--model", model, "--base-url", fake.url + path, *options,
                *([text] if text is not None else [])]

    def environment(self, **variables):
        return {**CLEAN, "OPENAI_API_KEY": KEY, **variables}

    def call(self, fake, *options, stdin=b"", limit=None, seconds=SECONDS, variables=None, **more):
        """Runs `treaty call` against a fake provider."""
        return Ran(subprocess.run(
            self.arguments(fake, *options, **more), input=stdin, capture_output=True, cwd=self.folder, timeout=seconds,
            env=self.environment(**(variables or {})), check=False, preexec_fn=limit))

    def start(self, fake, *options, stdout=subprocess.PIPE, **more):
        """Starts `treaty call` and leaves it running; it does not outlive the test."""
        running = subprocess.Popen(self.arguments(fake, *options, **more), stdout=stdout, stderr=subprocess.PIPE,
                                   cwd=self.folder, env=self.environment())

        def end():
            running.kill()
            running.communicate()

        self.addCleanup(end)
        return running

    def result(self, given, *options, code=None, **more):
        """The AgentResult of a call that is answered so; it keeps its contract and holds no key."""
        fake = given if isinstance(given, FakeProvider) else self.provider(given)
        ran = self.call(fake, "--format", "json", *options, **more)
        self.assertNotIn(KEY, ran.out + ran.err)
        self.assertEqual(len(ran.out.splitlines()), 1, ran)
        if code is not None:
            self.assertEqual(ran.code, code, ran)
        verdict = self.verdict("agent-result", ran.out)
        self.assertEqual((verdict["valid"], verdict["violations"], verdict["warnings"]), (True, [], []), ran.out[:2000])
        return json.loads(ran.out)

    def assert_error(self, result, code, retryable):
        self.assertIn("error", result)
        self.assertEqual((result["error"].get("code"), result["error"].get("retryable"), result["finish_reason"]),
                         (code, retryable, "error"), result)
