"""Tests of `treaty bridge doctor`: every broken directory has its word and its command, and the command mends it."""
import datetime
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

from bridging import BridgeTest
from serving import until
from treaty_binary import BINARY, OTHER_UUID, ROOT, SAMPLES, SECONDS, UUID, Ran, as_bytes, bridge_request, bridge_response

GUIDE = ROOT / "docs" / "guide" / "bridge.md"
NOBODY = 65534
ROW = re.compile(r"^\| `([a-z-]+)` \| (trouble|note) \| (.*?) \| (.*?) \| (.*?) \|$", re.MULTILINE)
REQUEST, RESPONSE = ".agent-request.json", ".agent-response.json"


def now(seconds=0):
    return (datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(seconds=seconds)).isoformat()


def asked(**members):
    return bridge_request(**{"created_at": now(), **members})


def answered(**members):
    return bridge_response(**{"created_at": now(), **members})


class DoctorTest(BridgeTest):
    def diagnosis(self, *arguments, **more):
        ran = self.bridge("doctor", *arguments, "--format", "json", **more)
        self.assertIn(ran.code, (0, 1), ran)
        report = json.loads(ran.out)
        troubles = [fault for fault in report["faults"] if fault["severity"] == "trouble"]
        self.assertEqual((ran.code == 0, not troubles), (report["content"], report["content"]), report)
        for fault in report["faults"]:
            for member in ("what", "why"):
                self.assertTrue(fault[member], fault)
        return report

    def fault(self, code, *arguments, **more):
        """The fault of this code, which is there once."""
        report = self.diagnosis(*arguments, **more)
        found = [fault for fault in report["faults"] if fault["code"] == code]
        self.assertEqual(len(found), 1, report)
        return found[0]

    def mend(self, fault, cwd=None):
        """Gives the command that the doctor names to a shell."""
        self.assertTrue(fault["mend"], fault)
        path = f"{BINARY.parent}{os.pathsep}{os.environ['PATH']}"
        return Ran(subprocess.run(["bash", "-c", fault["mend"]], cwd=cwd or self.work, env=self.environment(PATH=path),
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False))

    def assert_mended(self, code, *arguments, cwd=None):
        """The doctor tells this trouble and no other; its command mends it, from wherever it is given."""
        fault = self.fault(code, *arguments, cwd=cwd)
        report = self.diagnosis(*arguments, cwd=cwd)
        self.assertEqual([one["code"] for one in report["faults"] if one["severity"] == "trouble"], [code], report)
        ran = self.mend(fault, cwd=cwd)
        self.assertEqual(ran.code, 0, (fault, ran))
        after = self.diagnosis(*arguments, cwd=cwd)
        self.assertTrue(after["content"], after)
        return after

    def put_old(self, name, content, seconds=10):
        """A file that nobody is writing any more."""
        self.put(name, content)
        path = self.work / name
        changed = path.stat().st_mtime - seconds
        os.utime(path, (changed, changed))

    def kept(self):
        return [file.read_bytes() for file in (self.work / ".treaty-bridge" / "quarantine").iterdir()]


# What each fault looks like: a function that breaks the directory of a test. Those whose command mends the directory
# without anybody's doing are here; the others have tests of their own.

def torn_request(test):
    test.put_old(REQUEST, b'{"request_id": "6f')


def repairable_request(test):
    test.put(REQUEST, b"\xef\xbb\xbf" + as_bytes(asked()))


def overdue(test):
    test.agent("Fine.")
    test.put(REQUEST, asked(created_at=now(-500)))


def unreadable_request(test):
    (test.work / REQUEST).mkdir()


def unreadable_answer(test):
    test.put(REQUEST, asked())
    (test.work / RESPONSE).mkdir()


def torn_answer(test):
    test.put(REQUEST, asked())
    test.put_old(RESPONSE, json.dumps(answered())[:-20])


