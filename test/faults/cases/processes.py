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
STALL = {"train.watchdog": "4s"}  # of a busy machine also the start of MPI takes a while


def wake(place, job, seconds=0.5):
    """A run of one rank has nobody who could notice that it is stopped; it goes on when it is woken."""
    job.wait_for(lambda: any(state(pid) == "T" for pid in job.ranks().values()), "a stopped rank")
    time.sleep(seconds)
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
                   fault=on_one + "do=STOP", options=STALL, seconds=16, subset=rare)
        yield Case(f"out-of-memory-{phase}", c.RESOURCES, (r"error: rank 1( of 2)?: out of memory", r"hint: "),
                   fault=on_one + "do=no_memory", subset=rare)
        yield Case(f"throwing-{phase}", c.INTERNAL, (r"error: rank 1( of 2)?: a fault on purpose", r"hint: "),
                   fault=on_one + "do=error", subset=rare)
        yield Case(f"crashed-{phase}", c.CRASHED, (r"rank 1 .* exited on signal 11",), fault=on_one + "do=SEGV",
                   subset=Subset.ALL)
        yield Case(f"out-of-memory-alone-{phase}", c.RESOURCES, (r"error: out of memory", r"hint: "), ranks=0,
                   fault=at + " do=no_memory", subset=Subset.ALL)
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
                   fault=at + "do=STOP", options=STALL, seconds=16, subset=Subset.ALL)
    yield from at_the_ends()
    yield from several()
    yield from slow()
    yield from numbers()


def at_the_ends():
    """Before MPI has started, and the launcher itself."""
    # The launcher names the rank, unless the end of the job overtakes that line: then it only counts.
    yield Case("killed-before-mpi", c.KILLED, (r"rank 1 .* exited on signal 9|1 process returned",),
               shell='if [[ $RANK == 1 ]]; then kill -9 $$; fi; exec "$@"')
    yield Case("stopped-before-mpi", c.STALLED, (r"error: rank 0: the start of MPI has not returned for 4\.0 s", r"hint: "),
               shell='if [[ $RANK == 1 ]]; then kill -STOP $$; fi; exec "$@"', options=STALL, seconds=16)
    # All is committed by then.
    yield Case("killed-end", c.KILLED, (r"rank 1 .* exited on signal 9",), fault="rank=1 at=end do=KILL", subset=Subset.ALL)
    yield Case("stopped-end", c.STALLED, (r"error: rank 0: the end of MPI has not returned for 4\.0 s", r"hint: "),
               fault="rank=1 at=end do=STOP", options=STALL, seconds=16, subset=Subset.ALL)
    yield Case("throwing-end", c.INTERNAL, (r"error: rank 1 of 2: a fault on purpose",), fault="rank=1 at=end do=error",
               subset=Subset.ALL)
    yield Case("launcher-killed-save", c.KILLED, fault="rank=0 at=save.sync step=6 do=KILL to=launcher; "
               "at=save.sync step=6 do=pause; at=save.verify do=pause; at=save.manifest do=pause")


PIPELINE = {"parallel.pipeline": 2}
TENSOR = {"parallel.tensor": 2}
CONTEXT = {"parallel.context": 2}


def several():
    """More ranks, and ranks that wait for each other in other ways."""
    yield Case("killed-two-of-four", c.KILLED, (r"exited on signal 9",), ranks=4, subset=Subset.ALL,
               fault="rank=1 at=step step=6 do=KILL; rank=3 at=step step=6 do=KILL")
    yield Case("stopped-two-of-four", c.STALLED, (r"error: rank \d has waited", r"Silent .*1.*3"), ranks=4,
               fault="rank=1 at=step step=6 do=STOP; rank=3 at=step step=6 do=STOP", options=STALL, seconds=15,
               subset=Subset.ALL)
    for name, layout in (("pipeline", PIPELINE), ("tensor", TENSOR), ("context", CONTEXT)):
        for rank in (0, 1):
            yield Case(f"stopped-{name}-{rank}", c.STALLED,
                       (rf"error: rank {1 - rank} has waited", rf"Silent is rank {rank}"), options=STALL | layout,
                       layout=tuple(layout), fault=f"rank={rank} at=step step=6 do=STOP", seconds=16, subset=Subset.ALL)
        yield Case(f"killed-{name}", c.KILLED, (r"rank 1 .* exited on signal 9",), options=layout, layout=tuple(layout),
                   fault="rank=1 at=step step=6 do=KILL", subset=Subset.ALL)
        yield Case(f"out-of-memory-{name}", c.RESOURCES, (r"error: rank 1( of 2)?: out of memory",), options=layout,
                   layout=tuple(layout), fault="rank=1 at=step step=6 do=no_memory", subset=Subset.ALL)
    yield Case("stopped-without-shared-memory", c.STALLED, (r"error: rank 0 has waited \d\.\d s in ", r"hint: "),
               fault="rank=1 at=step step=6 do=STOP", options=STALL, seconds=16, subset=Subset.ALL,
               environment={"SHIM_FAIL": "memfd_create:1:38"})


def slow():
    """Runs that go on, and badly."""
    yield Case("slow-rank", c.DONE, (r"warning .*speed: the others wait for rank 1: it works 0\.\d+ s in a step",),
               fault="rank=1 at=data do=pause", options={"train.steps": 40, "checkpoint.interval": 40,
                                                        "train.eval_interval": 0}, after=After.NOTHING)
    yield Case("slow-saves", c.DONE, (r"warning .*checkpoint: a save took [12]\.\d s, the training before it 0\.\d s",),
               fault="; ".join(f"at=save.{step} do=pause" for step in ("write", *SAVE_STEPS)), after=After.FINISHED,
               subset=Subset.ALL)
    yield Case("woken", c.DONE, (r"warning .*watchdog: this process did not run for [23]\.\d s",), ranks=0,
               fault="at=step step=5 do=STOP", options={"train.watchdog": "4s"}, after=After.FINISHED,
               meanwhile=lambda place, job: wake(place, job, 2.5))
    yield Case("stopped-data", c.STALLED, (r"error: rank 0 has waited \d\.\d s in ", r"Silent is rank 1"),
               fault="rank=1 at=data do=STOP", options=STALL, seconds=16, subset=Subset.ALL)


def numbers():
    yield Case("nan-ready", c.NUMERICS, (r"rank 1 holds 1 values that are not finite in model head", r"hint: "),
               fault="rank=1 at=ready do=nan", subset=Subset.ALL)
    yield Case("nan-evaluation", c.NUMERICS, (r"validation loss at iteration 6.* nan",
                                              r"rank 0 holds 1 values that are not finite"), ranks=1,
               fault="at=step step=6 do=nan", subset=Subset.ALL)
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
