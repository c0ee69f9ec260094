"""Tests of `treaty bridge log`: the journal, readable."""
import json
import unittest

from bridging import BridgeTest
from treaty_binary import OTHER_UUID, UUID, bridge_request, bridge_response

JOURNAL = ".treaty-bridge/journal.ndjson"


class LogTest(BridgeTest):
    def log(self, *options, code=0):
        ran = self.bridge("log", *options)
        self.assertEqual(ran.code, code, ran)
        return ran

    def entries(self, *entries):
        self.put(JOURNAL, "".join(json.dumps({"at": "2026-11-16T10:17:27.913109+00:00", **entry}) + "\n"
                                  for entry in entries))

    def lines(self, *options):
        """Without their time."""
        return [line.split("  ", 1)[1] for line in self.log(*options).out.splitlines()]

    def test_a_run_can_be_read(self):
        self.agent("Fine.")
        self.assertEqual(self.drive(self.program("if not RESUMED: ask(phase=2)\nsys.exit(3)")).code, 3)
        lines = self.lines()
        self.assertRegex(lines[0], r"^run of .*program\.py$")
        self.assertRegex(lines[1], r"^program started · process \d+$")
        self.assertEqual(lines[2], "program ended with 42: it needs an agent")
        self.assertRegex(lines[3], r"^agent asked · .*request [0-9a-f-]{36}$")
        self.assertRegex(lines[4], r"^answered: success · phase 2 · agent \S+ · .*\d\.\d s · \d+ tokens in, \d+ out · "
                                   r"request [0-9a-f-]{36}$")
        self.assertRegex(lines[5], r"^program started with --resume · process \d+$")
        self.assertEqual(lines[6:], ["program ended with 3", "run ended with exit 3 · exited"])

    def test_every_event_has_its_words(self):
        self.entries({"event": "run.started", "command": ["a b", "c"]}, {"event": "run.continued", "": "not a detail"},
                     {"event": "program.exited", "signal": 9},
                     {"event": "request.given_up", "request_id": UUID, "why": "interrupted"},
                     {"event": "request.refused", "file": "/w/.agent-request.json", "problem": "BRQ-01"},
                     {"event": "answer.written", "request_id": UUID, "status": "error", "phase_key": "1",
                      "seconds": 1.25, "error_type": "rate_limit", "error_message": "quota"},
                     {"event": "answer.found", "request_id": UUID, "phase_key": ""},
                     {"event": "answer.repaired", "file": "/w/.agent-response.json", "repairs": ["BRS-09 x", "BRS-10 y"],
                      "kept_as": "/w/.treaty-bridge/quarantine/k"},
                     {"event": "file.quarantined", "file": "/w/.agent-response.json", "reason": "stale",
                      "kept_as": "/w/.treaty-bridge/quarantine/k"},
                     {"event": "run.ended", "exit": 75, "final": False, "reason": "same_request",
                      "message": "it asks again\nNext: x"},
                     {"event": "of.tomorrow", "x": 1})
        self.assertEqual(self.lines(), [
            "run of 'a b' c", "run goes on", "program ended by signal 9",
            f"request given up · interrupted · request {UUID}", ".agent-request.json refused · BRQ-01",
            f"answered: error · phase 1 · 1.2 s · rate_limit: quota · request {UUID}",
            f"answered by somebody else · request {UUID}",
            ".agent-response.json repaired · BRS-09 x; BRS-10 y · original kept as k",
            ".agent-response.json put away · stale · kept as k",
            "run interrupted with exit 75 · same_request · it asks again", "of.tomorrow"])

    def test_times_come_first(self):
        self.entries({"event": "run.continued"})
        self.assertEqual(self.log().out, "2026-11-16 10:17:27  run goes on\n")

    def test_programs_get_the_entries_as_they_are(self):
        self.put(".agent-request.json", bridge_request())
        self.put(".agent-response.json", bridge_response(request_id=OTHER_UUID))
        self.assertEqual(self.bridge("check", "--fix").code, 0)
        self.assertEqual(self.log("--format", "json").raw_out, (self.work / JOURNAL).read_bytes())

    def test_the_last_ones_can_be_asked_for(self):
        self.entries(*({"event": f"e{number}"} for number in range(9)))
        self.assertEqual(self.lines("--limit", "2"), ["e7", "e8"])
        self.assertEqual(len(self.lines("--limit", "100")), 9)
        self.assertEqual(len(self.log("--limit", "3", "--format", "json").out.splitlines()), 3)
        for wrong in ("0", "-1", "x", "1.5", ""):
            self.assert_usage(self.bridge("log", "--limit", wrong), "--limit")

    def test_damaged_lines_are_counted_and_no_failure(self):
        self.put(JOURNAL, '{"at":"x","event":"one"}\n{"at":"2026\nnonsense\n\n{"at":"x","event":"two"}\n{"at"')
        ran = self.log()
        self.assertEqual([line.split("  ")[1] for line in ran.out.splitlines()], ["one", "two"])
        self.assertEqual(ran.err, "treaty bridge log: 3 damaged lines are left out\n")
        ran = self.log("--format", "json")
        self.assertEqual((len(ran.out.splitlines()), ran.err.count("damaged")), (2, 1))

    def test_wrong_types_are_left_out(self):
        self.entries({"event": "answer.written", "status": 5, "phase_key": [], "seconds": "x", "input_tokens": "many",
                      "error_message": {}}, {"event": "run.started", "command": "x"}, {"event": "run.ended", "exit": None})
        self.assertEqual(self.lines(), ["answered: ", "run of ", "run ended with exit "])

    def test_foreign_text_cannot_command_the_terminal(self):
        self.entries({"event": "request.given_up", "why": "\x1b[2Jgone\nand more"})
        self.assertNotIn("\x1b", self.log().out)
        self.assertEqual(len(self.log().out.splitlines()), 1)

    def test_nothing_has_happened_yet(self):
        self.assertEqual(self.log().out, "nothing has happened here yet\n")
        self.assertEqual(self.log("--format", "json").out, "")
        self.assertEqual(list(self.work.iterdir()), [])

    def test_a_directory_that_is_not_there_is_told(self):
        ran = self.log("--dir", "nowhere", code=1)
        self.assertIn("nowhere", ran.err)
        self.assertIn("Next: ", ran.err)