def marked_answer(test):
    test.put(REQUEST, asked())
    test.put(RESPONSE, b"\xef\xbb\xbf" + as_bytes(answered()))


def repairable_answer(test):
    test.put(REQUEST, asked())
    test.put(RESPONSE, answered(response={"findings": []}, duration_seconds="1.5"))


def bare_answer(test):
    test.put(REQUEST, asked())
    test.put(RESPONSE, {"findings": []})


def broken_answer(test):
    test.agent("Fine.")
    test.put(REQUEST, asked())
    test.put(RESPONSE, answered(result="Which of the two?"))


def taken_place(test):
    test.agent("Fine.")
    test.put(REQUEST, asked(response_file="package.json"))
    test.put("package.json", {"name": "something else"})


def missing_place(test):
    test.put(REQUEST, asked(response_file=str(test.work / "answers" / "one.json")))


def foreign_answer(test):
    test.put(REQUEST, asked())
    test.put(RESPONSE, answered(request_id=OTHER_UUID))


def other_phase(test):
    test.put(".agent-request-phase1.json", asked(request_id=OTHER_UUID, phase=1))
    test.put(".agent-response-phase1.json", answered(request_id=UUID))
    test.put(".agent-request-phase5.json", asked(phase=5))


def stale_answer(test):
    test.put(REQUEST, asked())
    test.put(RESPONSE, answered(created_at=now(-86400)))


def orphaned_answer(test):
    test.put(RESPONSE, answered())


def misplaced_answer(test):
    test.put(REQUEST, asked())
    test.put("agent_response.json", answered())


def gone_answer(test):
    test.agent("Fine.", "Fine again.")
    test.put(REQUEST, asked())
    test.assertEqual(test.bridge("answer").code, 0)
    (test.work / RESPONSE).unlink()


def error_answer(test):
    test.agent("Fine.")
    test.put(REQUEST, asked())
    test.bridge("respond", "--status", "error", "--error", "quota", "--error-type", "rate_limit")


def timeout_answer(test):
    test.agent("Fine.")
    test.put(REQUEST, asked())
    test.bridge("respond", "--status", "timeout")


def interrupted_run(test):
    test.agent("Fine.")
    program = test.program("""
if not os.path.exists("again"):
    write("again", "")
    os.kill(os.getpid(), 9)
""")
    test.assertEqual(test.drive(program).code, 128 + 9)


MENDED = {
    "request-torn": torn_request, "request-repairable": repairable_request, "request-overdue": overdue,
    "request-unreadable": unreadable_request, "answer-unreadable": unreadable_answer, "answer-torn": torn_answer,
    "answer-byte-order-mark": marked_answer, "answer-repairable": repairable_answer, "answer-bare": bare_answer,
    "answer-broken": broken_answer, "answer-place-taken": taken_place, "answer-place-missing": missing_place,
    "answer-foreign": foreign_answer, "answer-other-phase": other_phase, "answer-stale": stale_answer,
    "answer-orphaned": orphaned_answer, "answer-misplaced": misplaced_answer, "answer-gone": gone_answer,
    "answer-error": error_answer, "answer-timeout": timeout_answer, "run-interrupted": interrupted_run,
}


class EveryFault(DoctorTest):
    """One test per fault of MENDED; they are made below."""


for code, break_it in MENDED.items():
    def named_and_mended(self, code=code, break_it=break_it):
        break_it(self)
        self.assert_mended(code)
    setattr(EveryFault, f"test_{code.replace('-', '_')}_is_told_and_mended", named_and_mended)


