# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""A rank or the launcher is killed when nobody expects it: what was committed stays, and the run goes on from there."""

import os
import random
import signal
import time

import case as c
from case import Case, Subset

ROUNDS = 24
LONGEST = 0.9  # seconds that a run takes, with its pauses


def cases():
    chance = random.Random(11)
    for number in range(ROUNDS):
        victim, delay = chance.choice((0, 1, "launcher")), chance.uniform(0, LONGEST)
        yield Case(f"killed-anytime-{number}", (c.KILLED, c.DONE), fault="at=step do=pause; at=save.write do=pause",
                   meanwhile=lambda place, job, victim=victim, delay=delay: kill(job, victim, delay),
                   subset=Subset.ALWAYS if number < 3 else Subset.ALL)


def kill(job, victim, delay):
    time.sleep(delay)
    pid = job.process.pid if victim == "launcher" else job.ranks().get(victim)
    try:
        if pid is not None:
            os.kill(pid, signal.SIGKILL)
    except ProcessLookupError:  # it has ended by itself
        pass
