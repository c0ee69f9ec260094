"""Whole-binary tests of a client's tools through machines: continuation, final, crashes between the rounds."""
import unittest

from gate import Reply, calling
from machine_serving import TOOLS, MachineServingTest, asking, final, machine
from serving import broken, ok

FAILED = "Error: the tool call failed: "  # Before the text of a result that is a failure.


def call_of(answer, number=0):
    return answer.result["ToolCalls"][number]


class Rounds(MachineServingTest):
    def test_the_clients_tools_are_offered_and_their_results_come_back_under_the_models_ids(self):
        gate, server = self.behind(calling("a", "b"), "It is blue.", states=TOOLS)
        asked = server.say()
        self.assertEqual(asked.result["Kind"], "client_tool_continuation")
        self.assertEqual([(call["Name"], call["ArgumentsJson"]) for call in asked.result["ToolCalls"]],
                         [("look", '{"what": "a"}'), ("look", '{"what": "b"}')])
        self.assertEqual(gate.calls[0].tools, ["look"])

        first, second = asked.calls
        answer = server.submit("s1", "t1", [ok(first, '{"seen":1}'), broken(second, "Too dark.")])

        self.assertEqual(answer.text, "Found: It is blue.")
        self.assertEqual(gate.calls[1].tool_results, [("a", '{"seen":1}'), ("b", FAILED + "Too dark.")])
        self.assertEqual(gate.count, 2)

    def test_ids_are_unique_in_the_turn_though_the_model_repeats_its_own(self):
        gate, server = self.behind(calling("a"), calling("a", more="x"), "Done.", states=TOOLS)

        first = server.say()
        second = server.submit("s1", "t1", first.calls)
        self.assertEqual(len({*first.calls, *second.calls}), 2)

        self.assertEqual(server.submit("s1", "t1", second.calls).text, "Found: Done.")
        self.assertEqual([len(call.tool_results) for call in gate.calls], [0, 1, 1])

    def test_the_same_requests_again_get_the_same_bytes(self):
        gate, server = self.behind(calling("a"), "Done.", states=TOOLS)
        asked = server.say()
        answer = server.submit("s1", "t1", asked.calls)

        self.assertEqual(server.say().body, asked.body)
        self.assertEqual(server.submit("s1", "t1", asked.calls).body, answer.body)
        self.assertEqual(gate.count, 2)

    def test_kill_9_while_the_client_works_loses_nothing(self):
        gate, server = self.behind(calling("a"), "Done.", states=TOOLS)
        asked = server.say()

        server.restart()

        self.assertEqual(server.submit("s1", "t1", asked.calls).text, "Found: Done.")
        self.assertEqual(gate.count, 2)

    def test_a_restart_between_the_rounds_counts_no_call_twice(self):
        spent = []
        for restarts in (False, True):
            _, server = self.behind(calling("a"), "Done.", states=TOOLS, name=f"tools-{restarts}.yml")
            asked = server.say()
            if restarts:
                server.restart()
            usage = server.submit("s1", "t1", asked.calls).result["Usage"]
            spent.append((usage["PromptTokens"], usage["CompletionTokens"]))
            server.close()

        self.assertEqual(*spent)

    def test_kill_9_after_the_results_came_asks_the_client_nothing_again(self):
        gate, server = self.behind(calling("a"), "Done.", states=TOOLS)
        asked = server.say()
        gate.held = True
        running = self.later(self.submit_or_lost, server, asked.calls)
        gate.wait_for_calls(2)

        server.kill9()
        self.assertIsNone(running.result())
        gate.open()
        server.start()
        self.until(lambda: server.state_of() == "completed", "the end of the turn")

        self.assertEqual(server.submit("s1", "t1", asked.calls).text, "Found: Done.")
        self.assertEqual(gate.calls[2].tool_results, [("a", '{"ok":true}')])

    @staticmethod
    def submit_or_lost(server, calls):
        try:
            return server.submit("s1", "t1", calls)
        except OSError:
            return None

    def test_the_execution_ends_in_the_machine_that_it_began_in(self):
        _, server = self.behind(calling("a"), "Done.", states=TOOLS)
        asked = server.say()
        self.write("m.yml", machine("other", {"elsewhere": final("Something else.")}))
        server.restart()

        self.assertEqual(server.submit("s1", "t1", asked.calls).text, "Found: Done.")
        self.assertEqual(server.say(turn="t2").text, "Something else.")


