"""Work that processes share: each item is done once, also when one of them is killed midway."""
import json
import os
import shlex
import signal
import socket
import sqlite3
import unittest

from machining import MachineTest, final, machine, to

ITEMS = 2000
DOUBLE = machine({"double": {"output_to_context": {"twice": "{{ input.n * 2 }}"}, **to("end")},
                  "end": final(n="input.n", twice="context.twice")},
                 persistence={"checkpoint_on": ["machine_end"]})


class SharedWork(MachineTest):
    WHERE = ("--state-dir", "state")

    def work(self):
        return self.start("work", "double.json", "--pool", "jobs", "--format", "json", *self.WHERE)

    def rows(self, query):
        connection = sqlite3.connect(self.folder / "state" / "treaty.db")
        try:
            return connection.execute(query).fetchall()
        finally:
            connection.close()

    def test_four_processes_do_each_item_once_and_finish_what_a_killed_one_began(self):
        self.write("double.json", DOUBLE)
        items = "".join(f'{{"n": {number}}}\n' for number in range(ITEMS))
        pushed = self.json_of("pool", "push", "jobs", "--items", "-", *self.WHERE, stdin=items)
        self.assertEqual((pushed["count"], len(set(pushed["ids"]))), (ITEMS, ITEMS))

        workers = [self.work() for _ in range(4)]
        done = [workers[0].stdout.readline() for _ in range(20)]  # It is in the midst of its work now.
        workers[0].send_signal(signal.SIGKILL)
        rest, _ = workers[0].communicate(timeout=60)
        lines = [line for line in (*done, *rest.splitlines(keepends=True)) if line.endswith(b"\n")]
        for worker in workers[1:]:
            out, err = worker.communicate(timeout=60)
            self.assertEqual(worker.returncode, 0, err)
            *told, summed = out.splitlines()
            self.assertEqual(json.loads(summed)["completed"], len(told))
            lines += told

        self.assertEqual(self.json_of("pool", "status", "jobs", *self.WHERE),
                         {"pool": "jobs", "pending": 0, "claimed": 0, "completed": ITEMS, "poisoned": 0})
        # One that was done and not yet told to the pool is told once more, and not done once more.
        told = [json.loads(line) for line in lines]
        self.assertLessEqual(len(told) - len({line["item"] for line in told}), 1)
        wrong = self.rows("SELECT count(*) FROM work_pool WHERE json_extract(result, '$.twice') IS NOT "
                          "CAST(2 * json_extract(data, '$.n') AS TEXT)")
        self.assertEqual(wrong, [(0,)])
        ends = self.rows("SELECT count(*) FROM machine_journal WHERE line LIKE '{\"kind\":\"end\"%'")
        self.assertEqual(ends, [(ITEMS,)])


