"""Whole-binary tests of dispatch against `treaty mock`, over the wire: storms, limits, death and stalls."""
import json
import unittest

from dispatching import QUICK, DispatchTest
from mock_server import Mock
from serving import turn_path


class MockedTest(DispatchTest):
    def mock(self, name, script):
        """A `treaty mock` that plays the script."""
        self.write(f"{name}.yaml", json.dumps(script))
        mock = Mock(self.folder, ["--script", f"{name}.yaml"])
        self.addCleanup(mock.stop)
        return mock

    def asked(self, mock):
        """How many calls it has had; that is its end."""
        _, log = mock.stop()
        return len([line for line in log if "/v1/chat/completions" in line])

    def windows(self, span, limit, remaining, reset):
        return {f"x-ratelimit-limit-requests{span}": limit, f"x-ratelimit-remaining-requests{span}": remaining,
                f"x-ratelimit-reset-requests{span}": reset}


class Scenes(MockedTest):
    def test_a_storm_of_429_is_weathered_by_every_turn(self):
        mock = self.mock("storm", {"replies": [
            {"error": 429, "headers": {"retry-after": 1}, "times": 8}, {"text": "Fine."}]})
        # The first refusal may come before others have left: then all of them may meet the same turn.
        server = self.chain(mock.port, workers=2, dispatch={"max_attempts": 9})
        answers = self.at_once(24, lambda number: server.say(f"s{number}", "t1"))

        self.assertEqual([answer.text for answer in answers], ["Fine."] * 24)
        self.assertEqual(self.asked(mock), 32)

    def test_a_day_limit_switches_and_is_remembered(self):
        one = self.mock("one", [{"text": "From one.", "headers": self.windows("-day", 1000, 0, 40_000)}])
        two = self.mock("two", ["From two."])
        server = self.chain(one.port, two.port)
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(4)],
                         ["From one."] + ["From two."] * 3)
        self.assertEqual((self.asked(one), self.asked(two)), (1, 3))

    def test_an_hour_limit_switches_or_tells_the_client_when_to_come_back(self):
        script = [{"text": "From one.", "headers": self.windows("-hour", 100, 0, 1800)}]
        one, two = self.mock("one", script), self.mock("two", ["From two."])
        server = self.chain(one.port, two.port)
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(2)], ["From one.", "From two."])

        alone = self.mock("alone", script)
        server = self.chain(alone.port)
        server.say("s1", "t1")
        answer = server.say("s2", "t1")
        self.assert_refused(answer, 429, "rate_limit")
        self.assertIn(int(answer.headers["retry-after"]), range(1700, 1801))
        self.assertEqual(self.asked(alone), 1)

    def test_a_minute_limit_is_waited_for(self):
        mock = self.mock("minute", [{"text": "First.", "headers": self.windows("", 10, 0, "2s")},
                                    {"text": "Fine.", "headers": self.windows("", 10, 5, "1s")}])
        server = self.chain(mock.port)
        self.assertEqual([server.say(f"s{number}", "t1").text for number in range(2)], ["First.", "Fine."])
        self.assertEqual(self.kinds(server, "s1"), ["waiting for one", "one completed", "turn.completed"])
        self.assertEqual(self.asked(mock), 2)

    def test_a_dead_provider_is_left_and_then_left_alone(self):
        two = self.mock("two", ["From two."])
        server = self.chain(self.closed_door().getsockname()[1], two.port, dispatch={"breaker_open": "1h"})
        for number in range(5):
            self.assertEqual(server.say(f"s{number}", "t1").text, "From two.")
        self.assertEqual(self.kinds(server, "s0").count("one failed"), 2)
        self.assertIn("breaker.opened at one", self.kinds(server, "s2"))
        self.assertEqual(self.kinds(server, "s4"), ["switched to two", "two completed", "turn.completed"])

    def test_a_sick_provider_opens_its_breaker_and_a_probe_closes_it(self):
        one = self.mock("one", [{"error": 500, "times": 5}, {"text": "From one."}])
        two = self.mock("two", ["From two."])
        server = self.chain(one.port, two.port, dispatch={"breaker_open": "500ms"})
        for number in range(3):  # Two attempts a turn, and the fifth failure in a row opens it.
            self.assertEqual(server.say(f"sick{number}", "t1").text, "From two.")
        self.assertIn("breaker.opened at one", self.kinds(server, "sick2"))
        turns = iter(range(1, 10_000))

        def is_back():
            self.session = f"s{next(turns)}"
            return server.say(self.session, "t1").text == "From one."

        self.until(is_back, "the probe")
        self.assertIn("breaker.closed at one", self.kinds(server, self.session))
        self.assertEqual(self.asked(one), 6)

    def test_a_stall_is_cut_by_the_deadline(self):
        for stall in ("head", 40):
            mock = self.mock(f"stall-{stall}", [{"text": "A text that is never told.", "stall": stall}])
            server = self.chain(mock.port, agent={"deadline": "700ms"})
            self.assert_refused(server.say("s1", "t1"), 504, "timeout")
            self.assertEqual(self.asked(mock), 1)

    def test_a_stall_is_cut_by_cancelling(self):
        mock = self.mock("stall", [{"text": "A text that is never told.", "stall": "head"}])
        server = self.chain(mock.port)
        running = self.later(server.say)
        self.so_far(server, "s1", "attempt.started")
        server.post(turn_path("s1", "t1", "/cancel"))
        self.assert_refused(running.result(), 409, "turn_cancelled")

    def test_a_script_in_the_process_is_a_backend_like_any_other(self):
        self.write("script.yaml", json.dumps([{"error": 503, "times": 2}, {"text": "Fine."}]))
        server = self.chain(backends=[{"script": str(self.folder / "script.yaml")}], dispatch=QUICK)
        self.assertEqual(server.say().text, "Fine.")
        self.assertEqual(len([word for word in self.kinds(server) if word.endswith("failed")]), 2)


if __name__ == "__main__":
    unittest.main()
