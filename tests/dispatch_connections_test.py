"""Whole-binary tests of connections that are kept: one attempt sends its request once, and an idle connection that the
provider has closed is no failure."""
import socket
import ssl
import threading
import unittest

from dispatching import QUICK, DispatchTest, entries
from fake_provider import FakeProvider, answer, certificate, completion, read_request, reset
from serving import configuration

KEPT = answer(completion("Fine.")).replace(b"Connection: close\r\n", b"")


class KeepingProvider(FakeProvider):
    """Answers every request and keeps the connection. `after` maps the number of an answer, from 1, to what then
    happens to its connection; `instead` the number of a request to what happens instead of an answer."""

    def __init__(self, after=None, instead=None, tls=None):
        self.after, self.instead = after or {}, instead or {}
        self.asked, self.kept, self.closed = 0, [], threading.Event()
        super().__init__(self.keep_answering, tls)

    @property
    def connections(self):
        return len(self.kept)

    def close(self):
        for connection in self.kept:
            try:
                connection.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass  # It is closed.
        super().close()

    def keep_answering(self, connection, request):
        self.kept.append(connection)
        while request is not None:
            self.asked += 1
            if self.asked in self.instead:
                self.instead[self.asked](connection)
                return
            connection.sendall(KEPT)
            if self.asked in self.after:
                self.after[self.asked](connection)
                self.closed.set()
                return
            request = read_request(connection)


def close(connection):
    connection.close()


def close_tls(connection):
    """Ends TLS and closes, without waiting for the other side."""
    connection.settimeout(0)
    try:
        connection.unwrap()
    except ssl.SSLError:
        pass
    connection.close()


class Kept(DispatchTest):
    def keeping(self, **more):
        provider = KeepingProvider(**more)
        self.addCleanup(provider.close)
        return provider

    def test_a_request_whose_kept_connection_closes_without_an_answer_is_not_sent_again_by_itself(self):
        for end in (close, reset):
            with self.subTest(end=end.__name__):
                provider = self.keeping(instead={2: end})
                server = self.chain(provider.port, workers=1, dispatch={"max_attempts": 1, "breaker_failures": 0})
                self.assertEqual(server.say("s1", "t1").text, "Fine.")

                self.assert_refused(server.say("s2", "t1"), 502, "server_error")

                self.assertEqual((provider.asked, provider.connections), (2, 1))
                self.assertEqual(self.kinds(server, "s2")[0], "one failed")
                self.assertEqual(server.say("s3", "t1").text, "Fine.")

    def test_it_is_an_attempt_like_any_other_and_is_retried_as_one(self):
        provider = self.keeping(instead={2: close})
        server = self.chain(provider.port, workers=1)
        server.say("s1", "t1")

        self.assertEqual(server.say("s2", "t1").text, "Fine.")

        self.assertEqual(provider.asked, 3)
        self.assertEqual(self.kinds(server, "s2"), ["one failed", "waiting for one", "one completed", "turn.completed"])

    def test_an_idle_connection_that_the_provider_has_closed_is_no_failure(self):
        for end in (close, reset):
            with self.subTest(end=end.__name__):
                provider = self.keeping(after={1: end})
                server = self.chain(provider.port, workers=1)
                self.assert_one_attempt_after_the_close(provider, server)

    def test_over_tls_it_is_none_either(self):
        pem, context = certificate(self.folder)
        for end in (close_tls, close):
            with self.subTest(end=end.__name__):
                provider = self.keeping(after={1: end}, tls=context)
                server = self.server(configuration(
                    agent={"dispatch": QUICK, "backends": entries(1)}, workers=1,
                    providers={"one": {"kind": "openai", "base_url": provider.url + "/v1", "ca_file": str(pem)}}))
                self.assert_one_attempt_after_the_close(provider, server)

    def assert_one_attempt_after_the_close(self, provider, server):
        self.assertEqual(server.say("s1", "t1").text, "Fine.")
        self.assertTrue(provider.closed.wait(10))

        self.assertEqual(server.say("s2", "t1").text, "Fine.")

        self.assertEqual(self.kinds(server, "s2"), ["one completed", "turn.completed"])
        self.assertEqual((provider.asked, provider.connections), (2, 2))


if __name__ == "__main__":
    unittest.main()
