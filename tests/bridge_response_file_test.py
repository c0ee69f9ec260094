"""Tests that an answer belongs to the request that names its file, whatever the file is called."""
import unittest

from bridging import BridgeTest
from treaty_binary import OTHER_UUID, UUID, bridge_request

RESPONSE = ".agent-response.json"


class ResponseFile(BridgeTest):
    def test_an_answer_under_a_name_of_another_phase_is_in_its_place(self):
        for is_absolute in (False, True):
            with self.subTest(is_absolute=is_absolute):
                self.setUp()
                gate = self.agent("By the agent.")
                place = str(self.work / RESPONSE) if is_absolute else RESPONSE
                self.put(".agent-request-phase1.json", bridge_request(phase=1, response_file=place))
                self.assertEqual(self.bridge("answer").code, 0)
                self.assert_in_order()
                self.assertEqual(gate.count, 1)

    def test_an_answer_of_one_of_two_requests_with_one_file_stays_there(self):
        self.agent("By the agent.")
        self.put(".agent-request-phase1.json", bridge_request(phase=1, response_file=RESPONSE))
        self.assertEqual(self.bridge("answer").code, 0)
        self.put(".agent-request-phase2.json",
                 bridge_request(request_id=OTHER_UUID, phase=2, response_file=RESPONSE))
        self.bridge("check", "--fix")
        self.assertEqual(self.response()["request_id"], UUID)
        self.assertEqual(self.quarantined(), {})

    def assert_in_order(self):
        for command in (["check"], ["doctor"], ["check", "--fix"], ["check"]):
            ran = self.bridge(*command)
            self.assertEqual(ran.code, 0, (command, ran))
            self.assertNotIn("belongs in", ran.out)
        self.assertEqual(self.response()["response"], "By the agent.")
        self.assertEqual(self.quarantined(), {})


if __name__ == "__main__":
    unittest.main()
