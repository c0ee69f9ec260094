"""Whole-binary tests of the agents behind a machine's states: FlatAgent files, agents of treaty.yaml, programs."""
import json
import subprocess
import sys
import unittest

from fake_provider import CLEAN
from gate import KEY, Gate, Reply, calling
from mock_server import Mock
from treaty_binary import BINARY, EXAMPLES, SECONDS, Ran, TreatyTest

ASKING = {
    "spec": "flatmachine", "spec_version": "4.2.1", "data": {
        "agents": {"a": "./a.yml"},
        "states": {
            "ask": {"type": "initial", "agent": "a", "input": {"text": "input.text"}, "transitions": [{"to": "done"}],
                    "output_to_context": {"said": "output", "content": "result.content", "usage": "result.usage"},
                    "on_error": "failed"},
            "done": {"type": "final", "output": {"said": "context.said", "content": "context.content",
                                                 "usage": "context.usage"}},
            "failed": {"type": "final", "output": {"code": "context.last_error_code", "why": "context.last_error"}}}}}

PLAIN = {"spec": "flatagent", "spec_version": "2.0.0", "data": {
    "model": {"provider": "openai", "name": "m1", "temperature": 0.25, "max_tokens": 77},
    "system": "You are terse.", "user": "About {{ input.text }}: {{ input.gone }}."}}


def inline(**data):
    """A FlatAgent that stands in the machine itself."""
    return {**PLAIN, "data": {**PLAIN["data"], **data}}


class AgentTest(TreatyTest):
    def gate(self, *replies):
        gate = Gate(*replies)
        self.addCleanup(gate.close)
        return gate

    def machine(self, agent, **state):
        """A machine that asks one agent."""
        machine = json.loads(json.dumps(ASKING))
        machine["data"]["agents"]["a"] = agent
        machine["data"]["states"]["ask"].update(state)
        return self.write("machine.yml", machine)

    def run_machine(self, gate=None, text="tea", **environment):
        """(exit code, what it printed)."""
        address = {"OPENAI_BASE_URL": gate.base_url, "OPENAI_API_KEY": KEY} if gate else {}
        ran = self.treaty("machine", "run", "machine.yml", "--input", json.dumps({"text": text}), "--store", "runs",
                          "--format", "json", **{**CLEAN, **address, **environment})
        self.assertNotIn(KEY, ran.out + ran.err)
        return ran.code, json.loads(ran.out) if ran.out else ran

    def output(self, *arguments, **more):
        code, printed = self.run_machine(*arguments, **more)
        self.assertEqual(code, 0, printed)
        return printed["output"]

    def failure(self, *arguments, **more):
        """(code, message) of the agent's failure."""
        output = self.output(*arguments, **more)
        self.assertIn("code", output)
        return output["code"], output["why"]


