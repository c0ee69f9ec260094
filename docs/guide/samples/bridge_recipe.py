"""A program that asks an agent twice: it leaves with 42, and is run again with --resume."""
import datetime, glob, json, os, pathlib, sys, uuid

def ask(agent, prompt, phase):
    request, response = (os.path.abspath(f".agent-{kind}-phase{phase}.json") for kind in ("request", "response"))
    if "--resume" in sys.argv and os.path.exists(request) and os.path.exists(response):
        asked, answer = (json.load(open(path, encoding="utf-8")) for path in (request, response))
        if (prompt, answer["request_id"]) == (asked["prompt"], asked["request_id"]):
            return answer["response"] if answer["status"] == "success" else sys.exit(answer["error_message"])
    pathlib.Path(request + ".new").write_text(json.dumps(
        {"request_id": str(uuid.uuid4()), "version": "1.0", "agent_name": agent, "phase": phase, "prompt": prompt,
         "created_at": datetime.datetime.now().astimezone().isoformat(), "response_file": response}), encoding="utf-8")
    sys.exit(os.replace(request + ".new", request) or 42)

[os.remove(left) for left in glob.glob(".agent-re*") if "--resume" not in sys.argv]  # Of an earlier run.
outline = ask("planner", "Outline a page about tides, a heading a line.", 1)
print(ask("writer", f"Write the page for this outline:\n{outline}", 2))
