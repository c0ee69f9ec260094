"""Moves unfinished executions of FlatMachines to a directory for `treaty machine resume --store`.

    adopt_flatmachines.py SOURCE TARGET [MACHINE.yml]

SOURCE is a `.checkpoints` directory or a `flatmachines.sqlite` and is only read. The text of a machine comes from the
source, which keeps it by its hash, else from MACHINE.yml. Run it where the machines ran: their paths start there.
"""
import json, os, pathlib, shlex, sqlite3, sys


class Directory:
    def __init__(self, path):
        self.path = path

    def executions(self):
        return [latest.parent.name for latest in self.path.glob("*/latest")]

    def checkpoints(self, execution):
        return {file.name: file.read_bytes() for file in (self.path / execution).glob("step_*.json")}

    def latest(self, execution):
        return (self.path / execution / "latest").read_text(encoding="utf-8").strip()

    def text(self, digest):
        file = self.path / "_configs" / f"{digest}.yml"
        return file.read_text(encoding="utf-8") if file.exists() else None

    def signals(self):
        return []


class Database:
    def __init__(self, path):
        self.database = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)

    def rows(self, query, *values):
        try:
            return self.database.execute(query, values).fetchall()
        except sqlite3.OperationalError:  # It has no such table.
            return []

    def executions(self):
        return [execution for execution, in self.rows("SELECT execution_id FROM machine_latest")]

    def checkpoints(self, execution):
        rows = self.rows("SELECT checkpoint_key, snapshot_json FROM machine_checkpoints WHERE execution_id = ?",
                         execution)
        return {key.split("/")[-1]: text.encode() if isinstance(text, str) else text for key, text in rows}

    def latest(self, execution):
        return self.rows("SELECT latest_key FROM machine_latest WHERE execution_id = ?", execution)[0][0]

    def text(self, digest):
        rows = self.rows("SELECT config_raw FROM machine_configs WHERE config_hash = ?", digest)
        return rows[0][0] if rows else None

    def signals(self):
        return self.rows("SELECT channel, data_json FROM signals ORDER BY rowid")


def journal_of(text, snapshot):
    """What Treaty keeps beside a snapshot, as far as the snapshot tells it."""
    lines = [{"kind": "start", "machine": text, "directory": os.getcwd(), "input": {},
              "parent": snapshot.get("parent_execution_id") or "", "depth": snapshot.get("depth") or 0}]
    if snapshot["event"] not in ("machine_start", "machine_error"):
        lines.append({"kind": "enter", "step": snapshot["step"], "state": snapshot["current_state"]})
    if snapshot["event"] == "state_exit":
        lines.append({"kind": "exit", "step": snapshot["step"], "result": None, "output": snapshot.get("output") or {}})
    return "".join(json.dumps(line) + "\n" for line in lines)


def main(source, target, machine=None):
    path = pathlib.Path(source)
    kept = Directory(path) if path.is_dir() else Database(path)
    for execution in kept.executions():
        checkpoints, latest = kept.checkpoints(execution), kept.latest(execution)
        snapshot = json.loads(checkpoints[latest.split("/")[-1]])
        if snapshot["event"] == "machine_end":
            continue
        text = kept.text(snapshot.get("config_hash")) or (machine and pathlib.Path(machine).read_text(encoding="utf-8"))
        if not text:
            sys.exit(f"{execution}: the text of {snapshot['machine_name']} is not kept; name its file")
        folder = pathlib.Path(target, execution)
        folder.mkdir(parents=True)
        for name, content in checkpoints.items():
            (folder / name).write_bytes(content)
        (folder / "journal").write_text(journal_of(text, snapshot), encoding="utf-8")
        (folder / "latest").write_text(latest, encoding="utf-8")
        print("treaty machine resume", shlex.quote(execution), "--store", shlex.quote(target))
    for channel, data in kept.signals():
        print("treaty machine signal", shlex.quote(channel), shlex.quote(data), "--store", shlex.quote(target))


if __name__ == "__main__":
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    main(*sys.argv[1:])
