#!/usr/bin/env python3
"""The sixteen provider faults in real time, with nothing configured but chains of two backends.

    tests/torture_faults.py [--only TEXT]

One server, an agent for each case, all cases at the same time: about two minutes. Prints a table: the fault, whether
the client wanted a stream, seconds until the answer, the attempts at each provider in the first 1.5 s and in all, the
verdict. Exit 0 when every promise was kept: the whole answer or one error, at most 25 s, at most two attempts at a
provider in its first 1.5 s and six in all, and after an outage the first backend again within 30 s.
"""
import argparse
import concurrent.futures
import dataclasses
import pathlib
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))

import faults  # noqa: E402
from faults import FAULTS, OUTAGE, Fault, Outcome, Provider, ask, chain, violations  # noqa: E402
from serving import Server  # noqa: E402

REQUESTS = 20  # During the outage, one every three seconds.
BACK_WITHIN = 30
SLOW = 1.0  # Seconds that this machine may be slow by.


@dataclasses.dataclass
class Case:
    """One fault as one client meets it."""
    fault: Fault
    streamed: bool
    goes_on: bool
    agent: str
    providers: list
    outcome: Outcome = None
    wrong: list = dataclasses.field(default_factory=list)

    @property
    def how(self):
        return ("streamed" if self.streamed else "whole") + ("" if self.goes_on else ", on_cut: fail")

    def line(self, number):
        asked = self.outcome.asked() if self.outcome else ("-", "-")
        at_once = self.outcome.at_once() if self.outcome else ("-", "-")
        seconds = f"{self.outcome.seconds:6.1f}" if self.outcome else "     -"
        attempts = "  ".join(f"{some} of {every}" for some, every in zip(at_once, asked))
        return (f"{number:>2}  {self.fault.name:<42} {self.how:<22} {seconds} s  {attempts:<16} "
                f"{'ok' if not self.wrong else '; '.join(self.wrong)}")


def cases_of(only):
    """All of them, each with providers of its own."""
    made = []
    for number, fault in enumerate(FAULTS, 1):
        if only and only not in fault.name:
            continue
        for streamed, goes_on in ((True, True), (False, True), (True, False)):
            if not goes_on and not fault.leaves_text:
                continue
            agent = f"f{number}-{len(made)}"
            providers = [Provider(fault.one), Provider(fault.two, tokens=(200, 70))]
            made.append(Case(fault, streamed, goes_on, agent, providers))
    return made


def configuration(cases):
    configured, agents = {}, {"default": {}}
    for case in cases:
        providers, agent = chain(case.fault, case.agent, case.goes_on, 1, [one.port for one in case.providers])
        configured.update(providers)
        agents[case.agent] = agent
    agents["default"] = agents[cases[0].agent]
    return {"providers": configured, "agents": agents}


def run_case(server, case):
    if case.fault is OUTAGE:
        return run_outage(server, case)
    case.outcome = ask(server, case.providers, case.agent, case.streamed, case.agent)
    case.wrong = violations(case.fault, case.outcome, case.goes_on, SLOW)
    case.wrong += accounting(case)
    return case


def accounting(case):
    """The usage of an answer is that of all attempts that reported one."""
    if case.fault.name != "accounting after a switch":
        return []
    found = (case.outcome.usage.get("PromptTokens"), case.outcome.usage.get("CompletionTokens"))
    return [] if found == (300, 130) else [f"usage {found}, (300, 130) was used"]


def run_outage(server, case):
    """Requests during the outage, then until the first backend answers again. The outcome is that of the slowest."""
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(REQUESTS) as clients:
        running = []
        for number in range(REQUESTS):
            running.append(clients.submit(ask, server, case.providers, f"{case.agent}-{number}", case.streamed,
                                          case.agent))
            time.sleep(60 / REQUESTS)
        outcomes = [one.result() for one in running]
    for outcome in outcomes:
        case.wrong += violations(case.fault, outcome, True, SLOW)
    case.outcome = max(outcomes, key=lambda one: one.seconds)
    first = case.providers[0]
    for number in range(2 * BACK_WITHIN):
        outcome = ask(server, case.providers, f"{case.agent}-after{number}", case.streamed, case.agent)
        case.wrong += violations(case.fault, outcome, True, SLOW)
        if outcome.asked() == (1, 0) and outcome.text == faults.TEXT:
            break
        time.sleep(1)
    back = first.seconds() - 60
    if back > BACK_WITHIN + SLOW:
        case.wrong.append(f"the first backend was used again after {back:.0f} s")
    return case


def torture(only=""):
    """(the table, whether every promise was kept)."""
    cases = cases_of(only)
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder, configuration(cases)).start()
        try:
            with concurrent.futures.ThreadPoolExecutor(len(cases)) as clients:
                list(clients.map(lambda case: guarded(server, case), cases))
        finally:
            server.close()
            for provider in (one for case in cases for one in case.providers):
                provider.close()
        if any(case.wrong for case in cases):
            print(server.errors()[-6000:], file=sys.stderr)
    lines = [f" #  {'fault':<42} {'client':<22}  answer  {'at once of all':<16} verdict"]
    lines += [case.line(FAULTS.index(case.fault) + 1) for case in cases]
    return "\n".join(lines), not any(case.wrong for case in cases)


def guarded(server, case):
    try:
        run_case(server, case)
    except Exception as failure:  # pylint: disable=broad-except
        case.wrong.append(f"{type(failure).__name__}: {failure}"[:200])


def main():
    parser = argparse.ArgumentParser(description="The sixteen provider faults in real time.")
    parser.add_argument("--only", default="", metavar="TEXT", help="faults whose name contains it")
    began = time.monotonic()
    table, kept = torture(parser.parse_args().only)
    print(table)
    print(f"torture_faults: {'every promise was kept' if kept else 'a promise was broken'}; "
          f"{time.monotonic() - began:.0f} s")
    return 0 if kept else 1


if __name__ == "__main__":
    sys.exit(main())
