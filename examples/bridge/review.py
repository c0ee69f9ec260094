#!/usr/bin/env python3
"""Has an agent review a text in two phases: what is wrong with it, then a better one.

    treaty bridge run --agent AGENT -- examples/bridge/review.py draft.txt

It asks, saves its state and leaves with 42; run again with --resume, it goes on from there. The review is
in draft.txt.review.md in the end. Exit: 0 done, 42 an agent is needed, 1 the agent failed, 75 it took too
long (run it again with --resume: it asks once more), 2 wrong usage. Standard library only; all files are in
the current directory.
"""
import datetime
import json
import os
import sys
import uuid

NEED_AGENT = 42
TRY_LATER = 75
STATE = ".review-state.json"


def replace(path, text):
    """Writes the file as a whole or not at all, and onto the disk."""
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    os.replace(path + ".new", path)


def read_json(path):
    """Nothing when it is not there or is no JSON: half a file is none."""
    try:
        with open(path, encoding="utf-8") as file:
            return json.load(file)
    except (FileNotFoundError, ValueError):
        return None


def save(state):
    replace(STATE, json.dumps(state))


def write_request(path, phase, phase_name, prompt):
    request = {"request_id": str(uuid.uuid4()), "version": "1.0", "phase": phase, "phase_name": phase_name,
               "agent_name": "reviewer", "prompt": prompt, "timeout_seconds": 120,
               "created_at": datetime.datetime.now(datetime.timezone.utc).isoformat(),
               "response_file": os.path.abspath(f".agent-response-phase{phase}.json")}
    replace(path, json.dumps(request, indent=2, ensure_ascii=False))
    return request["request_id"]


def need_agent(phase_name):
    print(f"review: the phase {phase_name} needs an agent", file=sys.stderr)
    sys.exit(NEED_AGENT)


def ask(state, phase, phase_name, prompt):
    """The agent's text. Leaves with 42 when there is none yet."""
    path = f".agent-request-phase{phase}.json"
    request = read_json(path)
    if not isinstance(request, dict) or request.get("request_id") != state.get("waits_for", ""):
        # The request first: a crash before the state is saved only makes it ask anew.
        state["waits_for"] = write_request(path, phase, phase_name, prompt)
        save(state)
        need_agent(phase_name)
    answer = read_json(f".agent-response-phase{phase}.json")
    # An answer to another request is no answer, wherever it comes from.
    if not isinstance(answer, dict) or answer.get("request_id") != state["waits_for"]:
        need_agent(phase_name)
    del state["waits_for"]
    if answer.get("status") == "success" and isinstance(answer.get("response"), str):
        return answer["response"]
    save(state)  # So that --resume asks again, under a new id.
    print(f"review: the phase {phase_name} failed: {answer.get('error_message')}", file=sys.stderr)
    sys.exit(TRY_LATER if answer.get("status") == "timeout" else 1)


def main():
    files = [argument for argument in sys.argv[1:] if argument != "--resume"]
    if len(files) != 1:
        print("usage: review.py FILE [--resume]", file=sys.stderr)
        sys.exit(2)
    # Without a state there is nothing to resume: it was killed before it had one.
    state = read_json(STATE) if "--resume" in sys.argv else None
    if state is None or state["file"] != files[0]:
        with open(files[0], encoding="utf-8") as file:
            state = {"file": files[0], "text": file.read()}

    if "findings" not in state:
        text = ask(state, 1, "find", f"Review this text. Answer with one finding a line.\n\n{state['text']}")
        state["findings"] = [line.strip() for line in text.splitlines() if line.strip()]
        save(state)
    if "revised" not in state:
        findings = "\n".join(f"- {finding}" for finding in state["findings"])
        state["revised"] = ask(state, 2, "revise", "Revise the text so that none of the findings holds any more. "
                               f"Answer with the text alone.\n\nFindings:\n{findings}\n\nText:\n{state['text']}")
        save(state)

    findings = "\n".join(f"- {finding}" for finding in state["findings"])
    replace(f"{state['file']}.review.md", f"# Findings\n\n{findings}\n\n# Revised\n\n{state['revised']}\n")
    # The state stays: whoever did not see this end and resumes once more gets the same, and no agent is asked.


if __name__ == "__main__":
    main()