class FlatAgents(AgentTest):
    def test_a_file_of_version_2_is_rendered_and_asked(self):
        gate = self.gate(Reply("Green."))
        self.machine("agents/a.yml")
        self.write("agents/a.yml", PLAIN)

        output = self.output(gate)

        self.assertEqual(output["content"], "Green.")
        self.assertEqual(output["said"], {"content": "Green."})
        self.assertEqual(output["usage"]["api_calls"], 1)
        call, = gate.calls
        self.assertEqual((call.system, call.user), ("You are terse.", "About tea: ."))
        self.assertEqual((call.json["model"], call.json["temperature"]), ("m1", 0.25))
        self.assertIn(77, call.json.values())

    def test_a_bundle_of_version_4_has_prompt_and_profile_in_files(self):
        gate = self.gate(Reply("Fine."))
        self.machine({"type": "flatagent", "ref": "agents/a.yml"})
        self.write("agents/a.yml", {"spec": "flatagent", "spec_version": "4.2.1",
                                    "data": {"prompt": "./p.yml", "profile": "fast"}})
        self.write("agents/p.yml", {"spec": "prompt", "data": {"user": "Say {{ input.text | upper }}"}})
        self.write("profiles.yml", {"spec": "flatprofile", "data": {
            "model_profiles": {"fast": {"provider": "openai", "name": "quick"}}}})

        self.assertEqual(self.output(gate)["content"], "Fine.")
        self.assertEqual((gate.calls[0].user, gate.calls[0].json["model"]), ("Say TEA", "quick"))

    def test_a_base_url_of_a_profile_is_asked(self):
        gate = self.gate(Reply("From there."))
        self.machine(inline(model={"name": "local", "base_url": gate.base_url}))

        self.assertEqual(self.output()["content"], "From there.")

    def test_a_provider_of_treaty_yaml_goes_before_the_house_s_own(self):
        gate = self.gate(Reply("Configured."))
        self.write("treaty.yaml", {"providers": {"openai": {"kind": "custom", "base_url": gate.base_url,
                                                            "key": "k"}},
                                   "agents": {"x": {"backends": [{"provider": "openai", "model": "m"}]}}})
        self.machine(inline())

        self.assertEqual(self.output()["content"], "Configured.")
        self.assertEqual(gate.calls[0].json["model"], "m1")

    def test_an_output_is_asked_for_parsed_and_checked(self):
        gate = self.gate(Reply('{"score": 7}'))
        self.machine(inline(output={"score": {"type": "int"}}))

        self.assertEqual(self.output(gate)["said"], {"score": 7})
        self.assertEqual(gate.calls[0].json["response_format"]["type"], "json_schema")

    def test_an_answer_that_does_not_fit_is_asked_for_once_more_and_both_are_paid(self):
        gate = self.gate(Reply("Seven!"), Reply('```json\n{"score": 7}\n```'))
        self.machine(inline(output={"score": {"type": "int"}}))

        output = self.output(gate)

        self.assertEqual(output["said"], {"score": 7})
        self.assertEqual((output["usage"]["api_calls"], output["usage"]["input_tokens"]), (2, 24))
        self.assertEqual(gate.calls[1].roles[-2:], ["assistant", "user"])
        self.assertIn("not JSON", gate.calls[1].user)

    def test_an_answer_that_never_fits_is_invalid_output(self):
        gate = self.gate(Reply("Seven!"))
        self.machine(inline(output={"score": {"type": "int"}}))

        code, why = self.failure(gate)

        self.assertEqual((code, gate.count), ("invalid_output", 2))
        self.assertIn("InvalidOutput", why)

    def test_reasoning_of_a_profile_is_sent_to_the_model(self):
        gate = self.gate(Reply("Fine."))
        self.machine(inline(model={"provider": "openai", "name": "gpt-5-mini", "reasoning": {"effort": "low"}}))

        self.output(gate)

        self.assertEqual(gate.calls[0].json["reasoning_effort"], "low")

    def test_reasoning_that_cannot_be_read_is_agent_not_found(self):
        gate = self.gate(Reply("Fine."))
        self.machine(inline(model={"provider": "openai", "name": "gpt-5-mini", "reasoning": {"effort": "huge"}}))

        code, why = self.failure(gate)

        self.assertEqual((code, gate.count), ("agent_not_found", 0))
        self.assertIn("minimal, low, medium and high", why)

    def test_a_mock_fills_an_output(self):
        mock = Mock(self.folder, [])
        self.addCleanup(mock.stop)
        self.machine(inline(output={"score": {"type": "int"}, "why": {"type": "str"}}))

        said = self.output(OPENAI_BASE_URL=f"http://127.0.0.1:{mock.port}/v1", OPENAI_API_KEY="mock")["said"]

        self.assertEqual(sorted(said), ["score", "why"])

    def test_one_call_is_one_attempt_and_the_machine_sees_the_limit(self):
        gate = self.gate(Reply(error=(429, {"error": {"message": "Slow down."}}), headers={"retry-after": "7", "x-ratelimit-remaining-requests": "0",
                                                   "x-ratelimit-reset-requests": "7s"}))
        self.machine(inline(), on_error={}, hooks={"name": "rate-limit", "args": {"minute": "failed"}},
                     output_to_context={})

        output = self.output(gate)

        self.assertEqual((output["code"], gate.count), ("rate_limit", 1))

    def test_without_any_provider_the_demo_answers(self):
        self.machine(inline())

        self.assertIn("demo", self.output()["content"])

    def test_tools_of_a_prompt_are_offered_in_a_loop_and_their_results_come_back(self):
        gate = self.gate(calling("c1"), Reply("Seen."))
        tool = {"type": "function", "function": {"name": "look", "parameters": {
            "type": "object", "properties": {"what": {"type": "string"}}}}}
        self.machine(inline(tools=[tool]), tool_loop=True)
        ran = self.treaty("machine", "run", "machine.yml", "--input", '{"text": "x"}', "--store", "runs", "--tool",
                          "look=cat", "--format", "json", OPENAI_BASE_URL=gate.base_url, OPENAI_API_KEY=KEY, **CLEAN)

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(json.loads(ran.out)["output"]["said"]["content"], "Seen.")
        self.assertEqual((gate.calls[0].tools, gate.calls[1].tool_results), (["look"], [("c1", '{"what": "c1"}')]))


