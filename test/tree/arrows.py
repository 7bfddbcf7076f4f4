#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Reads every #include and refuses those against the arrows: which folder may know which.

arrows.py ROOT
"""

import pathlib
import re
import sys

import tree

# From a top-level folder to what its files may include; only tests may include apps. Own exceptions follow below.
ARROWS = {
    "core": {"core"},
    "mpi": {"mpi", "core"},
    "gpu": {"gpu", "core"},
    "io": {"io", "core"},
    "modules": {"core"},
    "apps": {"apps", "core", "mpi", "io", "gpu"},
    "test": {"test", "core", "mpi", "io", "gpu", "modules", "apps"},
}

# Inside core a folder includes itself and those before it.
CORE_ORDER = ("base", "config", "module", "mesh", "device", "comm", "graph", "host", "model", "scheduler", "train")

# Foreign headers: pattern, folders whose sources may include them (None: all), headers that may.
FOREIGN = {
    "MPI": (r"mpi\.h|mpi-ext\.h", {"mpi", "io", "apps", "test"}, {"mpi/native.hpp"}),
    "CUDA": (r"cuda\w*\.h|cuda/.*|cub/.*|cublas\w*\.h|nccl\.h|nvtx3/.*", {"gpu", "test"}, {"gpu/"}),
    "HDF5": (r"hdf5\.h|H5\w*\.h", {"io", "test"}, set()),
    "Boost": (r"boost/.*", None, set()),
    "nlohmann": (r"nlohmann/.*", None, set()),
    "oneDNN": (r"dnnl.*|oneapi/.*", None, set()),
    "fmt": (r"fmt/.*", None, set()),
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"]+)"|<([^>]+)>)', re.MULTILINE)


def may_include(source, target):
    """Whether the file `source` may include our own header `target` (both relative to the root)."""
    folder, to = source.parts[0], target.parts[0]
    if folder == "modules" and to == "modules":
        return source.parts[:3] == target.parts[:3]
    if folder == "modules" and to == "io":
        return source.parts[1] == "offload"
    if folder == "io" and target == pathlib.PurePath("mpi/native.hpp"):
        return True
    return to in ARROWS[folder]


def check_own(source, name):
    target = pathlib.PurePath(name)
    if source.parts[0] == "test" and "/" not in name:
        return None  # a test's neighbour
    if target.parts[0] not in ARROWS:
        return f'"{name}" does not start at the root of the tree'
    if not may_include(source, target):
        return f"{source.parts[0]} must not include {name}"
    if source.parts[0] == "core" and len(target.parts) > 2 and len(source.parts) > 2:
        for part in (source.parts[1], target.parts[1]):
            if part not in CORE_ORDER:
                return f"core/{part} has no place in the order of core's folders"
        if CORE_ORDER.index(target.parts[1]) > CORE_ORDER.index(source.parts[1]):
            return f"core/{source.parts[1]} comes before core/{target.parts[1]}, so must not include {name}"
    return None


def check_foreign(source, name):
    outside = source.parts[:2] == ("test", "install")  # projects that use an installed Tessera
    if name.split("/")[0] in ARROWS and not outside:
        return f'<{name}> is our own header: write "{name}"'
    for library, (pattern, folders, headers) in FOREIGN.items():
        if not re.fullmatch(pattern, name):
            continue
        if folders is not None and source.parts[0] not in folders:
            return f"{source.parts[0]} must not know {library} (<{name}>)"
        allowed = source.parts[0] == "test" or any(source.as_posix().startswith(header) for header in headers)
        if source.suffix in tree.HEADERS and not allowed:
            return f"a header must not include {library} (<{name}>): declare forward, or hide it behind a pointer"
    return None


def check_first(root, source, own):
    """A source includes its own header first, which shows that the header needs nothing before it."""
    header = source.with_suffix(".hpp")
    names = (header.as_posix(), header.name)  # by its own name only beside a test
    if source.suffix in tree.SOURCES and (root / header).exists() and (not own or own[0] not in names):
        return f"its own header {header} must be the first include"
    return None


def violations_of(root, source):
    includes = INCLUDE.findall(tree.text_of(root / source) or "")
    found = [check_own(source, own) if own else check_foreign(source, foreign) for own, foreign in includes]
    found.append(check_first(root, source, [own for own, _ in includes][:1]))
    return [f"{source}: {message}" for message in found if message]


def check(root):
    """(violations, number of files read)"""
    root = pathlib.Path(root)
    sources = [path for path in tree.files(root, tree.HEADERS + tree.SOURCES) if path.parts[0] in ARROWS]
    return [violation for source in sources for violation in violations_of(root, source)], len(sources)


if __name__ == "__main__":
    tree.report("arrows", *check(sys.argv[1]))
