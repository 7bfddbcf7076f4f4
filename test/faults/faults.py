#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""The fault driver: does harm to training runs and checks exit codes, messages, and that nothing committed is lost.

faults.py PROGRAM SHIM [--table NAME ...] [--only REGEX] [--all] [--list]
  SHIM      the library made of shim.cpp
  --table   processes, files, ...; without it: all tables
  --only    cases whose name matches
  --all     also the cases that are left out of an ordinary test run; also by TESSERA_ALL_FAULTS=1
  --list    only prints the names
"""

import argparse
import importlib
import os
import pathlib
import re
import sys
import tempfile
import time

import driver
from case import Subset

TABLES = ("processes", "signals", "jobs", "files", "start", "chance")


def chosen(arguments):
    everything = arguments.all or os.environ.get("TESSERA_ALL_FAULTS") == "1"
    for table in arguments.table or TABLES:
        for case in importlib.import_module(f"cases.{table}").cases():
            if (everything or arguments.only or case.subset is Subset.ALWAYS) and re.search(arguments.only, case.name):
                yield case


def report(trial, case):
    print(f"{'ok  ' if not trial.failures else 'FAIL'} {case.name:<36} {trial.seconds:5.1f} s  "
          f"{'; '.join(trial.notes)}", flush=True)
    for failure in trial.failures:
        print("     " + failure.replace("\n", "\n     "))
    if trial.failures:
        print("     it said:\n     " + getattr(trial, "text", "").replace("\n", "\n     "), flush=True)


def main():
    parser = argparse.ArgumentParser(description="The fault driver.")
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("shim", type=pathlib.Path)
    parser.add_argument("--table", action="append", choices=TABLES)
    parser.add_argument("--only", default="")
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    cases = list(chosen(arguments))
    if arguments.list:
        print("\n".join(case.name for case in cases))
        return 0
    failed, skipped, begin = [], [], time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tf-") as root:
        reference = driver.Reference(root, arguments.program.resolve())
        for case in cases:
            if case.needs and (reason := case.needs()):
                print(f"skip {case.name:<36} {reason}")
                skipped.append(case.name)
                continue
            trial = driver.run_case(case, reference, arguments.program.resolve(), arguments.shim.resolve())
            report(trial, case)
            failed += [case.name] if trial.failures else []
    print(f"{len(cases) - len(skipped)} cases in {time.monotonic() - begin:.0f} s, {len(failed)} failed, "
          f"{len(skipped)} skipped")
    return 1 if failed or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
