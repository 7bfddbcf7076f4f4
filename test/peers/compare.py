#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Training speed beside PyTorch's: runs of both in turn, in one order and in the reverse one, and their ratios.

    test/peers/setup.sh /tmp/peers
    test/peers/compare.py --program build/release/bin/tessera --python /tmp/peers/bin/python

For every case the loss of the same weights on the same text is compared first. Then each pair runs `tessera bench step`,
PyTorch eager and PyTorch compiled, each in a new process; the ratio is ours over the better of the two.
"""

import argparse
import dataclasses
import json
import os
import pathlib
import random
import re
import statistics
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
LLAMA = str(HERE / "llama_15m.ini")
LOSS_TOLERANCE = 2e-5  # relative, in fp32


@dataclasses.dataclass(frozen=True)
class Case:
    model: str
    batch: int
    sequence: int
    threads: int
    ranks: int = 1

    @property
    def name(self):
        model = pathlib.Path(self.model).stem
        return f"{model}-{self.batch}x{self.sequence}-" + (f"{self.ranks}r" if self.ranks > 1 else f"{self.threads}t")


CASES = [*(Case("gpt2_124m", batch, sequence, threads) for batch, sequence in ((4, 256), (1, 1024)) for threads in (1, 2)),
         *(Case(LLAMA, 4, 256, threads) for threads in (1, 2)), Case(LLAMA, 4, 256, 1, ranks=2)]


def execute(command, threads, folder=None):
    environment = os.environ | {"OMP_NUM_THREADS": str(threads), "OMPI_ALLOW_RUN_AS_ROOT": "1",
                                "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, cwd=folder,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


class Peers:
    def __init__(self, arguments):
        self.program = pathlib.Path(arguments.program).resolve()
        self.python, self.steps = arguments.python, arguments.steps

    def engine(self, verb, case, *flags, folder=None):
        model = [case.model] if case.model.endswith(".ini") else [f"--model.preset={case.model}"]
        launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", case.ranks] if case.ranks > 1 else []
        sizes = [f"--model.sequence={case.sequence}", f"--train.global_batch={case.batch}",
                 f"--train.micro_batch={case.batch // case.ranks}", "--model.dropout=0"]
        return execute([*launcher, self.program, *verb, *model, *sizes, *flags], case.threads, folder)

    def ours(self, case):
        text = self.engine(["bench", "step"], case, f"--repetitions={self.steps}")
        return float(re.search(r"FOM tokens_per_second=([\d.]+)", text).group(1))

    def theirs(self, case, mode):
        text = execute([self.python, HERE / "torch_step.py", "--model", case.model, "--batch", case.batch, "--sequence",
                        case.sequence, "--threads", case.threads, "--processes", case.ranks, "--mode", mode, "--steps",
                        self.steps], case.threads)
        return json.loads(text.splitlines()[-1])["tokens_per_second"]

    def losses(self, case):
        """(ours, theirs): of the weights after one step, on a text that is one batch."""
        with tempfile.TemporaryDirectory() as name:
            folder = pathlib.Path(name)
            letters = random.Random(1).choices("etaoin shrdlu", k=case.batch * case.sequence)
            (folder / "text.txt").write_text("".join(letters), encoding="utf-8")
            execute([self.program, "prepare", "text.txt", "--output", "text.h5"], 1, folder)
            self.engine(["train"], case, "--data.train=text.h5", "--train.steps=2", "--checkpoint.dir=saved",
                        "--checkpoint.interval=1", "--log.dir=log", folder=folder)
            rows = [json.loads(line) for line in (folder / "log" / "metrics.jsonl").read_text().splitlines()]
            ours = next(row["loss"] for row in rows if row.get("step") == 2)
            theirs = execute([self.python, HERE / "torch_loss.py", "--model", case.model, "--checkpoint",
                              folder / "saved" / "step-00000001", "--text", folder / "text.txt", "--sequence",
                              case.sequence], case.threads)
            return ours, float(theirs)


def spread(values):
    return {"median": statistics.median(values), "least": min(values), "most": max(values)}


def compare(peers, case, pairs):
    ours, theirs = peers.losses(case)
    if abs(ours - theirs) > LOSS_TOLERANCE * abs(theirs):
        sys.exit(f"{case.name}: the loss is {ours} here and {theirs} in PyTorch")
    print(f"{case.name}: losses {ours:.6f} and {theirs:.6f}, load {os.getloadavg()[0]:.1f}", flush=True)
    runs = {"ours": lambda: peers.ours(case), "eager": lambda: peers.theirs(case, "eager"),
            "compile": lambda: peers.theirs(case, "compile")}
    found = {name: [] for name in runs}
    for pair in range(pairs):
        for name in runs if pair % 2 == 0 else reversed(runs):
            found[name].append(runs[name]())
    ratios = [mine / max(eager, compiled) for mine, eager, compiled in zip(*found.values())]
    result = {"case": case.name, "losses": [ours, theirs], "ratio": spread(ratios),
              **{name: spread(values) for name, values in found.items()}}
    print("  tokens/s: " + ", ".join(f"{name} {result[name]['median']:.1f}" for name in runs)
          + "; ratio {median:.2f} ({least:.2f} to {most:.2f})".format(**result["ratio"]), flush=True)
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", required=True)
    parser.add_argument("--python", required=True, help="of an environment made by setup.sh")
    parser.add_argument("--case", action="append", choices=[case.name for case in CASES], help="only these")
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=5, help="timed steps of a run, 5 or more")
    parser.add_argument("--json", type=pathlib.Path)
    arguments = parser.parse_args()
    peers = Peers(arguments)
    results = [compare(peers, case, arguments.pairs) for case in CASES
               if arguments.case is None or case.name in arguments.case]
    if arguments.json:
        arguments.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
