"""Tests of `treaty bridge watch` when things fail: killed at every step, a disk that is full, a server that is away."""
import os
import socket
import unittest

from scripted_agent import scripted
from serving import DISK_FAULTS, Server, configuration
from watching import WatchTest, request

MOST = 200  # More changes of its files than one request takes.


class KilledTest(WatchTest):
    def test_killed_while_it_asks_the_next_one_answers_once(self):
        gate, directory, watch = self.gated_watch("Because.", held=True)
        documents = {suffix: directory.ask(suffix=suffix) for suffix in ("", "-phase2")}
        gate.wait_for_calls(2)
        watch.kill9()
        gate.open()
        watch.start()

        for _ in documents:
            watch.next_answer()
        for suffix, document in documents.items():
            self.assert_answered_once(directory, document, suffix)
        # Nobody had the answers when it was killed, so they had to be asked for again, once each.
        self.assertEqual(gate.count, 4)
        self.assertEqual(watch.leave(), 0)

    def test_an_answer_that_somebody_else_wrote_is_left_alone_and_journalled(self):
        gate, directory, watch = self.gated_watch("Because.")
        document = directory.ask()
        watch.next_answer()
        (directory.path / ".treaty-bridge" / "journal.ndjson").unlink()
        watch.kill9()
        before = directory.response_file().read_bytes()
        watch.start()
        directory.await_response(directory.ask(suffix="-phase2"), "-phase2")

        self.assertEqual(directory.response_file().read_bytes(), before)
        self.assertEqual([entry["request_id"] for entry in directory.journal("answer.found")],
                         [document["request_id"]])
        directory.response_file().unlink()
        self.assertEqual(watch.leave(), 0)
        watch.start()
        directory.await_response(directory.ask(suffix="-phase3"), "-phase3")
        self.assertIsNone(directory.response())
        self.assertEqual(gate.count, 3)

    @unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
    def test_killed_before_any_change_of_a_file_the_next_one_answers_once(self):
        gate = self.gate("Because.")
        for operation in range(MOST):
            directory, before = self.directory(f"work{operation}"), gate.count
            document = directory.ask()
            watch = self.watch(configuration(gate), directory)
            watch.use_disk_faults(f"{directory.path}/*").disk(f"KILL any {operation}")
            watch.launch()
            if watch.process.stdout.readline():  # Else it was killed before.
                watch.terminate()
            done = watch.wait() == 0
            if not done:
                watch.disk()
                watch.start()
                directory.await_response(directory.ask(suffix="-phase2"), "-phase2")
                directory.await_response(document)
                self.assertEqual(watch.leave(), 0)
            with self.subTest(operation=operation):
                self.assert_answered_once(directory, document)
                self.assertEqual([name for name in os.listdir(directory.path) if ".treaty-" in name],
                                 [".treaty-bridge"])
                self.assertEqual(directory.quarantined(), [])
                # What was answered before it was killed is in the journal of turns.
                self.assertEqual(gate.count, before + (1 if done else 2))
            if done:
                break
        else:
            self.fail("a request takes more changes than expected")
        self.assertGreater(operation, 10)


@unittest.skipUnless(DISK_FAULTS, "TREATY_DISK_FAULTS is set by ctest")
class DiskTest(WatchTest):
    def faulty_watch(self, files, fault):
        """(gate, directory, running watch on a disk that fails)."""
        gate, directory = self.gate("Because."), self.directory()
        watch = self.watch(configuration(gate), directory).use_disk_faults(files)
        watch.disk()
        watch.start()
        watch.disk(fault)
        return gate, directory, watch

    def test_an_answer_that_cannot_be_written_is_written_later_and_asked_for_once(self):
        for number, fault in enumerate(("ENOSPC write", "EACCES name", "EIO fsync", "SHORT write", "EXDEV any")):
            with self.subTest(fault=fault):
                gate, directory = self.gate("Because."), self.directory(f"work{number}")
                watch = self.watch(configuration(gate), directory).use_disk_faults(".agent-response*")
                watch.disk(fault)
                watch.start()
                document = directory.ask()
                watch.await_told("tried again")
                self.assertIsNone(directory.response())
                watch.disk()

                self.assertEqual(watch.next_answer()["request_id"], document["request_id"])
                self.assert_answered_once(directory, document)
                self.assertEqual(gate.count, 1)
                self.assertEqual(watch.errors().count("tried again"), 1)
                self.assertEqual(watch.leave(), 0)

    def test_a_journal_that_cannot_be_written_keeps_a_request_from_being_asked(self):
        gate, directory, watch = self.faulty_watch("journal.ndjson", "ENOSPC write")
        document = directory.ask()
        watch.await_told("tried again")
        self.assertEqual(gate.count, 0)
        watch.disk()

        directory.await_response(document)
        watch.next_answer()
        self.assert_answered_once(directory, document)
        self.assertEqual(gate.count, 1)

    def test_a_directory_that_cannot_be_used_ends_it_before_anything_is_answered(self):
        for fault, files in (("EACCES name", ".treaty-bridge"), ("EROFS name", "lock"), ("ENOSPC write", "lock")):
            with self.subTest(fault=fault, files=files):
                good, bad = self.directory("a-good"), self.directory(f"bad-{files}-{fault[:2]}")
                good.ask()
                watch = self.watch(scripted(), good, bad)
                watch.use_disk_faults(f"{bad.path}/{files}:{bad.path}/.treaty-bridge/{files}").disk(fault)
                watch.launch()

                self.assertEqual(watch.wait(), 69)
                self.assertIn(str(bad.path), watch.errors())
                self.assertIsNone(good.response())


