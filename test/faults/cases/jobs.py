# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""The job scripts of slurm/ with the program itself; stand-ins for SLURM's commands, and the signals that SLURM sends."""

import os
import signal

import case as c
from case import Case, Subset

SAVED = r"checkpoint: saved step {} in"
AGAIN = r"scontrol requeue 7"
SLOW = "at=step do=pause"


def cases():
    # Before the time limit SLURM signals the tasks of a step, all of them and nobody else.
    for name, number in (("usr1", signal.SIGUSR1), ("term", signal.SIGTERM)):
        yield Case(f"srun-{name}", c.STOPPED, (r"saved step [57] in|saved step 6 in", r"stopped after step \d", AGAIN),
                   script="srun.sbatch", fault=SLOW, meanwhile=lambda place, job, number=number: to_ranks(job, number),
                   subset=Subset.ALWAYS if name == "usr1" else Subset.ALL)
    yield Case("srun-usr1-to-one", c.STOPPED, (r"stopped after step \d", AGAIN), script="srun.sbatch", fault=SLOW,
               meanwhile=lambda place, job: to_ranks(job, signal.SIGUSR1, most=1), subset=Subset.ALL)
    yield Case("srun-usr1-evaluation", c.STOPPED, (SAVED.format(6), AGAIN), script="srun.sbatch",
               fault="at=evaluation do=USR1; at=evaluation do=pause", subset=Subset.ALL)
    yield Case("srun-usr1-load", c.STOPPED, (r"stopped by a signal before the first step", AGAIN), script="srun.sbatch",
               fault="at=load do=USR1", subset=Subset.ALL)
    # To the script alone, which passes it on.
    yield Case("sbatch-usr1", c.STOPPED, (r"stopped after step \d by signal 10", AGAIN), script="mpirun.sbatch",
               fault=SLOW, meanwhile=to_script)
    yield Case("sbatch-usr1-twice", c.STOPPED, (r"stopped after step \d by signal 10", AGAIN), script="mpirun.sbatch",
               fault=SLOW, meanwhile=lambda place, job: (to_script(place, job), to_script(place, job)),
               subset=Subset.ALL)
    yield Case("sbatch-killed", c.KILLED, (r"exited on signal 9",), script="mpirun.sbatch",
               fault="rank=1 at=step step=6 do=KILL", not_said=(AGAIN,), subset=Subset.ALL)
    yield Case("sbatch-stop-after", c.STOPPED, (r"by the time limit", AGAIN), script="mpirun.sbatch", fault=SLOW,
               options={"train.stop_after": "0.2s"}, subset=Subset.ALL)


def to_ranks(job, number, most=None):
    job.wait_for(lambda: "iteration        5/" in job.text(), "step 5")
    for pid in list(job.ranks().values())[:most]:
        os.kill(pid, number)


def to_script(place, job):
    job.wait_for(lambda: "iteration        5/" in job.text(), "step 5")
    os.kill(job.process.pid, signal.SIGUSR1)
