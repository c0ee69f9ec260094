"""A program that asks an agent twice: it leaves with 42, and is run again with --resume."""
import datetime, json, os, sys, uuid

def ask(agent, prompt, phase):
    request, response = (os.path.abspath(f".agent-{kind}-phase{phase}.json") for kind in ("request", "response"))
    if "--resume" in sys.argv and os.path.exists(request) and os.path.exists(response):
        asked, answer = (json.load(open(path, encoding="utf-8")) for path in (request, response))
        if (prompt, answer["request_id"]) == (asked["prompt"], asked["request_id"]):
            return answer["response"] if answer["status"] == "success" else sys.exit(answer["error_message"])
    with open(request + ".new", "w", encoding="utf-8") as file:
        json.dump({"request_id": str(uuid.uuid4()), "version": "1.0", "agent_name": agent, "phase": phase, "prompt": prompt,
                   "created_at": datetime.datetime.now().astimezone().isoformat(), "response_file": response}, file)
    os.replace(request + ".new", request)
    sys.exit(42)

outline = ask("planner", "Outline a page about tides, a heading a line.", 1)
print(ask("writer", f"Write the page for this outline:\n{outline}", 2))
