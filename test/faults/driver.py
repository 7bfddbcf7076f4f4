# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Runs cases: makes a workplace for each, does the harm, and looks at how the job ended and what it left."""

import pathlib
import re
import subprocess
import tempfile
import time

import workplace
from case import After, Case


class Reference:
    """Runs that nothing was done to, one for each number of ranks and layout that a case asks for."""

    def __init__(self, root, program):
        self.root, self.program = pathlib.Path(root), program
        self.places = {}

    def of(self, case):
        layout = {key: value for key, value in case.options.items() if key in case.layout}
        key = (max(case.ranks, 1), *sorted(layout.items()))
        if key not in self.places:
            folder = self.root / f"reference{len(self.places)}"
            folder.mkdir()
            place = workplace.Workplace(folder, self.program)
            place.make_dataset()
            code, text = place.run(key[0], layout)
            assert code == 0, text
            self.places[key] = place
        return self.places[key]


def named_shared_memory():
    return {path.name for path in pathlib.Path("/dev/shm").glob("*") if "tessera" in path.name}


class Trial:
    """One case in its workplace. `failures` has a sentence for each demand that was not met."""

    def __init__(self, case: Case, reference: Reference, program, root, shim):
        self.case, self.reference, self.shim = case, reference, shim
        self.place = workplace.Workplace(root, program, reference.of(case))
        self.failures, self.notes = [], []
        self.seconds = 0.0

    def demand(self, condition, sentence):
        if not condition:
            self.failures.append(sentence)

    def run(self):
        case, place = self.case, self.place
        if case.user:
            place.give(".", case.user)
        if case.prepare:
            case.prepare(place)
        before, shared = place.contents(), named_shared_memory()
        environment = dict(case.environment) | ({"TESSERA_FAULT": case.fault} if case.fault else {})
        if any(name.startswith("SHIM_") for name in environment):
            environment["LD_PRELOAD"] = str(self.shim)
        job = place.start(case.ranks, case.options, environment, verb=case.verb, shell=case.shell, plain=case.plain,
                          user=case.user, script=case.script)
        try:
            if case.meanwhile:
                case.meanwhile(place, job)
            code = job.wait(case.seconds - (time.monotonic() - job.started))
            self.seconds = time.monotonic() - job.started
            self.check_end(job, code)
            self.demand(not (left := job.left_over()), f"processes were left behind: {left}")
        finally:
            self.text = job.text()
            job.close()
        self.demand(named_shared_memory() <= shared, "shared memory was left behind")
        if left := place.leftovers():
            self.notes.append(f"Open MPI left {len(left)} files, {sum(p.lstat().st_size for p in left)} bytes")
        self.check_checkpoints()
        if case.repair:
            case.repair(place)
        self.check_after(before)

    def check_end(self, job, code):
        case, text = self.case, job.text()
        codes = case.code if isinstance(case.code, tuple) else (case.code,)
        if code is None:
            self.failures.append(f"still running after {case.seconds} s")
        else:
            self.demand(code in codes, f"exit code {code} instead of {' or '.join(map(str, codes))}")
        for pattern in case.words:
            self.demand(re.search(pattern, text), f"nothing was said that matches {pattern!r}")
        for pattern in case.not_said:
            self.demand(not re.search(pattern, text), f"it was said: {pattern!r}")

    def check_checkpoints(self):
        """What has the name of a checkpoint is whole, unless the case damaged it itself."""
        if self.case.prepare or self.case.repair:
            return
        for name in self.place.checkpoints():
            if name.endswith(".tmp"):
                continue
            code, text = self.place.run(0, {}, verb=("inspect", f"run/checkpoints/{name}", "--verify"), plain=True)
            self.demand(code == 0, f"{name} is not whole: {text}")

    def check_after(self, before):
        case, place = self.case, self.place
        if case.after is After.UNTOUCHED:
            now = place.contents()
            changed = sorted(name for name in before.keys() | now.keys() if before.get(name) != now.get(name))
            self.demand(not changed, f"these files were changed: {changed}")
        if case.after is After.GOES_ON:
            options = {k: v for k, v in case.options.items() if k not in ("train.stop_after", "train.watchdog")}
            code, text = place.run(case.ranks, options)
            self.demand(code == 0, f"the run does not go on: exit code {code}\n{text}")
        if case.after in (After.GOES_ON, After.FINISHED) and not self.failures:
            self.check_result()

    def check_result(self):
        place, reference = self.place, self.reference.of(self.case)
        last = workplace.LAST
        self.demand(place.digests(last) == reference.digests(last), "the weights in the end are other ones")
        rest = [name for name in place.checkpoints() if name.endswith(".tmp")]
        self.demand(not rest, f"folders were left behind: {rest}")
        locks = [str(path) for path in (place.folder / "run").rglob("lock")]
        self.demand(not locks, f"locks were left behind: {locks}")


def run_case(case, reference, program, shim):
    """The trial of a case after it has run; its folders are gone."""
    with tempfile.TemporaryDirectory(prefix="tf-") as root:
        trial = Trial(case, reference, program, root, shim)
        try:
            trial.run()
        except (AssertionError, OSError, subprocess.SubprocessError) as error:  # the driver could not do the harm
            trial.failures.append(str(error))
        finally:
            trial.place.close()
        return trial
