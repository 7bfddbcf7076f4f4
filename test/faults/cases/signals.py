# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Requests to stop: signals to ranks and to the launcher in each phase, a file, a time limit."""

import os
import signal
import time

import case as c
from case import After, Case, Subset

STOPPED_BY = r"info .*run: stopped after step {} by signal {}"
SAVED = r"checkpoint: saved step {} in"
NOTHING_DONE = r"tessera: stopped by a signal before the first step: nothing was changed"
# A save that takes a while.
SLOW_SAVE = "; ".join(f"at=save.{step} do=pause" for step in ("declare", "write", "agree", "sync", "verify", "manifest"))


def cases():
    yield from to_ranks()
    yield from to_the_launcher()
    yield from while_saving()
    yield from other_requests()


def to_ranks():
    for name, number in (("USR1", 10), ("TERM", 15), ("INT", 2), ("HUP", 1)):
        rare = Subset.ALWAYS if name in ("USR1", "TERM") else Subset.ALL
        do = f"do={name}"
        for phase in ("start", "compile", "load"):
            yield Case(f"{name.lower()}-{phase}", c.STOPPED, (NOTHING_DONE,), fault=f"rank=1 at={phase} {do}",
                       subset=rare if phase == "load" else Subset.ALL)
        # Rank 1 asks between two steps: an even one would be saved anyway.
        yield Case(f"{name.lower()}-step", c.STOPPED, (SAVED.format(5), r"stopped after step 5"),
                   fault=f"rank=1 at=step step=5 {do}", subset=rare)
        yield Case(f"{name.lower()}-evaluation", c.STOPPED, (SAVED.format(6), r"stopped after step 6"),
                   fault=f"rank=1 at=evaluation {do}; at=evaluation do=pause", not_said=(r"validation loss at iteration",),
                   options={"train.watchdog": "20s"}, subset=rare)
        yield Case(f"{name.lower()}-alone", c.STOPPED, (SAVED.format(5), STOPPED_BY.format(5, number)), ranks=0,
                   fault=f"at=step step=5 {do}", subset=Subset.ALL)
    yield Case("usr1-before-mpi", c.STOPPED, (NOTHING_DONE,), meanwhile=signal_early, subset=Subset.ALWAYS)


def signal_early(place, job):
    """As soon as both processes run the program, most likely before MPI has started."""
    job.wait_for(lambda: len(caught := [pid for pid in job.ranks().values() if catches(pid, signal.SIGUSR1)]) > 0 and caught,
                 "a rank")
    os.kill(next(pid for pid in job.ranks().values() if catches(pid, signal.SIGUSR1)), signal.SIGUSR1)


def catches(pid, number):
    try:
        status = open(f"/proc/{pid}/status", encoding="ascii").read()
    except OSError:
        return False
    mask = int(status.split("SigCgt:")[1].split()[0], 16)
    return bool(mask >> (number - 1) & 1)


def to_the_launcher():
    for phase, at in (("load", "at=load"), ("step", "at=step step=5"), ("save", "at=save.write step=6")):
        step = {"step": 5, "save": 6}.get(phase)
        words = (NOTHING_DONE,) if phase == "load" else (SAVED.format(step),)
        yield Case(f"usr1-launcher-{phase}", c.STOPPED, words,
                   fault=f"rank=0 {at} do=USR1 to=launcher; {at} do=pause; at=step do=pause",
                   subset=Subset.ALL if phase == "load" else Subset.ALWAYS)
    # mpirun gives its ranks about a second. What was committed before stays; a save that is in time counts.
    for phase, at in (("step", "at=step step=7"), ("evaluation", "at=evaluation"), ("save", "at=save.write step=6")):
        yield Case(f"term-launcher-{phase}", c.LAUNCHER_ENDED, fault=f"rank=0 {at} do=TERM to=launcher; {SLOW_SAVE}; "
                   "at=evaluation do=pause", environment={"OMPI_MCA_odls_base_sigkill_timeout": "1"},
                   subset=Subset.ALWAYS if phase == "save" else Subset.ALL)