class NotFound(AgentTest):
    def assert_not_found(self, agent, *words, **files):
        for name, content in files.items():
            self.write(f"{name}.yml", content)
        self.machine(agent)
        code, why = self.failure()
        self.assertEqual(code, "agent_not_found")
        for word in ("AgentNotFound", *words):
            self.assertIn(word, why)

    def test_a_file_that_is_not_there(self):
        self.assert_not_found("./nobody.yml", "nobody.yml", "No such file")

    def test_a_file_that_is_broken_names_the_line(self):
        self.assert_not_found("./a.yml", "a.yml", "line 2", a="spec: flatagent\n  x: [")

    def test_a_file_of_another_kind(self):
        self.assert_not_found("./a.yml", "expected 'flatagent', got 'flatmachine'", a={"spec": "flatmachine"})

    def test_a_profile_that_nobody_has(self):
        self.assert_not_found("./a.yml", "no model profile quick", a={"data": {"model": "quick", "user": "x"}})

    def test_a_provider_that_nobody_knows(self):
        self.assert_not_found("./a.yml", "acme", "treaty.yaml",
                              a={"data": {"model": {"provider": "acme", "name": "m"}, "user": "x"}})

    def test_kinds_that_are_not_supported_yet(self):
        for kind in ("pi-agent", "smolagents"):
            self.assert_not_found({"type": kind, "ref": "x"}, kind, "not supported yet")

    def test_an_agent_that_treaty_yaml_does_not_have(self):
        self.assert_not_found({"type": "treaty", "ref": "ghost"}, "no agent ghost")

    def test_a_program_that_is_not_there(self):
        self.assert_not_found({"type": "command", "config": {"command": ["./ghost"]}}, "./ghost")

    def test_a_prompt_that_cannot_be_rendered_is_an_error_of_its_template(self):
        self.machine(inline(user="{{ input.a.b.c }}"))
        self.assertEqual(self.failure()[0], "template_error")


