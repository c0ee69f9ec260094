"""Whole-binary tests of machines in treaty.yaml: what is refused, what is shown, reloads, signals, webhooks."""
import http.server
import json
import re
import threading
import unittest

from machine_serving import GATE, TWICE, TWO, MachineServingTest, asking, final, machine
from serving import SECONDS
from treaty_binary import ROOT, TreatyTest

BAD = """spec: flatmachine
spec_version: "4.0"
data:
  states:
    start:
      transitions:
        - to: nowhere
    end:
      type: final
"""


class Refused(TreatyTest):
    def check(self, agents, **members):
        self.write("treaty.yaml", {"agents": agents, **members})
        return self.treaty("config", "check")

    def test_a_bad_machine_is_told_with_its_rule_and_its_line(self):
        self.write("m.yml", BAD)

        ran = self.check({"default": {"backends": [{"machine": "m.yml"}]}})

        self.assertEqual(ran.code, 78, ran)
        self.assertIn("m.yml:7:", ran.err + ran.out)
        self.assertIn("MCH-08", ran.err + ran.out)

    def test_the_server_does_not_start_with_it(self):
        self.write("m.yml", BAD)
        self.write("treaty.yaml", {"agents": {"default": {"backends": [{"machine": "m.yml"}]}}})

        ran = self.treaty("serve", "--listen", "127.0.0.1:0", "--state-dir", "state")

        self.assertEqual((ran.code, ran.out), (78, ""), ran)
        self.assertIn("MCH-08", ran.err)
        self.assertFalse((self.folder / "state").exists())

    def test_machines_that_it_names_are_looked_at_too(self):
        self.write("deep/inner.yml", BAD)
        self.write("deep/m.yml", machine("outer", {"only": {"machine": "inner", "transitions": [{"to": "end"}]},
                                                   "end": {"type": "final"}}, (), machines={"inner": "inner.yml"}))

        ran = self.check({"default": {"backends": [{"machine": "deep/m.yml"}]}})

        self.assertEqual(ran.code, 78, ran)
        self.assertIn("deep/inner.yml:7:", ran.err + ran.out)

    def test_a_file_that_is_not_there_is_told_at_its_line(self):
        ran = self.check({"default": {"backends": [{"machine": "gone.yml"}]}})

        self.assertEqual(ran.code, 78, ran)
        self.assertIn("treaty.yaml:1:", ran.err + ran.out)

    def test_an_agent_that_would_ask_itself_is_refused(self):
        self.write("m.yml", machine("self", {"only": asking("default", "Go.", "t", "end"), "end": final("x")},
                                    ("default",)))

        ran = self.check({"default": {"backends": [{"machine": "m.yml"}]}})

        self.assertEqual(ran.code, 78, ran)
        self.assertIn("would ask itself without end", ran.err + ran.out)

    def test_so_is_one_that_would_by_way_of_another(self):
        for name, asked in (("a", "second"), ("b", "default")):
            self.write(f"{name}.yml", machine(name, {"only": asking(asked, "Go.", "t", "end"), "end": final("x")},
                                              (asked,)))

        ran = self.check({"default": {"backends": [{"machine": "a.yml"}]},
                          "second": {"backends": [{"machine": "b.yml"}]}})

        self.assertEqual(ran.code, 78, ran)
        self.assertIn("second, which leads back", ran.err + ran.out)

    def test_machines_may_ask_agents_that_are_machines(self):
        for name, asked in (("a", "second"), ("b", "third")):
            self.write(f"{name}.yml", machine(name, {"only": asking(asked, "Go.", "t", "end"), "end": final("x")},
                                              (asked,)))

        ran = self.check({"default": {"backends": [{"machine": "a.yml"}]},
                          "second": {"backends": [{"machine": "b.yml"}]}, "third": {"backends": [{"scripted": "demo"}]}})

        self.assertEqual(ran.code, 0, ran)

    def test_an_agent_of_nobody_is_refused(self):
        self.write("m.yml", machine("m", {"only": asking("writr", "Go.", "t", "end"), "end": final("x")}, ("writr",)))

        ran = self.check({"default": {"backends": [{"machine": "m.yml"}]}})

        self.assertEqual(ran.code, 78, ran)
        self.assertIn("writr", ran.err + ran.out)

    def test_what_else_is_wrong_with_an_entry(self):
        self.write("m.yml", machine("m", {"end": final("x")}, ()))
        for entry, words in (({"machine": "m.yml", "model": "x"}, "no `model`"),
                             ({"machine": "m.yml", "scripted": "demo"}, "exactly one of")):
            with self.subTest(entry):
                ran = self.check({"default": {"backends": [entry]}})

                self.assertEqual(ran.code, 78, ran)
                self.assertIn(words, ran.err + ran.out)

    def test_addresses_that_are_none_are_refused(self):
        ran = self.check({"default": {"backends": [{"scripted": "demo"}]}},
                         machines={"allow_addresses": ["127.0.0.1", "hooks.internal", "10.0.0.0/33"]})

        self.assertEqual(ran.code, 78, ran)
        self.assertIn("expected an address, a network or the name of a host", ran.err + ran.out)

    def test_it_is_shown(self):
        self.write("m.yml", machine("m", {"end": final("x")}, ()))
        self.write("treaty.yaml", {"agents": {"default": {"backends": [{"machine": "m.yml"}]}},
                                   "machines": {"allow_addresses": ["10.0.0.0/8"]}})

        shown = json.loads(self.treaty("config", "show", "--format", "json").out)

        [entry] = shown["agents"]["default"]["backends"]
        self.assertEqual(entry["machine"], str(self.folder.resolve() / "m.yml"))
        self.assertEqual((entry.get("model"), entry["dispatch"]["max_attempts"]), (None, 1))
        self.assertEqual(shown["machines"], {"allow_addresses": ["10.0.0.0/8"]})


