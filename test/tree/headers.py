#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Compiles every header alone: what it needs, it includes.

headers.py ROOT BUILD CXX CC [FLAG...]

As C++; those that say extern "C" also as C11. Left out are headers that the build has shown already, because a source of the
same name includes them first (arrows.py sees to that), and those that passed before and have not changed since, nor any
header of ours that they reach: BUILD/headers_checked.json keeps their digests.
"""

import concurrent.futures
import hashlib
import json
import os
import pathlib
import subprocess
import sys

import arrows
import tree


def shown_by_build(root, header):
    """Tests do not count: a precompiled header may come before everything in them."""
    return header.parts[0] != "test" and (root / header.with_suffix(".cpp")).is_file()


def reached(root, header, seen):
    """Adds `header` and all our own headers that it includes, directly or not."""
    if header not in seen and (root / header).is_file():
        seen.add(header)
        for own, _ in arrows.INCLUDE.findall(tree.text_of(root / header) or ""):
            reached(root, pathlib.PurePath(own), seen)
    return seen


def digest_of(root, header, command):
    parts = [" ".join(command).encode()]
    parts += [(root / path).read_bytes() for path in sorted(reached(root, header, set()))]
    return hashlib.sha256(b"\0".join(parts)).hexdigest()


def compile_alone(root, header, command):
    """The compiler's message; empty when the header compiles."""
    unit = f'#include "{header.as_posix()}"\n'
    done = subprocess.run(command + [f"-I{root}", "-"], input=unit, text=True, capture_output=True, timeout=100)
    return done.stderr if done.returncode else ""


def main(root, build, cxx, cc, flags):
    root, record = pathlib.Path(root), pathlib.Path(build) / "headers_checked.json"
    cpp_command = [cxx, "-std=c++20", "-fsyntax-only", "-Wall", "-Wextra", "-x", "c++"] + flags
    c_command = [cc, "-std=c11", "-fsyntax-only", "-Wall", "-Wextra", "-Wpedantic", "-x", "c"]
    headers = [path for path in tree.files(root, (".hpp", ".h")) if path.parts[0] != "gpu"]
    headers = [path for path in headers if not shown_by_build(root, path)]
    work = [(header, cpp_command) for header in headers]
    work += [(header, c_command) for header in headers if 'extern "C"' in (tree.text_of(root / header) or "")]

    passed = set(json.loads(record.read_text())) if record.exists() else set()
    digests = {(header, command[0]): digest_of(root, header, command) for header, command in work}
    todo = [(header, command) for header, command in work if digests[header, command[0]] not in passed]

    workers = min(2, os.cpu_count() or 1)
    with concurrent.futures.ThreadPoolExecutor(workers) as pool:
        messages = list(pool.map(lambda item: compile_alone(root, *item), todo))
    failed = {(header, command[0]) for (header, command), message in zip(todo, messages) if message}
    record.write_text(json.dumps(sorted(digest for key, digest in digests.items() if key not in failed)))

    violations = [f"{header} does not compile alone:\n{message}" for (header, _), message in zip(todo, messages) if message]
    print(f"headers: compiled {len(todo)} units of {len(work)}, the others had not changed")
    tree.report("headers", violations, len(headers))


if __name__ == "__main__":
    main(*sys.argv[1:5], sys.argv[5:])
