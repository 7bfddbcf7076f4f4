#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Training speed of layouts on two ranks of one thread beside one rank of two threads, in turns.

    test/peers/layouts.py --program build/release/bin/tessera --json layouts.json

A pipeline of two stages with m micro-batches is idle for 1 of m + 1 turns: its ratio is divided by m / (m + 1).
"""

import argparse
import contextlib
import json
import os
import pathlib

from engines import model_flags
from figures import aligned, spread, with_spread
from workers import AS_ROOT, Worker, in_turns

BATCH, MICRO_BATCHES = 4, 4
LAYOUTS = {
    "data": [f"--train.micro_batch={BATCH // 2}"],
    "tensor": [f"--train.micro_batch={BATCH}", "--parallel.tensor=2"],
    "context": [f"--train.micro_batch={BATCH}", "--parallel.context=2"],
    "pipeline": [f"--train.micro_batch={BATCH // MICRO_BATCHES}", "--parallel.pipeline=2"],
}
ONE = "one rank"


def worker(arguments, name):
    step = [arguments.program, "bench", "step", "--turns=on",
            *model_flags(arguments.model, arguments.sequence, BATCH)]
    if name == ONE:
        return Worker([[*step, f"--train.micro_batch={BATCH}"]], os.environ | AS_ROOT | {"OMP_NUM_THREADS": "2"})
    launcher = ["mpirun", "--oversubscribe", "--bind-to", "core", "-n", 2]
    return Worker([[*launcher, *step, *LAYOUTS[name]]], os.environ | AS_ROOT | {"OMP_NUM_THREADS": "1"})


def measure(arguments):
    with contextlib.ExitStack() as stack:
        workers = {name: stack.enter_context(worker(arguments, name)) for name in (ONE, *arguments.layout)}
        for each in workers.values():
            each.ready()
            each.take_turn(1)
        seconds = {name: [] for name in workers}
        for name in in_turns(workers, arguments.pairs):
            seconds[name].append(sum(workers[name].take_turn(arguments.steps)[0]["seconds"]) / arguments.steps)
    return seconds


def ratios(seconds, name):
    ideal = MICRO_BATCHES / (MICRO_BATCHES + 1) if name == "pipeline" else 1.0
    return [one / mine / ideal for one, mine in zip(seconds[ONE], seconds[name])]


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True, type=pathlib.Path)
    parser.add_argument("--model", default="gpt2_124m", help="a preset or a run file")
    parser.add_argument("--sequence", type=int, default=256)
    parser.add_argument("--layout", action="append", choices=LAYOUTS, help="only these")
    parser.add_argument("--pairs", type=int, default=5, help="turns of each, every second time in reverse order")
    parser.add_argument("--steps", type=int, default=1, help="of a turn")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    arguments.program = arguments.program.resolve()
    arguments.layout = arguments.layout or list(LAYOUTS)
    return arguments


def main():
    arguments = parse_arguments()
    seconds = measure(arguments)
    found = {name: {"seconds": spread(seconds[name]), "ratio": spread(ratios(seconds, name))} for name in seconds}
    rows = [["layout", "step, s", "one rank of two threads ÷ it"]]
    rows += [[name, with_spread(figures["seconds"], decimals=3), with_spread(figures["ratio"])]
             for name, figures in found.items()]
    print(aligned(rows))
    if arguments.json:
        arguments.json.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
