"""Tests of who may come in: keys and tenants, rooms that are closed to others, and web pages without a key."""
import hashlib
import unittest

from scripted_agent import scripted
from serving import EXECUTE, ServingTest, tool_results, turn_path, user_turn

ACME, UMBRA = "key-of-acme", "key-of-umbra"
OPEN = {"/healthz": "/healthz", "/readyz": "/readyz", "/version": "/version", "/schemas/ID": "/schemas/response.json"}
KEYS = [{"tenant": tenant, "sha256": hashlib.sha256(key.encode()).hexdigest()}
        for tenant, key in (("acme", ACME), ("umbra", UMBRA))]


def bearer(key):
    return {"Authorization": f"Bearer {key}"}


class Keys(ServingTest):
    def setUp(self):
        super().setUp()
        self.one = self.server(scripted(keys=KEYS))

    def test_without_a_key_or_with_a_wrong_one_nobody_comes_in(self):
        for headers in ({}, bearer("wrong"), bearer(""), {"X-Api-Key": "wrong"}, {"Authorization": f"Basic {ACME}"},
                        bearer(KEYS[0]["sha256"])):
            for path, methods in self.one.addresses().items():
                for method in set(methods) - {"HEAD", "OPTIONS"} if path not in OPEN else ():
                    with self.subTest(f"{method} {path} {headers}"):
                        answer = self.one.ask(method, path, user_turn() if method == "POST" else None, headers)
                        self.assert_refused(answer, 401, "unauthenticated")
                        self.assertTrue(answer.headers["www-authenticate"].startswith("Bearer"))
                        self.assertNotIn(b"wrong", answer.body)

    def test_a_key_comes_as_bearer_or_as_x_api_key(self):
        for number, headers in enumerate((bearer(ACME), {"Authorization": f"bearer {ACME}"}, {"X-Api-Key": ACME})):
            self.assertEqual(self.one.execute(user_turn("s1", f"t{number}"), headers=headers).status, 200)
        self.assertEqual(self.one.get("/v1/sessions/s1", bearer(ACME)).json["TurnCount"], 3)

    def test_operations_need_no_key(self):
        for path in OPEN.values():
            self.assertEqual(self.one.get(path).status, 200, path)

    def test_with_keys_any_name_and_any_page_may_call(self):
        answer = self.one.get("/v1/sessions", {**bearer(ACME), "Host": "treaty.example", "Origin": "https://app.example"})
        self.assertEqual(answer.status, 200)