class ConfiguredAgents(AgentTest):
    def configure(self, gate, **agent):
        self.write("treaty.yaml", {
            "providers": {"p": {"kind": "custom", "base_url": gate.base_url, "key": "k"}},
            "agents": {"clerk": {"system": "You are a clerk.", "backends": [{"provider": "p", "model": "m"}], **agent}}})

    def test_a_name_or_a_reference_asks_the_agent_with_its_prompt_and_its_chain(self):
        for agent in ("clerk", {"type": "treaty", "ref": "clerk"}, {"type": "treaty"}):
            gate = self.gate(Reply("Noted."))
            self.configure(gate)
            self.machine(agent)

            self.assertEqual(self.output()["content"], "Noted.")
            self.assertEqual((gate.calls[0].system, gate.calls[0].user), ("You are a clerk.", "tea"))

    def test_a_backend_that_fails_is_left_and_standard_error_says_why(self):
        down, up = self.gate(*[Reply(error=(503, {"error": {"message": "No."}}))] * 2), self.gate(Reply("Noted."))
        self.configure(up)
        self.write("treaty.yaml", {
            "providers": {name: {"kind": "openai", "base_url": gate.base_url, "key": KEY}
                          for name, gate in (("down", down), ("up", up))},
            "agents": {"clerk": {"backends": [{"provider": "down", "model": "m"}, {"provider": "up", "model": "m"}]}}})
        self.machine("clerk")

        ran = self.treaty("machine", "run", "machine.yml", "--input", '{"text": "tea"}', "--store", "runs", "--format",
                          "json", **CLEAN)
        self.assertEqual((ran.code, json.loads(ran.out)["output"]["content"]), (0, "Noted."), ran)
        self.assertIn("switches from down (m) to up (m): server_error again after 2 attempts (rule max_attempts)", ran.err)
        self.assertEqual((down.count, up.count), (2, 1))

    def test_an_input_of_more_than_a_text_is_told_as_json(self):
        gate = self.gate(Reply("Noted."))
        self.configure(gate)
        self.machine("clerk", input={"text": "input.text", "n": 3})

        self.output()
        self.assertEqual(json.loads(gate.calls[0].user), {"text": "tea", "n": 3})

    def test_a_budget_that_cannot_be_kept_is_refused(self):
        gate = self.gate(Reply("Noted."))
        self.configure(gate, budget={"tokens_per_day": 1000})
        self.machine("clerk")

        code, why = self.failure()
        self.assertEqual((code, gate.count), ("agent_not_found", 0))
        self.assertIn("budget", why)


class Programs(AgentTest):
    def program(self, text, **config):
        self.write("agent.py", text)
        self.machine({"type": "command", "config": {"command": [sys.executable, "./agent.py"], **config}})

    def test_a_program_is_told_the_input_and_answers_an_agent_result(self):
        self.program("import json, os, sys\nquestion = json.load(sys.stdin)\n"
                     "print(json.dumps({'output': {'question': question, 'cwd': os.getcwd()},"
                     " 'usage': {'api_calls': 3, 'input_tokens': 5}}))")

        output = self.output()

        question = output["said"]["question"]
        self.assertEqual((question["input"], question["agent"], question["context"]), ({"text": "tea"}, "a", {}))
        self.assertEqual(output["said"]["cwd"], str(self.folder.resolve()))
        self.assertEqual(output["usage"]["api_calls"], 3)

    def test_plain_text_is_the_content(self):
        self.program("print('Hello.')")
        self.assertEqual(self.output()["content"], "Hello.")

    def test_a_program_that_fails_is_a_server_error_with_its_last_words(self):
        self.program("raise SystemExit('out of paper')")
        code, why = self.failure()
        self.assertEqual(code, "server_error")
        self.assertIn("exit status 1: out of paper", why)

    def test_a_program_that_hangs_is_ended(self):
        self.program("import time\ntime.sleep(1000)", timeout=0.2)
        self.assertEqual(self.failure()[0], "timeout")

    def test_a_program_that_outlives_its_state_is_ended_by_the_state(self):
        agent = {"type": "command", "config": {"command": ["sleep", "1000"]}}
        self.machine(agent, timeout=0.2)
        code, why = self.failure()
        self.assertEqual(code, "timeout")
        self.assertIn("took longer than its timeout", why)

    def test_a_key_of_the_environment_is_masked_in_what_a_program_says(self):
        self.program("import os\nprint('the key is', os.environ['OPENAI_API_KEY'])")
        self.assertEqual(self.output(OPENAI_API_KEY=KEY)["content"], "the key is ***")


class Examples(TreatyTest):
    def test_the_hook_in_cpp_changes_the_provider_when_the_day_is_used_up(self):
        ran = Ran(subprocess.run([BINARY.parent / "examples" / "careful_machine",
                                  EXAMPLES / "hooks" / "careful_machine.yml", '{"question": "Why?"}'],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=SECONDS, check=False))

        self.assertEqual(ran.code, 0, ran)
        self.assertEqual(json.loads(ran.out), {"answer": "An answer of second."})


if __name__ == "__main__":
    unittest.main()
