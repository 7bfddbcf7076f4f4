# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""A rank that is killed, stopped, out of memory, throws, or computes with numbers that are not finite, in each phase."""

import os
import signal
import time

import case as c
from case import After, Case, Subset

# Where a fault can be, with what TESSERA_FAULT needs to say about it. Saves are at steps 6 and 8.
PHASES = {
    "start": "at=start",
    "compile": "at=compile",
    "load": "at=load",
    "step": "at=step step=6",
    "evaluation": "at=evaluation",
    "save": "at=save.write step=6",
}
# Steps of a save that only rank 0 makes; from latest on the new checkpoint counts.
SAVE_STEPS = ("open", "declare", "agree", "sync", "verify", "manifest", "rename", "latest", "prune")
STALL = {"train.watchdog": "2s"}


def wake(place, job):
    """A run of one rank has nobody who could notice that it is stopped; it goes on when it is woken."""
    job.wait_for(lambda: any(state(pid) == "T" for pid in job.ranks().values()), "a stopped rank")
    time.sleep(0.5)
    for pid in job.ranks().values():
        os.kill(pid, signal.SIGCONT)


def state(pid):
    import workplace

    return workplace.state_of(pid)


def cases():
    for phase, at in PHASES.items():
        rare = Subset.ALL if phase in ("compile", "load") else Subset.ALWAYS
        on_one = f"rank=1 {at} "
        yield Case(f"killed-{phase}", c.KILLED, (r"rank 1 .* exited on signal 9",), fault=on_one + "do=KILL",
                   subset=rare)
        yield Case(f"stopped-{phase}", c.STALLED,
                   (r"error: rank 0 has waited \d\.\d s in ", r"Silent is rank 1", r"hint: look at the named rank"),
                   fault=on_one + "do=STOP", options=STALL, seconds=12, subset=rare)
        yield Case(f"out-of-memory-{phase}", c.RESOURCES, (r"error: rank 1( of 2)?: out of memory", r"hint: "),
                   fault=on_one + "do=no_memory", subset=rare)
        yield Case(f"throwing-{phase}", c.INTERNAL, (r"error: rank 1( of 2)?: a fault on purpose", r"hint: "),
                   fault=on_one + "do=error", subset=rare)
        yield Case(f"crashed-{phase}", c.CRASHED, (r"rank 1 .* exited on signal 11",), fault=on_one + "do=SEGV",
                   subset=Subset.ALL)
        yield Case(f"killed-alone-{phase}", c.KILLED, ranks=0, fault=at + " do=KILL", subset=Subset.ALL)
        yield Case(f"throwing-alone-{phase}", c.INTERNAL, (r"error: a fault on purpose",), ranks=0,
                   fault=at + " do=error", subset=Subset.ALL)
        yield Case(f"stopped-alone-{phase}", c.DONE, ranks=0, fault=at + " do=STOP",
                   meanwhile=wake, after=After.FINISHED, subset=Subset.ALL)
    for step in SAVE_STEPS:
        at = f"rank=0 at=save.{step} step=6 "
        yield Case(f"killed-save-{step}", c.KILLED, fault=at + "do=KILL", subset=Subset.ALL)
        yield Case(f"throwing-save-{step}", c.INTERNAL, (r"error: rank 0: a fault on purpose",), fault=at + "do=error",
                   subset=Subset.ALWAYS if step in ("rename", "latest") else Subset.ALL)
        yield Case(f"stopped-save-{step}", c.STALLED, (r"error: rank 1 has waited", r"Silent is rank 0"),
                   fault=at + "do=STOP", options=STALL, seconds=12, subset=Subset.ALL)
    yield from at_the_ends()
    yield from numbers()


def at_the_ends():
    """Before MPI has started, and the launcher itself."""
    # The launcher names the rank, unless the end of the job overtakes that line: then it only counts.
    yield Case("killed-before-mpi", c.KILLED, (r"rank 1 .* exited on signal 9|1 process returned",),
               shell='if [[ $RANK == 1 ]]; then kill -9 $$; fi; exec "$@"')
    yield Case("stopped-before-mpi", c.STALLED, (r"error: rank 0: the start of MPI has not returned for 2\.0 s", r"hint: "),
               shell='if [[ $RANK == 1 ]]; then kill -STOP $$; fi; exec "$@"', options=STALL, seconds=12)
    yield Case("launcher-killed-save", c.KILLED, fault="rank=0 at=save.sync step=6 do=KILL to=launcher; "
               "at=save.sync step=6 do=pause; at=save.verify do=pause; at=save.manifest do=pause")


def numbers():
    yield Case("nan-weights", c.NUMERICS,
               (r"error: step 6 cannot be saved:\nrank 1 holds 1 values that are not finite in model head", r"hint: "),
               fault="rank=1 at=step step=6 do=nan")
    yield Case("nan-weights-later", c.NUMERICS,
               (r"error: 3 steps in a row had gradients that are not finite",
                r"rank 1 holds 1 values that are not finite in model head", r"hint: "),
               fault="rank=1 at=step step=6 do=nan", options={"train.skip_limit": 3, "train.steps": 16,
                                                              "checkpoint.interval": 16}, after=After.NOTHING)
    yield Case("nan-weights-alone", c.NUMERICS, (r"rank 0 holds 1 values that are not finite in model head",),
               ranks=0, fault="at=step step=6 do=nan", subset=Subset.ALL)
    yield Case("bit-of-a-replica", c.NUMERICS,
               (r"error: step 6 cannot be saved:\nranks 0 and 1 hold other bits of the same part of model head",
                r"hint: "), fault="rank=1 at=step step=6 do=flip")
