"""Tests that `bridge doctor` and `bridge check` agree on what is wrong with an answer, and name a command that helps."""
import json
import os
import signal
import time
import unittest

from bridging import BridgeTest
from serving import configuration, until
from treaty_binary import OTHER_UUID, bridge_request, bridge_response

REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"


class NextTest(BridgeTest):
    def fault(self, code, *arguments, **more):
        faults = json.loads(self.bridge("doctor", "--format", "json", *arguments, **more).out)["faults"]
        found = [fault for fault in faults if fault["code"] == code]
        self.assertEqual(len(found), 1, faults)
        return found[0]

    def check(self, code, *arguments):
        ran = self.bridge("check", *arguments)
        self.assertEqual(ran.code, code, ran)
        return ran

    def answer_by_hand(self, **members):
        self.put(REQUEST, bridge_request(**members))
        self.assertEqual(self.bridge("respond", stdin=b"Fine.").code, 0)


class AskedWithOptions(NextTest):
    def ask(self):
        """The agent of another configuration gives an empty answer, which is an error."""
        self.agent("By the usual agent.")
        self.write("work/other.yaml", configuration(self.gate("", "By the other agent.")))
        self.put(REQUEST, bridge_request())
        ran = self.bridge("answer", "--config", "other.yaml", "--agent", "default")
        self.assertEqual(ran.code, 1, ran)

    def test_the_same_agent_is_asked_again(self):
        self.ask()
        again = "treaty bridge answer --replace --agent default --config other.yaml"
        self.assertEqual(self.fault("answer-error")["mend"], again)

        self.assertEqual(self.bridge(*again.split()[2:]).code, 0)
        self.assertEqual(self.response()["response"], "By the other agent.")
        (self.work / RESPONSE).unlink()
        self.assertEqual(self.fault("answer-gone")["mend"], again)

    def test_a_file_that_an_option_names_is_found_from_another_directory(self):
        self.ask()
        self.assertEqual(self.fault("answer-error", "--dir", "work", cwd=self.folder)["mend"],
                         f"cd {self.work} && treaty bridge answer --dir {self.work} --replace --agent default "
                         "--config other.yaml")

    def test_a_run_asks_with_its_options_too(self):
        self.agent("By the usual agent.")
        self.write("work/other.yaml", configuration(self.gate("")))
        program = self.program("if not RESUMED: ask()\nos.kill(os.getpid(), 9)")
        self.drive(program, "--config", "other.yaml", "--max-resumes", "3")
        (self.work / RESPONSE).unlink()
        self.assertEqual(self.fault("answer-gone")["mend"], "treaty bridge answer --replace --config other.yaml")


class DeadServers(NextTest):
    def test_the_message_and_the_next_step_are_apart(self):
        self.put(REQUEST, bridge_request())
        ran = self.bridge("answer", "--url", "http://127.0.0.1:1")
        self.assertEqual(ran.code, 69, ran)
        self.assertEqual([line.split(":")[0] for line in ran.err.splitlines()], ["treaty bridge answer", "Next"])
        entry, = self.journal("request.given_up")
        self.assertNotIn("Next", entry["why"])
        self.assertNotIn("?", self.bridge("log").out)
        self.assertEqual(self.fault("request-overdue")["mend"], "treaty bridge answer --url http://127.0.0.1:1")


class Names(NextTest):
    def test_an_agent_s_own_output_has_one_name(self):
        for output in ({"findings": []}, {"errors": []}, {"result": "pass", "findings": []}):
            with self.subTest(output):
                self.put(REQUEST, bridge_request())
                self.put(RESPONSE, output)
                self.fault("answer-bare")
        self.put(RESPONSE, {"response": "Fine."})
        self.fault("answer-repairable")

    def test_another_version_is_not_to_be_called_1_0(self):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, bridge_response(version="2.0"))
        ran = self.check(1)
        self.assertIn("version 2.0 is not read; 1.x is", ran.out)
        self.assertNotIn('write "1.0"', ran.out)


class GoneAnswers(NextTest):
    def assert_gone(self, why):
        fault = self.fault("answer-gone")
        self.assertEqual(fault["what"], f"{REQUEST} was answered, and {RESPONSE} is gone")
        self.assertIn(why, fault["why"])
        ran = self.check(1)
        self.assertIn(f"{RESPONSE}: error: {fault['what']}: {fault['why']}\n", ran.out)
        self.assertEqual(ran.err, "Next: treaty bridge answer --replace\n")
        verdicts = [json.loads(line) for line in self.check(1, "--format", "json").out.splitlines()]
        self.assertEqual([verdict["valid"] for verdict in verdicts], [True, False])

    def test_an_answer_that_was_deleted(self):
        self.answer_by_hand()
        (self.work / RESPONSE).unlink()
        self.assert_gone("it was deleted")

    def test_an_answer_that_was_put_away(self):
        self.answer_by_hand()
        self.put(REQUEST, bridge_request(created_at="2099-01-01T00:00:00Z"))
        self.assertIn("put away, it is stale", self.check(1, "--fix").err)
        self.assert_gone("treaty moved it to the quarantine, because it was stale: ")
        kept, = (self.work / ".treaty-bridge" / "quarantine").iterdir()
        self.assertIn(str(kept), self.fault("answer-gone")["why"])

    def test_a_request_whose_answer_was_taken_is_only_left(self):
        self.agent("Fine.")
        program = self.program("if not RESUMED: ask()\nos.remove(name('response'))")
        self.assertEqual(self.drive(program).code, 0)
        self.assertIn(f"{RESPONSE}: not there; the program has taken it\n", self.check(0).out)
        self.fault("request-left")