class Directories(DoctorTest):
    def test_a_directory_that_is_not_there_can_be_made(self):
        self.assert_mended("directory-missing", "--dir", "not here/it's")
        self.assertTrue((self.work / "not here" / "it's").is_dir())

    def test_a_request_in_the_place_of_its_directory_is_told(self):
        self.put("deep/.agent-request.json", asked())
        fault = self.fault("not-a-directory", "--dir", f"deep/{REQUEST}")
        self.assertEqual(fault["mend"], "treaty bridge doctor --dir deep")
        self.assertEqual(self.mend(fault).code, 0)

    def as_nobody(self, *arguments):
        """The binary as a user to whom permissions mean something."""
        binary = BINARY
        user = {}
        if os.geteuid() == 0:
            self.folder.chmod(0o755)
            binary = shutil.copy(BINARY, self.folder / "treaty")
            user = {"user": NOBODY, "group": NOBODY, "extra_groups": []}
        return Ran(subprocess.run([binary, "bridge", *arguments], cwd=self.folder, env=self.environment(),
                                  capture_output=True, timeout=SECONDS, check=False, **user))

    def give_to_nobody(self, *paths):
        if os.geteuid() == 0:
            for path in paths:
                os.chown(path, NOBODY, NOBODY)
        self.addCleanup(lambda: [path.chmod(0o755) for path in paths if path.is_dir()])

    def code_of(self, ran, code):
        self.assertEqual(ran.code, 1, ran)
        found = [fault for fault in json.loads(ran.out)["faults"] if fault["code"] == code]
        self.assertEqual(len(found), 1, ran)
        return found[0]

    def test_permissions_of_directories_are_told_and_mended(self):
        for mode, code in ((0o000, "directory-unreadable"), (0o555, "directory-unwritable")):
            with self.subTest(code):
                self.put(REQUEST, asked())
                self.give_to_nobody(self.work)
                self.work.chmod(mode)

                fault = self.code_of(self.as_nobody("doctor", "--dir", "work", "--format", "json"), code)

                self.assertEqual(fault["mend"], "chmod u+rwx work")
                self.assertEqual(self.mend(fault, cwd=self.folder).code, 0)
                ran = self.as_nobody("doctor", "--dir", "work", "--format", "json")
                self.assertEqual(ran.code, 0, ran)

    def test_a_folder_of_treaty_s_that_cannot_be_written_is_told_and_mended(self):
        folder = self.work / ".treaty-bridge"
        folder.mkdir()
        self.give_to_nobody(self.work, folder)
        folder.chmod(0o555)
        fault = self.code_of(self.as_nobody("doctor", "--dir", "work", "--format", "json"), "folder-unwritable")
        self.assertEqual(self.mend(fault, cwd=self.folder).code, 0)
        self.assertEqual(self.as_nobody("doctor", "--dir", "work").code, 0)

    def test_a_file_in_the_place_of_the_folder_is_told_and_mended(self):
        self.put(".treaty-bridge", "not a folder")
        self.assert_mended("folder-unwritable")

    def test_a_link_in_the_place_of_a_folder_is_named_by_the_command_that_fails_and_by_the_doctor(self):
        for name in (".treaty-bridge", ".treaty-bridge/quarantine"):
            with self.subTest(name):
                self.setUp()
                self.put(REQUEST, asked())
                elsewhere = self.folder / "elsewhere"
                elsewhere.mkdir()
                (self.work / name).parent.mkdir(exist_ok=True)
                (self.work / name).symlink_to(elsewhere)

                ran = self.bridge("respond", stdin=b"Fine.")

                self.assertEqual(ran.code, 69, ran)
                self.assertIn(f"{name}: is a symbolic link; remove it", ran.err)
                self.assertIn(f"Next: rm {self.work / name}\n", ran.err)
                self.assertNotIn("doctor", ran.err)
                fault = self.fault("folder-unwritable")
                self.assertIn(f"{name} is a symbolic link", fault["what"])
                self.assertEqual(fault["mend"], f"rm {name}")
                self.assert_mended("folder-unwritable")
                self.assertEqual(self.bridge("respond", stdin=b"Fine.").code, 0)
                self.assertEqual(list(elsewhere.iterdir()), [])

    def test_files_that_may_not_be_read_are_told_and_mended(self):
        for name, code in ((REQUEST, "request-unreadable"), (RESPONSE, "answer-unreadable")):
            with self.subTest(code):
                self.put(REQUEST, asked())
                self.put(RESPONSE, answered())
                path = self.work / name
                self.give_to_nobody(self.work, self.work / REQUEST, self.work / RESPONSE)
                path.chmod(0)

                fault = self.code_of(self.as_nobody("doctor", "--dir", "work", "--format", "json"), code)

                self.assertEqual(fault["mend"], f"chmod u+r work/{name}")
                self.assertEqual(self.mend(fault, cwd=self.folder).code, 0)
                ran = self.as_nobody("doctor", "--dir", "work", "--format", "json")
                self.assertEqual(ran.code, 0, ran)

    def test_a_journal_that_may_not_be_read_is_told_and_mended(self):
        self.put(".treaty-bridge/journal.ndjson", "")
        journal = self.work / ".treaty-bridge" / "journal.ndjson"
        self.give_to_nobody(self.work, journal.parent, journal)
        journal.chmod(0)
        fault = self.code_of(self.as_nobody("doctor", "--dir", "work", "--format", "json"), "journal-unreadable")
        self.assertEqual(self.mend(fault, cwd=self.folder).code, 0)
        self.assertEqual(self.as_nobody("doctor", "--dir", "work").code, 0)

    def test_a_full_disk_is_told(self):
        mounted = "mount -t tmpfs -o size=64k tmpfs work"
        if subprocess.run(["unshare", "-m", "sh", "-c", mounted], cwd=self.folder, capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("no file system of one's own can be mounted here")
        ran = Ran(subprocess.run(["unshare", "-m", "sh", "-c", f'{mounted} && "$0" bridge doctor --dir work', BINARY],
                                 cwd=self.folder, capture_output=True, timeout=SECONDS, check=False))
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("trouble disk-full", ran.out)
        self.assertIn("next: df -h work", ran.out)


class WrongPlaces(DoctorTest):
    """Answers that an agent wrote relative to where it stood itself, or under a name of its own."""

    def test_names_that_are_nearly_right_are_found(self):
        for name in ("agent-response.json", ".agent_response.json", ".agent-response.json.txt", "Agent-Response.JSON",
                     ".agent-response.json.tmp", ".agent-response-phase9.json.bak", "answer.json"):
            with self.subTest(name):
                self.put(REQUEST, asked())
                self.put(name, answered())
                self.assert_mended("answer-misplaced")
                (self.work / RESPONSE).unlink()

    def test_folders_around_are_looked_at(self):
        self.work = self.work / "one" / "two"
        self.work.mkdir(parents=True)
        for place in ("..", "../..", "../../..", "out"):
            with self.subTest(place):
                (self.work / REQUEST).write_bytes(as_bytes(asked()))
                (self.work / place).mkdir(exist_ok=True)
                (self.work / place / RESPONSE).write_bytes(as_bytes(answered()))
                self.assert_mended("answer-misplaced")
                (self.work / RESPONSE).unlink()

    def test_where_one_stands_is_looked_at(self):
        self.put("project/.agent-request-phase2.json", asked(phase=2))
        self.put("elsewhere/.agent-response.json", answered())
        fault = self.fault("answer-misplaced", "--dir", "../project", cwd=self.work / "elsewhere")
        self.assertEqual(fault["mend"], f"mv {RESPONSE} ../project/.agent-response-phase2.json")
        self.assert_mended("answer-misplaced", "--dir", "../project", cwd=self.work / "elsewhere")

    def test_the_usual_place_is_wrong_when_the_request_names_another(self):
        self.put(REQUEST, asked(response_file="out/review.json"))
        self.put(RESPONSE, answered())
        (self.work / "out").mkdir()
        self.assertEqual(self.fault("answer-misplaced")["mend"], f"mv {RESPONSE} out/review.json")
        self.assert_mended("answer-misplaced")

    def test_what_stands_in_the_right_place_is_not_lost(self):
        self.put(REQUEST, asked())
        self.put("answer.json", answered())
        self.put(RESPONSE, "{\"request_id\": \"nobody's\", \"status\": ")
        fault = self.fault("answer-misplaced")
        self.assertEqual(fault["mend"], f"mv {RESPONSE} {RESPONSE}.old && mv answer.json {RESPONSE}")
        self.mend(fault)
        self.assertTrue((self.work / f"{RESPONSE}.old").exists())
        self.assertTrue(self.diagnosis()["content"])

    def test_answers_to_others_and_requests_are_left_alone(self):
        self.put(REQUEST, asked())
        self.put("answer.json", answered(request_id=OTHER_UUID))
        self.put("response-wanted.json", asked())
        self.assertEqual([fault["code"] for fault in self.diagnosis()["faults"]], ["request-waiting"])

    def test_names_are_quoted_for_the_shell(self):
        self.work = self.work / "it's a $HOME; rm -rf x"
        self.work.mkdir()
        (self.work / REQUEST).write_bytes(as_bytes(asked()))
        (self.work / "my `answer`.json").write_bytes(as_bytes(answered()))
        self.assert_mended("answer-misplaced", "--dir", str(self.work), cwd=self.folder)


class Answers(DoctorTest):
    def test_a_bare_text_gets_its_envelope_by_respond(self):
        self.put(REQUEST, asked())
        self.put(RESPONSE, "# Review\n\nLooks fine.\n")
        self.assertIn("respond", self.fault("answer-bare")["mend"])
        self.assert_mended("answer-bare")
        self.assertEqual(self.response()["response"], "# Review\n\nLooks fine.\n")

    def test_a_file_that_is_being_written_is_no_trouble_yet(self):
        self.put(REQUEST, asked())
        self.put(RESPONSE, "")
        self.assertEqual(self.fault("answer-being-written")["mend"], "sleep 2 && treaty bridge doctor")
        self.assertTrue(self.diagnosis()["content"])
        self.put(REQUEST, "{")
        self.fault("request-being-written")

    def test_an_empty_answer_is_torn(self):
        self.put(REQUEST, asked())
        self.put_old(RESPONSE, "")
        self.assertIn("empty", self.fault("answer-torn")["what"])
        self.assert_mended("answer-torn")

    def test_the_original_is_kept_by_every_mend(self):
        for content in (b"\xef\xbb\xbf" + as_bytes(answered()), as_bytes(answered(request_id=OTHER_UUID)),
                        as_bytes({"bare": True}), b"A text.", as_bytes(answered(created_at=now(-86400)))):
            with self.subTest(content[:20]):
                self.put(REQUEST, asked())
                self.put(RESPONSE, content)
                fault, = [one for one in self.diagnosis()["faults"] if one["severity"] == "trouble"]
                self.assertEqual(self.mend(fault).code, 0)
                self.assertIn(content, self.kept())
                self.setUp()

    def test_an_error_tells_its_message(self):
        error_answer(self)
        self.assertIn("rate_limit", self.fault("answer-error")["what"])
        self.assertIn("quota", self.fault("answer-error")["what"])

    def test_an_answer_of_another_phase_whose_place_is_taken_is_put_away(self):
        other_phase(self)
        self.put(".agent-response-phase5.json", answered())
        self.assertEqual(self.fault("answer-other-phase")["mend"], "treaty bridge check --fix")
        self.assert_mended("answer-other-phase")

    def test_the_phase_is_named_where_there_are_several(self):
        self.agent("Fine.")
        self.put(".agent-request-phase1.json", asked(request_id=OTHER_UUID, phase=1))
        self.put(".agent-response-phase1.json", answered(request_id=OTHER_UUID))
        self.put(".agent-request-phase2.json", asked(phase=2, created_at=now(-500)))
        self.assertEqual(self.fault("request-overdue")["mend"], "treaty bridge answer --phase 2")
        self.assert_mended("request-overdue")

    def test_a_broken_request_is_put_aside(self):
        self.put(REQUEST, asked(prompt=""))
        self.assertIn("BRQ-01", self.fault("request-broken")["what"])
        self.assert_mended("request-broken")
        self.assertTrue((self.work / f"{REQUEST}.old").exists())

    def test_a_status_that_does_not_exist_is_named_before_what_follows_from_it(self):
        self.put(REQUEST, asked())
        self.put(RESPONSE, {"request_id": UUID, "status": "ok", "response": "x"})
        what = self.fault("answer-broken")["what"]
        self.assertIn('BRS-05 /status: there is no status "ok"', what)
        self.assertNotIn("BRS-01", what)

    def test_a_text_that_says_nothing_or_reports_a_failure_is_not_offered_as_an_answer(self):
        self.put(REQUEST, asked())
        for text in (b"null\n", b"{'error': 'no access'}\n"):
            with self.subTest(text):
                self.put(RESPONSE, text)
                self.assertEqual(self.fault("answer-broken")["mend"], "treaty bridge answer")

    def test_a_response_file_that_is_no_place_is_a_broken_request(self):
        self.put(REQUEST, asked(response_file=".agent-request.json"))
        self.assertIn("response_file", self.fault("request-broken")["what"])


class Standings(DoctorTest):
    def standing(self):
        report = self.diagnosis()
        ran = self.bridge("doctor")
        self.assertEqual(ran.out.splitlines()[0], f"this directory: {report['sentence']}")
        return report["standing"]

    def test_nothing_is_asked(self):
        self.assertEqual(self.standing(), "idle")
        self.assertEqual(self.bridge("doctor").out, "this directory: there is no request\n")

    def test_a_request_waits(self):
        self.put(REQUEST, asked())
        self.assertEqual(self.standing(), "waiting")
        fault = self.fault("request-waiting")
        self.assertEqual((fault["severity"], fault["mend"]), ("note", "treaty bridge answer"))

    def test_a_request_is_answered(self):
        self.put(REQUEST, asked())
        self.assertEqual(self.bridge("respond", stdin=b"Fine.").code, 0)
        self.assertEqual(self.standing(), "answered")
        self.fault("answer-ready")

    def test_the_program_has_gone_on(self):
        self.agent("Fine.")
        self.assertEqual(self.drive(self.program("if not RESUMED: ask()")).code, 0)
        self.assertEqual(self.standing(), "settled")
        self.assertEqual(self.diagnosis()["faults"], [])

    def test_a_program_that_took_its_answer_away_has_gone_on(self):
        self.agent("Fine.")
        self.assertEqual(self.drive(self.program("if not RESUMED: ask()\nos.remove(name('response'))")).code, 0)
        self.assertEqual(self.standing(), "settled")
        self.fault("request-left")

    def test_what_is_asked_cannot_be_read(self):
        self.put(REQUEST, {})
        self.assertEqual(self.standing(), "unreadable")

    def test_the_directory_is_named_in_every_command(self):
        self.put("project/.agent-request.json", asked())
        ran = self.bridge("doctor", "--dir", "project")
        self.assertIn("next: treaty bridge answer --dir project\n", ran.out)

    def test_looking_changes_nothing(self):
        self.put(REQUEST, asked())
        self.put(RESPONSE, answered(request_id=OTHER_UUID))
        before = {path: path.stat().st_mtime_ns for path in self.work.rglob("*")}
        self.bridge("doctor")
        self.assertEqual({path: path.stat().st_mtime_ns for path in self.work.rglob("*")}, before)

    def test_names_of_any_bytes_are_told_as_text(self):
        place = os.fsencode(self.work) + b"/caf\xe9"
        os.mkdir(place)
        with open(place + b"/.agent-request.json", "wb") as file:
            file.write(as_bytes(asked()))
        self.assertEqual(self.diagnosis("--dir", os.fsdecode(place))["standing"], "waiting")
        self.assertEqual(self.bridge("respond", "--dir", os.fsdecode(place), stdin=b"Fine.").code, 0)
        report = self.diagnosis("--dir", os.fsdecode(place))
        self.assertEqual([fault["code"] for fault in report["faults"]], ["answer-ready"], "the journal is whole")

    def test_it_takes_no_arguments(self):
        self.assert_usage(self.bridge("doctor", "work"), "no arguments")


class Runs(DoctorTest):
    def test_a_driver_at_work_is_told_and_a_dead_one_too(self):
        gate = self.agent("Fine.", held=True)
        child = self.start("run", "--", *self.program("if not RESUMED: ask()"))
        until(lambda: gate.count == 1)

        report = self.diagnosis()
        self.assertEqual((report["standing"], report["content"]), ("driven", True))
        self.assertEqual([fault["code"] for fault in report["faults"]], ["request-waiting", "driver-at-work"])
        self.assertIsNone(report["faults"][0]["mend"])

        child.send_signal(signal.SIGKILL)
        child.wait()
        codes = [fault["code"] for fault in self.diagnosis()["faults"]]
        self.assertIn("lock-dead", codes)
        self.assertIn("run-interrupted", codes)
        gate.release()
        ran = self.mend(self.fault("run-interrupted"))
        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(self.diagnosis()["faults"], [])

    def test_what_a_watch_refuses_is_told_and_answered_when_it_has_ended(self):
        self.agent("Fine.")
        child = self.start("watch")
        until(lambda: (self.work / ".treaty-bridge" / "lock").exists())
        self.put("request.new", asked(response_file=str(self.folder / "outside.json")))
        (self.work / "request.new").rename(self.work / REQUEST)
        until(lambda: self.journal("request.refused"))

        self.assertIn("outside of the directory", self.fault("request-refused")["what"])
        self.assertEqual(self.fault("request-refused")["mend"], "treaty bridge log")
        child.terminate()
        self.assertEqual(self.ended(child).code, 0)
        self.assertEqual(self.fault("request-refused")["mend"], "treaty bridge answer")
        self.assert_mended("request-refused")

    def test_a_program_that_asks_the_same_again_is_told(self):
        self.agent("Fine.")
        ran = self.drive(self.program(f"ask(request_id='{UUID}')"))
        self.assertEqual(ran.code, 75, ran)
        fault = self.fault("run-asks-again")
        self.assertEqual(fault["mend"], "treaty bridge log")
        self.assertIn("asks again", self.mend(fault).out)

    def test_a_program_that_asks_too_often_is_told(self):
        self.agent(lambda call: "Fine.")
        self.assertEqual(self.drive(self.program("ask()"), "--max-resumes", "2").code, 75)
        fault = self.fault("run-asks-too-often")
        self.assertEqual(self.mend(fault).code, 0)

    def test_42_without_a_request_is_told(self):
        self.agent()
        program = self.program("sys.exit(0 if os.path.exists('repaired') else 42)")
        self.assertEqual(self.drive(program).code, 1)
        fault = self.fault("run-without-request")
        self.assertEqual(fault["mend"], "treaty bridge log", "the same command would end in the same way")
        self.assertIn("program ended with 42", self.mend(fault).out)
        self.put("repaired", "")
        self.assertEqual(self.drive(program).code, 0)
        self.assertTrue(self.diagnosis()["content"])

    def test_a_request_that_was_written_elsewhere_is_found(self):
        self.agent()
        (self.work / "inbox").mkdir()
        ran = self.drive(self.program("if not RESUMED: ask()"), "--dir", "inbox")
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("treaty bridge run -- ", self.fault("run-without-request", "--dir", "inbox")["mend"])
        fault = self.fault("request-elsewhere", "--dir", "inbox")
        self.assertIn(REQUEST, fault["what"])
        self.assertEqual((fault["severity"], fault["mend"]), ("note", "treaty bridge doctor"))
        self.assertIn("waits for an agent", self.mend(fault).out)

    def test_a_program_that_failed_is_a_note(self):
        self.agent()
        self.assertEqual(self.drive(self.program("sys.exit(7)")).code, 7)
        self.assertIn("ended with 7", self.fault("run-failed")["what"])
        self.assertTrue(self.diagnosis()["content"])

    def test_a_server_that_is_not_there_interrupts_the_run_and_says_so(self):
        self.agent(lambda call: "Fine.")
        program = self.program("if not RESUMED: ask()")
        self.assertEqual(self.drive(program, "--url", "http://127.0.0.1:1").code, 69)
        fault = self.fault("run-interrupted")
        self.assertIn("127.0.0.1:1", fault["why"])
        self.assertIn("run --url http://127.0.0.1:1 -- ", fault["mend"])  # As it was given.
        self.assertEqual(self.mend(fault).code, 69)
        self.assertEqual(self.drive(program).code, 0)
        self.assertTrue(self.diagnosis()["content"])

    def test_a_damaged_journal_is_a_note(self):
        self.put(".treaty-bridge/journal.ndjson", '{"at":"2026-01-01T00:00:00Z","event":"run.contin\nnonsense\n')
        self.assertIn("2 damaged lines", self.fault("journal-damaged")["what"])
        self.assertTrue(self.diagnosis()["content"])

    def test_leftovers_of_killed_writers_are_a_note_and_cleared_away(self):
        self.put(f"{RESPONSE}.treaty-a1b2c3", "half")
        self.put_old(f"{REQUEST}.treaty-a1b2c3", "half", seconds=100)
        fault = self.fault("leftovers")
        self.assertIn("2 unfinished files", fault["what"])
        self.assertEqual(self.mend(fault).code, 0)
        self.assertNotIn("leftovers", [one["code"] for one in self.diagnosis()["faults"]])

    def test_what_is_in_quarantine_is_counted(self):
        foreign_answer(self)
        self.assertEqual(self.bridge("check", "--fix").code, 0)
        fault = self.fault("quarantined")
        self.assertIn("1 file ", fault["what"])
        self.assertIn("foreign", self.mend(fault).out)


class TheTable(DoctorTest):
    def kinds(self):
        return json.loads(self.bridge("doctor", "--list", "--format", "json").out)

    def test_the_guide_has_every_fault_as_the_program_tells_it(self):
        rows = [dict(zip(("code", "severity", "what", "why", "mend"), row)) for row in
                ROW.findall(GUIDE.read_text(encoding="utf-8"))]
        for row in rows:
            row["mend"] = row["mend"].replace("`", "")
        kinds = self.kinds()
        for kind in kinds:
            kind["mend"] = kind["mend"].replace("`", "")
        self.assertEqual(rows, kinds)

    def test_the_guide_shows_the_recipe_as_it_is(self):
        self.assertIn(f"```python\n{(SAMPLES / 'bridge_recipe.py').read_text(encoding='utf-8')}```\n",
                      GUIDE.read_text(encoding="utf-8"))

    def test_every_fault_has_a_test(self):
        source = pathlib.Path(__file__).read_text(encoding="utf-8")
        for kind in self.kinds():
            self.assertIn(f'"{kind["code"]}"', source.replace("trouble disk-full", '"disk-full"'), kind)

    def test_people_can_read_it(self):
        ran = self.bridge("doctor", "--list")
        for kind in self.kinds():
            self.assertIn(f"{kind['severity']} {kind['code']}: {kind['what']}\n", ran.out)


if __name__ == "__main__":
    unittest.main()
