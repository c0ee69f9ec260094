"""Tests of the table of errors: every code that a client can provoke, with its status, its flags and its headers.

The failures of backends are in turns_retry_test.py; `internal` and `budget_exhausted` cannot be provoked from outside.
"""
import unittest

from gate import calling
from serving import DISK_FAULTS, EXECUTE, ServingTest, configuration, tool_results, user_turn

STATUS = {
    "contract_violation": 400, "unauthenticated": 401, "forbidden": 403, "session_not_found": 404, "turn_not_found": 404,
    "agent_not_found": 404, "not_found": 404, "method_not_allowed": 405, "tool_results_mismatch": 409,
    "turn_superseded": 409, "turn_in_progress": 409, "agent_mismatch": 409, "idempotency_conflict": 409,
    "turn_cancelled": 409, "turn_expired": 409, "body_too_large": 413, "unsupported_media_type": 415, "overloaded": 503,
    "store_unavailable": 503,
}
MAY_PASS = {"turn_in_progress", "overloaded", "store_unavailable"}  # The same request may do better later.
OURS = {"overloaded", "store_unavailable"}


def in_camel_case(value):
    if isinstance(value, dict):
        return {name[0].lower() + name[1:]: in_camel_case(member) for name, member in value.items()}
    return [in_camel_case(entry) for entry in value] if isinstance(value, list) else value


class Errors(ServingTest):
    def assert_row(self, answer, code):
        self.assert_refused(answer, STATUS[code], code)
        error = answer.error
        self.assertEqual((error["FatalError"], error["SystemError"]), (code not in MAY_PASS, code in OURS), error)
        self.assertEqual("retry-after" in answer.headers, STATUS[code] == 503)
        self.assertEqual(answer.headers["cache-control"], "no-store")

    def assert_rows(self, server, body, code, **more):
        """In both dialects."""
        self.assert_row(server.execute(body, **more), code)
        camel = server.execute(in_camel_case(body), **more)
        self.assertEqual((camel.status, camel.json["errors"][0]["errorCode"]), (STATUS[code], code), camel)

    def test_of_the_door(self):
        _, one = self.gated(http={"max_body": 4096})
        self.assert_rows(one, user_turn(Mode="x"), "contract_violation")
        self.assert_rows(one, user_turn(), "unsupported_media_type", headers={"Content-Type": "text/plain"})
        self.assert_row(one.execute(user_turn(Instruction="x" * 5000)), "body_too_large")
        self.assert_row(one.get("/nowhere"), "not_found")
        self.assert_row(one.get(EXECUTE), "method_not_allowed")
        self.assert_row(one.execute(user_turn(), headers={"Host": "evil.example"}), "forbidden")

    def test_of_keys(self):
        _, one = self.gated(keys=[{"tenant": "acme", "sha256": "0" * 64}])
        self.assert_row(one.execute(user_turn()), "unauthenticated")

    def test_of_sessions(self):
        _, one = self.gated(sessions={"open": "explicit"})
        self.assert_rows(one, user_turn(), "session_not_found")
        self.assert_row(one.get("/v1/sessions/s1"), "session_not_found")
        opened = one.post("/v1/sessions").json
        self.assert_row(one.turn(opened["SessionId"], "t9"), "turn_not_found")
        self.assert_rows(one, user_turn(opened["SessionId"], "t1", AgentContextId="nobody"), "agent_not_found")

    def test_of_turns(self):
        _, one = self.gated(agents={"other": {"backends": [{"provider": "gate", "model": "small-1"}]}})
        one.say("s1", "t1")
        one.say("s1", "t1", "Next.")
        self.assert_rows(one, user_turn("s1", "t1", "Another."), "turn_superseded")
        self.assert_rows(one, user_turn("s1", "t9", AgentContextId="other"), "agent_mismatch")
        self.assert_rows(one, tool_results("s1", "t1", ["a"]), "tool_results_mismatch")
        one.say("s2", "t1", "One.", key="k")
        self.assert_rows(one, user_turn("s2", "t1", "Two."), "idempotency_conflict", key="k")

    def test_of_a_turn_that_waits(self):
        _, one = self.gated(calling("a"))
        one.say("s1", "t1")
        self.assert_rows(one, user_turn("s1", "t2"), "turn_in_progress")
        one.post("/v1/sessions/s1/turns/t1/cancel")
        self.assert_rows(one, tool_results("s1", "t1", ["a"]), "turn_cancelled")

    def test_of_a_turn_that_nobody_answered(self):
        _, one = self.gated(calling("a"), turns={"tool_deadline": "1ms"})
        one.say("s1", "t1")
        self.until(lambda: one.state_of() == "expired", "the end of the turn")
        self.assert_rows(one, tool_results("s1", "t1", ["a"]), "turn_expired")

    def test_of_a_server_that_has_enough_to_do(self):
        gate, one = self.gated(held=True, turns={"max_running": 1})
        running = self.later(one.say)
        gate.wait_for_calls(1)
        self.assert_rows(one, user_turn("s2", "t1"), "overloaded")
        gate.open()
        self.assertEqual(running.result().status, 200)

    @unittest.skipUnless(DISK_FAULTS, "needs the library of tests/disk_faults")
    def test_of_a_disk_that_is_full(self):
        gate = self.gate("Done.")
        one = self.server(configuration(gate), faults=True)
        one.disk("ENOSPC write")
        self.assert_rows(one, user_turn(), "store_unavailable")
        self.assertEqual(gate.count, 0)


if __name__ == "__main__":
    unittest.main()
