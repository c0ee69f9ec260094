"""Whole-binary tests of quota pools: one for all workers, and older than the process."""
import http.client
import sqlite3
import threading
import time
import unittest

from dispatching import BROKEN, DispatchTest, bucket, limited, window
from gate import KEY, Reply
from serving import configuration

USED_UP = bucket("day", 1000, 0, 40_000)


class FixedWindow:
    """What a provider with a window does: `limit` calls in `length` seconds, then refusals until the next begins."""

    def __init__(self, limit, length):
        self.limit, self.length = limit, length
        self.used, self.began = {}, None
        self.lock = threading.Lock()

    def __call__(self, call):
        with self.lock:
            self.began = self.began or call.at
            number, passed = divmod(call.at - self.began, self.length)
            used = self.used[number] = self.used.get(number, 0) + 1
            left = f"{self.length - passed:.3f}s"
            if used > self.limit:
                return limited(Retry_After=self.length, **window(self.limit, 0, left))
            return Reply("Fine.", headers=window(self.limit, self.limit - used, left))


class Workers(DispatchTest):
    def test_two_workers_never_send_more_than_one_window_allows(self):
        """The gate holds its answers until every other turn has been sent elsewhere: no step depends on time."""
        one = self.gate(lambda call: Reply("From one.", headers=bucket("day", 10, 10 - call.number, 40_000)), held=True)
        two = self.gate("From two.")
        server = self.chain(one, two, workers=2)
        one.release(1)
        self.assertEqual(server.say("first", "t1").text, "From one.")

        turns = [self.later(server.say, f"s{number}", "t1") for number in range(40)]
        one.wait_for_calls(10)
        two.wait_for_calls(31)
        one.open()

        self.assertEqual(sorted(turn.result().text for turn in turns), ["From one."] * 9 + ["From two."] * 31)
        self.assertEqual((one.count, two.count), (10, 31))

    def test_turns_of_two_workers_that_wait_for_a_window_are_all_answered(self):
        gate = self.gate(FixedWindow(limit=10, length=1))
        server = self.chain(gate, workers=2)
        server.say("first", "t1")
        answers = self.at_once(40, lambda number: server.say(f"s{number}", "t1"))

        self.assertEqual([answer.status for answer in answers], [200] * 40)

    def test_a_limit_that_one_worker_learns_is_known_to_the_other(self):
        one, two = self.gate(Reply("First.", headers=USED_UP)), self.gate("From two.")
        server = self.chain(one, two, workers=2)
        self.assertEqual(server.say("first", "t1").text, "First.")
        answers = self.at_once(16, lambda number: server.say(f"s{number}", "t1"))
        self.assertEqual([answer.text for answer in answers], ["From two."] * 16)
        self.assertEqual(one.count, 1)

    def test_a_breaker_that_one_worker_opens_is_open_for_the_other(self):
        one, two = self.gate(BROKEN), self.gate("From two.")
        server = self.chain(one, two, workers=2, dispatch={"breaker_failures": 3, "breaker_open": "1h"})
        for number in range(3):
            server.say(f"f{number}", "t1")
        answers = self.at_once(16, lambda number: server.say(f"s{number}", "t1"))
        self.assertEqual([answer.text for answer in answers], ["From two."] * 16)
        self.assertEqual(one.count, 3)


class StoreTest(DispatchTest):
    def saved(self, server, count=1, word="requests"):
        """Until so many pools are in the store, one of them with that word; (key, state) of each."""
        database, = server.databases()

        def rows():
            connection = sqlite3.connect(f"file:{database}?mode=ro", uri=True)
            try:
                found = connection.execute("SELECT key, state FROM pools").fetchall()
            finally:
                connection.close()
            return found if len(found) >= count and any(word in state for _, state in found) else None

        return self.until(rows, "the pools in the store")