class Work(MachineTest):
    WHERE = ("--store", "runs")

    def setUp(self):
        super().setUp()
        self.write("double.json", DOUBLE)

    def push(self, *words, pool="jobs", **more):
        return self.json_of("pool", "push", pool, *words, *self.WHERE, **more)

    def status(self, pool="jobs"):
        counts = self.json_of("pool", "status", pool, *self.WHERE)
        return tuple(counts[name] for name in ("pending", "claimed", "completed", "poisoned"))

    def test_items_come_as_a_list_as_lines_or_alone(self):
        self.write("list.json", '[1,\n {"a": 2}]')
        self.write("lines.ndjson", '1\n\n{"a": 2}\r\n"three"')
        self.assertEqual(self.push("--items", "list.json")["count"], 2)
        self.assertEqual(self.push("--items", "lines.ndjson")["count"], 3)
        self.assertEqual(self.push('{"a": 1}')["count"], 1)
        self.assertEqual(self.push("--items", "-", stdin="")["count"], 0)
        self.assertEqual(self.status(), (6, 0, 0, 0))

    def test_what_is_no_item_is_refused_and_nothing_is_pushed(self):
        self.write("bad.ndjson", '{"a": 1}\n{"a": \n')
        self.assert_told(self.machine("pool", "push", "jobs", "--items", "bad.ndjson", *self.WHERE), 2, "line 2")
        self.assert_told(self.machine("pool", "push", "jobs", "--items", "none", *self.WHERE), 2, "--items")
        for words in (["push", "jobs"], ["push", "jobs", "word"], ["push", "a/b", "1"], ["push", "", "1"],
                      ["push", "jobs", "1", "--max-retries", "0"], ["push"], [], ["psh", "jobs"],
                      ["claim", "jobs"], ["complete", "jobs", "--worker", "w"], ["status", "jobs", "more"]):
            with self.subTest(words=words):
                self.assert_usage(self.machine("pool", *words, *self.WHERE))
        self.assertFalse((self.folder / "runs").exists())

    def test_programs_claim_complete_and_fail(self):
        self.push('{"a": 1}', "--max-retries", "2")
        claimed = self.json_of("pool", "claim", "jobs", "--worker", "w1", *self.WHERE)
        self.assertEqual((claimed["data"], claimed["attempts"]), ({"a": 1}, 1))
        self.assert_told(self.machine("pool", "claim", "jobs", "--worker", "w2", *self.WHERE), 3, "no pending item")
        item = claimed["id"]
        stolen = self.machine("pool", "complete", "jobs", item, "{}", "--worker", "w2", *self.WHERE)
        self.assert_told(stolen, 75)
        self.assertEqual(self.machine("pool", "heartbeat", "jobs", "--worker", "w1", *self.WHERE).code, 0)
        self.json_of("pool", "fail", "jobs", item, '"too hard"', "--worker", "w1", *self.WHERE)
        self.assertEqual(self.status(), (1, 0, 0, 0))
        self.json_of("pool", "claim", "jobs", "--worker", "w2", *self.WHERE)
        self.json_of("pool", "fail", "jobs", item, "--worker", "w2", *self.WHERE)
        self.assertEqual(self.status(), (0, 0, 0, 1))
        self.push("2")
        second = self.json_of("pool", "claim", "jobs", "--worker", "w1", *self.WHERE)
        self.json_of("pool", "complete", "jobs", second["id"], '{"ok": true}', "--worker", "w1", *self.WHERE)
        self.assertEqual(self.status(), (0, 0, 1, 1))

    def test_an_item_that_is_no_object_has_a_name(self):
        self.write("item.json", machine({"end": final(got="input.item")}))
        self.push("--items", "-", stdin='[3, "x", null, {"item": "own"}]')

        *told, summed = self.json_of("work", "item.json", "--pool", "jobs", *self.WHERE)

        self.assertEqual([line["outcome"]["output"]["got"] for line in told], [3, "x", None, "own"])
        self.assertEqual(summed, {"pool": "jobs", "completed": 4, "failed": 0, "waiting": 0})

    def test_what_fails_is_tried_again_and_then_poisoned(self):
        self.write("fails.json", machine({"end": {"agent": "a", **final()}}, agents={"a": "a.yml"}))
        error = {"error": {"code": "server_error", "message": "no", "retryable": True}}
        self.write("script.json", {"agents": {"a": [error, error]}})
        self.push("1", "--max-retries", "2")

        told = self.json_of("work", "fails.json", "--pool", "jobs", "--script", "script.json", *self.WHERE, code=1)

        self.assertEqual([line.get("attempts") for line in told], [1, 2, None])
        self.assertEqual(told[-1], {"pool": "jobs", "completed": 0, "failed": 2, "waiting": 0})
        self.assertEqual(self.status(), (0, 0, 0, 1))

    def test_a_worker_does_no_more_than_it_is_told(self):
        self.push("--items", "-", stdin=json.dumps([{"n": n} for n in range(5)]))
        ran = self.machine("work", "double.json", "--pool", "jobs", "--max", "2", *self.WHERE)
        self.assertEqual((ran.code, ran.out), (0, "jobs: 2 completed, 0 failed, 0 waiting\n"), ran)
        self.assertEqual(self.status(), (3, 0, 2, 0))

    def test_an_item_whose_machine_waits_is_taken_up_by_the_next_worker(self):
        self.write("ask.json", machine({"ask": {"wait_for": "c", **to("end")}, "end": final(ok=True)}))
        self.push("1")
        self.json_of("work", "ask.json", "--pool", "jobs", *self.WHERE, code=3)
        self.assertEqual(self.status(), (0, 1, 0, 0))
        self.machine("signal", "c", *self.WHERE)

        *_, summed = self.json_of("work", "ask.json", "--pool", "jobs", *self.WHERE)

        self.assertEqual(summed["completed"], 1)
        self.assertEqual(self.status(), (0, 0, 1, 0))

    def test_a_killed_workers_item_goes_on_where_it_was(self):
        os.mkfifo(self.folder / "asked.fifo")
        steps = {"one": {"agent": "quick", **to("two")}, "two": {"agent": "held", **to("end")}, "end": final(ok=True)}
        agents = {name: {"type": "command", "config": {"command": ["sh", "-c", text]}} for name, text in {
            "quick": "cat > /dev/null; echo asked >> quick.log; echo one",
            "held": "cat > /dev/null; test -e free && exec echo two; echo $$ > asked.fifo; exec sleep 1000"}.items()}
        self.write("slow.json", machine(steps, agents=agents))
        self.push("1")
        worker = self.start("work", "slow.json", "--pool", "jobs", *self.WHERE)
        program = int((self.folder / "asked.fifo").read_text())
        worker.send_signal(signal.SIGKILL)
        worker.wait(timeout=60)
        os.kill(program, signal.SIGKILL)
        self.write("free", "")

        *told, summed = self.json_of("work", "slow.json", "--pool", "jobs", *self.WHERE)

        self.assertEqual((summed["completed"], told[0]["outcome"]["calls"]), (1, 2))
        self.assertEqual(self.read("quick.log"), b"asked\n")

    def test_an_item_that_kills_its_worker_is_poisoned(self):
        deadly = {"type": "command", "config": {"command": ["sh", "-c", "kill -9 $PPID"]}}
        self.write("deadly.json", machine({"end": {"agent": "deadly", **final(ok=True)}}, agents={"deadly": deadly}))
        self.write("harmless.json", machine({"end": final(ok=True)}))
        for times in (3, 1):
            item, = self.push("1", "--max-retries", str(times))["ids"]
            for _ in range(times):
                worker = self.start("work", "deadly.json", "--pool", "jobs", *self.WHERE)
                self.assertEqual(worker.wait(timeout=60), -signal.SIGKILL)
            with self.subTest(times=times):
                ran = self.machine("work", "harmless.json", "--pool", "jobs", "--format", "json", *self.WHERE)

                told, summed = [json.loads(line) for line in ran.out.splitlines()]
                self.assertEqual(ran.code, 1, ran)
                self.assertEqual((told["item"], told["attempts"]), (item, times))
                self.assertEqual((told["outcome"]["status"], told["outcome"]["error"]["code"]), ("failed", "worker_gone"))
                self.assertEqual(summed, {"pool": "jobs", "completed": 0, "failed": 1, "waiting": 0})
                self.assertIn(f"item {item} is poisoned", ran.err)
                self.assertIn("claimed 3 times" if times == 3 else "claimed 1 time,", ran.err)
                self.assertTrue(ran.err.endswith("\n"), ran.err)
                shown = self.treaty(*shlex.split(ran.err.partition("how far it came: treaty ")[2]))
                self.assertEqual(shown.code, 0, shown)
                again = self.machine("work", "harmless.json", "--pool", "jobs", *self.WHERE)
                self.assertEqual((again.code, again.err), (0, ""), again)
        self.assertEqual(self.status(), (0, 0, 0, 2))

    def test_an_item_that_is_poisoned_while_another_is_claimed_is_named(self):
        item, = self.push("1", "--max-retries", "1")["ids"]
        self.assertEqual(self.push("2")["count"], 1)
        gone = f"{socket.gethostname()}:{os.getpid()}:1"  # A process of that number, but begun at another time.
        self.assert_told(self.machine("pool", "claim", "jobs", "--worker", gone, *self.WHERE), 0)

        ran = self.machine("pool", "claim", "jobs", "--worker", "w1", *self.WHERE)

        self.assertEqual((ran.code, json.loads(ran.out)["data"]), (0, 2), ran)
        self.assertIn(f"item {item} is poisoned", ran.err)
        self.assertIn("treaty machine pool status jobs --store runs\n", ran.err)

    def test_an_item_whose_machine_waits_is_never_poisoned(self):
        self.write("ask.json", machine({"ask": {"wait_for": "c", **to("end")}, "end": final(ok=True)}))
        self.push("1", "--max-retries", "1")
        for _ in range(3):
            self.json_of("work", "ask.json", "--pool", "jobs", *self.WHERE, code=3)
        self.machine("signal", "c", *self.WHERE)

        *_, summed = self.json_of("work", "ask.json", "--pool", "jobs", *self.WHERE)

        self.assertEqual((summed["completed"], self.status()), (1, (0, 0, 1, 0)))

    def test_work_says_what_is_missing(self):
        self.assert_usage(self.machine("work", "double.json", *self.WHERE), "--pool")
        self.assert_usage(self.machine("work", "--pool", "jobs", *self.WHERE), "file")
        self.assert_usage(self.machine("work", "double.json", "--pool", "jobs", "--max", "0", *self.WHERE), "--max")
        self.assert_told(self.machine("work", "none.json", "--pool", "jobs", *self.WHERE), 69, "none.json")
        self.write("bad.json", machine({"a": to("nowhere")}))
        self.assert_told(self.machine("work", "bad.json", "--pool", "jobs", *self.WHERE), 2, "MCH-08")
        self.assertFalse((self.folder / "runs").exists())


if __name__ == "__main__":
    unittest.main()
