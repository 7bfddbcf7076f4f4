#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Refuses a built module that exports anything but its one descriptor.

symbols.py FOLDER...    folders of modules; exit code 77 (skipped) when there is none
"""

import pathlib
import subprocess
import sys

import tree

SKIPPED = 77


def exported(module):
    listing = subprocess.run(["nm", "-D", "--defined-only", module], text=True, capture_output=True, check=True).stdout
    return [line.split()[-1] for line in listing.splitlines()]


def main(folders):
    modules = sorted(module for folder in folders for module in pathlib.Path(folder).glob("*.so"))
    if not modules:
        print("symbols: no module was built")
        sys.exit(SKIPPED)
    violations = []
    for module in modules:
        symbols = exported(module)
        if len(symbols) != 1 or not symbols[0].startswith("tessera_"):
            some = ", ".join(symbols[:5]) or "none"
            violations.append(f"{module.name}: exports {len(symbols)} symbols, not just its descriptor: {some}")
    tree.report("symbols", violations, len(modules))


if __name__ == "__main__":
    main(sys.argv[1:])
