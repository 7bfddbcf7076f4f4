#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""The catalogue share/doc/faults.md and the tables of cases are about the same: each name there has a case, each case a
row, each file that is named is there.

catalogue.py ROOT
"""

import fnmatch
import pathlib
import re
import sys

import faults
from importlib import import_module


def tests_of(text):
    """Where cases are named: in the last column of a table, in all columns but the first of that of the phases."""
    section = ""
    for row in text.splitlines():
        section = row[3:] if row.startswith("## ") else section
        if row.startswith("| "):
            yield row.split("|", 2)[2] if section == "Phases" else row.rsplit("|", 2)[1]


def main():
    root = pathlib.Path(sys.argv[1])
    text = (root / "share/doc/faults.md").read_text()
    tests = list(tests_of(text))
    patterns = {name for column in tests for name in re.findall(r"`([^`]+)`", column)}
    paths = {name for column in tests for name in re.findall(r"test/[\w/.]+", column)}
    cases = [case.name for table in faults.TABLES for case in import_module(f"cases.{table}").cases()]
    problems = [f"two cases are named {name}" for name in sorted(set(cases)) if cases.count(name) > 1]
    problems += [f"no case is named {pattern}" for pattern in sorted(patterns) if not fnmatch.filter(cases, pattern)]
    problems += [f"the case {name} has no row" for name in cases if not any(fnmatch.fnmatch(name, p) for p in patterns)]
    problems += [f"{path} is not there" for path in sorted(paths) if not (root / path).exists()]
    print("\n".join(problems) or f"{len(cases)} cases, {len(patterns)} names, {len(paths)} paths")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
