"""Tests of `treaty chat`: through pipes, in a terminal, and when the connection breaks."""
import hashlib
import json
import os
import re
import signal
import socket
import subprocess
import unittest

from fake_provider import CLEAN, FakeProvider
from gate import HOLD, KEY, Reply, calling
from serving import EXECUTE, ServingTest, configuration
from terminal import Terminal
from treaty_binary import BINARY, SECONDS, Ran

GO_ON = re.compile(r"--session (\S+)")


class ChatTest(ServingTest):
    def environment(self, **more):
        return {**CLEAN, "HOME": str(self.folder), "XDG_STATE_HOME": str(self.folder / "xdg"), "OPENAI_API_KEY": KEY,
                **more}

    def chat(self, *arguments, lines=(), **environment):
        """Runs it with these lines on standard input."""
        return Ran(subprocess.run([BINARY, "chat", *arguments], cwd=self.folder, env=self.environment(**environment),
                                  input="".join(line + "\n" for line in lines).encode(), capture_output=True,
                                  timeout=SECONDS, check=False))

    def fake(self, answer):
        """A gateway made of a socket."""
        provider = FakeProvider(answer)
        self.addCleanup(provider.close)
        return provider


class ThroughPipes(ChatTest):
    def test_a_line_is_a_turn_and_an_answer_is_a_line(self):
        gate, server = self.gated()

        ran = self.chat("--url", server.ready["url"], lines=["One", "", "Two"])

        self.assertEqual((ran.code, ran.out), (0, "You said: One\nYou said: Two\n"), ran)
        self.assertEqual(gate.calls[1].roles, ["system", "user", "assistant", "user"])
        self.assertNotIn("\x1b", ran.out + ran.err)

    def test_without_an_address_the_gateway_is_in_this_process(self):
        gate = self.gate()
        self.write("treaty.yaml", configuration(gate))

        ran = self.chat(lines=["One", "Two"])

        self.assertEqual((ran.code, ran.out), (0, "You said: One\nYou said: Two\n"), ran)
        session = GO_ON.search(ran.err).group(1)
        self.assertEqual(self.chat("--session", session, lines=["Three"]).out, "You said: Three\n")
        self.assertEqual(gate.calls[2].roles.count("user"), 3)

    def test_the_demo_does_a_round_of_tools(self):
        self.write("README.md", "alpha and omega")

        ran = self.chat("--tool", "read_file=cat README.md", lines=["Read README.md"], OPENAI_API_KEY="")

        self.assertEqual(ran.code, 0, ran)
        self.assertIn("→ read_file(", ran.err)
        self.assertIn("alpha and omega", ran.out)

    def test_tools_are_run_and_their_results_go_back_in_order(self):
        gate, server = self.gated(calling("a", "b", text="Let me look."), Reply("Done."))

        ran = self.chat("--url", server.ready["url"], "--tool", "look=cat", lines=["Look."])

        self.assertEqual((ran.code, ran.out), (0, "Let me look.\nDone.\n"), ran)
        self.assertEqual([identifier for identifier, _ in gate.calls[1].tool_results], ["a", "b"])

    def test_a_tool_that_nobody_can_be_asked_for_fails_for_the_model(self):
        gate, server = self.gated(calling("a"), Reply("Done."))

        self.assertEqual(self.chat("--url", server.ready["url"], lines=["Look."]).out, "Done.\n")

        self.assertIn("cannot run the tool look", gate.calls[1].tool_results[0][1])

    def test_a_session_is_resumed_and_branched(self):
        gate, server = self.gated()
        first = GO_ON.search(self.chat("--url", server.ready["url"], lines=["One"]).err).group(1)

        ran = self.chat("--url", server.ready["url"], "--session", first, lines=["/session", "/branch", "Two", "/session"])

        self.assertEqual(ran.out, "You said: Two\n", ran)
        second = GO_ON.findall(ran.err)[-1]
        self.assertNotEqual(first, second)
        self.assertEqual(gate.calls[1].roles, ["system", "user", "assistant", "user"])
        self.assertEqual(len(server.get(f"/v1/sessions/{first}/turns").json["Turns"]), 1)

    def left_waiting(self, *replies):
        """A server in whose session s1 the turn t1 waits for the calls a and b."""
        gate, server = self.gated(calling("a", "b"), *replies)
        server.say("s1", "t1", "Look.")
        return gate, server

    def test_a_turn_that_was_left_waiting_goes_on_before_the_first_line(self):
        gate, server = self.left_waiting(Reply("Done."), Reply("Next."))

        ran = self.chat("--url", server.ready["url"], "--session", "s1", "--tool", "look=cat", lines=["More."])

        self.assertEqual((ran.code, ran.out), (0, "Done.\nNext.\n"), ran)
        self.assertEqual([identifier for identifier, _ in gate.calls[1].tool_results], ["a", "b"])

    def test_an_older_turn_that_was_repeated_and_waits_is_found(self):
        later = Reply(error=(503, {"error": {"message": "Not now."}}))
        _, server = self.gated(later, later, calling("a"), Reply("Done."), Reply("Next."))
        self.assertEqual([server.say("s1", name, name).status for name in ("t1", "t2", "t1")], [502, 502, 200])

        ran = self.chat("--url", server.ready["url"], "--session", "s1", "--tool", "look=cat", lines=["More."])

        self.assertEqual((ran.code, ran.out), (0, "Done.\nNext.\n"), ran)

    def test_a_turn_that_was_left_waiting_is_told_and_can_be_cancelled(self):
        gate, server = self.left_waiting(Reply("Fine."))

        ran = self.chat("--url", server.ready["url"], "--session", "s1", lines=["/cancel", "More.", "/cancel"])

        self.assertEqual((ran.code, ran.out), (0, "Fine.\n"), ran)
        self.assertIn('turn t1 of session s1 waits for the results of\n  look({"what": "a"})\n', ran.err)
        self.assertIn("The turn is cancelled.", ran.err)
        self.assertIn("There is nothing to cancel.", ran.err)
        self.assertEqual(server.get("/v1/sessions/s1/turns/t1").json["State"], "cancelled")
        self.assertEqual(gate.count, 2)

    def test_a_line_for_a_turn_that_waits_is_refused_and_the_turn_goes_on_waiting(self):
        gate, server = self.left_waiting()

        ran = self.chat("--url", server.ready["url"], "--session", "s1", lines=["More."])

        self.assertEqual((ran.code, ran.out), (75, ""), ran)
        self.assertIn("turn_in_progress", ran.err)
        self.assertIn("/cancel", ran.err)
        self.assertEqual(server.get("/v1/sessions/s1/turns/t1").json["State"], "awaiting_tools")
        self.assertEqual(gate.count, 1)

    def test_a_turn_that_still_runs_is_told_and_can_be_cancelled(self):
        gate, server = self.gated(held=True)
        first = self.later(self.chat, "--url", server.ready["url"], "--session", "s1", lines=["One"])
        gate.wait_for_calls(1)

        ran = self.chat("--url", server.ready["url"], "--session", "s1", lines=["/cancel"])

        self.assertEqual(ran.code, 0, ran)
        self.assertIn("still runs", ran.err)
        self.assertIn("The turn is cancelled.", ran.err)
        self.assertIn("turn_cancelled", first.result().err)
        gate.open()

    def test_a_new_session_knows_nothing_of_the_old_one(self):
        gate, server = self.gated()

        self.chat("--url", server.ready["url"], lines=["One", "/new", "Two"])

        self.assertEqual(gate.calls[1].roles, ["system", "user"])

    def test_sessions_that_must_be_opened_first_are(self):
        _, server = self.gated(sessions={"open": "explicit"})

        self.assertEqual(self.chat("--url", server.ready["url"], lines=["One"]).out, "You said: One\n")

    def test_words_after_a_slash_are_not_sent(self):
        gate, server = self.gated()

        ran = self.chat("--url", server.ready["url"], lines=["/help", "/retry", "/branch", "/nonsense", "//literally", "/quit", "no"])

        self.assertEqual((ran.code, ran.out), (0, "You said: /literally\n"), ran)
        for word in ("Ctrl-C", "nothing to send again", "no session yet", "/nonsense"):
            self.assertIn(word, ran.err)
        self.assertEqual(gate.count, 1)

    def test_an_agent_and_a_key(self):
        keys = [{"tenant": "acme", "sha256": hashlib.sha256(b"door-key").hexdigest()}]
        gate = self.gate()
        server = self.server(configuration(gate, keys=keys, agents={"second": {
            "system": "You are second.", "backends": [{"provider": "gate", "model": "small-2"}]}}))

        ran = self.chat("--url", server.ready["url"], "--key-env", "DOOR", "--agent", "second", lines=["One"], DOOR="door-key")
        wrong = self.chat("--url", server.ready["url"], lines=["One"])

        self.assertEqual(ran.out, "You said: One\n", ran)
        self.assertEqual(gate.calls[0].system, "You are second.")
        self.assertEqual(wrong.code, 1, wrong)
        self.assertIn("unauthenticated", wrong.err)

    def test_a_failed_turn_is_told_by_the_exit_code_and_the_next_line_goes_on(self):
        _, server = self.gated(Reply(error=(400, {"error": {"message": "Wrong."}})), Reply("Fine."))

        ran = self.chat("--url", server.ready["url"], lines=["One", "Two"])

        self.assertEqual((ran.code, ran.out), (1, "Fine.\n"), ran)
        self.assertIn("treaty chat: ", ran.err)

    def test_a_line_that_is_no_text_is_not_sent(self):
        gate, server = self.gated()
        ran = Ran(subprocess.run([BINARY, "chat", "--url", server.ready["url"]], input=b"\xff\xfe\nfine\n", check=False,
                                 cwd=self.folder, env=self.environment(), capture_output=True, timeout=SECONDS))

        self.assertEqual((ran.code, ran.out), (1, "You said: fine\n"), ran)
        self.assertEqual(gate.count, 1)

    def test_words_that_make_no_sense(self):
        self.assert_usage(self.chat("--url", "ftp://x"), "--url")
        self.assert_usage(self.chat("--key-env", "X"), "--url")
        self.assert_usage(self.chat("--url", "http://127.0.0.1:1", "--state-dir", "x"), "--state-dir")
        self.assert_usage(self.chat("--tool", "x"), "--tool")
        missing = self.chat("--url", "http://127.0.0.1:1", "--key-env", "NOT_THERE")
        self.assertEqual(missing.code, 78)
        self.assertIn("export NOT_THERE", missing.err)

    def test_an_interrupt_cancels_the_turn_that_runs(self):
        gate, server = self.gated(Reply("Well, ", HOLD, "never."))
        process = subprocess.Popen([BINARY, "chat", "--url", server.ready["url"], "--session", "s1"], cwd=self.folder,
                                   env=self.environment(), stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        process.stdin.write(b"Go.\n")
        process.stdin.flush()
        self.assertEqual(os.read(process.stdout.fileno(), 100), b"Well, ")

        process.send_signal(signal.SIGINT)

        self.assertEqual(process.wait(SECONDS), 130)
        turn, = server.get("/v1/sessions/s1/turns").json["Turns"]
        self.assertEqual(turn["State"], "cancelled")
        gate.open()


def event(number, kind, data):
    return f"id: {number}\nevent: {kind}\ndata: {json.dumps(data)}\n\n".encode()


STARTED = event(1, "turn.started", {"SessionId": "s/1", "TurnId": "t/9", "ModeDisplayName": "General"})
HELLO = event(2, "output.delta", {"DeltaText": "Hel"})
LO = event(3, "output.delta", {"DeltaText": "lo."})
RESULT = {"Successful": True, "Result": {"Kind": "final", "SessionId": "s/1", "TurnId": "t/9",
                                         "ModeDisplayName": "General", "PrimaryOutputText": "Hello."},
          "Errors": [], "Warnings": []}
END = event(4, "turn.result", RESULT)


def stream(*events, length=None):
    """The bytes of a stream that ends with its connection; with a length, that is known to be too short."""
    body = b"".join(events)
    head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n"
    if length:
        head += f"content-length: {length}\r\n".encode()
    return head + b"\r\n" + body


class WhenItBreaks(ChatTest):
    def talk_to(self, *answers):
        """What a fake gateway with these answers, one after the other, was asked, and how the chat went."""
        left = list(answers)

        def answer(connection, request):
            if request.target == "/prefix/v1/sessions/s%2F1":  # Is a turn open there?
                connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n")
                return
            bytes_of_it = left.pop(0) if len(left) > 1 else left[0]
            connection.sendall(bytes_of_it)

        provider = self.fake(answer)
        ran = self.chat("--url", provider.url + "/prefix/", "--session", "s/1", lines=["Hi."])
        return provider.requests[1:], ran

    def test_a_stream_that_was_cut_is_followed_from_its_last_event(self):
        for cut in (stream(STARTED, HELLO), stream(STARTED, HELLO, b"id: 3\nevent: outp"),
                    stream(STARTED, HELLO, length=9999)):
            requests, ran = self.talk_to(cut, stream(LO, END))

            self.assertEqual((ran.code, ran.out), (0, "Hello.\n"), ran)
            self.assertEqual([r.method for r in requests], ["POST", "GET"])
            self.assertEqual(requests[1].target, "/prefix/v1/sessions/s%2F1/turns/t%2F9/stream")
            self.assertEqual(requests[1].headers["last-event-id"], "2")

    def test_a_request_that_nobody_heard_is_sent_again_with_the_same_bytes(self):
        requests, ran = self.talk_to(b"", b"HTTP/1.1 200", stream(STARTED, HELLO, LO, END))

        self.assertEqual((ran.code, ran.out), (0, "Hello.\n"), ran)
        self.assertEqual([r.method for r in requests], ["POST"] * 3)
        self.assertEqual(len({r.body for r in requests}), 1)
        self.assertEqual(requests[0].target, "/prefix" + EXECUTE)

    def test_events_that_come_twice_count_once(self):
        _, ran = self.talk_to(stream(STARTED, HELLO), stream(STARTED, HELLO, LO, END))

        self.assertEqual(ran.out, "Hello.\n")

    def test_a_stream_with_nothing_more_is_asked_for_by_the_request_itself(self):
        requests, ran = self.talk_to(stream(STARTED, HELLO), b"HTTP/1.1 204 No Content\r\n\r\n",
                                     stream(STARTED, HELLO, LO, END))

        self.assertEqual((ran.code, ran.out), (0, "Hello.\n"), ran)
        self.assertEqual([r.method for r in requests], ["POST", "GET", "POST"])
        self.assertEqual(requests[0].body, requests[2].body)

    def test_text_that_differs_from_the_result_is_not_the_last_word(self):
        _, ran = self.talk_to(stream(STARTED, event(2, "output.delta", {"DeltaText": "Draft"}), END))

        self.assertEqual(ran.out, "Draft\nHello.\n")
        self.assertIn("note:", ran.err)

    def test_somebody_else_who_answers_is_told(self):
        page = b"HTTP/1.1 404 Not Found\r\ncontent-type: text/html\r\ncontent-length: 5\r\n\r\n<html"
        _, ran = self.talk_to(page)
        self.assertEqual((ran.code, ran.out), (69, ""), ran)
        self.assertIn("--url", ran.err)

        body = b'{"detail": "x"}'
        _, ran = self.talk_to(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body)
                              + body)
        self.assertEqual(ran.code, 1, ran)
        self.assertIn("InvokeResult", ran.err)

    def test_nobody_there_is_told_at_once(self):
        with socket.create_server(("127.0.0.1", 0)) as closed:
            port = closed.getsockname()[1]

        ran = self.chat("--url", f"http://127.0.0.1:{port}", lines=["Hi.", "Hi."])

        self.assertEqual((ran.code, ran.out), (69, ""), ran)
        self.assertIn("treaty serve", ran.err)

    def test_a_gateway_that_is_killed_and_comes_back_is_found_again(self):
        gate, server = self.gated(held=True)
        again = [f"127.0.0.1:{server.port}" if word == "127.0.0.1:0" else word for word in server.command()]
        waiting = self.later(self.chat, "--url", server.ready["url"], "--session", "s1", lines=["Hi."])
        gate.wait_for_calls(1)
        server.kill9()
        gate.open()
        server.command = lambda: again
        server.start()

        ran = waiting.result()

        self.assertEqual((ran.code, ran.out), (0, "You said: Hi.\n"), ran)


