"""Whole-binary tests of both ends of the bridge: a server asks by file, `treaty bridge watch` or `respond` answers."""
import threading
import unittest

from gate import Reply
from serving import ONCE
from watching import WatchTest


class BothEndsTest(WatchTest):
    """A server whose agent is asked in `work`, where a watch answers with an agent on a gate."""

    def both_ends(self, *replies, held=False, timeout="60s"):
        self.provider, self.place, self.watcher = self.gated_watch(*replies, held=held)
        return self.asking(timeout)

    def asking(self, timeout="60s"):
        bridge = {"dir": "work", "agent_name": "default", "timeout": timeout}
        return self.server({"agents": {"default": {"system": "You are brief.", "backends": [{"bridge": bridge}],
                                                   "dispatch": ONCE}}})

    def lost(self, function, *arguments):
        """Runs it beside the test; what becomes of it does not matter."""
        def quietly():
            try:
                function(*arguments)
            except Exception:  # pylint: disable=broad-except
                pass

        threading.Thread(target=quietly, daemon=True).start()

    def assert_clean(self):
        self.until(lambda: list(self.place.path.glob(".agent-*")) == [], "the end of all files")

    def test_a_turn_goes_over_the_bridge_and_back_with_what_it_cost(self):
        server = self.both_ends("It is.")

        answer = server.say("s1", "t1", "Is it?")

        self.assertEqual(answer.text, "It is.")
        self.assertEqual(answer.result["Usage"]["TotalTokens"], 15)
        self.assertIn("You are brief.", self.provider.wait_for_calls(1).user)
        self.assert_clean()

    def test_many_turns_at_once_are_all_answered_and_each_is_asked_once(self):
        server = self.both_ends()

        answers = self.at_once(30, lambda n: server.say(f"s{n}", "t1", f"Say {n}."))

        self.assertEqual([answer.text.splitlines()[-1] for answer in answers], [f"Say {n}." for n in range(30)])
        self.assertEqual(self.provider.count, 30)
        self.assert_clean()

    def test_an_error_of_the_provider_is_the_error_of_the_turn(self):
        server = self.both_ends(Reply(error=(429, {"error": {"message": "Slow.", "code": "rate_limit_exceeded"}})))

        self.assertEqual(server.say("s1", "t1", "Is it?").code, "rate_limit")
        self.assert_clean()

    def test_a_cancelled_turn_ends_the_work_on_it(self):
        server = self.both_ends(held=True)
        running = self.later(server.say, "s1", "t1", "Is it?")
        self.provider.wait_for_calls(1)

        server.post("/v1/sessions/s1/turns/t1/cancel")

        self.assertEqual(running.result().code, "turn_cancelled")
        self.until(lambda: self.place.journal("request.given_up"), "the watch to give up")
        self.assert_clean()

    def test_a_killed_server_takes_its_question_up_again_and_the_agent_is_not_asked_twice(self):
        server = self.both_ends("Once.", held=True)
        self.lost(server.say, "s1", "t1", "Is it?")
        self.provider.wait_for_calls(1)
        server.restart()
        self.until(lambda: server.state_of() == "running", "the turn to go on")
        self.provider.open()

        self.until(lambda: server.state_of() == "completed", "the end of the turn")

        self.assertEqual(server.say("s1", "t1", "Is it?").text, "Once.")
        self.assertEqual(self.provider.count, 1)
        self.assert_clean()

    def test_a_killed_watch_answers_when_it_is_back(self):
        server = self.both_ends("Back.", held=True)
        running = self.later(server.say, "s1", "t1", "Is it?")
        self.provider.wait_for_calls(1)
        self.watcher.kill9()
        self.provider.open()

        self.watcher.start()

        self.assertEqual(running.result().text, "Back.")

    def test_an_answer_that_comes_too_late_does_not_reach_the_next_turn(self):
        server = self.both_ends(held=True, timeout="300ms")
        self.assertEqual(server.say("s1", "t1", "Too slow?").code, "timeout")
        self.provider.open()
        server.close()
        server = self.asking()

        self.assertEqual(server.say("s2", "t1", "In time?").text.splitlines()[-1], "In time?")

    def test_a_person_answers_with_respond(self):
        self.place = self.directory()
        server = self.asking()
        running = self.later(server.say, "s1", "t1", "Is it?")
        self.until(lambda: self.place.request_file().exists(), "the request")

        ran = self.treaty("bridge", "respond", "--dir", self.place.path, "--agent", "me", stdin="By hand.")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(running.result().text, "By hand.")
        self.assert_clean()

    def test_a_person_says_that_it_went_wrong(self):
        self.place = self.directory()
        server = self.asking()
        running = self.later(server.say, "s1", "t1", "Is it?")
        self.until(lambda: self.place.request_file().exists(), "the request")

        self.treaty("bridge", "respond", "--dir", self.place.path, "--status", "error", "--error", "No.",
                    "--error-type", "content_filter")

        self.assertEqual(running.result().code, "content_filter")


if __name__ == "__main__":
    unittest.main()