class Rooms(ServingTest):
    """S11: what belongs to another tenant is as unknown."""

    def setUp(self):
        super().setUp()
        self.one = self.server(scripted(keys=KEYS))
        self.assertEqual(self.one.execute(user_turn("s1", "t1", "Of acme."), headers=bearer(ACME)).status, 200)

    def ask(self, key, method, path, body=None):
        return self.one.ask(method, path, body, bearer(key))

    def test_another_tenants_room_is_as_unknown_everywhere(self):
        for method, rest in (("GET", ""), ("DELETE", ""), ("POST", "/branch"), ("GET", "/turns"), ("GET", "/turns/t1"),
                             ("GET", "/turns/t1/stream"), ("POST", "/turns/t1/cancel"), ("GET", "/turns/t1/assistant"),
                             ("GET", "/turns/t1/agent-result"), ("GET", "/events")):
            body = {} if method == "POST" else None
            mine = self.ask(UMBRA, method, "/v1/sessions/s1" + rest, body)
            never = self.ask(UMBRA, method, "/v1/sessions/s2" + rest, body)
            with self.subTest(f"{method} {rest}"):
                self.assert_refused(mine, 404, "session_not_found")
                self.assertEqual((mine.status, mine.body.replace(b"s1", b"s2")), (never.status, never.body))
        self.assertEqual(self.ask(ACME, "GET", "/v1/sessions/s1").json["TurnCount"], 1)

    def test_the_same_id_is_a_fresh_room_for_another_tenant(self):
        answer = self.one.execute(user_turn("s1", "t1", "Of umbra."), headers=bearer(UMBRA))
        self.assertEqual((answer.status, answer.result["TurnId"]), (200, "t1"))
        for key in (ACME, UMBRA):
            self.assertEqual(self.ask(key, "GET", "/v1/sessions/s1").json["TurnCount"], 1)
        self.assertEqual(self.ask(UMBRA, "DELETE", "/v1/sessions/s1").status, 204)
        self.assertEqual(self.ask(ACME, "GET", "/v1/sessions/s1").status, 200)

    def test_lists_hold_what_is_ones_own(self):
        self.assertEqual(self.ask(UMBRA, "GET", "/v1/sessions").json["Sessions"], [])
        self.assertEqual([s["SessionId"] for s in self.ask(ACME, "GET", "/v1/sessions").json["Sessions"]], ["s1"])
        self.assert_refused(self.ask(UMBRA, "GET", "/v1/sessions?before=s1"), 400, "contract_violation", "before")

    def test_tools_of_another_tenants_turn_cannot_be_answered(self):
        answer = self.one.execute(tool_results("s1", "t1", ["a"]), headers=bearer(UMBRA))
        self.assert_refused(answer, 409, "tool_results_mismatch", "TOOL-13")

    def test_a_turn_of_another_session_is_unknown_in_this_one(self):
        self.one.execute(user_turn("s2", "t2"), headers=bearer(ACME))
        self.assert_refused(self.ask(ACME, "GET", turn_path("s1", "t2")), 404, "turn_not_found")


class WebPages(ServingTest):
    """Without keys: names and pages of other sites are refused."""

    def setUp(self):
        super().setUp()
        self.one = self.server(scripted())

    def test_a_name_of_another_machine_is_forbidden(self):
        for host in ("evil.example", f"evil.example:{self.one.port}", "127.0.0.1.evil.example"):
            for path in (EXECUTE, "/v1/sessions"):
                with self.subTest(host):
                    answer = self.one.ask("POST", path, user_turn() if path == EXECUTE else {}, {"Host": host})
                    self.assert_refused(answer, 403, "forbidden", "keys")
        self.assertEqual(self.one.get("/v1/sessions").json["Sessions"], [])

    def test_the_name_in_a_whole_address_counts_before_the_header(self):
        for target, status in (("http://evil.example/v1/sessions", 403), ("http://127.0.0.1/v1/sessions", 200),
                               ("http://localhost:evil.example/v1/sessions", 400)):
            self.assertEqual(self.one.ask("GET", target, headers={"Host": "localhost"}).status, status, target)
        self.assertEqual(self.one.ask("GET", "http://localhost/v1/sessions", headers={"Host": "evil.example"}).status, 200)

    def test_a_host_with_a_port_that_is_none_is_no_host(self):
        for host in ("localhost:evil.example", "localhost:80:90", "127.0.0.1:x", "localhost/evil"):
            self.assert_refused(self.one.get("/v1/sessions", {"Host": host}), 400, "contract_violation", "Host")

    def test_a_page_of_another_site_is_forbidden(self):
        for origin in ("https://evil.example", "null", "http://localhost.evil.example", "file://",
                       "http://localhost:evil.example"):
            answer = self.one.execute(user_turn(), headers={"Origin": origin})
            self.assert_refused(answer, 403, "forbidden", "Origin")

    def test_this_machine_may_call_by_each_of_its_names(self):
        for number, headers in enumerate(({"Host": "localhost"}, {"Host": f"127.0.0.1:{self.one.port}"}, {"Host": "[::1]:80"}, {"Host": "treaty"},
                                          {"Origin": "http://localhost:3000"}, {"Origin": "http://127.0.0.1"})):
            answer = self.one.execute(user_turn("s1", f"t{number}"), headers=headers)
            self.assertEqual(answer.status, 200, headers)


if __name__ == "__main__":
    unittest.main()