class InATerminal(ChatTest):
    def terminal(self, *arguments):
        return Terminal(self, "chat", *arguments, **self.environment())

    def test_a_conversation_until_ctrl_d(self):
        _, server = self.gated()
        terminal = self.terminal("--url", server.ready["url"])
        terminal.until("› ")
        terminal.type("One\n")
        terminal.until("You said: One")
        terminal.until("› ")

        terminal.type("\x04")

        terminal.until("Go on with: .*treaty chat --url")
        self.assertEqual(terminal.ended(), 0)

    def test_ctrl_c_cancels_the_turn_and_the_conversation_goes_on(self):
        _, server = self.gated(Reply("Well, ", HOLD, "never."), Reply("Better."))
        terminal = self.terminal("--url", server.ready["url"], "--session", "s1")
        terminal.until("› ")
        terminal.type("Go.\n")
        terminal.until("Well, ")

        terminal.type("\x03")

        terminal.until("turn_cancelled")
        terminal.until("› ")
        terminal.type("Again.\n")
        terminal.until("Better.")
        terminal.until("› ")  # Text may come before its turn has ended.
        states = [turn["State"] for turn in server.get("/v1/sessions/s1/turns").json["Turns"]]
        self.assertEqual(sorted(states), ["cancelled", "completed"])

    def test_ctrl_c_at_the_prompt_tells_how_to_leave_and_twice_leaves(self):
        _, server = self.gated()
        terminal = self.terminal("--url", server.ready["url"])
        terminal.until("› ")
        terminal.type("\x03")
        terminal.until("Ctrl-D or /quit leaves")
        terminal.type("\x03")
        self.assertEqual(terminal.ended(), 130)

    def test_the_result_of_a_tool_is_typed(self):
        gate, server = self.gated(calling("a"), Reply("Done."), calling("b"), Reply("A pity."))
        terminal = self.terminal("--url", server.ready["url"])
        terminal.until("› ")
        terminal.type("Look.\n")
        terminal.until("result of look .*› ")
        terminal.type("blue\n")
        terminal.until("Done.")
        terminal.until("› ")
        terminal.type("Look again.\n")
        terminal.until("result of look .*› ")
        terminal.type("\n")
        terminal.until("A pity.")

        self.assertIn('"blue"', gate.calls[1].tool_results[0][1])
        self.assertIn("gave no result", gate.calls[3].tool_results[0][1])

    def test_a_turn_that_was_left_waiting_asks_for_its_results_when_it_is_resumed(self):
        gate, server = self.gated(calling("a", "b"), Reply("Done."))
        server.say("s1", "t1", "Look.")
        terminal = self.terminal("--url", server.ready["url"], "--session", "s1")
        terminal.until("result of look .*› ")
        terminal.type("blue\n")
        terminal.until("result of look .*› ")

        terminal.type("\x04")

        terminal.until("The turn still waits for its tools.")
        terminal.until("Go on with: .*treaty chat --url")
        self.assertEqual(terminal.ended(), 0)
        again = self.terminal("--url", server.ready["url"], "--session", "s1", "--tool", "look=echo green")
        again.until("Done.")
        self.assertIn('"green"', gate.calls[1].tool_results[0][1])

    def test_a_turn_that_was_left_waiting_is_given_up_where_its_result_is_asked_for(self):
        gate, server = self.gated(calling("a", "b"), Reply("Fine."))
        server.say("s1", "t1", "Look.")
        terminal = self.terminal("--url", server.ready["url"], "--session", "s1")
        terminal.until("result of look .*› ")
        terminal.type("/cancel\n")
        terminal.until("The turn is cancelled.")
        terminal.until("› ")
        terminal.type("More.\n")
        terminal.until("Fine.")

        self.assertEqual(gate.calls[1].roles, ["system", "user"])

    def test_what_a_model_writes_cannot_command_the_terminal(self):
        _, server = self.gated(Reply("a\x1b[2Jb\x07c\u202ed\n"), )
        terminal = self.terminal("--url", server.ready["url"])
        terminal.until("› ")
        terminal.type("Go.\n")
        self.assertRegex(terminal.until("d\r\n"), r"a\?\[2Jb\?c\?d\r\n$")

    def test_a_retry_of_a_turn_that_failed_for_now_is_the_same_request(self):
        gate, server = self.gated(Reply(error=(500, {"error": {"message": "Broken."}})), Reply("Fine."))
        terminal = self.terminal("--url", server.ready["url"], "--session", "s1")
        terminal.until("› ")
        terminal.type("Go.\n")
        terminal.until("Next: ")
        terminal.until("› ")
        terminal.type("/retry\n")
        terminal.until("Fine.")
        self.assertEqual(len(server.get("/v1/sessions/s1/turns").json["Turns"]), 1)
        self.assertEqual(gate.calls[0].messages, gate.calls[1].messages)


if __name__ == "__main__":
    unittest.main()
