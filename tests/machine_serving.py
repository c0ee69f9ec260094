"""What the tests of machines behind a server share: machines as values, and servers whose agent is one."""
import itertools

from serving import ONCE, ServingTest, configuration

GATE = [{"provider": "gate", "model": "small-1"}]


def machine(name, states, agents=("writer", "editor"), **data):
    """A flatmachine whose agents are those of treaty.yaml with the same names. JSON is YAML."""
    return {"spec": "flatmachine", "spec_version": "4.0",
            "data": {"name": name, "agents": {agent: agent for agent in agents}, "states": states, **data}}


def asking(agent, text, keep, to, **members):
    """A state that asks an agent, keeps what it said in the context, and goes on."""
    return {"agent": agent, "input": {"message": text}, "output_to_context": {keep: "{{ output.content }}"},
            "transitions": [{"to": to}], **members}


def final(text):
    return {"type": "final", "output": {"content": text}}


TWO = machine("two", {
    "draft": asking("writer", "Draft: {{ input.message }}", "draft", "polish"),
    "polish": asking("editor", "Polish: {{ context.draft }}", "text", "done"),
    "done": final("{{ context.text }}"),
})
TWICE = "You said: Polish: You said: Draft: Hello."  # What comes of it at a gate without replies.

TOOLS = machine("tools", {
    "work": asking("writer", "{{ input.message }}", "text", "done", tool_loop=True),
    "done": final("Found: {{ context.text }}"),
})


class MachineServingTest(ServingTest):
    def behind(self, *replies, states=TWO, held=False, agent=None, agents=None, name="m.yml", **members):
        """(gate, server): agent `default` is the machine, whose agents writer and editor ask the gate."""
        self.write(name, states)
        gate = self.gate(*replies, held=held)
        others = {"writer": {"system": "Write.", "backends": GATE}, "editor": {"system": "Edit.", "backends": GATE}}
        config = configuration(gate, {"backends": [{"machine": name}], **(agent or {})},
                               agents={**others, **(agents or {})}, **members)
        return gate, self.server(config)

    def until_new(self, server):
        """Until the machine that says "New." has been read."""
        sessions = itertools.count()
        self.until(lambda: server.say(f"new-{next(sessions)}").text == "New.", "the reload")

    def notes(self, server, session="s1", end="turn.completed", after=None):
        """[(kind, data)] of the session's machine events, up to that kind."""
        with server.events(session, after) as events:
            return [(event.event, event.json) for event in events.until(end) if event.event.startswith("machine.")]


__all__ = ["GATE", "ONCE", "TOOLS", "TWICE", "TWO", "MachineServingTest", "asking", "final", "machine"]
