"""Tests of what the server tells without a turn: verdicts, composed responses, schemas, agents, its own health."""
import json
import unittest

from scripted_agent import scripted
from serving import DISK_FAULTS, LOOK, ServingTest, configuration, quoted
from treaty_binary import UUID, VALID, bridge_response, without


class Documents(ServingTest):
    def setUp(self):
        super().setUp()
        self.one = self.server(scripted())

    def check(self, contract, document, query=""):
        answer = self.one.post(f"/v1/check/{contract}{query}", document)
        self.assertEqual((answer.status, answer.headers["content-type"]), (200, "application/json; charset=utf-8"), answer)
        return answer.body.decode()

    def same(self, contract, document, *options, query=""):
        told = self.treaty("check", contract, "-", *options, "--format", "json", stdin=document)
        self.assertIn(told.code, (0, 1), told)
        answer = self.check(contract, document, query)
        self.assertEqual(answer, told.out)
        return json.loads(answer)

    def test_a_verdict_is_that_of_the_command_line_byte_for_byte(self):
        for contract, document in VALID.items():
            for broken in (document, {}, {**document, "Extra": 1}, without(document, next(iter(document))), "{", "", "[]",
                           b"\xff\xfe", '{"a":1,"a":2}'):
                with self.subTest(f"{contract} {broken}"):
                    self.same(contract, broken)
            self.assertTrue(self.same(contract, document)["valid"])

    def test_profile_role_and_inner_are_those_of_the_command_line(self):
        self.same("bridge-response", bridge_response(created_at="2025-11-24T14:22:45"), "--profile", "lenient",
                  query="?profile=lenient")
        foreign = {**VALID["assistant"], "mood": "good"}
        self.assertTrue(self.same("assistant", foreign, "--role", "consumer", query="?role=consumer")["valid"])
        self.assertFalse(self.same("assistant", foreign)["valid"])
        self.assertFalse(self.same("bridge-response", bridge_response(), "--inner", "json", query="?inner=json")["valid"])
        self.same("bridge-response", bridge_response(), "--inner", "text", query="?inner=text")

    def test_an_answer_of_the_bridge_is_compared_with_the_id_of_its_request(self):
        mine = json.loads(self.check("bridge-response", bridge_response(), f"?request_id={UUID}"))
        other = json.loads(self.check("bridge-response", bridge_response(), "?request_id=" + quoted("another one")))
        self.assertEqual((mine["valid"], [f["rule"] for f in other["violations"]]), (True, ["BRS-12"]))

    def test_auto_tells_the_contract_from_the_members(self):
        for contract, document in VALID.items():
            self.assertEqual(self.same("auto", document)["contract"], contract)
        self.assertFalse(self.same("auto", {"nobody": "knows"})["valid"])
        self.assertFalse(self.same("auto", "{")["valid"])

    def test_a_document_of_any_type_of_content_is_checked(self):
        for kind in ("text/plain", "application/octet-stream", "application/json"):
            answer = self.one.ask("POST", "/v1/check/request", VALID["request"], {"Content-Type": kind})
            self.assertIs(answer.json["valid"], True)
        self.assert_refused(self.one.ask("POST", "/v1/check/request", b"x", {"Content-Encoding": "gzip"}), 415,
                            "unsupported_media_type")

    def test_words_that_make_no_sense_are_refused(self):
        for query in ("profile=loose", "role=nobody", "inner=xml"):
            self.assert_refused(self.one.post("/v1/check/request?" + query), 400, "contract_violation", query.split("=")[0])
        self.assert_refused(self.one.post("/v1/assistant/respond?profile=loose"), 400, "contract_violation", "profile")
        self.assert_refused(self.one.get("/schemas/request.json?dialect=snake"), 400, "contract_violation", "dialect")
        self.assert_refused(self.one.get("/schemas/assistant.json?dialect=camel"), 400, "contract_violation", "dialect")

    def test_the_composer_is_that_of_the_command_line(self):
        for body in ({}, {"summary": "All is well.", "task": {"trace_id": "x-1", "status": "created"}}, [], 5,
                     {"task": {"id": 0, "trace_id": "x-2"}, "execution_status": "failed"}):
            for profile in ("strict", "compat"):
                told = self.treaty("compose", "--profile", profile, stdin=body)
                answer = self.one.post(f"/v1/assistant/respond?profile={profile}", body)
                self.assertEqual(answer.status, 200)
                mine, theirs = answer.json, json.loads(told.out)
                if "x-" not in json.dumps(body):
                    self.assertNotEqual(mine.pop("trace_id"), theirs.pop("trace_id"))  # Each a new one.
                self.assertEqual(mine, theirs)

    def test_what_is_no_json_is_not_composed(self):
        for body in ("{", b"", b"\xff"):
            self.assert_refused(self.one.post("/v1/assistant/respond", body), 400, "contract_violation")

    def test_schemas_are_those_of_the_command_line(self):
        for contract in VALID:
            answer = self.one.get(f"/schemas/{contract}.json")
            self.assertEqual((answer.status, answer.headers["content-type"]), (200, "application/schema+json"))
            self.assertEqual(answer.body.decode(), self.treaty("schema", contract).out)
        self.assertEqual(self.one.get("/schemas/request.json?dialect=camel").body.decode(),
                         self.treaty("schema", "request", "--dialect", "camel").out)


class Operations(ServingTest):
    def test_health_readiness_and_version(self):
        one = self.server(scripted())
        self.assertEqual((one.get("/healthz").status, one.get("/healthz").json), (200, {"Status": "ok"}))
        self.assertEqual((one.get("/readyz").status, one.get("/readyz").json), (200, {"Status": "ready"}))
        version = json.loads(self.treaty("version", "--format", "json").out)
        self.assertEqual(one.get("/version").json, {"Name": version["name"], "Version": version["version"]})

    @unittest.skipUnless(DISK_FAULTS, "needs the library of tests/disk_faults")
    def test_a_server_whose_disk_is_full_is_alive_and_not_ready_until_there_is_room(self):
        one = self.server(scripted(), faults=True)
        one.disk("ENOSPC write")
        answer = one.get("/readyz")
        self.assert_refused(answer, 503, "store_unavailable")
        self.assertGreater(int(answer.headers["retry-after"]), 0)
        self.assertEqual(one.get("/healthz").status, 200)
        one.disk()
        self.assertEqual(one.get("/readyz").status, 200)

    def test_agents_are_told_without_their_insides(self):
        gate = self.gate("x")
        one = self.server(configuration(gate, {"description": "Helps."}, agents={"other": {
            "mode": "Other", "system": "A secret text.", "backends": [{"provider": "gate", "model": "small-1"}],
            "conversations": {"review": {"mode": "Review", "tools": [LOOK]}}}}))
        answer = one.get("/v1/agents")
        look = [{"Name": "look", "Description": "Looks."}]
        self.assertEqual(answer.json, {"Agents": [
            {"AgentContextId": "default", "Description": "Helps.", "ModeDisplayName": "General", "Tools": look,
             "Conversations": []},
            {"AgentContextId": "other", "ModeDisplayName": "Other", "Tools": [], "Conversations": [
                {"ConversationContextId": "review", "ModeDisplayName": "Review", "Tools": look}]}]})
        for inside in (b"secret", b"small-1", b"gate"):
            self.assertNotIn(inside, answer.body)


if __name__ == "__main__":
    unittest.main()
