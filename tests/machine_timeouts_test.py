"""What ends a state that takes too long, and a machine that nothing else ends."""
import json
import os
import signal
import unittest

from machining import MachineTest, final, machine, to

# Answers every event but those of one kind, of which it says nothing.
HOOK = r"""while read -r line; do
  case $line in *'"event":"{event}"'*) exec sleep 1000 ;; esac
  id=${{line#*\"id\":}}; id=${{id%%[,\}}]*}}
  printf '{{"id": %s}}\n' "$id"
done
"""


def program(text):
    return {"type": "command", "config": {"command": ["sh", "-c", text]}}


class Timeouts(MachineTest):
    def run_for_error(self, states, *words, **data):
        self.write("m.json", machine(states, **data))
        outcome = self.json_of("run", "m.json", "--store", "runs", *words)
        return outcome["output"]

    def test_the_timeout_of_a_state_cuts_a_hook_that_hangs(self):
        for event in ("state_enter", "action", "state_exit"):
            with self.subTest(event=event):
                hook = {"name": "command", "args": {"command": ["sh", "-c", HOOK.format(event=event)], "timeout": 500}}
                states = {"slow": {"action": "act", "hooks": hook, "timeout": 0.3, "on_error": {"timeout": "late"},
                                   **to("end")},
                          "late": final(code="context.last_error_code"), "end": final()}

                self.assertEqual(self.run_for_error(states), {"code": "timeout"})

    def test_the_hooks_about_an_error_are_called_when_the_time_is_up(self):
        hook = {"name": "command", "args": {"command": ["sh", "-c", HOOK.format(event="none").replace(
            "printf", 'echo "$line" >> hooked.log; printf')]}}
        states = {"slow": {"agent": "slow", "hooks": hook, "timeout": 0.3, "on_error": {"timeout": "late"}, **to("end")},
                  "late": final(code="context.last_error_code"), "end": final()}

        output = self.run_for_error(states, agents={"slow": program("exec sleep 1000")})

        self.assertEqual(output, {"code": "timeout"})
        events = [json.loads(line) for line in self.read("hooked.log").splitlines()]
        self.assertEqual([event["event"] for event in events], ["state_enter", "state_exit"])
        self.assertEqual(events[-1]["output"]["error"]["code"], "timeout")

    def test_the_total_timeout_of_a_tool_loop_cuts_a_running_tool(self):
        calls = json.dumps({"finish_reason": "tool_use",
                            "tool_calls": [{"id": "c1", "name": "look", "arguments": "{}"}]})
        agent = program(f"cat > asked; grep -q '\"messages\"' asked && exec echo enough; printf '%s' '{calls}'")
        states = {"work": {"agent": "a", "tool_loop": {"total_timeout": 0.3},
                           "output_to_context": {"stop": "output._tool_loop_stop", "said": "output.content"}, **to("end")},
                  "end": final(stop="context.stop", said="context.said")}

        output = self.run_for_error(states, "--tool", "look=sleep 1000", agents={"a": agent})

        self.assertEqual((output["stop"], output["said"].strip()), ("timeout", "enough"))

    def test_a_machine_that_only_changes_its_state_can_be_interrupted(self):
        os.mkfifo(self.folder / "begun.fifo")
        states = {"begin": {"agent": "a", **to("ping")}, "ping": to("pong"), "pong": to("ping")}
        self.write("m.json", machine(states, agents={"a": program("cat > /dev/null; echo on > begun.fifo; echo on")},
                                     persistence={"enabled": False}))
        running = self.start("run", "m.json", "--max-steps", "5000000")
        self.assertEqual((self.folder / "begun.fifo").read_text(), "on\n")

        running.send_signal(signal.SIGINT)

        self.assertEqual(running.wait(timeout=60), 75)


if __name__ == "__main__":
    unittest.main()
