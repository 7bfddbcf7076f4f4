#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Refuses files against the manner of the house: licence heads, header openings, sizes, loose ends, foreign marks.

style.py ROOT
"""

import pathlib
import re
import statistics
import sys

import tree

CODE = tree.HEADERS + tree.SOURCES
WITH_HEAD = CODE + (".py", ".sh", ".cmake", ".ini", ".sbatch")
MAX_LINES = 600
MAX_FUNCTION_LINES = 60
MAX_MEDIAN_BYTES = 5 * 1024
NOT_MEASURED = (".json", ".h5", ".txt")  # data

HEAD = ("SPDX-FileCopyrightText: The Tessera authors", "SPDX-License-Identifier: Apache-2.0")
OPENING = ("For: ", "Used: ", "Must not know: ")

# Written in pieces so that this file does not match.
LOOSE_ENDS = re.compile(r"\b(TO" r"DO|FIX" r"ME|XX" r"X)\b")
FOREIGN_MARKS = {
    "the mark of a tool": re.compile(
        r"cl[a]ude|anthr[o]pic|chat[g]pt|cop[i]lot|co-authored[-]by|gener[a]ted (with|by) (an? )?(ai|llm|assistant)"
        r"|as an ai[ ](language )?model",
        re.IGNORECASE,
    ),
    "a path of one machine": re.compile(r"(?<![\w.*])/(home|root|work|Users)/\w"),
}


def needs_head(path):
    return path.suffix in WITH_HEAD or path.name == "CMakeLists.txt" or (path.suffix == "" and path.parts[0] == ".ci")


def check_head(lines):
    start = 1 if lines and lines[0].startswith("#!") else 0
    if not all(start + i < len(lines) and lines[start + i].endswith(text) for i, text in enumerate(HEAD)):
        return ["does not begin with the two SPDX lines"]
    return []


def check_opening(lines):
    """The comment under the licence says what the header is for, who uses it, what it must not know."""
    opening = []
    for line in lines[2:]:
        if not line.startswith("//"):
            break
        opening.append(line[2:].strip())
    labels = [label for label in OPENING if any(line.startswith(label) for line in opening)]
    missing = [label.strip() for label in OPENING if label not in labels]
    return [f"its opening lacks the line '{label}'" for label in missing]


def check_functions(lines):
    """Lengths of functions at namespace scope: the formatter lets them begin and end in column 0."""
    found, start = [], 0
    for number, line in enumerate(lines, 1):
        if re.match(r"[A-Za-z]", line):
            start = number
        elif line == "}" and number - start >= MAX_FUNCTION_LINES:
            found.append(f"line {start}: a function of {number - start + 1} lines (at most {MAX_FUNCTION_LINES})")
    return found


def check_text(text):
    found = [f"a loose end ({match.group(0)})" for match in LOOSE_ENDS.finditer(text)]
    for what, pattern in FOREIGN_MARKS.items():
        found += [f"{what} ({match.group(0)})" for match in pattern.finditer(text)]
    return found


def violations_of(path, text):
    lines = text.splitlines()
    found = check_text(text)
    if needs_head(path):
        found += check_head(lines)
    if path.suffix in tree.HEADERS:
        found += check_opening(lines)
    if path.suffix in CODE:
        found += check_functions(lines)
    if path.suffix not in NOT_MEASURED and len(lines) > MAX_LINES:
        found.append(f"{len(lines)} lines (at most {MAX_LINES})")
    return [f"{path}: {message}" for message in found]


def check_median(sizes):
    median = statistics.median(sizes) if sizes else 0
    if median > MAX_MEDIAN_BYTES:
        return [f"the median source has {median:.0f} bytes (at most {MAX_MEDIAN_BYTES}): split files"]
    return []


def check(root):
    """(violations, number of files read)"""
    root = pathlib.Path(root)
    found, sizes, checked = [], [], 0
    for path in tree.files(root):
        text = tree.text_of(root / path)
        if text is None:
            continue
        checked += 1
        found += violations_of(path, text)
        if path.suffix in CODE:
            sizes.append(len(text.encode()))
    return found + check_median(sizes), checked


if __name__ == "__main__":
    tree.report("style", *check(sys.argv[1]))