def while_saving():
    """The save that is under way is finished, whatever comes; then the run ends. Never two saves."""
    for name in ("USR1", "TERM"):
        twice = f"rank=1 at=save.write step=6 do={name}; rank=1 at=save.agree step=6 do={name}; {SLOW_SAVE}"
        yield Case(f"{name.lower()}-twice-save", c.STOPPED, (SAVED.format(6), r"stopped after step \d"), fault=twice,
                   subset=Subset.ALWAYS if name == "USR1" else Subset.ALL)
    # Who presses Ctrl-C twice does not want to wait: the older checkpoint stays.
    yield Case("int-twice-save", 130, fault="rank=0 at=save.agree step=6 do=INT; rank=0 at=save.verify step=6 do=INT")
    # scancel --full delivers each signal twice: by SLURM and by mpirun.
    yield Case("usr1-twice-step", c.STOPPED, (SAVED.format(5), r"stopped after step 5"),
               fault="at=step step=5 do=USR1; rank=0 at=step step=5 do=USR1 to=launcher")


def other_requests():
    yield Case("stop-file", c.STOPPED, (r"run/STOP is there already", SAVED.format(5),
                                        r"stopped after step 5 by the file run/STOP"),
               prepare=lambda place: (place.folder / "run/STOP").touch())
    yield Case("stop-after-step", c.STOPPED, (r"stopped after step \d by the time limit \(train\.stop_after\)",),
               fault="at=step do=pause", options={"train.stop_after": "0.2s"})
    yield Case("stop-after-evaluation", c.STOPPED, (SAVED.format(6), r"stopped after step 6 by the time limit"),
               fault="at=evaluation do=pause", options={"train.stop_after": "1.2s"},
               not_said=(r"validation loss at iteration",), subset=Subset.ALL)
    # Nothing is left to save, and the run is done.
    for name in ("USR1", "TERM", "HUP"):
        yield Case(f"{name.lower()}-end", c.DONE, fault=f"at=end do={name}", after=After.FINISHED, subset=Subset.ALL)
    # As srun does: every rank gets the signal directly, and no mpirun stands between.
    yield Case("usr1-all-ranks", c.STOPPED, (SAVED.format(5),), fault="at=step step=5 do=USR1")
    yield Case("term-all-ranks", c.STOPPED, (SAVED.format(5),), fault="at=step step=5 do=TERM", subset=Subset.ALL)
    yield Case("usr1-and-term", c.STOPPED, (SAVED.format(5),), subset=Subset.ALL,
               fault="at=step step=5 do=USR1; rank=0 at=save.agree step=5 do=TERM; rank=1 at=save.write step=5 do=INT")
    yield Case("usr1-two-of-four", c.STOPPED, (SAVED.format(5),), ranks=4, subset=Subset.ALL,
               fault="rank=2 at=step step=5 do=USR1; rank=3 at=step step=5 do=USR1")
    for name, layout in (("pipeline", {"parallel.pipeline": 2}), ("tensor", {"parallel.tensor": 2})):
        yield Case(f"usr1-{name}", c.STOPPED, (SAVED.format(5),), options=layout, layout=tuple(layout),
                   fault="rank=1 at=step step=5 do=USR1", subset=Subset.ALL)
    yield Case("ignored-signals", c.DONE, fault="at=step step=5 do=HUP", shell="trap '' HUP; exec \"$@\"",
               after=After.FINISHED, subset=Subset.ALL)
    yield Case("usr1-while-idle", c.STOPPED, (SAVED.format(5),), ranks=0, meanwhile=signal_while_stopped,
               fault="at=step step=5 do=STOP", subset=Subset.ALL)


def signal_while_stopped(place, job):
    """A request that comes while the process is stopped is answered when it goes on."""
    import workplace

    job.wait_for(lambda: any(workplace.state_of(pid) == "T" for pid in job.ranks().values()), "a stopped rank")
    for pid in job.ranks().values():
        os.kill(pid, signal.SIGUSR1)
        time.sleep(0.1)
        os.kill(pid, signal.SIGCONT)
