"""Signals: in their order, kept for later, a copy for each who waits, and machines that go on at once."""
import unittest

from machining import MachineTest, final, machine, to

ASK = machine({"ask": {"wait_for": "{{ input.channel }}", "output_to_context": {"got": "{{ output | tojson }}"},
                       **to("end")},
               "end": final(got="context.got")}, context={"channel": "{{ input.channel }}"})
TWICE = machine({"one": {"wait_for": "c", "output_to_context": {"one": "output.n"}, **to("two")},
                 "two": {"wait_for": "c", "output_to_context": {"two": "output.n"}, **to("end")},
                 "end": final(one="context.one", two="context.two")})
NESTED = machine({"parts": {"foreach": [1, 2], "machine": "middle", "input": {"channel": "deep"},
                            "output_to_context": {"all": "output"}, **to("end")},
                  "end": final(all="context.all")},
                 machines={"middle": machine(
                     {"inner": {"machine": "ask", "input": {"channel": "{{ input.channel }}"},
                                "output_to_context": {"got": "output.got"}, **to("end")},
                      "end": final(got="context.got")}, machines={"ask": ASK})})


class Signals(MachineTest):
    WHERE = ("--store", "runs")

    def setUp(self):
        super().setUp()
        self.write("ask.json", ASK)
        self.write("twice.json", TWICE)
        self.write("nested.json", NESTED)

    def begin(self, execution, file="ask.json", channel="c", code=3):
        return self.json_of("run", file, "--id", execution, "--input", f'{{"channel": "{channel}"}}', *self.WHERE,
                            code=code)

    def send(self, *words, **more):
        return self.json_of("signal", *words, *self.WHERE, **more)

    def test_signals_are_taken_in_the_order_they_came(self):
        for number in (1, 2):
            self.assertEqual(self.send("c", f'{{"n": {number}}}'), {"channel": "c", "waiting": []})

        ended = self.begin("x1", "twice.json", code=0)

        self.assertEqual(ended["output"], {"one": 1, "two": 2})

    def test_a_signal_is_kept_until_somebody_waits(self):
        told = self.machine("signal", "c", '{"by": "Ada"}', *self.WHERE)
        self.assertIn("kept", told.out)

        self.assertEqual(self.begin("x1", code=0)["output"], {"got": '{"by": "Ada"}'})
        self.assertEqual(self.begin("x2")["channel"], "c")

    def test_the_next_command_finds_the_store_that_the_machine_names(self):
        stores = {"local": " --store .checkpoints", "sqlite": " --store flatmachines.sqlite", "memory": None}
        for backend, option in stores.items():
            with self.subTest(backend):
                self.write("own.json", machine(ASK["data"]["states"], context={"channel": "{{ input.channel }}"},
                                               persistence={"enabled": True, "backend": backend}))
                ran = self.machine("run", "own.json", "--id", "x1", "--input", '{"channel": "c"}')
                self.assertEqual(ran.code, 3, ran)
                if option is None:
                    self.assertNotIn("Send it with", ran.err)
                    continue
                self.assertIn(f"Send it with: treaty machine signal c DATA --resume{option}\n", ran.err)
                ran = self.machine("signal", "c", '{"by": "Ada"}', *option.split())
                self.assertIn(f"Go on with: treaty machine resume x1{option}\n", ran.out)
                ended = self.json_of("resume", "x1", *option.split())
                self.assertEqual(ended["output"], {"got": '{"by": "Ada"}'})
                self.assertEqual(self.json_of("list", *option.split())["status"], "completed")

    def test_each_that_waits_gets_a_copy(self):
        for execution in ("x1", "x2"):
            self.begin(execution)
        self.begin("x3", channel="other")
        self.assertEqual(len(self.json_of("list", "--waiting", *self.WHERE)), 3)

        told = self.send("c", '{"by": "Ada"}')

        self.assertEqual(sorted(told["waiting"]), ["x1", "x2"])
        for execution in ("x1", "x2"):
            self.assertEqual(self.json_of("resume", execution, *self.WHERE)["output"], {"got": '{"by": "Ada"}'})
        self.assertEqual(self.json_of("resume", "x3", *self.WHERE, code=3)["channel"], "other")

    def test_what_is_no_object_comes_as_a_value(self):
        for number, (data, got) in enumerate({"3": '{"value": 3}', '"yes"': '{"value": "yes"}', "null": '{"value": null}',
                                              "[1, {}]": '{"value": [1, {}]}', "{}": "{}"}.items()):
            with self.subTest(data=data):
                self.send("c", data)
                self.assertEqual(self.begin(f"x{number}", code=0)["output"], {"got": got})
        self.send("c")
        self.assertEqual(self.begin("x9", code=0)["output"], {"got": "{}"})

    def test_those_that_waited_go_on_at_once(self):
        self.begin("x1")
        self.begin("x2")

        sent, *ends = self.send("c", "1", "--resume")

        self.assertEqual(sorted(sent["waiting"]), ["x1", "x2"])
        self.assertEqual([(end["status"], end["output"]) for end in ends],
                         [("completed", {"got": '{"value": 1}'})] * 2)

    def test_one_that_waits_again_is_told(self):
        self.begin("x1", "twice.json")

        first, waits = self.send("c", '{"n": 1}', "--resume", code=3)
        second, ended = self.send("c", '{"n": 2}', "--resume")

        self.assertEqual((first["waiting"], waits["status"]), (["x1"], "waiting"))
        self.assertEqual((second["waiting"], ended["output"]), (["x1"], {"one": 1, "two": 2}))

    def test_a_machine_within_machines_goes_on_up_to_the_top(self):
        waiting = self.begin("top", "nested.json")
        self.assertEqual((waiting["channel"], waiting["status"]), ("deep", "waiting"))
        shown = self.json_of("show", "top", *self.WHERE)
        self.assertEqual((shown["status"], shown["channel"]), ("waiting", "deep"))
        self.assertEqual(len(shown["children"]), 4)

        sent, *ends = self.send("deep", '{"by": "Ada"}', "--resume")

        self.assertEqual(sorted(sent["waiting"]), ["top.1.0.1.0", "top.1.1.1.0"])
        self.assertEqual([end["execution_id"] for end in ends][-1], "top")
        self.assertEqual({end["status"] for end in ends}, {"completed"})
        self.assertEqual(ends[-1]["output"], {"all": [{"got": '{"by": "Ada"}'}] * 2})

    def test_what_is_sent_is_json(self):
        for words in (["c", "yes"], ["c", "{a: 1}"], ["c", ""], ["c", '{"a": 1} x'], ["c", '{"a": 1, "a": 2}']):
            with self.subTest(words=words):
                ran = self.machine("signal", *words, *self.WHERE)
                self.assert_told(ran, 2, "DATA is not JSON", '\'"like this"\'')
        self.assert_told(self.machine("signal", *self.WHERE), 2, "channel")
        self.assert_told(self.machine("signal", "", "{}", *self.WHERE), 2, "channel")
        self.assertFalse((self.folder / "runs").exists())

    def test_people_are_told_what_to_do_next(self):
        ran = self.machine("run", "ask.json", "--id", "x1", "--input", '{"channel": "c"}', *self.WHERE)
        self.assert_told(ran, 3, "treaty machine signal c DATA --resume")
        self.assertIn("treaty machine signal c DATA --resume --store runs", self.machine("show", "x1", *self.WHERE).out)
        sent = self.machine("signal", "c", *self.WHERE)
        self.assertIn("treaty machine resume x1", sent.out)


class SignalsInSqlite(Signals):
    WHERE = ("--state-dir", "runs")

    def test_people_are_told_what_to_do_next(self):
        ran = self.machine("run", "ask.json", "--id", "x1", "--input", '{"channel": "c"}', *self.WHERE)
        self.assert_told(ran, 3, "treaty machine signal c DATA --resume")


if __name__ == "__main__":
    unittest.main()
