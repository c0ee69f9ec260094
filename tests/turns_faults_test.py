"""Whole-binary tests of S5: a disk that is full, broken, read-only or holds something else; and of group commit."""
import os
import sqlite3
import subprocess
import unittest

from gate import HOLD, Reply, calling
from serving import DISK_FAULTS, Server, ServingTest, configuration, user_turn
from treaty_binary import SECONDS

FAULTS = ("ENOSPC write", "EIO write", "EIO fsync", "SHORT write", "EROFS write", "EDQUOT write", "ENOSPC any")


@unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
class FailingDisk(ServingTest):
    def serve(self, *replies, held=False):
        gate = self.gate(*replies, held=held)
        return gate, self.server(configuration(gate), faults=True)

    def assert_unavailable(self, answer):
        self.assert_refused(answer, 503, "store_unavailable")
        self.assertGreater(int(answer.headers["retry-after"]), 0)

    def test_a_turn_is_refused_and_nothing_acknowledged_is_lost(self):
        gate, server = self.serve()
        told = [server.say("s1", "t0", "Before.")]
        for number, fault in enumerate(FAULTS, 1):
            with self.subTest(fault):
                calls = gate.count
                server.disk(fault)
                self.assert_unavailable(server.say("s1", f"t{number}", f"Say {number}."))
                self.assertEqual(gate.count, calls, "no backend is called for what is not journalled")

                server.disk()
                answer = self.until(lambda n=number: self.answered(server, n), "recovery without a restart")
                self.assertEqual(answer.text, f"You said: Say {number}.")
                told.append(answer)
                self.assertEqual(gate.count, calls + 1)
        server.restart()
        again = [server.say("s1", "t0", "Before.")] + [
            server.say("s1", f"t{n}", f"Say {n}.") for n in range(1, len(FAULTS) + 1)]
        self.assertEqual([answer.body for answer in again], [answer.body for answer in told])

    def answered(self, server, number):
        answer = server.say("s1", f"t{number}", f"Say {number}.")
        if answer.status == 503:
            self.assertEqual(answer.code, "store_unavailable")
            return None
        return answer

    def test_who_was_told_that_the_answer_cannot_be_journalled_finds_it_behind_that_event(self):
        gate, server = self.serve(Reply("Do", HOLD, "ne."))
        with server.say_streaming("s1", "t1", "One.") as stream:
            self.assertEqual([stream.next().event, stream.next().event], ["turn.started", "output.delta"])
            server.disk("ENOSPC write")
            gate.open()
            told = list(stream)[-1]
        self.assertEqual(told.event, "turn.result")
        self.assertIn("store_unavailable", told.data)
        server.disk()
        answer = self.until(lambda: self.once_available(server), "recovery")
        self.assertEqual(answer.text, "Done.")
        with server.follow("s1", "t1", told.id) as stream:
            later = list(stream)[-1]
        self.assertEqual((later.event, later.data.encode()), ("turn.result", answer.body))

    def test_an_answer_that_cannot_be_journalled_is_not_given(self):
        for fault in ("ENOSPC write", "EIO fsync"):
            with self.subTest(fault):
                gate, server = self.serve(held=True)
                running = self.later(server.say, "s1", "t1", "One.")
                gate.wait_for_calls(1)
                server.disk(fault)
                gate.open()
                refused = running.result()
                self.assertNotEqual(refused.status, 200, "it was not on the disk")
                self.assert_unavailable(refused)
                server.disk()
                answer = self.until(lambda: self.once_available(server), "recovery")
                self.assertEqual(answer.text, "You said: One.")
                server.restart()
                self.assertEqual(server.say("s1", "t1", "One.").body, answer.body)

    def once_available(self, server, instruction="One."):
        answer = server.say("s1", "t1", instruction)
        return answer if answer.status == 200 else None

    def test_a_pending_set_that_cannot_be_journalled_is_not_given(self):
        gate, server = self.serve(lambda call: "Done." if call.tool_results else calling("a"), held=True)
        running = self.later(server.say, "s1", "t1", "One.")
        gate.wait_for_calls(1)
        server.disk("EIO write")
        gate.open()
        self.assert_unavailable(running.result())
        server.disk()
        self.assertEqual(self.until(lambda: self.once_available(server), "recovery").calls, ["a"])
        self.assertEqual(server.submit("s1", "t1", ["a"]).text, "Done.")

    def test_a_stream_whose_answer_cannot_be_journalled_does_not_end_in_success(self):
        gate, server = self.serve(Reply("One ", HOLD, "two."))
        with server.say_streaming("s1", "t1") as stream:
            stream.until("output.delta")
            server.disk("ENOSPC write")
            gate.open()
            events = list(stream)
        self.assertEqual(events[-1].event, "turn.result")
        self.assertEqual(events[-1].json["Errors"][0]["ErrorCode"], "store_unavailable")
        server.disk()
        answer = self.until(lambda: self.once_available(server, "Hello."), "recovery")
        self.assertEqual(answer.text, "One two.")
        self.assertEqual(gate.count, 1, "what was paid for is kept")

    def test_what_only_reads_goes_on(self):
        _, server = self.serve()
        first = server.say("s1", "t1")
        server.disk("ENOSPC write")
        self.assertEqual(server.get("/v1/sessions/s1/turns/t1").status, 200)
        with server.follow("s1", "t1") as stream:
            self.assertEqual(list(stream)[-1].data.encode(), first.body)
        self.assertEqual(server.get("/healthz").status, 200)
        self.assertEqual(server.get("/readyz").status, 503)
        server.disk()
        self.until(lambda: server.get("/readyz").status == 200, "readiness")

    def test_tool_results_that_cannot_be_journalled_leave_the_set_alone(self):
        _, server = self.serve(calling("a"), "Done.")
        server.say("s1", "t1")
        server.disk("EIO any")
        self.assert_unavailable(server.submit("s1", "t1", ["a"]))
        server.disk()
        answer = self.until(lambda: self.submitted(server), "recovery")
        self.assertEqual(answer.text, "Done.")

    def submitted(self, server):
        answer = server.submit("s1", "t1", ["a"])
        return answer if answer.status == 200 else None

    def test_a_disk_that_fails_now_and_then_loses_nothing_under_load(self):
        gate, server = self.serve()
        told = {}

        def client(number):
            for turn in range(10):
                name = (f"c{number}", f"t{turn}")
                answer = server.say(*name)
                while answer.status == 503:
                    answer = server.say(*name)
                self.assertEqual(answer.status, 200, answer)
                told[name] = answer.body

        def disk():
            for number, fault in enumerate(FAULTS * 2):
                server.disk(fault)
                self.until(lambda: server.disk_counts()[4] > number or len(told) == 80, "a failure")
                server.disk(" ")
            server.disk()

        breaking = self.later(disk)
        self.at_once(8, client)
        breaking.result()
        server.restart()
        for name, body in told.items():
            self.assertEqual(server.say(*name).body, body)
        self.assertEqual(len(told), 80)


@unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
class GroupCommit(ServingTest):
    def test_the_fsyncs_of_32_clients_are_far_fewer_than_their_writes(self):
        gate = self.gate()
        server = self.server(configuration(gate), faults=True)
        clients, turns = 32, 10
        server.say("warm", "t1")
        before = server.disk_counts()[2]

        def client(number):
            connection = server.connection()
            for turn in range(turns):
                answer = server.execute(user_turn(f"c{number}", f"t{turn}"), on=connection)
                self.assertEqual(answer.status, 200, answer)
            connection.close()

        self.at_once(clients, client)
        spent = server.disk_counts()[2] - before
        # Two durable writes a turn: accepted, and the answer.
        self.assertLess(spent, clients * turns, f"{spent} fsyncs for {clients * turns} turns")
        self.assertGreater(spent, 0)

    def test_a_turn_alone_costs_two_fsyncs(self):
        gate = self.gate()
        server = self.server(configuration(gate), faults=True)
        server.say("s1", "t0")
        before = server.disk_counts()[2]
        for number in range(1, 21):
            server.say("s1", f"t{number}", f"Say {number}.")
        spent = server.disk_counts()[2] - before
        self.assertGreaterEqual(spent, 40, "accepted and answered are each on the disk")
        self.assertLessEqual(spent, 50, "and nothing else costs one, but for a checkpoint now and then")

    def test_a_repeat_costs_none(self):
        gate = self.gate()
        server = self.server(configuration(gate), faults=True)
        server.say("s1", "t1")
        before = server.disk_counts()[:3]
        for _ in range(20):
            server.say("s1", "t1")
        self.assertEqual(server.disk_counts()[:3], before)


