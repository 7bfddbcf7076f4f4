# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""What a case of the fault driver is: a run, what is done to it, and how it has to end."""

import dataclasses
import enum

# Exit codes of share/doc/exit_codes.md.
DONE, USAGE, DATA, NOT_FOUND, INTERNAL, RESOURCES = 0, 64, 65, 66, 70, 71
CANNOT_CREATE, IO, STOPPED, DISAGREEMENT, PERMISSION, CONFIGURATION = 73, 74, 75, 76, 77, 78
NUMERICS, STALLED = 79, 80
# What mpirun makes of a rank that was killed or crashed, and of being ended itself.
KILLED, CRASHED, LAUNCHER_ENDED = 137, 139, 1

MOST_SECONDS = 30


class After(enum.Enum):
    """What must be so when the job has ended."""

    GOES_ON = "the same command without the fault ends as if nothing had been"
    FINISHED = "the run has ended as if nothing had been"
    UNTOUCHED = "every file of the run's folder is as it was"
    NOTHING = "no further demand"


class Subset(enum.Enum):
    ALWAYS = "with every test run"
    ALL = "only when all cases are asked for"


@dataclasses.dataclass(frozen=True)
class Case:
    """A training run that resumes from step 4 of 8 and saves each second step, unless `options` say otherwise."""

    name: str
    code: int | tuple[int, ...]
    words: tuple[str, ...] = ()  # regular expressions that the output must match
    ranks: int = 2  # 0: without mpirun
    fault: str = ""  # TESSERA_FAULT, see apps/fault_points.hpp
    options: dict = dataclasses.field(default_factory=dict)  # of the run; None takes one out
    verb: tuple[str, ...] = ("train",)  # and its arguments before the options
    plain: bool = False  # no options of a run at all
    shell: str = ""  # bash, run by each rank before the program, as exec "$@" at its end; $RANK is known
    script: str = ""  # of the folder slurm, that starts the ranks, with stand-ins for SLURM's commands
    layout: tuple[str, ...] = ()  # those of the options that a run to which nothing happened has as well
    user: str = ""  # whose processes and folder they are; else those of the caller
    environment: dict = dataclasses.field(default_factory=dict)
    prepare: object = None  # called with the Workplace before the start
    meanwhile: object = None  # called with the Workplace and the running Job
    repair: object = None  # called with the Workplace before the run goes on
    needs: object = None  # called without arguments: a sentence when the case cannot be run here, else None
    after: After = After.GOES_ON
    seconds: float = MOST_SECONDS  # from the start of the job to its end
    subset: Subset = Subset.ALWAYS
    not_said: tuple[str, ...] = ()
