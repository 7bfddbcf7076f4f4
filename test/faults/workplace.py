# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Folders, jobs and traces of the fault driver."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import time
import uuid

MARK = "TESSERA_TEST_MARK"  # in the environment of every process of a job
FIRST, LAST, INTERVAL = 4, 8, 2

OPTIONS = {
    "data.train": "train.h5",
    "data.split": "9,1",
    "model.layers": 2,
    "model.hidden": 32,
    "model.heads": 4,
    "model.kv_heads": 2,
    "model.sequence": 32,
    "model.dropout": 0.1,
    "strategy.bucket_bytes": "16KiB",
    "train.global_batch": 8,
    "train.micro_batch": 2,
    "train.steps": LAST,
    "train.eval_interval": INTERVAL,
    "train.watchdog": "20s",
    "optimizer.lr": 1e-3,
    "lr.schedule": "constant",
    "checkpoint.dir": "run/checkpoints",
    "checkpoint.interval": INTERVAL,
    "log.dir": "run",
}


def flags(options):
    return [f"--{key}={value}" for key, value in options.items() if value is not None]


def processes_with(mark):
    """Processes of a job, also those that nobody is the parent of any more."""
    wanted = f"{MARK}={mark}".encode()
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if wanted in (entry / "environ").read_bytes().split(b"\0") and state_of(int(entry.name)) != "Z":
                yield int(entry.name)
        except OSError:  # gone meanwhile
            pass


def state_of(pid):
    """One letter: R running, S sleeping, T stopped, Z ended, '' gone."""
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def rank_of(pid):
    for entry in pathlib.Path(f"/proc/{pid}/environ").read_bytes().split(b"\0"):
        if entry.startswith(b"OMPI_COMM_WORLD_RANK="):
            return int(entry.split(b"=")[1])
    return None


class Job:
    """A running program, alone or under mpirun; a context that leaves no process behind."""

    def __init__(self, workplace, command, environment):
        self.mark = uuid.uuid4().hex
        self.folder = workplace.folder
        self.output = open(workplace.scratch / "output.txt", "w+b")
        settings = {
            "OMPI_ALLOW_RUN_AS_ROOT": "1",
            "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
            "OMPI_MCA_odls_base_sigkill_timeout": "0",
            "OMP_NUM_THREADS": "1",
            # What Open MPI leaves behind when it is killed goes away with the folder.
            "TMPDIR": str(workplace.scratch),
            "OMPI_MCA_btl_vader_backing_directory": str(workplace.segments),
            MARK: self.mark,
        }
        self.started = time.monotonic()
        self.process = subprocess.Popen(command, cwd=self.folder, stdin=subprocess.DEVNULL, stdout=self.output,
                                        stderr=subprocess.STDOUT, env={**os.environ, **settings, **environment},
                                        start_new_session=True)

    def text(self):
        self.output.flush()
        return pathlib.Path(self.output.name).read_text(errors="replace")

    def wait_for(self, condition, what, seconds=15):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise AssertionError(f"{what} did not come about\n{self.text()}")
            time.sleep(0.01)

    def ranks(self):
        """Process ids of the program's processes, by rank."""
        found = {}
        for pid in processes_with(self.mark):
            try:
                if pathlib.Path(f"/proc/{pid}/comm").read_text().startswith("tessera"):
                    found[rank_of(pid) or 0] = pid
            except OSError:
                pass
        return found

    def wait(self, seconds):
        """The exit code as a shell says it; None: the job had to be killed."""
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            return None
        return code if code >= 0 else 128 - code

    def left_over(self, grace=3.0):
        """Processes that are still there a moment after the end; they are killed."""
        deadline = time.monotonic() + grace
        while (left := list(processes_with(self.mark))) and time.monotonic() < deadline:
            time.sleep(0.02)
        names = []
        for pid in left:
            try:
                names.append(f"{pid} ({pathlib.Path(f'/proc/{pid}/comm').read_text().strip()}, {state_of(pid)})")
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        return names

    def close(self):
        self.left_over(0)
        self.process.wait()
        self.output.close()


