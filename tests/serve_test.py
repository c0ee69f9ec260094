"""Tests of `treaty serve` as an operator sees it: what it prints, which signals it obeys, why it does not start."""
import hashlib
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import unittest
import urllib.request

from fake_provider import CLEAN
from serving import Server, ServingTest, configuration, user_turn
from treaty_binary import BINARY, ROOT, SECONDS, Ran

LAST_LINE = "Ctrl-C stops it"


class ServeTest(ServingTest):
    def environment(self, **more):
        return {**CLEAN, "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "xdg"), **more}

    def start(self, *arguments, **environment):
        """Starts it for people; answers (process, what it printed)."""
        process = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", *arguments], cwd=self.folder,
                                   env=self.environment(**environment), stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(self.end, process)
        lines = []
        while not lines or not lines[-1].startswith(LAST_LINE):
            lines.append(process.stdout.readline())
            if not lines[-1]:
                raise AssertionError(f"it did not start: {lines} {process.stderr.read()}")
        return process, "".join(lines)

    def end(self, process):
        if process.poll() is None:
            process.kill()
        process.wait(SECONDS)
        process.stdout.close()
        process.stderr.close()

    def serve(self, *arguments, **environment):
        """Runs it to its end: for servers that do not start."""
        return Ran(subprocess.run([BINARY, "serve", *arguments], cwd=self.folder, env=self.environment(**environment),
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=SECONDS, check=False))

    def assert_refused_to_start(self, ran, code, *words):
        self.assertEqual(ran.code, code, ran)
        self.assertEqual(ran.out, "")
        for word in words:
            self.assertIn(word, ran.err)


def curl_lines(page):
    return [line.strip() for line in page.splitlines() if line.startswith("  curl ")]


def run_printed(line, **environment):
    """Runs a line of the page as it stands there; by hand where curl is not installed."""
    if shutil.which("curl"):
        done = subprocess.run(["bash", "-c", line], capture_output=True, timeout=SECONDS, check=True,
                              env={**CLEAN, **environment})
        return done.stdout
    url = next(word for word in line.split() if word.startswith("http://"))
    request = urllib.request.Request(url, line.split("-d '")[1].rstrip("'").encode(),
                                     {"Content-Type": "application/json"})
    if "Authorization" in line:
        request.add_header("Authorization", "Bearer " + environment["TREATY_KEY"])
    with urllib.request.urlopen(request, timeout=SECONDS) as answer:
        return answer.read()


class Printed(ServeTest):
    def test_without_any_configuration_both_printed_lines_work_as_printed(self):
        _, page = self.start()

        plain, streamed = curl_lines(page)
        answer = json.loads(run_printed(plain))
        events = run_printed(streamed).decode()

        self.assertIn("agent default: the built-in demo", page)
        self.assertIn(str(self.folder / "xdg" / "treaty"), page)
        self.assertIn("export OPENAI_API_KEY", page)
        self.assertIs(answer["Successful"], True)
        self.assertEqual(answer["Result"]["Kind"], "final")
        self.assertEqual(events.count("event: turn.started"), 1)
        self.assertGreater(events.count("event: output.delta"), 1)
        self.assertEqual(events.count("event: turn.result"), 1)

    def test_printed_lines_work_at_every_start_and_again(self):
        process, page = self.start()
        first = run_printed(curl_lines(page)[0])
        self.assertEqual(run_printed(curl_lines(page)[0]), first)
        process.terminate()
        process.wait(SECONDS)

        _, again = self.start()

        self.assertIs(json.loads(run_printed(curl_lines(again)[0]))["Successful"], True)
        self.assertNotEqual(curl_lines(page)[0].split(" -d ", 1)[1], curl_lines(again)[0].split(" -d ", 1)[1])

    def test_with_keys_the_printed_line_sends_one(self):
        self.write("treaty.yaml", {"keys": [{"tenant": "acme", "sha256": hashlib.sha256(b"door-key").hexdigest()}]})
        _, page = self.start()

        answer = json.loads(run_printed(curl_lines(page)[0], TREATY_KEY="door-key"))

        self.assertIs(answer["Successful"], True)

    def test_the_first_provider_of_the_environment_is_taken_and_told(self):
        _, page = self.start(ANTHROPIC_API_KEY="sk-ant-canary-1")

        self.assertIn("ANTHROPIC_API_KEY is set", page)
        self.assertNotIn("canary", page)

    def test_a_program_reads_one_line(self):
        server = self.server(configuration(self.gate()))

        self.assertEqual(server.ready["pid"], server.pid)
        self.assertEqual(server.ready["address"], "127.0.0.1")
        self.assertEqual(server.ready["url"], f"http://127.0.0.1:{server.port}")
        self.assertTrue(server.ready["store"].startswith("sqlite:///"))

    def test_make_run_starts_it(self):
        recipe = subprocess.run(["make", "-n", "run"], cwd=ROOT, capture_output=True, text=True, check=True).stdout

        self.assertIn("build/release/treaty serve", recipe)


class Leaving(ServeTest):
    def test_it_leaves_when_it_is_told_to(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                process, _ = self.start()
                process.send_signal(number)
                self.assertEqual(process.wait(SECONDS), 0)
                self.assertIn("leaving", process.stderr.read())

    def test_it_obeys_an_interrupt_that_it_inherited_as_ignored(self):
        """As shells start what runs in the background."""
        process = subprocess.Popen([BINARY, "serve", "--listen", "127.0.0.1:0", "--format", "json"], cwd=self.folder,
                                   env=self.environment(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                   preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_IGN))
        self.addCleanup(self.end, process)
        process.stdout.readline()
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(SECONDS), 0)

    def test_a_second_signal_does_not_wait_for_running_turns(self):
        for number in (signal.SIGTERM, signal.SIGINT):
            with self.subTest(number):
                gate, server = self.gated(held=True)
                running = self.later(self.say_or_lose, server)
                gate.wait_for_calls(1)

                server.process.send_signal(number)
                self.until(lambda server=server: "leaving" in server.errors(), "the first signal")
                self.assertIsNone(server.process.poll())
                server.process.send_signal(number)

                self.assertEqual(server.wait(), -number)
                self.assertIsNone(running.result())

    def say_or_lose(self, server):
        try:
            return server.say()
        except OSError:
            return None
        except Exception as failure:  # pylint: disable=broad-except
            if "Remote end closed" in str(failure) or "IncompleteRead" in repr(failure):
                return None
            raise

    def test_whoever_reads_the_address_may_leave(self):
        process, _ = self.start()
        process.stdout.close()
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        self.assertEqual(process.wait(SECONDS), 0)
        process.stdout = open(os.devnull, encoding="utf-8")  # pylint: disable=consider-using-with


ACME = {"tenant": "acme", "sha256": hashlib.sha256(b"open").hexdigest()}


class UnflaggedServer(Server):
    """Listens where the environment or the file says."""

    def command(self):
        return [part for part in super().command() if part not in ("--listen", "127.0.0.1:0")]


class Reloading(ServeTest):
    def test_a_good_configuration_is_taken_and_what_changed_is_told(self):
        gate, server = self.gated()
        server.write_config(configuration(gate, {"mode": "Other"}, agents={"second": {
            "backends": [{"provider": "gate", "model": "small-2"}]}}))

        server.hang_up()
        self.until(lambda: "reloaded" in server.errors(), "a reload")

        self.assertRegex(server.errors(), r"agents\.default\.mode: changed; agents\.second: added")
        self.assertEqual(server.say("s1", "t1", AgentContextId="second").text, "You said: Hello.")
        self.assertEqual(server.say("s2", "t1").result["ModeDisplayName"], "Other")

    def test_a_bad_configuration_is_refused_with_all_its_problems_and_the_running_one_stays(self):
        _, server = self.gated()
        server.write_config("agents:\n  default:\n    sistem: x\nlisten: nowhere\n")

        server.hang_up()
        self.until(lambda: "the running configuration stays in effect" in server.errors(), "a refusal")

        self.assertIn(":3:", server.errors())
        self.assertIn("sistem", server.errors())
        self.assertIn(":4:", server.errors())
        self.assertEqual(server.say().text, "You said: Hello.")

    def test_keys_cannot_be_removed_while_others_can_reach_the_listener(self):
        """Whatever `listen` the new file has: the listener changes with a restart alone."""
        for given in ("file", "TREATY_LISTEN"):
            for fresh in ({"listen": "127.0.0.1:0"}, {"listen": "0.0.0.0:0"}, {}):
                with self.subTest(given=given, fresh=fresh):
                    self.assert_keys_stay(given, fresh)

    def assert_keys_stay(self, given, fresh):
        gate, address = self.gate(), "0.0.0.0:0"
        environment = {"TREATY_LISTEN": address} if given == "TREATY_LISTEN" else {}
        first = {"listen": address} if given == "file" else {}
        server = UnflaggedServer(self.folder, configuration(gate, keys=[ACME], **first), environment,
                                 name=f"server{len(self.servers) + 1}")
        self.servers.append(server)
        server.start()
        server.write_config(configuration(gate, {"mode": "Other"}, **fresh))

        server.hang_up()
        self.until(lambda: "stays in effect" in server.errors(), "a refusal")

        self.assertIn("keys", server.errors())
        self.assert_refused(server.say("s1", "t1"), 401, "unauthenticated")
        with_key = server.ask("POST", "/v1/agent/execute", user_turn("s1", "t1"), {"Authorization": "Bearer open"})
        self.assertEqual(with_key.result["ModeDisplayName"], "General")
        server.close()

    def test_keys_can_be_removed_where_only_this_machine_can_reach_the_listener(self):
        gate = self.gate()
        server = self.server(configuration(gate, keys=[ACME]))
        self.assert_refused(server.say("s1", "t1"), 401, "unauthenticated")
        server.write_config(configuration(gate))

        server.hang_up()
        self.until(lambda: "is reloaded" in server.errors(), "a reload")

        self.assertEqual(server.say("s1", "t1").status, 200)

    def test_nothing_new_is_told_as_such(self):
        _, server = self.gated()
        server.hang_up()
        self.until(lambda: "nothing has changed" in server.errors(), "a reload")


class NotStarting(ServeTest):
    def test_a_port_that_somebody_has(self):
        with socket.create_server(("127.0.0.1", 0)) as other:
            port = other.getsockname()[1]
            ran = self.serve("--listen", f"127.0.0.1:{port}")

        self.assert_refused_to_start(ran, 69, f"port {port} of 127.0.0.1 is in use", "--listen")

    def test_a_port_that_another_treaty_has(self):
        server = self.server(configuration(self.gate()))
        ran = self.serve("--listen", f"127.0.0.1:{server.port}")

        self.assert_refused_to_start(ran, 69, f"port {server.port} of 127.0.0.1 is in use", "--listen")

    def test_an_address_that_is_not_here(self):
        self.write("treaty.yaml", {"keys": [{"tenant": "acme", "sha256": "0" * 64}]})
        self.assert_refused_to_start(self.serve("--listen", "192.0.2.1:0"), 69, "192.0.2.1", "--listen")

    def test_a_bad_configuration_with_every_line(self):
        self.write("treaty.yaml", "listen: nowhere\nagents: {default: {backends: [{provider: none}]}}\n")
        self.assert_refused_to_start(self.serve(), 78, "treaty.yaml:1:", "treaty.yaml:2:", "none")

    def test_a_configuration_that_is_not_there(self):
        self.assert_refused_to_start(self.serve("--config", "missing.yaml"), 78, "missing.yaml")

    def test_others_may_reach_it_only_with_keys(self):
        self.assert_refused_to_start(self.serve("--listen", "0.0.0.0:0"), 78, "--listen", "keys")

    def test_a_journal_that_cannot_be_made(self):
        self.write("file", b"")
        ran = self.serve("--state-dir", "file/below", "--listen", "127.0.0.1:0")
        self.assert_refused_to_start(ran, 69, "file/below", "--state-dir")

    def journal(self):
        """The file of a journal that was used."""
        server = self.server(configuration(self.gate()))
        server.say()
        server.close()
        return server.databases()[0]

    def test_a_journal_of_a_later_version(self):
        file = self.journal()
        with sqlite3.connect(file) as database:
            database.execute("PRAGMA user_version = 9999")
        database.close()
        before = file.read_bytes()

        ran = self.serve("--state-dir", str(file.parent), "--listen", "127.0.0.1:0")

        self.assert_refused_to_start(ran, 69, str(file), "Next:")
        self.assertEqual(file.read_bytes(), before)

    def test_a_journal_that_is_damaged(self):
        file = self.journal()
        for leftover in file.parent.glob(file.name + "-*"):
            leftover.unlink()
        file.write_bytes(b"this is no database at all " * 200)

        ran = self.serve("--state-dir", str(file.parent), "--listen", "127.0.0.1:0")

        self.assert_refused_to_start(ran, 69, str(file), "Next:")
        self.assertEqual(file.read_bytes(), b"this is no database at all " * 200)

    def test_words_that_make_no_sense(self):
        self.assert_usage(self.treaty("serve", "--workers", "0"), "--workers")
        self.assert_usage(self.treaty("serve", "--workers", "many"), "--workers")
        self.assert_usage(self.treaty("serve", "now"), "no arguments")


if __name__ == "__main__":
    unittest.main()