class RemovedBackends(DispatchTest):
    def limits(self, server):
        """{(provider, model): windows} of /v1/limits."""
        return {(pool["Provider"], pool["Model"]): [(w["Name"], w["Limit"]) for w in pool["Windows"]]
                for pool in server.get("/v1/limits").json["Pools"]}

    def reload(self, server, agent, **members):
        said = server.errors().count("is reloaded")
        server.write_config(configuration(agent=agent, **members))
        server.hang_up()
        self.until(lambda: server.errors().count("is reloaded") > said, "a reload")

    def test_pools_of_backends_that_a_reload_removes_leave_the_limits_and_come_back_as_they_were(self):
        one, two = self.gate(Reply("One.", headers=USED_UP)), self.gate("Two.")
        providers = {name: {"kind": "openai", "base_url": gate.base_url} for name, gate in (("one", one), ("two", two))}
        entry = {name: {"provider": name, "model": f"{name}-1"} for name in providers}
        both = {"backends": [entry["one"], entry["two"]]}
        server = self.server(configuration(agent=both, providers=providers, workers=2))
        for number in range(8):
            server.say(f"s{number}", "t1")
        everything = {("one", "one-1"): [("requests_per_day", 1000)], ("two", "two-1"): []}
        self.assertEqual(self.limits(server), everything)

        self.reload(server, {**both, "mode": "Other"}, providers=providers, workers=2)
        self.assertEqual(self.limits(server), everything, "nothing was removed")

        self.reload(server, {"backends": [entry["two"]]}, providers={"two": providers["two"]}, workers=2)
        self.until(lambda: list(self.limits(server)) == [("two", "two-1")], "limits without the removed provider")

        self.reload(server, both, providers=providers, workers=2)
        self.assertEqual(self.limits(server), everything, "it came back")
        self.assertEqual(server.say("late", "t1").text, "Two.")
        self.assertEqual(one.count, 1, "what was known of it was kept")

        other = {"backends": [entry["two"], {"provider": "one", "model": "one-2"}]}
        self.reload(server, other, providers=providers, workers=2)
        self.until(lambda: list(self.limits(server)) == [("two", "two-1")], "limits without the removed model")

        renamed = {"backends": [{"provider": "second", "model": "two-1"}]}
        self.reload(server, renamed, providers={"second": providers["two"]}, workers=2)
        self.until(lambda: list(self.limits(server)) == [("second", "two-1")], "limits under the new name")

    def test_a_pool_stays_while_a_turn_of_the_old_configuration_uses_it(self):
        gate = self.gate("Fine.", held=True)
        server = self.server(configuration(gate))
        running = self.later(server.say, "s1", "t1")
        gate.wait_for_calls(1)
        self.write("script.yaml", "- text: Scripted.\n")

        self.reload(server, {"backends": [{"script": str(self.folder / "script.yaml")}]})
        self.assertEqual(list(self.limits(server)), [("gate", "small-1")])
        gate.open()

        self.assertEqual(running.result().text, "Fine.")
        self.until(lambda: not self.limits(server), "limits without the removed backend")


