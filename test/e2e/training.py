# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Training runs of a tiny model, and what they leave behind."""

import json
import os
import pathlib
import random
import subprocess
import time

import program

RESOURCES, UNSAVED, STOPPED, DISAGREEMENT = 71, 72, 75, 76
TIMES = ("step_seconds", "tokens_per_second", "model_tflops", "mfu", "hfu")

# Two layers, dropout, several buckets and two micro-batches per rank on two ranks.
TINY = {
    "model.layers": 2,
    "model.hidden": 32,
    "model.heads": 4,
    "model.kv_heads": 2,
    "model.sequence": 32,
    "model.dropout": 0.1,
    "strategy.bucket_bytes": "16KiB",
    "train.global_batch": 8,
    "train.micro_batch": 2,
    "optimizer.lr": 1e-3,
    "lr.schedule": "constant",
}


def flags(options):
    return [f"--{key}={value}" for key, value in options.items()]


def children_of(pid):
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        yield from map(int, (task / "children").read_text().split())


def ranks_below(pid):
    """Process ids of the ranks that a launcher started, by rank."""
    found = {}
    for child in children_of(pid):
        try:
            if pathlib.Path(f"/proc/{child}/comm").read_text() == "tessera\n":
                environment = pathlib.Path(f"/proc/{child}/environ").read_bytes().split(b"\0")
                ranks = [int(entry.split(b"=")[1]) for entry in environment if entry.startswith(b"OMPI_COMM_WORLD_RANK=")]
                found[ranks[0]] = child
            found |= ranks_below(child)
        except FileNotFoundError:  # gone meanwhile
            pass
    return found


class TrainingTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        words = random.Random(5).choices(["tile", "mosaic", "rank", "layer", "step", "seed", "\n"], k=20000)
        self.write("text.txt", " ".join(words))
        self.run_program("prepare", "--output", "train.h5", "text.txt")

    def options(self, folder, **more):
        """Options of a run that logs to `folder`; keywords are options with __ for the dot."""
        given = {key.replace("__", "."): value for key, value in more.items()}
        return {"data.train": "train.h5", "log.dir": folder, "checkpoint.dir": f"{folder}/checkpoints"} | TINY | given

    def train(self, ranks, folder, code=program.DONE, **more):
        return self.run_ranks(ranks, "train", *flags(self.options(folder, **more)), code=code)

    def metrics(self, folder):
        """Lines of metrics.jsonl without times, exactly as they stand."""
        lines = (self.folder / folder / "metrics.jsonl").read_text().splitlines()
        return [{key: repr(value) for key, value in json.loads(line).items() if key not in TIMES} for line in lines]

    def expect_close(self, folder, reference, first=1):
        """Losses and norms of fp32 runs up to the order of sums, from step `first` on; all else exactly."""
        ours, theirs = ([line for line in self.metrics(name) if int(line["step"]) >= first] for name in (folder, reference))
        self.assertTrue(ours)
        self.assertEqual(len(ours), len(theirs))
        for ours_line, theirs_line in zip(ours, theirs):
            for key, tolerance in (("loss", 1e-5), ("grad_norm", 1e-4)):
                a, b = float(ours_line.pop(key)), float(theirs_line.pop(key))
                self.assertLessEqual(abs(a - b), tolerance * abs(b), f"{folder} {key}")
            for line in (ours_line, theirs_line):
                line.pop("peak_bytes")
            self.assertEqual(ours_line, theirs_line)

    def steps(self, folder):
        """How many lines there are already."""
        path = self.folder / folder / "metrics.jsonl"
        return len(path.read_text().splitlines()) if path.exists() else 0

    def checkpoints(self, folder):
        return sorted(path.name for path in (self.folder / folder / "checkpoints").iterdir() if path.is_dir())

    def digests(self, folder, step):
        """Digest of every tensor of a checkpoint, from its manifest."""
        return {tensor["path"]: tensor["digest"] for tensor in self.manifest(folder, step)["tensors"]}

    def manifest(self, folder, step):
        return json.loads(self.checkpoint_file(folder, step, "manifest.json"))

    def state(self, folder, step):
        return json.loads(self.checkpoint_file(folder, step, "state.json"))

    def checkpoint_file(self, folder, step, name):
        return (self.folder / folder / "checkpoints" / f"step-{step:08d}" / name).read_text()

    def signal_during_run(self, ranks, folder, rank, number, environment=None, wrapper=(), after=3, **more):
        """Starts a run that would last long, sends a signal to one rank when `after` steps are logged, and returns the
        outcome and the seconds until the end."""
        options = self.options(folder, train__steps=1000000, **more)
        launcher = ["timeout", "-k", "5", str(program.SECONDS), "mpirun", "--oversubscribe", "--bind-to", "none", "-n",
                    str(ranks), *wrapper, program.TESSERA, "train", *flags(options)]
        with subprocess.Popen(launcher, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, env={**os.environ, **program.MPI_ENVIRONMENT, **(environment or {})}) as job:
            deadline = time.monotonic() + 30
            while self.steps(folder) < after:
                self.assertLess(time.monotonic(), deadline, "no step was logged")
                self.assertIsNone(job.poll(), "the run ended by itself")
                time.sleep(0.02)
            os.kill(ranks_below(job.pid)[rank], number)
            signalled = time.monotonic()
            out, err = job.communicate(timeout=program.SECONDS)
        finished = subprocess.CompletedProcess(launcher, job.returncode, out, err)
        return program.Outcome(finished), time.monotonic() - signalled

