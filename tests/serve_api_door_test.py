"""Tests of the door of `treaty serve`: addresses, methods, types of content, and requests that break their contract."""
import json
import unittest

from scripted_agent import scripted
from serving import EXECUTE, Answer, ServingTest, turn_path, user_turn
from treaty_binary import MIB, as_bytes

GET, POST = "GET, HEAD, OPTIONS", "POST, OPTIONS"
ADDRESSES = {
    EXECUTE: POST, "/api/ai/agent/execute": POST, "/v1/assistant/respond": POST, "/v1/check/request": POST,
    "/v1/sessions": "GET, HEAD, POST, OPTIONS", "/v1/sessions/s1": "GET, HEAD, DELETE, OPTIONS",
    "/v1/sessions/s1/branch": POST, "/v1/sessions/s1/events": GET, "/v1/sessions/s1/turns": GET,
    "/v1/sessions/s1/turns/t1": GET, "/v1/sessions/s1/turns/t1/stream": GET, "/v1/sessions/s1/turns/t1/assistant": GET,
    "/v1/sessions/s1/turns/t1/agent-result": GET,
    "/v1/sessions/s1/turns/t1/cancel": POST, "/v1/agents": GET, "/v1/limits": GET, "/schemas/request.json": GET,
    "/healthz": GET, "/readyz": GET, "/version": GET,
}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "get", "BREW")


class Addresses(ServingTest):
    def setUp(self):
        super().setUp()
        self.one = self.server(scripted())

    def test_the_tests_below_know_every_address(self):
        names = {"s1": "ID", "t1": "ID", "request": "ID", "request.json": "ID"}
        known = {"/".join(names.get(part, part) for part in path.split("/")) for path in ADDRESSES}
        self.assertEqual(sorted(known ^ set(self.one.addresses())), [])

    def test_a_wrong_method_is_refused_with_those_that_are_right(self):
        for path, allowed in ADDRESSES.items():
            for method in METHODS:
                if method in allowed.split(", "):
                    continue
                with self.subTest(f"{method} {path}"):
                    answer = self.one.ask(method, path)
                    self.assertEqual((answer.status, answer.headers["allow"]), (405, allowed))
                    if method != "HEAD":
                        self.assert_refused(answer, 405, "method_not_allowed")

    def test_options_are_told_without_a_body(self):
        for path, allowed in ADDRESSES.items():
            answer = self.one.ask("OPTIONS", path)
            self.assertEqual((answer.status, answer.headers["allow"], answer.body), (204, allowed, b""), path)
        self.assertEqual(self.one.ask("OPTIONS", "*").status, 204)

    def test_what_is_not_there_is_not_found(self):
        for path in ("/", "/v1", "/v1/agent", "/v1/sessions/", "/v1/sessions/s1/turns/", "/v1/sessions//turns",
                     "/v1/agent/execute/", "/v1/check/letter", "/v1/check/", "/schemas/request", "/schemas/letter.json",
                     "/healthz/x", "/favicon.ico", "/../etc/passwd"):
            method = "POST" if path.startswith("/v1/check") else "GET"
            with self.subTest(path):
                self.assert_refused(self.one.ask(method, path), 404, "not_found")
        self.assertIn("/v1/agent/execute: POST", self.one.get("/nowhere").error["Details"].splitlines()[0])

    def test_a_fragment_or_an_address_without_its_slash_is_refused(self):
        for path in ("/healthz#x", "/healthz?a#", "healthz", "127.0.0.1:80"):
            with self.subTest(path):
                self.assert_refused(self.one.get(path), 400, "contract_violation", "target")

    def test_an_escape_that_is_none_is_refused(self):
        for path in ("/v1/sessions/%", "/v1/sessions/%zz", "/v1/sessions/a%2", "/v1/sessions/%FF", "/v1/sessions?limit=%"):
            with self.subTest(path):
                self.assert_refused(self.one.get(path), 400, "contract_violation")

    def test_head_is_get_without_its_body(self):
        self.one.say("s1", "t1")
        for path in ("/healthz", "/readyz", "/version", "/v1/agents", "/v1/sessions", "/v1/sessions/s1",
                     "/v1/sessions/s1/turns", "/v1/sessions/s1/turns/t1", "/schemas/request.json", "/v1/sessions/s9"):
            got, head = self.one.get(path), self.one.ask("HEAD", path)
            with self.subTest(path):
                self.assertEqual((head.status, head.body), (got.status, b""))
                self.assertEqual(head.headers["content-length"], str(len(got.body)))
        for path in ("/v1/sessions/s1/events", "/v1/sessions/s1/turns/t1/stream"):
            head = self.one.ask("HEAD", path)
            self.assertEqual((head.status, head.headers["content-type"], head.body), (200, "text/event-stream", b""))

    def test_an_address_in_its_absolute_form_is_the_same(self):
        answer = self.one.get(f"http://127.0.0.1:{self.one.port}/version")
        self.assertEqual((answer.status, answer.json["Name"]), (200, "treaty"))

    def test_answers_are_json_that_nobody_keeps(self):
        for answer in (self.one.say(), self.one.get("/nowhere"), self.one.get("/v1/sessions")):
            self.assertEqual(answer.headers["content-type"], "application/json; charset=utf-8")
            self.assertEqual(answer.headers["cache-control"], "no-store")

    def test_a_connection_is_used_again_after_refusals(self):
        connection = self.one.connection()
        statuses = [self.one.ask("GET", "/nowhere", on=connection).status,
                    self.one.ask("PUT", "/healthz", on=connection).status,
                    self.one.ask("POST", EXECUTE, "{", on=connection).status,
                    self.one.ask("GET", "/healthz", on=connection).status]
        connection.close()
        self.assertEqual(statuses, [404, 405, 400, 200])


