"""Whole-binary tests of S11: what belongs to one tenant does not exist for another."""
import hashlib
import re
import unittest

from gate import calling
from serving import ServingTest, configuration, user_turn

ACME, OTHER = "acme-key-5f2c81", "other-key-9b71d3"


def keyed(key, **more):
    return {"Authorization": f"Bearer {key}", **more}


class Rooms(ServingTest):
    def serve(self, *replies, **members):
        keys = [{"tenant": tenant, "sha256": hashlib.sha256(key.encode()).hexdigest()}
                for tenant, key in (("acme", ACME), ("other", OTHER))]
        return self.gated(*replies, keys=keys, **members)

    def say(self, server, key, session="s1", turn="t1", instruction="Hello.", **more):
        return server.execute(user_turn(session, turn, instruction), headers=keyed(key), **more)

    def test_nobody_comes_in_without_a_key_or_with_a_wrong_one(self):
        gate, server = self.serve()
        self.assert_refused(server.say("s1", "t1"), 401, "unauthenticated")
        for key in ("wrong", "", ACME + "x", ACME[:-1], hashlib.sha256(ACME.encode()).hexdigest()):
            self.assert_refused(self.say(server, key), 401, "unauthenticated")
        self.assert_refused(server.get("/v1/sessions"), 401, "unauthenticated")
        self.assertEqual(server.get("/healthz").status, 200)
        self.assertEqual(gate.count, 0)
        self.assertEqual(self.say(server, ACME).status, 200)

    def test_the_same_ids_of_two_tenants_are_two_rooms(self):
        gate, server = self.serve()
        mine = self.say(server, ACME, instruction="Mine.")
        theirs = self.say(server, OTHER, instruction="Theirs.")
        self.assertEqual((mine.text, theirs.text), ("You said: Mine.", "You said: Theirs."))
        self.assertEqual(theirs.result["TurnId"], "t1", "as in a fresh room, the id is its own")
        self.assertEqual(gate.calls[1].roles, ["system", "user"])
        self.assertEqual(self.say(server, ACME, instruction="Mine.").body, mine.body)
        for key in (ACME, OTHER):
            turns = server.get("/v1/sessions/s1/turns", keyed(key)).json["Turns"]
            self.assertEqual(len(turns), 1)
            self.assertEqual(len(server.get("/v1/sessions", keyed(key)).json["Sessions"]), 1)

    def test_the_same_request_of_two_tenants_is_two_requests(self):
        gate, server = self.serve()
        for key in (ACME, OTHER):
            answer = server.execute(user_turn(), key="k1", headers=keyed(key))
            self.assertEqual(answer.status, 200)
        self.assertEqual(gate.count, 2)

    def test_an_initial_request_of_another_tenant_is_not_found_by_its_key(self):
        gate, server = self.serve(sessions={"initial": True})
        sessions = [server.execute({"Instruction": "One."}, key="k1", headers=keyed(key)).result["SessionId"]
                    for key in (ACME, OTHER)]
        self.assertNotEqual(*sessions)
        self.assertEqual(gate.count, 2)

    def test_a_strangers_session_cannot_be_told_from_one_that_does_not_exist(self):
        _, server = self.serve(calling("a"), sessions={"open": "explicit"})
        opened = server.ask("POST", "/v1/sessions", {}, keyed(ACME)).json
        session, opening = opened["SessionId"], opened["TurnId"]
        turn = self.say(server, ACME, session, opening).result["TurnId"]

        def shape(answer, name):
            return answer.status, re.sub(rb',"ResultId":"[^"]*"', b"", answer.body.replace(name.encode(), b"NAME"))

        fake = session[:-4] + ("AAAA" if not session.endswith("AAAA") else "BBBB")
        for method, path, body in (
                ("GET", "/v1/sessions/{s}", None), ("DELETE", "/v1/sessions/{s}", None),
                ("GET", "/v1/sessions/{s}/turns", None), ("GET", "/v1/sessions/{s}/turns/{t}", None),
                ("GET", "/v1/sessions/{s}/turns/{t}/stream", None), ("POST", "/v1/sessions/{s}/turns/{t}/cancel", {}),
                ("GET", "/v1/sessions/{s}/turns/{t}/assistant", None), ("GET", "/v1/sessions/{s}/events", None),
                ("POST", "/v1/sessions/{s}/branch", {"TurnId": turn})):
            theirs = server.ask(method, path.format(s=session, t=turn), body, keyed(OTHER))
            nobodys = server.ask(method, path.format(s=fake, t=turn), body, keyed(OTHER))
            self.assert_refused(theirs, 404, "session_not_found")
            self.assertEqual(shape(theirs, session), shape(nobodys, fake), path)
        for name in (session, fake):
            self.assert_refused(self.say(server, OTHER, name, turn), 404, "session_not_found")
        results = {"SessionId": session, "TurnId": turn,
                   "ToolResults": [{"ToolCallId": "a", "ExecutionMs": 1, "ResultJson": "1"}]}
        theirs = server.execute(results, headers=keyed(OTHER))
        nobodys = server.execute({**results, "SessionId": fake}, headers=keyed(OTHER))
        self.assertEqual(shape(theirs, session), shape(nobodys, fake))
        self.assertIn(theirs.status, (404, 409))
        state = server.ask("GET", f"/v1/sessions/{session}/turns/{turn}", None, keyed(ACME)).json["State"]
        self.assertEqual(state, "awaiting_tools", "nothing of it was touched")

    def test_a_turn_of_another_session_is_unknown(self):
        _, server = self.serve()
        self.say(server, ACME, "s1", "only-here")
        self.say(server, ACME, "s2", "t1")
        self.assert_refused(server.get("/v1/sessions/s2/turns/only-here", keyed(ACME)), 404, "turn_not_found")
        self.assertEqual(self.say(server, ACME, "s2", "only-here").result["TurnId"], "only-here")

    def test_a_deleted_session_is_gone_and_its_name_free(self):
        gate, server = self.serve()
        self.say(server, ACME)
        self.say(server, OTHER)
        self.assertIn(server.ask("DELETE", "/v1/sessions/s1", None, keyed(ACME)).status, (200, 204))
        self.assert_refused(server.get("/v1/sessions/s1", keyed(ACME)), 404, "session_not_found")
        self.assertEqual(server.get("/v1/sessions/s1", keyed(OTHER)).status, 200)
        self.assertEqual(self.say(server, ACME).status, 200)
        self.assertEqual(gate.count, 3, "the deleted request is not remembered")

    def test_rooms_survive_a_restart(self):
        _, server = self.serve()
        told = {key: self.say(server, key, instruction=key).body for key in (ACME, OTHER)}
        server.restart()
        for key, body in told.items():
            self.assertEqual(self.say(server, key, instruction=key).body, body)

    def test_a_key_that_is_taken_away_by_a_reload_opens_nothing_more(self):
        gate, server = self.serve()
        self.assertEqual(self.say(server, OTHER).status, 200)
        server.write_config(configuration(gate, keys=[
            {"tenant": "acme", "sha256": hashlib.sha256(ACME.encode()).hexdigest()}]))
        server.hang_up()
        self.until(lambda: server.get("/v1/sessions", keyed(OTHER)).status == 401, "the reload")
        self.assertEqual(self.say(server, ACME).status, 200)


if __name__ == "__main__":
    unittest.main()
