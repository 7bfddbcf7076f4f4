# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""The files that the rules of the house apply to, and how a check reports what it found."""

import pathlib
import sys

FOLDERS = ("core", "mpi", "gpu", "io", "modules", "apps", "test", "slurm", "share", ".ci")
HEADERS = (".hpp", ".h", ".cuh")
SOURCES = (".cpp", ".cu", ".c")


def files(root, suffixes=None):
    """Files of the tree in order of their paths, as Path objects relative to `root`; with `suffixes`, only such."""
    root = pathlib.Path(root)
    found = [path for path in root.iterdir() if path.is_file() and path.name != ".git"]
    for folder in FOLDERS:
        found += [path for path in (root / folder).rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    relative = sorted(path.relative_to(root) for path in found)
    return [path for path in relative if suffixes is None or path.suffix in suffixes]


def text_of(path):
    """The file's text; None for a file that is not text."""
    data = path.read_bytes()
    if b"\0" in data:
        return None
    return data.decode("utf-8", errors="replace")


def report(check, violations, checked):
    """Prints what was found and exits: 0 when nothing was."""
    for violation in violations:
        print(violation)
    print(f"{check}: {len(violations)} violations in {checked} files")
    if checked == 0:
        print(f"{check}: there was nothing to check", file=sys.stderr)
    sys.exit(1 if violations or checked == 0 else 0)