class Bodies(ServingTest):
    def setUp(self):
        super().setUp()
        self.one = self.server(scripted(http={"max_body": MIB}))

    def send(self, body, **headers):
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return self.one.ask("POST", EXECUTE, as_bytes(body), named)

    def test_json_is_taken_under_each_of_its_names(self):
        for number, kind in enumerate(("application/json", "application/json; charset=utf-8", "Application/JSON;charset=UTF-8",
                                       "application/vnd.treaty.v1+json")):
            answer = self.send(user_turn("s1", f"t{number}"), Content_Type=kind)
            self.assertEqual(answer.status, 200, (kind, answer))

    def test_a_body_without_a_type_is_taken_for_json(self):
        with self.one.connect() as socket:
            body = as_bytes(user_turn())
            socket.sendall(b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s"
                           % (EXECUTE.encode(), len(body), body))
            self.assertTrue(socket.recv(64).startswith(b"HTTP/1.1 200 "))

    def test_other_types_are_not_supported(self):
        for path in (EXECUTE, "/v1/sessions", "/v1/sessions/s1/branch", "/v1/assistant/respond"):
            for kind in ("text/plain", "application/x-www-form-urlencoded", "text/json", "application/xml",
                         "application/json; charset=utf-16", "nonsense"):
                with self.subTest(f"{path} {kind}"):
                    answer = self.one.ask("POST", path, b"{}", {"Content-Type": kind})
                    self.assert_refused(answer, 415, "unsupported_media_type", "Content-Type")

    def test_compressed_bodies_are_not_supported(self):
        for coding in ("gzip", "deflate", "br", "gzip, identity"):
            answer = self.send(user_turn(), Content_Type="application/json", Content_Encoding=coding)
            self.assert_refused(answer, 415, "unsupported_media_type", "Content-Encoding")
        self.assertEqual(self.send(user_turn(), Content_Encoding="identity").status, 200)

    def test_a_body_over_the_limit_is_too_large(self):
        answer = self.send(user_turn(Instruction="x" * MIB))
        self.assert_refused(answer, 413, "body_too_large")
        self.assertEqual(self.one.get("/v1/sessions").json["Sessions"], [])
        self.assertEqual(self.send(user_turn(Instruction="x" * (MIB - 200))).status, 200)

    def test_cancel_takes_no_body_or_an_empty_object(self):
        self.send(user_turn())
        path = turn_path("s1", "t1", "/cancel")
        for body in (None, b"", b" ", b"{}"):
            self.assertEqual(self.one.ask("POST", path, body).status, 200, body)
        for body in (b"[]", b"null", b"5", b"{", b'{"TurnId": "t1"}', b"\xff"):
            self.assert_refused(self.one.ask("POST", path, body), 400, "contract_violation", "body")

    def test_a_small_object_is_not_large(self):
        answer = self.one.post("/v1/sessions", {"AgentContextId": "x" * 100_000})
        self.assert_refused(answer, 400, "contract_violation", "65536")

    def test_an_empty_body_is_no_request(self):
        self.assert_refused(self.send(b""), 400, "contract_violation", "JSON-01")

    def test_what_is_no_json_object_is_no_request(self):
        for body, rule in (("{", "JSON-01"), ("[]", "JSON-06"), ("null", "JSON-06"), ("\ufeff{}", "JSON-01"),
                           ('{"SessionId":"s","SessionId":"s","TurnId":"t","Instruction":"x"}', "JSON-02"),
                           ('{"SessionId":"\\ud800","TurnId":"t","Instruction":"x"}', "JSON-04"),
                           (b'{"SessionId":"s","TurnId":"t","Instruction":"\xff"}', "JSON-01")):
            with self.subTest(body):
                self.assert_refused(self.send(body), 400, "contract_violation", rule)


