"""What the tests of `treaty mock` share: starting it, asking it, reading what came byte by byte."""
import http.client
import json
import os
import socket
import subprocess
import threading

from treaty_binary import BINARY, SECONDS, TreatyTest

CHAT = "/v1/chat/completions"
RESPONSES = "/v1/responses"
MESSAGES = "/v1/messages"


class Answer:
    """A whole answer, read by Python's own client."""

    def __init__(self, response):
        self.status = response.status
        self.headers = {name.lower(): value for name, value in response.getheaders()}
        self.body = response.read()

    @property
    def json(self):
        return json.loads(self.body)

    @property
    def events(self):
        """(name, data) of each server-sent event."""
        found = []
        for block in self.body.decode("utf-8").split("\n\n"):
            fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
            if "data" in fields:
                found.append((fields.get("event", ""), fields["data"]))
        return found


class Mock:
    """A running `treaty mock` on a free port."""

    def __init__(self, folder, arguments):
        self.process = subprocess.Popen(
            [BINARY, "mock", "--port", "0", "--format", "json", *arguments], cwd=folder, env=os.environ,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        line = self.process.stdout.readline()
        if not line:
            raise AssertionError(f"it did not start: {self.process.communicate()[1]!r}")
        self.address = json.loads(line)
        self.port = self.address["port"]
        self._log = []
        self._reader = threading.Thread(target=lambda: self._log.extend(self.process.stderr), daemon=True)
        self._reader.start()

    def stop(self):
        """Ends it and answers (exit code, lines of its log)."""
        if self.process.poll() is None:
            self.process.terminate()
        code = self.process.wait(SECONDS)
        self._reader.join(SECONDS)
        self.process.stdout.close()
        self.process.stderr.close()
        return code, [line.decode("utf-8").rstrip("\n") for line in self._log]

    def ask(self, path=CHAT, body=None, method="POST", **headers):
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=SECONDS)
        try:
            content = body if isinstance(body, (bytes, str, type(None))) else json.dumps(body)
            connection.request(method, path, content, {name.replace("_", "-"): value for name, value in headers.items()})
            return Answer(connection.getresponse())
        finally:
            connection.close()

    def connect(self, path=CHAT, body=None):
        """A socket on which the request has been sent."""
        content = json.dumps(body if body is not None else chat()).encode()
        client = socket.create_connection(("127.0.0.1", self.port), SECONDS)
        client.sendall(f"POST {path} HTTP/1.1\r\nhost: mock\r\nconnection: close\r\n"
                       f"content-length: {len(content)}\r\n\r\n".encode() + content)
        return client

    def bytes_until_end(self, path=CHAT, body=None):
        """(all bytes that came, whether the connection was reset)."""
        received = b""
        with self.connect(path, body) as client:
            try:
                while piece := client.recv(65536):
                    received += piece
            except ConnectionResetError:
                return received, True
        return received, False


class MockTest(TreatyTest):
    def mock(self, script=None, *arguments):
        """Starts it with the script's text, if one is given."""
        if script is not None:
            self.write("script.yaml", script)
            arguments = ("--script", "script.yaml", *arguments)
        mock = Mock(self.folder, arguments)
        self.addCleanup(mock.stop)
        return mock


def chat(text="Hello", **members):
    return {"model": "m", "messages": [{"role": "user", "content": text}], **members}


def anthropic(text="Hello", **members):
    return {"model": "m", "max_tokens": 10, "messages": [{"role": "user", "content": text}], **members}


def responses(text="Hello", **members):
    return {"model": "m", "input": text, **members}


def body_of(received):
    """The chunks of a chunked answer, as far as they came."""
    rest, body = received.partition(b"\r\n\r\n")[2], b""
    while rest:
        size, _, rest = rest.partition(b"\r\n")
        if not size or any(digit not in b"0123456789abcdef" for digit in size):
            return body
        body, rest = body + rest[:int(size, 16)], rest[int(size, 16) + 2:]
    return body
