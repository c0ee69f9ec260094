"""Tests of `treaty limits watch` against a gateway that says what the test wants: screen, table, JSON, and its troubles."""
import fcntl
import http.server
import json
import os
import re
import select
import signal
import struct
import subprocess
import termios
import threading
import unittest

from fake_provider import CLEAN
from serving import until
from terminal import Terminal
from treaty_binary import BINARY, SECONDS, TreatyTest

ESCAPE = re.compile(r"\x1b\[[?0-9;]*[A-Za-z]")
HIDE, SHOW = "\x1b[?25l", "\x1b[?25h"


def window(name="requests_per_minute", **members):
    return {"Name": name, "Resource": "requests", "Limit": 60, "Remaining": 45, "ResetsIn": 30,
            "ResetsAt": "2026-11-21T12:00:30.000Z", "Refills": False, **members}


def pool(**members):
    return {"Provider": "openai", "Model": "small", "Free": True, "NextFreeIn": 0,
            "NextFreeAt": "2026-11-21T12:00:00.000Z", "Waiting": 0, "Running": 2, "Windows": [window()],
            "Breaker": {"State": "closed", "Failures": 0}, **members}


def limits(*pools, budgets=()):
    return {"At": "2026-11-21T12:00:00.000Z", "Pools": list(pools), "Budgets": list(budgets)}


class Gateway:
    """Answers GET /v1/limits with what it was told last, and keeps what it was asked."""

    def __init__(self, is_there=True):
        gateway = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self):
                gateway.asked.append((self.path, self.headers.get("Authorization")))
                status, body = gateway.answer
                body = body if isinstance(body, bytes) else json.dumps(body, indent=1).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.send_header("Connection", "close")
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.answer, self.asked = (200, limits(pool())), []
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler, bind_and_activate=False)
        self.server.handle_error = lambda *_: None  # Whoever watches may leave at any moment.
        self.server.server_bind()  # The port is its own from here on; who connects before open() is refused.
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        self.thread = None
        if is_there:
            self.open()

    def open(self):
        self.server.server_activate()
        self.thread = threading.Thread(target=self.server.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self):
        if self.thread is not None:
            self.server.shutdown()
            self.thread.join()
            self.thread = None
        self.server.server_close()


class WatchTest(TreatyTest):
    def gateway(self, is_there=True):
        one = Gateway(is_there)
        self.addCleanup(one.close)
        return one

    def once(self, gateway, *options, **environment):
        return self.treaty("limits", "watch", "--once", "--url", gateway.url, *options, **environment)


class Once(WatchTest):
    def test_people_get_a_table_and_programs_the_answer(self):
        gateway = self.gateway()

        ran = self.once(gateway)
        self.assertEqual((ran.code, ran.err), (0, ""))
        self.assertEqual(ran.out, "2026-11-21T12:00:00.000Z\n"
                                  "openai · small  free · 0 waiting · 2 running\n"
                                  "  requests_per_minute  45 / 60  resets in 30 s\n\n")

        ran = self.once(gateway, "--format", "json")
        self.assertEqual((ran.code, ran.err, ran.out.count("\n")), (0, "", 1))
        self.assertEqual(json.loads(ran.out), limits(pool()))

    def test_budgets_and_breakers_are_shown(self):
        gateway = self.gateway()
        gateway.answer = (200, limits(
            pool(Free=False, Obstacle="breaker", Breaker={"State": "open", "Failures": 5, "ProbeIn": 12}),
            budgets=[{"Scope": "tenant", "Name": "acme", "TokensPerDay": 1000, "TokensSpent": 400,
                      "TokensReserved": 100, "DollarsSpent": 0, "DollarsReserved": 0, "ResetsIn": 3600,
                      "ResetsAt": "2026-11-22T00:00:00.000Z"}]))

        ran = self.once(gateway)

        self.assertIn("breaker open, probe in 12 s", ran.out)
        self.assertIn("5 failed in a row", ran.out)
        self.assertIn("budget of tenant acme", ran.out)
        self.assertIn("500 / 1,000  400 spent, 100 reserved", ran.out)

    def test_the_key_is_sent_and_a_path_before_v1_stays(self):
        gateway = self.gateway()

        ran = self.treaty("limits", "watch", "--once", "--url", gateway.url + "/behind/", "--key-env", "GATEWAY_KEY",
                          GATEWAY_KEY="sk-secret")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(gateway.asked, [("/behind/v1/limits", "Bearer sk-secret")])

    def test_names_from_a_server_command_no_terminal(self):
        gateway = self.gateway()
        gateway.answer = (200, limits(pool(Provider="a\x1b]0;owned\x07b")))

        self.assertIn("a?]0;owned?b · small", self.once(gateway).out)

    def test_troubles_have_their_exit_codes_and_next_steps(self):
        gateway = self.gateway()
        refusal = {"Successful": False, "Errors": [{"ErrorCode": "unauthenticated", "Message": "Send a key."}]}
        for answer, code, words in (((401, refusal), 78, "--key-env"), ((404, b""), 78, "check --url"),
                                    ((503, b""), 75, "try again"), ((200, b"<html>"), 1, "something else than limits"),
                                    ((302, b""), 1, "check --url")):
            with self.subTest(answer=answer):
                gateway.answer = answer
                ran = self.once(gateway)
                self.assertEqual((ran.code, ran.out), (code, ""), ran)
                self.assertIn(words, ran.err)
                self.assertIn("\nNext: ", ran.err)

    def test_nobody_there_is_69(self):
        ran = self.once(self.gateway(is_there=False))

        self.assertEqual((ran.code, ran.out), (69, ""), ran)
        self.assertIn("treaty serve", ran.err)

    def test_wrong_usage_asks_nobody(self):
        gateway = self.gateway()
        self.assert_usage(self.treaty("limits", "watch", "--url", "ftp://x"), "--url")
        self.assert_usage(self.once(gateway, "file"), "no arguments")
        self.assert_usage(self.once(gateway, "--format", "yaml"), "--format")
        ran = self.once(gateway, "--key-env", "NO_SUCH_KEY")
        self.assertEqual(ran.code, 78, ran)
        self.assertIn("export NO_SUCH_KEY", ran.err)
        self.assertEqual(gateway.asked, [])