class Contracts(ServingTest):
    def setUp(self):
        super().setUp()
        self.one = self.server(scripted())

    def test_a_violation_is_told_with_its_rule_its_place_and_what_to_do(self):
        answer = self.one.execute({"SessionId": "s1", "TurnId": "t1", "Mode": "x", "Instruction": 5})
        self.assert_refused(answer, 400, "contract_violation")
        error = answer.error
        self.assertEqual(error["Context"], "/Mode")
        self.assertIn("and 1 more", error["Message"])
        lines = error["Details"].splitlines()
        self.assertEqual([line.split(":")[0] for line in lines], ["REQ-12 /Mode", "REQ-03 /Instruction"])
        self.assertTrue(error["FatalError"])
        self.assertFalse(error["SystemError"])

    def test_the_rules_are_those_of_check(self):
        for body in ({}, {"SessionId": "s1"}, user_turn(TurnId=" "), user_turn(ToolResults=[{}]), user_turn(Streaming="yes"),
                     user_turn(InputArtifacts=[{"RelativePath": "../x", "FileName": "x", "Contents": "", "Origin": "ide"}]),
                     {"SessionId": "s1", "TurnId": "t1", "ToolResults": [
                         {"ToolCallId": "a", "ExecutionMs": 1, "ResultJson": "1"},
                         {"ToolCallId": "a", "ExecutionMs": 1, "ResultJson": "1"}]}):
            with self.subTest(body):
                answer = self.one.execute(body)
                self.assert_refused(answer, 400, "contract_violation")
                verdict = self.verdict("request", body)
                told = [line.split(" ")[0].rstrip(":") for line in answer.error["Details"].splitlines()]
                self.assertEqual(told, [finding["rule"] for finding in verdict["violations"]])

    def test_of_very_many_violations_fifty_are_told(self):
        answer = self.one.execute(user_turn(InputArtifacts=[1] * 5000))
        self.assert_refused(answer, 400, "contract_violation", "and 4999 more")
        self.assertEqual(len(answer.error["Details"].splitlines()), 51)

    def test_errors_are_spelled_as_the_request_is(self):
        for body in ('{"sessionId":"s1","turnId":"t1"}', '{"sessionId":"s1", broken'):
            errors = self.one.execute(body).json["errors"]
            self.assertEqual((len(errors), errors[0]["errorCode"]), (1, "contract_violation"))
        answer = self.one.ask("POST", EXECUTE, '{"sessionId":"s1"}', {"Content-Type": "text/plain"})
        self.assertEqual(answer.json["errors"][0]["errorCode"], "unsupported_media_type")
        self.assert_refused(self.one.execute("nonsense"), 400, "contract_violation")

    def test_what_only_warns_is_answered_with_warnings(self):
        answer = self.one.execute(user_turn(Color="red", Shape="round"))
        self.assertEqual(answer.status, 200)
        warnings = answer.json["Warnings"]
        self.assertEqual([(w["ErrorCode"], w["Context"], w["Details"]) for w in warnings],
                         [("contract_warning", "/Color", "REQ-15"), ("contract_warning", "/Shape", "REQ-15")])

    def test_lenient_repairs_and_warns_of_it(self):
        body = "\ufeff" + json.dumps(user_turn())
        self.assert_refused(self.one.execute(body), 400, "contract_violation", "JSON-01")
        answer = self.one.execute(body, path=EXECUTE + "?profile=lenient")
        self.assertEqual((answer.status, answer.json["Warnings"][0]["Details"]), (200, "JSON-01"))
        self.assert_refused(self.one.execute(user_turn(), path=EXECUTE + "?profile=loose"), 400, "contract_violation",
                            "profile")

    def test_an_idempotency_key_has_1_to_255_printable_characters(self):
        for key in ("k" * 256, "caf\u00e9", ""):
            answer = self.one.ask("POST", EXECUTE, user_turn(), {"Idempotency-Key": key.encode("utf-8")})
            self.assert_refused(answer, 400, "contract_violation", "Idempotency-Key")
        self.assertEqual(self.one.execute(user_turn(), key="k" * 255).status, 200)

    def test_a_header_that_has_one_value_comes_once(self):
        body = as_bytes(user_turn())
        for name in ("Idempotency-Key", "Last-Event-ID", "Content-Type", "Authorization"):
            connection = self.one.connection()
            connection.putrequest("POST", EXECUTE)
            for value in ("one", "two"):
                connection.putheader(name, value)
            connection.putheader("Content-Length", str(len(body)))
            connection.endheaders(body)
            response = connection.getresponse()
            answer = Answer(response.status, response.getheaders(), response.read())
            connection.close()
            self.assert_refused(answer, 400, "contract_violation", f"{name} comes twice")
        self.assertEqual(self.one.get("/v1/sessions").json["Sessions"], [])

    def test_a_refused_request_opens_nothing(self):
        for body in ({}, "{", user_turn(Mode="x")):
            self.assertEqual(self.one.execute(body).status, 400)
        self.assertEqual(self.one.get("/v1/sessions").json, {"Sessions": [], "HasMore": False})

    def test_a_refused_streaming_request_is_a_plain_answer(self):
        answer = self.one.execute(user_turn(Streaming=True, Mode="x"), headers={"Accept": "text/event-stream"})
        self.assert_refused(answer, 400, "contract_violation", "REQ-12")


class Always200(ServingTest):
    def test_errors_of_execute_have_the_status_200_when_clients_expect_it(self):
        one = self.server(scripted(http={"always_200": True}))
        answer = one.execute({})
        self.assertEqual((answer.status, answer.code), (200, "contract_violation"))
        answer = one.say(AgentContextId="nobody")
        self.assertEqual((answer.status, answer.code), (200, "agent_not_found"))
        self.assertEqual(one.get("/v1/sessions/s9").status, 404)


if __name__ == "__main__":
    unittest.main()