class TheCommand(BridgeTest):
    """`treaty bridge` itself: its verbs, its help, its completion."""

    VERBS = ("run", "answer", "watch", "respond", "check", "doctor", "log")

    def test_a_verb_is_needed(self):
        ran = self.treaty("bridge")
        self.assertEqual((ran.code, ran.out), (2, ""))
        for verb in self.VERBS:
            self.assertRegex(ran.err, rf"(?m)^  {verb} ")

    def test_help_is_told_in_front_and_behind(self):
        overview = self.treaty("bridge", "--help")
        self.assertEqual((overview.code, overview.err), (0, ""))
        for words in (["bridge", "-h"], ["help", "bridge"], ["bridge", "help"]):
            self.assertEqual(self.treaty(*words).out, overview.out)
        for verb in self.VERBS:
            told = self.treaty("bridge", verb, "--help").out
            self.assertIn(f"Usage: treaty bridge {verb} ", told)
            self.assertEqual(self.treaty("help", "bridge", verb).out, told)
            self.assertEqual(self.treaty("bridge", "help", verb).out, told)
        self.assertIn("treaty bridge run [OPTIONS] -- PROGRAM ARGS...", self.treaty("bridge", "run", "--help").out)

    def test_a_wrong_verb_is_told_with_what_was_meant(self):
        self.assert_usage(self.treaty("bridge", "docter"), "did you mean doctor?", "treaty bridge --help")
        self.assert_usage(self.treaty("bridge", "--dir", "x"), 'no command "--dir"')
        self.assert_usage(self.treaty("doctor"), "no command")

    def test_wrong_options_name_the_verb(self):
        self.assert_usage(self.treaty("bridge", "log", "--limits", "3"), "treaty bridge log: ", "--limits")
        self.assert_usage(self.treaty("bridge", "log", "extra"), "treaty bridge log: it takes no arguments")
        self.assert_usage(self.treaty("bridge", "log", "--", "extra"), "it takes no arguments")


if __name__ == "__main__":
    unittest.main()