class Documented(MachineServingTest):
    def test_the_machine_of_the_page_drafts_and_edits(self):
        page = (ROOT / "docs" / "reference" / "config.md").read_text(encoding="utf-8")
        [essay] = re.findall(r"^```json\n(.*?)^```", page, re.MULTILINE | re.DOTALL)

        gate, server = self.behind("A draft.", "An essay.", states=json.loads(essay))

        self.assertEqual(server.say().text, "An essay.")
        self.assertEqual([call.user for call in gate.calls], ["Hello.", "A draft."])


class Reloaded(MachineServingTest):
    def test_new_turns_run_in_the_new_machine(self):
        _, server = self.behind()
        self.assertEqual(server.say(turn="t1").text, TWICE)
        self.write("m.yml", machine("new", {"only": final("New.")}))
        server.hang_up()

        self.until_new(server)

    def test_a_bad_one_changes_nothing(self):
        _, server = self.behind()
        self.write("m.yml", BAD)
        server.hang_up()
        self.until(lambda: "MCH-08" in server.errors(), "the refusal")

        self.assertEqual(server.say().text, TWICE)


class Waiting(MachineServingTest):
    def test_after_a_signal_the_same_request_goes_on(self):
        states = {"draft": asking("writer", "Draft.", "text", "approval"),
                  "approval": {"wait_for": "approval/{{ input.message }}", "transitions": [{"to": "done"}],
                               "output_to_context": {"by": "{{ output.by }}"}},
                  "done": final("{{ context.text }} Approved by {{ context.by }}.")}
        gate, server = self.behind("Draft.", states=machine("asks", states),
                                   agent={"backends": [{"machine": "m.yml"}, *GATE]})
        first = server.say(instruction="42")
        self.assert_refused(first, 502, "machine_waiting", "approval/42", "treaty machine signal")
        self.assertEqual(server.say(instruction="42").code, "machine_waiting")

        sent = self.treaty("machine", "signal", "approval/42", '{"by": "Ada"}', "--config", server.config,
                           "--state-dir", server.state, **server.environment())
        self.assertEqual(sent.code, 0, sent)

        self.assertEqual(server.say(instruction="42").text, "Draft. Approved by Ada.")
        self.assertEqual(gate.count, 1)


class Listener:
    """A web server that keeps what it is told."""

    def __init__(self):
        told = self.told = []

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # pylint: disable=invalid-name
                told.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                self.send_response(204)
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.thread = threading.Thread(target=self.server.serve_forever, daemon=True)
        self.thread.start()

    @property
    def url(self):
        return f"http://127.0.0.1:{self.server.server_address[1]}/hook"

    def close(self):
        self.server.shutdown()
        self.server.server_close()
        self.thread.join(SECONDS)


class Webhooks(MachineServingTest):
    def told(self, **members):
        listener = Listener()
        self.addCleanup(listener.close)
        hook = {"name": "webhook", "args": {"endpoint": listener.url, "required": True}}
        states = {"only": {**asking("writer", "Go.", "text", "done"), "hooks": hook}, "done": final("Done.")}
        _, server = self.behind(states=machine("told", states), **members)
        return listener, server.say()

    def test_an_address_of_this_machine_is_refused(self):
        listener, answer = self.told()

        self.assertEqual(answer.code, "hook_error")
        self.assertEqual(listener.told, [])

    def test_unless_the_operator_allows_it(self):
        listener, answer = self.told(machines={"allow_addresses": ["127.0.0.0/8"]})

        self.assertEqual(answer.text, "Done.")
        self.assertEqual([event["event"] for event in listener.told], ["state_enter", "state_exit", "transition"])


class Launched(MachineServingTest):
    def launched(self):
        """(gate, server): a turn has launched a machine, which asks the gate and waits for its answer."""
        states = {"go": {"launch": "side", "launch_input": {"message": "{{ input.message }}"},
                         "transitions": [{"to": "done"}]}, "done": final("Begun.")}
        side = machine("side", {"only": asking("writer", "Beside: {{ input.message }}", "t", "end"),
                                "end": final("x")})
        gate, server = self.behind(states=machine("launches", states, machines={"side": side}), held=True)
        self.assertEqual(server.say().text, "Begun.")
        self.assertEqual(gate.wait_for_calls(1).user, "Beside: Hello.")
        return gate, server

    def test_a_launched_machine_outlives_the_turn(self):
        gate, server = self.launched()

        gate.open()

        self.until(lambda: self.standings(server) == {"launches": "completed", "side": "completed"}, "its end")

    def test_it_outlives_a_reload(self):
        gate, server = self.launched()
        self.write("m.yml", machine("new", {"only": final("New.")}))
        server.hang_up()
        self.until_new(server)

        gate.open()

        self.until(lambda: self.standings(server)["side"] == "completed", "its end")

    def test_a_stop_interrupts_it(self):
        _, server = self.launched()

        server.terminate()

        self.assertEqual(server.wait(), 0)
        self.assertEqual(self.standings(server), {"launches": "completed", "side": "interrupted"})

    def standings(self, server):
        """What `treaty machine list` says of each machine."""
        ran = self.treaty("machine", "list", "--format", "json", "--config", server.config, "--state-dir",
                          server.state, **server.environment())
        self.assertEqual(ran.code, 0, ran)
        return {row["machine"]: row["status"] for row in map(json.loads, ran.out.splitlines())}


if __name__ == "__main__":
    unittest.main()