class Restart(StoreTest):
    def used_up(self, **dispatch):
        """A server that knows that its first backend has nothing left today."""
        one, two = self.gate(Reply("First.", headers=USED_UP)), self.gate("From two.")
        server = self.chain(one, two, dispatch=dispatch)
        self.assertEqual(server.say("first", "t1").text, "First.")
        return one, two, server

    def test_after_a_stop_the_first_turn_does_not_ask_who_has_nothing_left(self):
        one, _, server = self.used_up()
        server.terminate()
        self.assertEqual(server.wait(), 0)
        server.start()
        self.assertEqual(server.say("s1", "t1").text, "From two.")
        self.assertEqual(one.count, 1)
        self.assertEqual(self.kinds(server, "s1"), ["switched to two", "two completed", "turn.completed"])

    def test_after_a_kill_it_is_known_too(self):
        one, _, server = self.used_up()
        self.saved(server)
        server.kill9()
        server.start()
        self.assertEqual(server.say("s1", "t1").text, "From two.")
        self.assertEqual(one.count, 1)

    def test_a_refusal_keeps_everybody_waiting_after_a_restart(self):
        one, two = self.gate(limited(Retry_After=3000)), self.gate("From two.")
        server = self.chain(one, two)
        self.assertEqual(server.say("first", "t1").text, "From two.")
        server.terminate()
        server.wait()
        server.start()
        self.assertEqual(server.say("s1", "t1").text, "From two.")
        self.assertEqual(one.count, 1)

    def test_a_breaker_stays_open_over_a_restart(self):
        one, two = self.gate(BROKEN), self.gate("From two.")
        server = self.chain(one, two, dispatch={"breaker_failures": 1, "breaker_open": "1h"})
        server.say("first", "t1")
        server.terminate()
        server.wait()
        server.start()
        self.assertEqual(server.say("s1", "t1").text, "From two.")
        self.assertEqual(one.count, 1)
        self.assertIn("circuit breaker", self.reasons(server, "switched", "s1")[0])

    def test_a_window_that_ended_meanwhile_keeps_nobody(self):
        gate = self.gate(Reply("Fine.", headers=window(10, 0, "1s")))
        server = self.chain(gate)
        server.say("first", "t1")
        server.terminate()
        server.wait()
        ended = gate.calls[0].at + 3
        self.until(lambda: time.monotonic() > ended, "the end of the window")
        server.start()
        self.assertEqual(server.say("s1", "t1").text, "Fine.")
        self.assertEqual(self.kinds(server, "s1"), ["one completed", "turn.completed"])

    def test_another_key_is_another_pool(self):
        one, _, server = self.used_up()
        server.terminate()
        server.wait()
        server.extra["OPENAI_API_KEY"] = "sk-another"
        server.start()
        self.assertEqual(server.say("s1", "t1").text, "First.")
        self.assertEqual(one.count, 2)

    def test_the_key_is_not_in_the_store(self):
        _, two, server = self.used_up()
        server.say("s1", "t1")
        rows = self.saved(server, 2)
        self.assertEqual(two.count, 1)
        server.terminate()
        server.wait()
        for key, state in rows:
            self.assertNotIn(KEY, f"{key} {state}")
        for file in server.state.rglob("*"):
            if file.is_file():
                self.assertNotIn(KEY.encode(), file.read_bytes(), file)

    def test_states_that_cannot_be_read_are_forgotten(self):
        one, _, server = self.used_up()
        server.terminate()
        server.wait()
        database, = server.databases()
        connection = sqlite3.connect(database)
        changed = connection.execute("UPDATE pools SET state = 'no state'").rowcount
        connection.commit()
        connection.close()
        self.assertGreaterEqual(changed, 1)
        server.start()
        self.assertEqual(server.say("s1", "t1").text, "First.")
        self.assertEqual(one.count, 2)


class Interrupted(StoreTest):
    """A server that ends while a turn waits for a window."""

    def waiting(self):
        """(gate, server, turn that waits for four seconds)."""
        gate = self.gate(lambda call: Reply("First.", headers=window(10, 0, "4s")) if call.number == 1
                         else Reply("Fine.", headers=window(10, 5, "1s")))
        server = self.chain(gate, http={"shutdown_timeout": "300ms"})
        server.say("first", "t1")
        turn = self.later(server.say, "s1", "t1")
        self.so_far(server, "s1", "waiting")
        return gate, server, turn

    def assert_goes_on(self, gate, server):
        """The turn is taken up again, waits for what is left of the window, and is answered once."""
        self.assertEqual(server.say("s1", "t1").text, "Fine.")
        self.assertEqual(gate.count, 2)
        self.assertGreaterEqual(gate.calls[1].at - gate.calls[0].at, 4)

    def test_after_a_stop_the_turn_goes_on_waiting(self):
        gate, server, turn = self.waiting()
        server.terminate()
        self.assertEqual(turn.result().status, 503)
        self.assertEqual(server.wait(), 0)
        server.start()
        self.assert_goes_on(gate, server)

    def test_after_a_kill_the_turn_goes_on_waiting(self):
        gate, server, turn = self.waiting()
        self.saved(server)
        server.kill9()
        with self.assertRaises((OSError, http.client.HTTPException)):
            turn.result()
        server.start()
        self.assert_goes_on(gate, server)


class Reload(DispatchTest):
    def test_pools_are_kept_when_the_configuration_is_read_again(self):
        one, two = self.gate(Reply("First.", headers=USED_UP)), self.gate("From two.")
        server = self.chain(one, two)
        server.say("first", "t1")
        text = server.config.read_text()
        self.assertIn("You are brief.", text)
        server.write_config(text.replace("You are brief.", "You are long."))
        server.hang_up()
        turns = iter(range(10_000))

        def is_reloaded():
            answer = server.say(f"s{next(turns)}", "t1")
            self.assertEqual(answer.text, "From two.")
            return two.calls[-1].system.startswith("You are long.")

        self.until(is_reloaded, "the new configuration")
        self.assertEqual(one.count, 1)


if __name__ == "__main__":
    unittest.main()