class TheOtherLimits(TreatyTest):
    """`treaty limits` reads answers, as before there was a verb."""

    ANSWER = "x-ratelimit-limit-requests: 100\r\nx-ratelimit-remaining-requests: 7\r\n"

    def test_a_file_of_that_name_is_read_by_its_path(self):
        self.write("watch", self.ANSWER)

        ran = self.treaty("limits", "--format", "json", "./watch")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(json.loads(ran.out)["windows"][0]["remaining"], 7)

    def test_options_before_it_make_it_a_file(self):
        self.write("watch", self.ANSWER)

        ran = self.treaty("limits", "--format", "json", "watch")

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(json.loads(ran.out)["windows"][0]["remaining"], 7)


class Piped(WatchTest):
    def start(self, gateway, *options):
        process = subprocess.Popen([BINARY, "limits", "watch", "--url", gateway.url, *options], env=CLEAN,
                                   cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, bufsize=0)
        self.addCleanup(self.end, process)
        return process

    @staticmethod
    def end(process):
        process.kill()
        process.wait()
        process.stdout.close()
        process.stderr.close()

    def line(self, stream):
        self.assertTrue(select.select([stream], [], [], SECONDS)[0], "nothing came")
        return stream.readline().decode()

    def test_a_table_comes_whenever_something_has_changed(self):
        gateway = self.gateway()
        process = self.start(gateway)
        first = [self.line(process.stdout) for _ in range(4)]
        asked = len(gateway.asked)
        gateway.answer = (200, limits(pool(Windows=[window(ResetsIn=29)])))
        until(lambda: len(gateway.asked) >= asked + 2)  # Time has gone by, and nothing else: that is no news.
        gateway.answer = (200, limits(pool(Windows=[window(Remaining=44)])))
        second = [self.line(process.stdout) for _ in range(4)]

        self.assertIn("45 / 60", first[2])
        self.assertIn("44 / 60", second[2])
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(SECONDS), 0)

    def test_every_answer_is_a_line_of_json(self):
        gateway = self.gateway()
        process = self.start(gateway, "--format", "json")

        for _ in range(2):
            self.assertEqual(json.loads(self.line(process.stdout)), limits(pool()))

        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(SECONDS), 0)

    def test_a_gateway_that_is_gone_is_asked_until_it_is_back(self):
        gateway = self.gateway(is_there=False)
        process = self.start(gateway)
        self.assertRegex(self.line(process.stderr), "refused.*trying again")

        gateway.open()

        self.assertIn("it answers", self.line(process.stderr))
        self.assertIn("2026", self.line(process.stdout))
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(SECONDS), 0)

    def test_a_key_that_is_refused_ends_it(self):
        gateway = self.gateway()
        gateway.answer = (401, b"")
        process = self.start(gateway)

        self.assertEqual(process.wait(SECONDS), 78)
        self.assertIn(b"--key-env", process.stderr.read())

    def test_nobody_reads_any_more(self):
        gateway = self.gateway()
        process = self.start(gateway, "--format", "json")
        self.line(process.stdout)
        process.stdout.close()

        self.assertNotEqual(process.wait(SECONDS), 0)


