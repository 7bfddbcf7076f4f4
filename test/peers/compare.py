#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Training speed beside PyTorch's, in one session: README.md says how.

    test/peers/setup.sh /tmp/peers
    test/peers/compare.py --program build/release/bin/tessera --python /tmp/peers/bin/python --json peers.json

Exit code 1 when losses of the same weights on the same tokens differ.
"""

import argparse
import json
import os
import pathlib
import signal
import sys
import tempfile
import time

from cases import CASES, STARTS
from engines import Engines
from figures import results_table, spread, starts_table
from workers import in_turns

LOSS_TOLERANCE = 5e-6  # relative, of every step, in fp32


def check_losses(case, ours, theirs):
    for name, losses in theirs.items():
        for step, (mine, other) in enumerate(zip(ours, losses, strict=True)):
            if abs(mine - other) > LOSS_TOLERANCE * abs(other):
                raise SystemExit(f"{case.name}: {step} steps from the same weights the loss is {mine} here, {other} in "
                                 f"PyTorch ({name})")


def take_turns(workers, case, pairs):
    """{name: answers}, one per pair; and the largest share of a core that the others used in somebody's turn."""
    found, idle = {name: [] for name in workers}, 0.0
    for name in in_turns(workers, pairs):
        others = [worker for other, worker in workers.items() if other != name]
        used, begin = sum(other.cpu_seconds() for other in others), time.monotonic()
        found[name].append(workers[name].take_turn(case.steps))
        idle = max(idle, (sum(other.cpu_seconds() for other in others) - used) / (time.monotonic() - begin))
    return found, idle


def slowest(answers, key):
    """Seconds of the steps of a turn, each as long as its slowest process takes."""
    return sum(max(values) for values in zip(*(answer[key] for answer in answers)))


def evaluate(case, found, parameters):
    """Rates of every pair, and ratios of ours to the better peer's."""
    peers = [name for name in found if name != "ours"]
    rates = {name: [case.tokens * case.steps / slowest(answers, "seconds") for answers in turns]
             for name, turns in found.items()}
    # Weights, gradient and two moments are read, all but the gradient written: 28 bytes.
    update_bytes = 28 * parameters * case.steps
    updates = {name: [update_bytes / slowest(answers, "update_seconds") for answers in found[name]] for name in peers}
    updates["ours"] = [update_bytes / answers[0]["ops"]["adamw"] for answers in found["ours"]]
    # Of one process and one thread: what other programs take from the wall time is not in it.
    work = {name: [case.tokens * case.steps / answers[0]["cpu_seconds"] for answers in turns]
            for name, turns in found.items()} if case.threads * case.ranks == 1 else None
    streams = [answers[0]["stream_bytes_per_second"] for answers in found["ours"]]

    def ratios(values):
        return [mine / max(values[name][pair] for name in peers) for pair, mine in enumerate(values["ours"])]

    return {"tokens_per_second": {name: spread(values) for name, values in rates.items()},
            "ratio": spread(ratios(rates)),
            "tokens_per_cpu_second": work and {name: spread(values) for name, values in work.items()},
            "cpu_ratio": work and spread(ratios(work)),
            "update_bytes_per_second": {name: spread(values) for name, values in updates.items()},
            "update_ratio": spread(ratios(updates)),
            "stream_bytes_per_second": spread(streams),
            "update_over_stream": spread([u / s for u, s in zip(updates["ours"], streams)])}


def compare(engines, case, pairs):
    load = os.getloadavg()
    ours = engines.losses(case)
    with engines.workers(case) as workers:
        facts = {name: worker.ready() for name, worker in workers.items()}
        theirs = {name: [sum(step) / case.ranks for step in zip(*(answer["losses"] for answer in answers))]
                  for name, answers in facts.items() if name != "ours"}
        check_losses(case, ours, theirs)
        for name, worker in workers.items():
            worker.take_turn(1)
        found, idle = take_turns(workers, case, pairs)
    parameters = facts["ours"][0]["parameters"]
    return {"case": case.name, "parameters": parameters, "tokens": case.tokens, "threads": case.threads,
            "ranks": case.ranks, "pairs": pairs, "steps_of_turn": case.steps, "losses": {"ours": ours, **theirs},
            **evaluate(case, found, parameters), "cores_used_by_waiting": idle,
            "load": {"before": load, "after": os.getloadavg()}}


def compare_starts(engines, case, pairs):
    found = {"ours": [], "eager": []}
    for name in in_turns(found, pairs):
        found[name].append(engines.start(case, name))
    ends = {name: [end for end, _ in values] for name, values in found.items()}
    begins = {name: [end - step for end, step in values] for name, values in found.items()}

    def figures(seconds):
        return {"seconds": {name: spread(values) for name, values in seconds.items()},
                "ratio": spread([mine / other for mine, other in zip(seconds["ours"], seconds["eager"])])}

    return {"case": case.name, "pairs": pairs, "begin": figures(begins), "end": figures(ends),
            "load": {"after": os.getloadavg()}}


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--python", required=True, help="of an environment made by setup.sh")
    names = [case.name for case in CASES] + [f"start-{case.name}" for case in STARTS]
    parser.add_argument("--case", action="append", choices=names, help="only these")
    parser.add_argument("--pairs", type=int, default=6, help="turns of each (5 or more), every second pair in reverse order")
    parser.add_argument("--plain", action="store_true", help="PyTorch without settings of the allocator")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    if arguments.pairs < 5:
        parser.error("--pairs is 5 or more")
    return arguments


def main():
    arguments = parse_arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))  # workers and folders go, too

    def chosen(name):
        return arguments.case is None or name in arguments.case

    results, starts = [], []
    with tempfile.TemporaryDirectory() as folder:
        engines = Engines(arguments.program.resolve(), arguments.python, pathlib.Path(folder), arguments.plain)
        print(engines.description(), flush=True)
        for case in CASES:
            if chosen(case.name):
                results.append(compare(engines, case, arguments.pairs))
                print(results_table(results[-1:]), flush=True)
        for case in STARTS:
            if chosen(f"start-{case.name}"):
                starts.append(compare_starts(engines, case, arguments.pairs))
                print(starts_table(starts[-1:]), flush=True)
        facts = {**engines.facts(), "cases": results, "starts": starts}
    if arguments.json:
        arguments.json.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    print("\n".join(table for table in (results_table(results), starts_table(starts)) if table))


if __name__ == "__main__":
    main()
