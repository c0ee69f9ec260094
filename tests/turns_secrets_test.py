"""Whole-binary tests of S14: a canary key is in no file of the state, no answer, no event, no line on stderr."""
import hashlib
import unittest

from gate import KEY, Reply
from serving import ServingTest, configuration, user_turn

ACCESS = "access-CANARY-41d8e07b2c"
BASE = [KEY, ACCESS]


class Secrets(ServingTest):
    def setUp(self):
        super().setUp()
        self.seen = []

    def serve(self, *replies, held=False):
        gate = self.gate(*replies, held=held)
        server = self.server(configuration(
            gate, keys=[{"tenant": "acme", "sha256": hashlib.sha256(ACCESS.encode()).hexdigest()}]))
        return gate, server

    def ask(self, server, method, path, body=None, **headers):
        answer = server.ask(method, path, body, {"Authorization": f"Bearer {ACCESS}", **headers})
        self.seen.append(answer.body + repr(answer.headers).encode())
        return answer

    def say(self, server, turn="t1", **members):
        return self.ask(server, "POST", "/v1/agent/execute", user_turn("s1", turn, **members))

    def assert_silent(self, server):
        """Looks at everything that can be asked for, then at every file and at stderr."""
        for path in ("/v1/sessions", "/v1/sessions/s1", "/v1/sessions/s1/turns", "/v1/sessions/s1/turns/t1",
                     "/v1/sessions/s1/turns/t1/assistant", "/v1/sessions/s1/turns/t1/stream", "/version", "/readyz",
                     "/healthz"):
            self.ask(server, "GET", path)
        with server.stream("GET", "/v1/sessions/s1/events", None, {"Authorization": f"Bearer {ACCESS}"}) as stream:
            for event in stream:
                self.seen.append(event.data.encode())
                if event.event in ("turn.completed", "turn.failed", "turn.awaiting_tools"):
                    break
        server.terminate()
        server.wait()
        self.seen.append(server.errors().encode())
        files = [file for file in server.state.rglob("*") if file.is_file()]
        self.assertTrue(files)
        self.seen += [file.read_bytes() for file in files]
        for secret in BASE:
            for place in self.seen:
                self.assertNotIn(secret.encode(), place)

    def test_after_a_plain_turn(self):
        gate, server = self.serve()
        self.assertEqual(self.say(server).status, 200)
        self.assertEqual(gate.calls[0].request.headers["authorization"], f"Bearer {KEY}", "the canary was used")
        self.assert_silent(server)

    def test_after_an_error_of_the_provider_that_quotes_the_key(self):
        for status in (401, 400, 500):
            with self.subTest(status):
                self.seen = []
                _, server = self.serve(Reply(error=(status, {"error": {
                    "message": f"Incorrect API key provided: {KEY}. Header was 'Authorization: Bearer {KEY}'.",
                    "type": "invalid_request_error", "code": None}}), headers={"X_Echo": KEY, "X_Request_Id": KEY}))
                answer = self.say(server)
                self.assertIn(answer.status, (502,), answer)
                self.assert_silent(server)

    def test_an_answer_in_which_the_model_says_the_key_is_masked(self):
        _, server = self.serve(Reply("Your key is ", KEY, ", keep it."))
        answer = self.say(server)
        self.assertIn("keep it.", answer.text)
        self.assertNotIn(KEY, answer.body.decode())
        with server.stream("POST", "/v1/agent/execute", user_turn("s2", "t1", Streaming=True),
                           {"Authorization": f"Bearer {ACCESS}"}) as stream:
            self.assertNotIn(KEY, list(stream)[-1].data)

    def test_after_requests_that_were_refused(self):
        _, server = self.serve()
        self.say(server)
        server.ask("POST", "/v1/agent/execute", "{", {"Authorization": f"Bearer {ACCESS}"})
        for value in (f"Basic {ACCESS}", f"Bearer  {ACCESS}x", ACCESS):
            self.seen.append(server.ask("GET", "/v1/sessions", None, {"Authorization": value}).body)
        self.seen.append(server.get("/v1/nowhere", {"Authorization": f"Bearer {ACCESS}"}).body)
        self.assert_silent(server)


if __name__ == "__main__":
    unittest.main()
