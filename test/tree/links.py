#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Refuses documentation that names what is not there: links to files, paths of the tree, READMEs over their size.

links.py ROOT
"""

import pathlib
import re
import sys

import tree

MAX_FOLDER_README_LINES = 25
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# A path of the tree in backquotes, without placeholders, that names a file.
PATH = re.compile(r"`((?:%s)/[\w./-]+\.\w+)`" % "|".join(re.escape(folder) for folder in tree.FOLDERS))


def violations_of(root, path):
    text = (root / path).read_text()
    found = []
    for link in LINK.findall(text):
        if "://" not in link and not link.startswith("mailto:") and not ((root / path).parent / link).exists():
            found.append(f"links to {link}, which is not there")
    for name in PATH.findall(text):
        if not (root / name).exists():
            found.append(f"names {name}, which is not there")
    if path.name == "README.md" and len(path.parts) == 2 and len(text.splitlines()) > MAX_FOLDER_README_LINES:
        found.append(f"{len(text.splitlines())} lines (the README of a top-level folder has at most 25)")
    return [f"{path}: {message}" for message in found]


def check(root):
    """(violations, number of files read)"""
    root = pathlib.Path(root)
    pages = tree.files(root, (".md",))
    found = [violation for page in pages for violation in violations_of(root, page)]
    for folder in tree.FOLDERS:
        if not folder.startswith(".") and not (root / folder / "README.md").exists():
            found.append(f"{folder}/README.md is not there")
    return found, len(pages)


if __name__ == "__main__":
    tree.report("links", *check(sys.argv[1]))
