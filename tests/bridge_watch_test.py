"""Tests of `treaty bridge watch`: requests are answered as they appear, each once, whatever happens meanwhile."""
import json
import os
import pathlib
import signal
import subprocess
import unittest

from gate import Reply
from scripted_agent import scripted
from serving import configuration, until
from watching import WatchTest, request

def remove(path):
    """Deletes a directory into which a watch may still write; `until` bounds the tries."""
    until(lambda: subprocess.run(["rm", "-rf", path], stderr=subprocess.DEVNULL, check=False).returncode == 0)


PHASES = ["", "-phase1", "-phase2", "-phase7", "-phase12"]


class AnswersTest(WatchTest):
    def test_what_waits_and_what_appears_is_answered_in_every_directory(self):
        directories = [self.directory(name) for name in "abc"]
        before = [directory.ask() for directory in directories]
        watch = self.watch(scripted(), *directories).start()
        after = [directory.ask(suffix="-phase2") for directory in directories]

        told = [watch.next_answer() for _ in range(6)]

        self.assertEqual({line["request_id"] for line in told}, {one["request_id"] for one in before + after})
        for directory, first, second in zip(directories, before, after):
            self.assert_answered_once(directory, first)
            found = self.assert_answered_once(directory, second, "-phase2")
            self.assertEqual(found["metadata"]["agent"], "default")
            self.assertEqual(directory.journal("request.refused", "request.given_up"), [])
        self.assertEqual(watch.leave(), 0)

    def test_each_answer_is_told_in_a_line(self):
        gate, directory, watch = self.gated_watch("Because.")
        asked = directory.ask(request(phase=3, phase_name="review"), "-phase3")

        told = watch.next_answer()

        seconds = told.pop("seconds")
        self.assertGreaterEqual(seconds, 0)
        self.assertEqual(told, {
            "directory": str(directory.path), "request_id": asked["request_id"], "phase": 3, "phase_name": "review",
            "status": "success", "file": str(directory.response_file("-phase3")), "agent": "default",
            "backend": told["backend"], "model": told["model"], "input_tokens": 12, "output_tokens": 3})
        self.assertEqual(gate.count, 1)

    def test_for_people_a_line_has_the_directory_and_how_it_went(self):
        _, directory, watch = self.gated_watch("Because.", form="human")
        directory.ask(request(phase=3, phase_name="review"))

        self.assertRegex(watch.next_line(), rf"^{directory.path}: phase 3 \(review\) · agent default · \d+\.\d s · "
                               r"12 tokens in, 3 out · success\n$")

    def test_requests_of_one_directory_are_answered_at_the_same_time(self):
        gate, directory, watch = self.gated_watch("Because.", held=True)
        asked = [directory.ask(suffix=suffix) for suffix in PHASES]
        gate.wait_for_calls(len(PHASES))
        self.assertEqual([directory.response(suffix) for suffix in PHASES], [None] * len(PHASES))

        gate.open()

        for _ in PHASES:
            watch.next_answer()
        for document, suffix in zip(asked, PHASES):
            self.assert_answered_once(directory, document, suffix)

    def test_no_more_are_asked_at_once_than_allowed(self):
        gate, directory, watch = self.gated_watch("Because.", held=True, arguments=["--parallel", "2"])
        for suffix in PHASES:
            directory.ask(suffix=suffix)
        gate.wait_for_calls(2)
        for count in range(3, len(PHASES) + 1):
            self.assertEqual(gate.count, count - 1)
            gate.release()
            watch.next_answer()
            gate.wait_for_calls(count)
        gate.open()
        for _ in range(2):
            watch.next_answer()

    def test_an_error_and_a_timeout_are_answers(self):
        gate, directory, watch = self.gated_watch(
            lambda call: Reply(error=(400, {"error": {"message": "no such model", "code": "model_not_found"}}))
            if "broken" in call.user else Reply("Late."))
        failed = directory.ask(request("broken"))
        self.assertEqual(watch.next_answer()["status"], "error")
        gate.held = True
        late = directory.ask(request(timeout_seconds=1), "-phase2")
        self.assertEqual(watch.next_answer()["status"], "timeout")

        found = self.assert_answered_once(directory, failed, status="error")
        self.assertIn("model", found["error_message"])
        found = self.assert_answered_once(directory, late, "-phase2", "timeout")
        self.assertEqual(found["error_type"], "timeout")

    def test_a_stale_a_foreign_and_a_broken_answer_are_kept_and_replaced(self):
        directory = self.directory()
        asked = [directory.ask(suffix=suffix) for suffix in PHASES[:3]]
        foreign = {**request(), "status": "success", "response": "x", "error_message": None, "error_type": None,
                   "duration_seconds": 1.0, "metadata": {}}
        for member in ("agent_name", "prompt"):
            foreign.pop(member)
        stale = {**foreign, "request_id": asked[1]["request_id"], "created_at": "2020-01-01T00:00:00Z"}
        for suffix, answer in zip(PHASES, (foreign, stale, "{")):
            (directory.path / "made").write_text(answer if isinstance(answer, str) else json.dumps(answer))
            (directory.path / "made").replace(directory.response_file(suffix))

        watch = self.watch(scripted(), directory).start()
        for _ in asked:
            watch.next_answer()

        for document, suffix in zip(asked, PHASES):
            self.assert_answered_once(directory, document, suffix)
        self.assertEqual(sorted(name.split("-")[1] for name in directory.quarantined()), ["foreign", "stale", "torn"])