class WrongStore(ServingTest):
    """A store that cannot be used is told at the start, with what to do; nothing is changed."""

    def stopped(self, *replies):
        gate = self.gate(*replies)
        server = self.server(configuration(gate))
        server.say("s1", "t1")
        server.terminate()
        self.assertEqual(server.wait(), 0)
        [database] = server.databases()
        return server, database

    def refuse(self, server, *words):
        ran = subprocess.run(server.command(), env=server.environment(), cwd=server.folder, timeout=SECONDS,
                             stdin=subprocess.DEVNULL, capture_output=True, check=False)
        self.assertNotIn(ran.returncode, (0, -6, -11), ran)
        self.assertEqual(ran.stdout, b"")
        for word in words:
            self.assertIn(word, ran.stderr.decode())
        return ran

    def test_a_database_from_a_newer_version_is_left_alone(self):
        server, database = self.stopped()
        with sqlite3.connect(database) as opened:
            opened.execute("PRAGMA user_version = 9999")
        opened.close()
        before = database.read_bytes()
        self.refuse(server, database.name, "newer")
        self.assertEqual(database.read_bytes(), before)

    def test_a_file_that_is_no_database_is_left_alone(self):
        server, database = self.stopped()
        for file in database.parent.glob(database.name + "*"):
            file.unlink()
        database.write_bytes(b"This is no database at all.\n" * 500)
        self.refuse(server, database.name)
        self.assertEqual(database.read_bytes(), b"This is no database at all.\n" * 500)

    def test_a_corrupt_database_is_found_at_the_start(self):
        server, database = self.stopped()
        content = bytearray(database.read_bytes())
        for place in range(4096, len(content)):
            content[place] ^= 0x5A
        database.write_bytes(content)
        self.refuse(server, database.name)

    def test_a_database_that_was_cut_short_is_found_at_the_start(self):
        server, database = self.stopped()
        database.write_bytes(database.read_bytes()[:4096 * 2 + 100])
        self.refuse(server, database.name)

    @unittest.skipIf(os.geteuid() == 0, "root may write everything")
    def test_a_read_only_folder_is_told_at_the_start(self):
        server, database = self.stopped()
        database.chmod(0o444)
        database.parent.chmod(0o555)
        self.addCleanup(database.parent.chmod, 0o755)
        self.refuse(server, str(database.parent))

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_a_disk_that_takes_nothing_is_told_at_the_start(self):
        gate = self.gate()
        for fault in ("EROFS any", "ENOSPC any", "EIO fsync"):
            server = Server(self.folder, configuration(gate), faults=True, name=fault.replace(" ", "-"))
            server.disk(fault)
            self.refuse(server, "treaty.db")

    def test_a_folder_that_cannot_be_made_is_told_at_the_start(self):
        gate = self.gate()
        self.write("file", b"")
        server = Server(self.folder, configuration(gate), name="nowhere", state=self.folder / "file" / "state")
        self.refuse(server, "file")


if __name__ == "__main__":
    unittest.main()