class ServerTest(WatchTest):
    """With --url, on a server."""

    def remote_watch(self, server_port, directory, *arguments):
        watch = self.watch(scripted(), directory)
        watch.command = lambda: [word for word in type(watch).command(watch)[:4]] + [
            "--format", "json", "--url", f"http://127.0.0.1:{server_port}", *arguments]
        return watch.start()

    def test_a_server_answers(self):
        gate, server = self.gated("Because.")
        directory = self.directory()
        watch = self.remote_watch(server.port, directory)
        document = directory.ask()

        self.assertEqual(watch.next_answer()["status"], "success")
        found = self.assert_answered_once(directory, document)
        self.assertEqual((found["response"], gate.count), ("Because.", 1))
        self.assertEqual(watch.leave(), 0)

    def test_killed_while_a_server_answers_the_next_one_takes_the_answer_up(self):
        gate, server = self.gated("Because.", held=True)
        directory = self.directory()
        watch = self.remote_watch(server.port, directory)
        document = directory.ask()
        gate.wait_for_calls(1)
        watch.kill9()
        gate.open()
        watch.start()

        directory.await_response(document)
        watch.next_answer()
        self.assert_answered_once(directory, document)
        self.assertEqual(gate.count, 1)

    def test_a_withdrawn_request_is_cancelled_on_the_server(self):
        gate, server = self.gated("Because.", held=True)
        directory = self.directory()
        watch = self.remote_watch(server.port, directory)
        directory.ask()
        gate.wait_for_calls(1)
        directory.request_file().unlink()

        gate.wait_for_gone()
        watch.await_told("withdrawn")

    def test_the_time_of_a_request_is_kept_on_a_server_too(self):
        gate, server = self.gated("Because.", held=True)
        directory = self.directory()
        watch = self.remote_watch(server.port, directory)
        document = directory.ask(request(timeout_seconds=1))

        self.assertEqual(watch.next_answer()["status"], "timeout")
        self.assert_answered_once(directory, document, status="timeout")
        gate.wait_for_gone()

    def test_a_server_that_is_away_is_asked_again_when_it_is_back(self):
        with socket.socket() as reserved:
            reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            reserved.bind(("127.0.0.1", 0))  # Nobody listens, so everybody is refused.
            port = reserved.getsockname()[1]
            directory = self.directory()
            watch = self.remote_watch(port, directory)
            document = directory.ask()
            watch.await_told("tried again")
        server = Server(self.folder, scripted())
        command = [word if word != "127.0.0.1:0" else f"127.0.0.1:{port}" for word in server.command()]
        server.command = lambda: command
        self.servers.append(server)
        server.start()

        directory.await_response(document)
        watch.next_answer()
        self.assert_answered_once(directory, document)

    def test_an_agent_that_the_server_does_not_have_is_told_and_not_tried_again(self):
        directory = self.directory()
        watch = self.remote_watch(self.server(scripted()).port, directory, "--agent", "nobody")
        document = directory.ask()
        watch.await_told("not answered")

        self.assertEqual(len(directory.journal("request.refused")), 1)
        self.assertIsNone(directory.response())
        self.assertNotIn("tried again", watch.errors())
        self.assertEqual(document["request_id"], directory.journal("request.given_up")[0]["request_id"])


if __name__ == "__main__":
    unittest.main()