class RequestsTest(WatchTest):
    """How requests come to be, and what is wrong with them."""

    def setUp(self):
        super().setUp()
        self.provider, self.work, self.running = self.gated_watch("Because.")

    def answer_another(self):
        """Whatever was written before has been looked at when this is answered."""
        asked = self.work.ask(suffix="-phase99")
        self.work.await_response(asked, "-phase99")

    def test_a_request_that_is_written_in_place_or_linked_is_answered(self):
        written, linked = request(), request()
        self.work.request_file().write_text(json.dumps(written))
        (self.work.path / "ready").write_text(json.dumps(linked))
        os.link(self.work.path / "ready", self.work.request_file("-phase2"))

        self.work.await_response(written)
        self.work.await_response(linked, "-phase2")
        self.assertEqual(self.work.journal("request.refused"), [])

    def test_half_a_request_is_waited_for_and_told_once(self):
        document = request()
        text = json.dumps(document)
        with open(self.work.request_file(), "w", encoding="utf-8") as file:
            file.write(text[:50])
            file.flush()
            self.answer_another()
            self.running.await_told(f"{self.work.request_file()}: it ends in the middle")
            file.write(text[50:])

        self.work.await_response(document)
        self.assertEqual(self.running.errors().count("in the middle"), 1)
        self.assertEqual(self.work.journal("request.refused"), [])

    def test_an_empty_file_is_half_a_request(self):
        self.work.request_file().write_text("")
        self.running.await_told("it is empty")
        document = self.work.ask()

        self.work.await_response(document)

    def test_a_broken_request_is_told_and_journalled_once_for_each_writing(self):
        for text in ('{"prompt": 1}', '{"prompt": 1}', "no json at all }"):
            self.work.ask(text)
            self.answer_another()
            os.utime(self.work.path)  # An event that changes nothing.
        self.answer_another()

        refused = self.work.journal("request.refused")
        self.assertEqual(len(refused), 3)
        self.assertEqual(refused[0]["file"], str(self.work.request_file()))
        self.assertIn("BRQ-01", refused[0]["problem"])
        self.assertEqual(self.running.errors().count("not answered"), 3)
        document = self.work.ask()
        self.work.await_response(document)

    def test_a_broken_request_is_told_again_by_the_next_watch_and_not_journalled_again(self):
        self.work.ask('{"prompt": 1}')
        self.running.await_told("not answered")
        self.assertEqual(self.running.leave(), 0)
        self.running.start()
        self.running.await_told("not answered")

        self.assertEqual(len(self.work.journal("request.refused")), 1)

    def test_an_answer_that_was_taken_is_not_given_again(self):
        first = self.work.ask()
        self.work.await_response(first)
        self.work.response_file().unlink()
        self.work.ask(first)  # The same once more.
        self.answer_another()
        self.assertEqual(self.running.leave(), 0)
        self.running.start()
        self.answer_another()

        self.assertIsNone(self.work.response())
        self.assertEqual(self.provider.count, 3)
        until(lambda: len(self.work.journal("answer.written")) == 3, "three answers in the journal")

    def test_another_question_under_the_same_id_is_refused(self):
        first = self.work.ask()
        self.work.await_response(first)
        self.work.response_file().unlink()
        self.work.ask({**first, "prompt": "And why not?"})
        self.running.await_told("is used twice")
        self.assertEqual(self.running.leave(), 0)
        self.running.start()
        self.answer_another()

        self.assertEqual(self.provider.count, 2)
        refused = self.work.journal("request.refused")
        self.assertEqual(len(refused), 1)
        self.assertIn(first["request_id"], refused[0]["problem"])

    def test_a_request_that_is_withdrawn_is_given_up(self):
        self.provider.held = True
        document = self.work.ask()
        self.provider.wait_for_calls(1)
        self.work.request_file().unlink()
        self.provider.wait_for_gone()
        self.running.await_told("withdrawn")
        self.provider.open()
        self.answer_another()

        self.assertIsNone(self.work.response())
        self.assertEqual([entry["request_id"] for entry in self.work.journal("request.given_up")],
                         [document["request_id"]])

    def test_a_request_that_is_replaced_is_given_up_for_the_new_one(self):
        self.provider.held = True
        self.work.ask()
        self.provider.wait_for_calls(1)
        second = self.work.ask()
        self.provider.wait_for_gone()
        self.provider.wait_for_calls(2)
        self.provider.open()

        self.work.await_response(second)
        self.assert_answered_once(self.work, second)
        self.assertEqual(len(self.work.journal("answer.written")), 1)

    def test_an_answer_goes_nowhere_outside_of_the_directory(self):
        outside = self.folder / "outside.json"
        self.work.ask(request(response_file=str(outside)))
        self.work.ask(request(response_file="../outside.json"), "-phase2")
        (self.work.path / "notes.txt").write_text("mine")
        self.work.ask(request(response_file="notes.txt"), "-phase3")
        until(lambda: len(self.work.journal("request.refused")) == 3)
        inside = self.work.ask(request(response_file=str(self.work.path / "mine.json")), "-phase4")
        self.running.next_answer()

        self.assertFalse(outside.exists())
        self.assertEqual((self.work.path / "notes.txt").read_text(), "mine")
        self.assertIn(inside["request_id"], (self.work.path / "mine.json").read_text())
        self.assertEqual(self.provider.count, 1)  # What cannot be answered is not asked.

    def test_more_events_than_the_system_keeps_are_made_up_for(self):
        self.running.process.send_signal(signal.SIGSTOP)
        most = int(pathlib.Path("/proc/sys/fs/inotify/max_queued_events").read_text("ascii"))
        noise = [self.work.path / name for name in ("one", "other")]
        noise[0].write_text("")
        for _ in range(most // 4 + 1):  # Two events a rename.
            noise[0].rename(noise[1])
            noise[1].rename(noise[0])
        document = self.work.ask()
        self.running.process.send_signal(signal.SIGCONT)

        self.work.await_response(document)


class DirectoriesTest(WatchTest):
    def test_a_directory_that_disappears_is_told_and_with_the_last_one_it_ends(self):
        gate, directories = self.gate("Because.", held=True), [self.directory(name) for name in "abc"]
        watch = self.watch(configuration(gate), *directories).start()
        directories[0].ask()
        gate.wait_for_calls(1)
        remove(directories[0].path)
        watch.await_told(f"{directories[0].path}: the directory is gone")
        gate.wait_for_gone()  # Nobody is there to read what it would say.
        gate.open()
        document = directories[1].ask()
        directories[1].await_response(document)
        directories[1].path.rename(self.folder / "elsewhere")
        watch.await_told(f"{directories[1].path}: the directory is gone")
        self.assertIsNone(watch.process.poll())
        remove(directories[2].path)

        self.assertEqual(watch.wait(), 1)
        self.assertIn("no directory is left", watch.errors())

    def test_a_directory_has_one_driver(self):
        shared, other = self.directory("shared"), self.directory("other")
        first = self.watch(scripted(), shared).start()
        waiting = other.ask()
        second = self.watch(scripted(), other, shared).launch()

        self.assertEqual(second.wait(), 75)
        self.assertIn("treaty bridge watch", second.errors())
        self.assertIn(str(first.process.pid), second.errors())
        self.assertIsNone(other.response())
        answer = self.treaty("bridge", "answer", "--dir", shared.path, "--state-dir", "answer-state")
        self.assertEqual(answer.code, 75)
        self.assertEqual(first.kill9(), -9)
        second.start()  # The dead one's lock is taken over.
        other.await_response(waiting)

    def test_a_lock_that_a_living_process_has_in_its_own_way_is_kept(self):
        directory = self.directory()
        (directory.path / ".treaty-bridge").mkdir()
        (directory.path / ".treaty-bridge" / "lock").write_text('{"pid": %d, "command": "run"}' % os.getpid())
        directory.ask()
        watch = self.watch(scripted(), directory).launch()

        self.assertEqual(watch.wait(), 75)
        self.assertIsNone(directory.response())

    def test_directories_that_are_not_there_are_all_told_before_anything_happens(self):
        there = self.directory("there")
        there.ask()
        self.write("file", "")

        ran = self.treaty("bridge", "watch", "there", "missing", "file", "--state-dir", "state")

        self.assertEqual(ran.code, 1)
        self.assertIn("missing: cannot be opened: No such file", ran.err)
        self.assertIn("file: is not a directory", ran.err)
        self.assertIsNone(there.response())
        self.assertFalse((there.path / ".treaty-bridge").exists())

    def test_one_directory_under_two_names_is_one(self):
        directory = self.directory()
        os.symlink(directory.path, self.folder / "link")
        watch = self.watch(scripted(), directory, type(directory)(self.folder / "link")).start()

        self.assertIn("watching 1 directory\n", watch.errors())
        document = directory.ask()
        watch.next_answer()
        self.assert_answered_once(directory, document)

    def test_wrong_usage_is_told(self):
        for arguments, told in ((["--parallel", "0"], "--parallel takes a number"),
                                (["--parallel", "many"], "--parallel takes a number"),
                                (["--grace", "-1"], "--grace takes a number"),
                                (["--tool", "x"], "--tool")):
            ran = self.treaty("bridge", "watch", ".", *arguments)
            self.assertEqual(ran.code, 2, ran)
            self.assertIn(told, ran.err)
        ran = self.treaty("bridge", "watch", "--agent", "nobody", "--state-dir", "state")
        self.assertEqual(ran.code, 78, ran)


class LeavingTest(WatchTest):
    def test_told_to_leave_it_lets_running_answers_end_and_takes_no_more(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(signal=number):
                gate, directory, watch = self.gated_watch("Because.", held=True, place=number.name)
                document = directory.ask()
                gate.wait_for_calls(1)
                watch.terminate(number)
                watch.await_told("leaving")
                late = directory.ask(suffix="-phase2")
                gate.open()

                self.assertEqual(watch.wait(), 0)
                self.assert_answered_once(directory, document)
                self.assertIsNone(directory.response("-phase2"))
                watch.start()
                directory.await_response(late, "-phase2")
                self.assertEqual(gate.count, 2)
                self.assertEqual(watch.leave(), 0)

    def test_after_the_grace_what_runs_is_cancelled_and_asked_again_the_next_time(self):
        gate, directory, watch = self.gated_watch("Because.", held=True, arguments=["--grace", "0"])
        document = directory.ask()
        gate.wait_for_calls(1)

        self.assertEqual(watch.leave(), 0)
        self.assertIsNone(directory.response())
        self.assertEqual(len(directory.journal("request.given_up")), 1)
        gate.open()
        watch.start()
        directory.await_response(document)
        self.assert_answered_once(directory, document)

    def test_a_second_signal_leaves_at_once(self):
        gate, directory, watch = self.gated_watch("Because.", held=True)
        directory.ask()
        gate.wait_for_calls(1)
        watch.terminate()
        watch.await_told("leaving")
        watch.terminate()

        self.assertEqual(watch.wait(), -signal.SIGTERM)

    def test_without_work_it_leaves_at_once(self):
        _, _, watch = self.gated_watch("Because.")

        self.assertEqual(watch.leave(), 0)
        self.assertNotIn("leaving", watch.errors())


if __name__ == "__main__":
    unittest.main()