class Workplace:
    """A folder with a dataset and, in run/checkpoints, the checkpoints of steps 2 and 4 of a run."""

    def __init__(self, root, program, model=None):
        self.root = pathlib.Path(root)
        self.program = str(program)
        self.folder = self.root / "work"
        self.scratch = self.root / "t"  # short: sockets of Open MPI lie below
        self.segments = self.root / "s"
        self.mounts = []  # file systems that a case has put below the folder
        for folder in (self.folder, self.scratch, self.segments):
            folder.mkdir()
        if model is not None:
            shutil.copytree(model.folder, self.folder, dirs_exist_ok=True)
            for step in range(FIRST + INTERVAL, LAST + INTERVAL, INTERVAL):
                shutil.rmtree(self.checkpoint(step))
            (self.folder / "run/checkpoints/latest").write_text(f"step-{FIRST:08d}\n")

    def give(self, name, user):
        """Owner of a file or folder and all below."""
        path = self.root if name == "." else self.folder / name
        for entry in [path, *path.rglob("*")]:
            shutil.chown(entry, user)

    def make_dataset(self):
        words = random.Random(5).choices(["tile", "mosaic", "rank", "layer", "step", "seed", "\n"], k=4000)
        (self.folder / "text.txt").write_text(" ".join(words))
        subprocess.run([self.program, "prepare", "--output", "train.h5", "text.txt"], cwd=self.folder, check=True,
                       capture_output=True)

    def command(self, ranks, options, verb=("train",), shell="", plain=False, user="", script=""):
        arguments = [self.program, *verb] + ([] if plain else flags({**OPTIONS, **options}))
        if script:
            self.make_stand_ins(ranks)
            return ["bash", str(pathlib.Path(__file__).parents[2] / "slurm" / script), *arguments[2:]]
        if shell:
            arguments = ["bash", "-c", 'RANK=${OMPI_COMM_WORLD_RANK:-0}; ' + shell, "rank", *arguments]
        as_user = ["setpriv", f"--reuid={user}", "--regid=nogroup", "--clear-groups", "--"] if user else []
        launcher = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", str(ranks)] if ranks > 0 else []
        return [*as_user, *launcher, *arguments]

    def make_stand_ins(self, ranks):
        """SLURM's commands: srun starts the ranks by mpirun, and the others say what they were told."""
        folder = self.root / "bin"
        folder.mkdir()
        mpirun = f"{shutil.which('mpirun')} --oversubscribe --bind-to none -n {ranks}"
        skip = "while [[ $1 == -* ]]; do [[ $1 == *=* ]] || shift; shift; done"
        for name, body in (("srun", f'{skip}; exec {mpirun} "$@"'), ("mpirun", f'{skip}; exec {mpirun} "$@"'),
                           ("scontrol", 'echo "scontrol $*"')):
            (folder / name).write_text(f"#!/usr/bin/env bash\n{body}\n")
            (folder / name).chmod(0o755)

    def start(self, ranks, options, environment=None, script="", **more):
        slurm = {"PATH": f"{self.root / 'bin'}:{os.environ['PATH']}", "TESSERA": self.program, "SLURM_JOB_ID": "7",
                 "SLURM_CPUS_PER_TASK": "1"}
        return Job(self, self.command(ranks, options, script=script, **more),
                   (slurm if script else {}) | (environment or {}))

    def run(self, ranks, options, environment=None, **more):
        """Exit code and output of a run that nothing is done to."""
        job = self.start(ranks, options, environment, **more)
        try:
            return job.wait(60), job.text()
        finally:
            job.close()

    def checkpoints(self, folder="run/checkpoints"):
        place = self.folder / folder
        return sorted(p.name for p in place.iterdir() if p.is_dir()) if place.is_dir() else []

    def checkpoint(self, step):
        return self.folder / "run/checkpoints" / f"step-{step:08d}"

    def digests(self, step):
        manifest = json.loads((self.checkpoint(step) / "manifest.json").read_text())
        return {tensor["path"]: tensor["digest"] for tensor in manifest["tensors"]}

    def contents(self):
        """Every file below the run's folder with its bytes; a lock that a killed run left stops nobody."""
        return {str(path.relative_to(self.folder)): path.read_bytes()
                for path in sorted((self.folder / "run").rglob("*"))
                if path.is_file() and path.name not in ("lock", "metrics.jsonl")}

    def leftovers(self):
        """Of Open MPI: files in its folder and in that of its segments."""
        return [path for folder in (self.scratch, self.segments) for path in folder.rglob("*")
                if not path.is_dir() and path.name != "output.txt"]

    def close(self):
        for folder in reversed(self.mounts):
            subprocess.run(["umount", "--lazy", str(folder)], check=False)