class RefusedRequests(NextTest):
    def test_an_answered_request_that_asks_something_else_is_refused(self):
        self.agent("Fine.")
        self.put(REQUEST, bridge_request())
        watch = self.start("watch", ".")
        until(lambda: self.journal("answer.written"))
        self.put(REQUEST, bridge_request(prompt="Something else?"))
        until(lambda: self.journal("request.refused"))

        fault = self.fault("request-refused")
        self.assertIn("is used twice", fault["what"])
        self.assertEqual(fault["mend"], "treaty bridge log")
        self.assertIn(f"{REQUEST}: error: was refused: ", self.check(1).out)

        watch.send_signal(signal.SIGTERM)
        self.ended(watch)
        self.assertEqual(self.fault("request-refused")["mend"], "treaty bridge answer --replace")
        self.assertEqual(self.bridge("answer", "--replace").code, 0)
        self.check(0)
        self.fault("answer-ready")


class WhatIsNext(NextTest):
    def next_of(self, *arguments):
        ran = self.check(1, *arguments)
        self.assertEqual(ran.err.count("Next: "), 1, ran)
        return ran.err.splitlines()[-1].removeprefix("Next: ")

    def test_check_says_that_fix_mends_it(self):
        for content in (b"```json\n{}\n```\n".replace(b"{}", json.dumps(bridge_response()).encode()),
                        {"findings": []}, bridge_response(request_id=OTHER_UUID)):
            with self.subTest(content):
                self.put(REQUEST, bridge_request())
                self.put(RESPONSE, content)
                self.assertEqual(self.next_of(), "treaty bridge check --fix")

    def test_a_broken_request_has_one_next_step_and_says_what_to_write(self):
        for content in (bridge_request(version=True), bridge_request(version=1.5), bridge_request(version=" ")):
            with self.subTest(content):
                self.put(REQUEST, content)
                moved = f"mv {REQUEST} {REQUEST}.old"
                self.assertEqual((self.next_of(), self.next_of("--fix")), (moved, moved))
                fault, = json.loads(self.bridge("doctor", "--format", "json").out)["faults"]
                self.assertEqual((fault["code"], fault["mend"]), ("request-broken", moved))
                self.assertIn('(write "1.0", as a string)', fault["what"])
                self.assertIn("correct the program", fault["why"])
                ran = self.bridge("answer")
                self.assertIn(f"Next: correct the program that writes it; `treaty check bridge-request "
                              f"{self.work / REQUEST}` lists every fault", ran.err)

    def test_a_torn_request_has_one_next_step(self):
        self.put(REQUEST, b'{"request_id": ')
        past = time.time() - 50
        os.utime(self.work / REQUEST, (past, past))
        self.assertIn(f"Next: treaty bridge doctor --dir {self.work}\n", self.bridge("answer").err)
        fault = json.loads(self.bridge("doctor", "--format", "json").out)["faults"][0]
        self.assertEqual(fault["mend"], f"mv {REQUEST} {REQUEST}.torn")

    def test_the_command_names_the_directory(self):
        self.write("other/" + REQUEST, bridge_request())
        self.write("other/" + RESPONSE, {"findings": []})
        self.assertEqual(self.next_of("--dir", "../other"), "treaty bridge check --dir ../other --fix")

    def test_what_has_no_single_repair_is_asked_for_again(self):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, {"error": "no access"})
        self.assertEqual(self.next_of(), "treaty bridge answer")
        self.assertEqual(self.next_of("--fix"), "treaty bridge answer")
        self.assertIn("what is left has no single repair", self.check(1, "--fix").err)

    def test_a_file_that_is_being_written_is_looked_at_again(self):
        self.put(REQUEST, bridge_request())
        self.put(RESPONSE, b'{"request_id": ')
        soon = time.time() + 50  # As if its writer were at work for as long as the test runs.
        os.utime(self.work / RESPONSE, (soon, soon))
        self.assertEqual(self.next_of(), "sleep 2 && treaty bridge check")
        self.assertEqual(self.next_of("--fix"), "sleep 2 && treaty bridge check --fix")
        ran = self.check(1, "--fix")
        self.assertIn("a file is still being written", ran.err)
        self.assertNotIn("no single repair", ran.err)


if __name__ == "__main__":
    unittest.main()
