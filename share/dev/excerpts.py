#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Repeats the excerpts of a document: blocks whose lines begin with "$ " and a command, each followed by its output.

excerpts.py DOCUMENT PROGRAMS [--write]

PROGRAMS is the folder of the program. The document's first block is run before every command, in an empty folder. Names
the commands whose output is another one now and exits with 1; --write puts what they print into the document instead.
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def repeated(excerpts, before, programs, different):
    """The text of a block with what its commands print now; adds those that print something else to `different`."""
    text = ""
    environment = os.environ | {"PATH": f"{programs}:{os.environ['PATH']}", "OMP_NUM_THREADS": "1"}
    for excerpt in re.split(r"^\$ ", excerpts, flags=re.MULTILINE)[1:]:
        command, _, output = excerpt.partition("\n")
        with tempfile.TemporaryDirectory() as folder:
            outcome = subprocess.run(["bash", "-c", f"{before}\n{command}"], cwd=folder, env=environment,
                                     stdout=subprocess.PIPE, text=True, check=False)
        now = "".join(line.rstrip() + "\n" for line in outcome.stdout.splitlines())
        if now != output:
            different.append(command)
        text += f"$ {command}\n{now}"
    return text


def main(document, programs, write):
    path = pathlib.Path(document)
    text = path.read_text()
    before = BLOCK.search(text).group(1)
    different = []

    def replaced(block):
        if not block.group(1).startswith("$ "):
            return block.group(0)
        return f"```\n{repeated(block.group(1), before, pathlib.Path(programs).resolve(), different)}```"

    now = BLOCK.sub(replaced, text)
    for command in different:
        print(f"{path}: another output: {command}")
    if write:
        path.write_text(now)
    return 1 if different and not write else 0


if __name__ == "__main__":
    arguments = [argument for argument in sys.argv[1:] if argument != "--write"]
    if len(arguments) != 2:
        sys.exit(__doc__)
    sys.exit(main(*arguments, "--write" in sys.argv))