class OnTerminal(WatchTest):
    def watch(self, gateway, columns=80, rows=24, **environment):
        terminal = Terminal(self, "limits", "watch", "--url", gateway.url, **environment)
        self.resize(terminal, columns, rows)
        return terminal

    @staticmethod
    def resize(terminal, columns, rows=24):
        fcntl.ioctl(terminal.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def frame(self, terminal, pattern):
        """The lines of the frame that has the pattern, without colours."""
        frame = terminal.until(rf"{pattern}[^\x0a]*\n(?:(?!\x1b\[J).)*\x1b\[J").split("\x1b[?7l")[-1]
        return ESCAPE.sub("", frame).replace("\r", "").split("\n")

    def test_it_is_drawn_in_place_and_leaves_the_cursor_as_it_was(self):
        gateway = self.gateway()
        terminal = self.watch(gateway)
        screen = terminal.until("resets in")
        self.assertIn(HIDE, screen)
        self.assertIn("\x1b[32m█", screen)
        gateway.answer = (200, limits(pool(Windows=[window(Remaining=3)])))
        changed = terminal.until(r" 3 / 60")
        self.assertRegex(changed, r"\x1b\[3A")
        self.assertIn("\x1b[31m█", changed)

        terminal.type("\x03")

        self.assertEqual(terminal.ended(), 0)
        self.assertIn(SHOW, terminal.seen)
        self.assertEqual(terminal.seen.rfind(HIDE), -1)

    def test_put_aside_it_gives_the_cursor_back_and_takes_it_again(self):
        terminal = self.watch(self.gateway())
        terminal.until("resets in")
        terminal.type("\x1a")
        self.assertTrue(os.WIFSTOPPED(os.waitpid(terminal.pid, os.WUNTRACED)[1]))
        terminal.until(re.escape(SHOW))

        os.kill(terminal.pid, signal.SIGCONT)

        terminal.until(re.escape(HIDE))
        terminal.until("resets in")
        terminal.type("\x03")
        self.assertEqual(terminal.ended(), 0)

    def test_what_counts_down_goes_on_while_the_gateway_is_gone(self):
        gateway = self.gateway()
        terminal = self.watch(gateway)
        terminal.until("resets in 30 s")
        gateway.close()

        terminal.until("refused.*trying again")
        terminal.until(r"resets in 2\d s")

        os.kill(terminal.pid, signal.SIGTERM)
        self.assertEqual(terminal.ended(), 0)
        self.assertIn(SHOW, terminal.seen)

    def test_it_keeps_to_the_width_and_follows_it(self):
        gateway = self.gateway()
        terminal = self.watch(gateway, columns=60)
        self.assertLessEqual(max(map(len, self.frame(terminal, "requests_per"))), 60)
        self.resize(terminal, 30)
        terminal.until(r"\n  requests_…")
        self.assertLessEqual(max(map(len, self.frame(terminal, "requests_…"))), 30)
        terminal.type("\x03")
        self.assertEqual(terminal.ended(), 0)

    def test_more_than_the_terminal_has_lines_for_is_counted(self):
        gateway = self.gateway()
        gateway.answer = (200, limits(*[pool(Model=f"model-{n}") for n in range(30)]))
        terminal = self.watch(gateway, rows=10)

        terminal.until(r"… and \d+ more lines")

        terminal.type("\x03")
        self.assertEqual(terminal.ended(), 0)

    def test_no_color_is_honoured(self):
        terminal = self.watch(self.gateway(), NO_COLOR="1")

        screen = terminal.until("resets in")

        self.assertIn("█", screen)
        self.assertNotRegex(screen, r"\x1b\[[0-9;]*m")
        terminal.type("\x03")
        self.assertEqual(terminal.ended(), 0)

    def test_a_key_that_is_refused_ends_it_with_the_reason_on_the_screen(self):
        gateway = self.gateway()
        gateway.answer = (401, b"")
        terminal = self.watch(gateway)

        self.assertEqual(terminal.ended(), 78)
        self.assertIn("--key-env", terminal.seen)
        self.assertIn(SHOW, terminal.seen)


if __name__ == "__main__":
    unittest.main()