class Calls(MachineServingTest):
    def test_a_call_that_does_not_fit_goes_back_to_the_model(self):
        gate, server = self.behind(Reply(calls=[("a", "look", {"wat": 1})]), "Never mind.", states=TOOLS)

        self.assertEqual(server.say().text, "Found: Never mind.")

        [(identifier, told)] = gate.calls[1].tool_results
        self.assertEqual(identifier, "a")
        self.assertIn("do not fit", told)

    def test_a_tool_of_nobody_is_told_so_and_the_rest_is_the_clients(self):
        gate, server = self.behind(
            Reply(calls=[("a", "look", {"what": "x"}), ("b", "fly", {}), ("c", "look", {"what": "y"})]), "Done.",
            states=TOOLS)
        asked = server.say()
        self.assertEqual([call["ArgumentsJson"] for call in asked.result["ToolCalls"]],
                         ['{"what": "x"}', '{"what": "y"}'])

        self.assertEqual(server.submit("s1", "t1", asked.calls).text, "Found: Done.")

        self.assertEqual(gate.calls[1].tool_results,
                         [("a", '{"ok":true}'), ("b", FAILED + "No tool provider configured for 'fly'"),
                          ("c", '{"ok":true}')])

    def test_tools_that_the_loop_denies_are_not_offered(self):
        denied = machine("denied", {
            "work": asking("writer", "Go.", "text", "done", tool_loop={"denied_tools": ["look"]}),
            "done": final("{{ context.text }}")})
        gate, server = self.behind("Done.", states=denied)

        self.assertEqual(server.say().text, "Done.")

        self.assertEqual(gate.calls[0].tools, [])

    def test_a_state_without_a_loop_is_offered_none(self):
        gate, server = self.behind()
        server.say()

        self.assertEqual([call.tools for call in gate.calls], [[], []])

    def test_children_of_the_machine_have_them_too(self):
        parent = machine("parent", {
            "both": {"machine": ["one", "two"], "transitions": [{"to": "done"}],
                     "output_to_context": {"a": "{{ output.one.content }}", "b": "{{ output.two.content }}"}},
            "done": final("{{ context.a }} {{ context.b }}")}, machines={"one": TOOLS, "two": TOOLS})
        gate, server = self.behind(
            lambda call: "Done." if call.tool_results else calling("a"), states=parent)
        asked = server.say()
        self.assertEqual([call["Name"] for call in asked.result["ToolCalls"]], ["look", "look"])
        self.assertEqual(len(set(asked.calls)), 2)

        answer = server.submit("s1", "t1", [ok(asked.calls[0], '"one"'), ok(asked.calls[1], '"two"')])

        self.assertEqual(answer.text, "Found: Done. Found: Done.")
        self.assertEqual({tuple(call.tool_results) for call in gate.calls[2:]}, {(("a", '"one"'),), (("a", '"two"'),)})
        self.assertEqual(gate.count, 4)

    def test_a_machine_that_keeps_nothing_has_none(self):
        gate, server = self.behind(calling("a"), "Alone.",
                                   states={**TOOLS, "data": {**TOOLS["data"], "persistence": {"enabled": False}}})

        self.assertEqual(server.say().text, "Found: Alone.")

        self.assertEqual(gate.calls[1].tool_results, [("a", FAILED + "No tool provider configured for 'look'")])

    def test_the_turn_asks_for_tools_no_more_often_than_it_may(self):
        _, server = self.behind(lambda call: calling(f"a{call.number}"), states=TOOLS, agent={"max_rounds": 2})
        answer = server.say()
        while answer.json["Successful"]:
            answer = server.submit("s1", "t1", answer.calls)

        self.assertEqual(answer.code, "max_rounds")


if __name__ == "__main__":
    unittest.main()
