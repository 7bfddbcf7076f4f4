# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""How both engines are started for a case."""

import contextlib
import json
import os
import pathlib
import random
import re
import subprocess
import sys
import time

from workers import AS_ROOT, Worker

HERE = pathlib.Path(__file__).resolve().parent
FOLLOWED = 4  # steps whose losses are compared
# Freed memory is kept and lies in huge pages: PyTorch's steps take up to a fifth less time so.
ALLOCATOR = {"GLIBC_TUNABLES": "glibc.malloc.hugetlb=1:glibc.malloc.mmap_threshold=4294967296:"
                               "glibc.malloc.trim_threshold=17179869184"}


def execute(command, environment, folder=None):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, env=environment, cwd=folder,
                          check=False)
    if done.returncode != 0:
        sys.exit(f"{' '.join(map(str, command))}\nended with {done.returncode}:\n{done.stderr[-3000:]}")
    return done.stdout


def model_flags(model, sequence, batch):
    """Of a step of so many samples: `model` is a preset or a run file."""
    return [model if model.endswith(".ini") else f"--model.preset={model}", f"--model.sequence={sequence}",
            "--model.dropout=0", f"--train.global_batch={batch}"]


def threads_of(case):
    return os.environ | AS_ROOT | {"OMP_NUM_THREADS": str(case.threads)}


class Engines:
    def __init__(self, program, python, folder, plain):
        self.program, self.python, self.folder, self.plain = program, python, folder, plain
        self.followed = {}

    def facts(self):
        versions = {"tessera": execute([self.program, "--version"], None).strip(),
                    "pytorch": execute([self.python, "-c", "import torch; print(torch.__version__)"], None).strip()}
        processor = re.search(r"model name\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8"))
        return {"time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()), **versions, "cores": os.cpu_count(),
                "processor": processor.group(1) if processor else "unknown",
                "allocator": "plain" if self.plain else "huge pages, memory kept", "load": os.getloadavg()}

    def description(self):
        return ", ".join(f"{key} {value}" for key, value in self.facts().items())

    def text(self, case):
        """A file of one batch of tokens, which are its bytes and the end of the document."""
        path = self.folder / f"{case.batch}x{case.sequence}.txt"
        if not path.exists():
            printable = [chr(code) for code in range(32, 127)]
            path.write_text("".join(random.Random(1).choices(printable, k=case.tokens)), encoding="ascii")
            execute([self.program, "prepare", path, "--output", path.with_suffix(".h5")], None)
        return path

    def command(self, verb, case):
        launcher = ["mpirun", "--bind-to", "none", "-n", case.ranks] if case.ranks > 1 else []
        return [*launcher, self.program, *verb, *model_flags(case.model, case.sequence, case.batch),
                f"--train.micro_batch={case.batch // case.ranks}", "--optimizer.clip=0"]

    def train(self, case, folder, *flags):
        execute([*self.command(["train"], case), f"--data.train={self.text(case).with_suffix('.h5')}", "--log.dir=log",
                 "--lr.schedule=constant", *flags], threads_of(case), folder)
        rows = (folder / "log" / "metrics.jsonl").read_text(encoding="utf-8").splitlines()
        return {row["step"]: row["loss"] for row in map(json.loads, rows) if "loss" in row}

    def losses(self, case):
        """Of FOLLOWED steps behind the first one, whose weights are saved; every step has the same batch."""
        folder = self.checkpoint(case).parents[1]
        if folder not in self.followed:
            folder.mkdir()
            self.train(case, folder, "--train.steps=1", "--checkpoint.dir=saved")
            found = self.train(case, folder, f"--train.steps={1 + FOLLOWED}", "--checkpoint.resume=saved")
            self.followed[folder] = [found[2 + step] for step in range(FOLLOWED)]
        return self.followed[folder]

    def checkpoint(self, case):
        name = f"{pathlib.Path(case.model).stem}-{case.batch}x{case.sequence}-{case.ranks}"
        return self.folder / name / "saved" / "step-00000001"

    def torch(self, case, mode, *flags):
        command = [self.python, HERE / "torch_worker.py", "--model", case.model, "--batch", case.batch, "--sequence",
                   case.sequence, "--threads", case.threads, "--mode", mode, *flags]
        environment = threads_of(case) | ({} if self.plain else ALLOCATOR)
        if case.ranks == 1:
            return Worker([command], environment)
        meeting = self.folder / f"meeting-{case.name}-{mode}"
        return Worker([[*command, "--rank", rank, "--processes", case.ranks, "--meeting", meeting]
                       for rank in range(case.ranks)], environment)

    @contextlib.contextmanager
    def workers(self, case):
        """Warm workers by name: ours first."""
        from_there = ["--checkpoint", self.checkpoint(case), "--text", self.text(case), "--follow", FOLLOWED]
        with contextlib.ExitStack() as stack:
            found = {"ours": Worker([self.command(["bench", "step", "--turns=on"], case)], threads_of(case))}
            stack.enter_context(found["ours"])
            found["ours"].ready()
            for mode in ("eager", "compile"):
                found[mode] = stack.enter_context(self.torch(case, mode, *from_there))
                found[mode].ready()
            yield found

    def start(self, case, name):
        """Seconds from the start of a process to the line that it writes behind its first step, and of that step."""
        text = self.text(case)
        begin = time.monotonic()
        if name != "ours":
            with self.torch(case, name) as worker:
                facts = worker.ready()[0]
                return time.monotonic() - begin, facts["first_step_seconds"]
        command = [*self.command(["train"], case), f"--data.train={text.with_suffix('.h5')}", "--train.steps=1"]
        with subprocess.Popen([str(word) for word in command], env=threads_of(case), stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as process:
            step = next(filter(None, (re.search(r"elapsed time per iteration \(ms\): ([\d.]+)", line)
                                      for line in process.stdout)), None)
            seconds = time.monotonic() - begin
        if step is None:
            sys.exit(f"{' '.join(map(str, command))} made no step")
        return seconds, float(step.group(1)) / 1e3
