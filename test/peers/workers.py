# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Processes that stay warm and work only in their turn: a line of standard input asks, a line of JSON answers."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

# mpirun refuses root without both.
AS_ROOT = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
TICKS = os.sysconf("SC_CLK_TCK")


def in_turns(names, pairs):
    """All of them once per pair, every second time in the reverse order."""
    for pair in range(pairs):
        for name in names if pair % 2 == 0 else reversed(names):
            yield name


def descendants(pid):
    """The process and all below it."""
    found = [pid]
    for parent in found:
        for children in pathlib.Path(f"/proc/{parent}/task").glob("*/children"):
            found += [int(child) for child in children.read_text(encoding="ascii").split()]
    return found


def cpu_seconds(pid):
    total = 0
    for process in descendants(pid):
        try:
            fields = pathlib.Path(f"/proc/{process}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        except FileNotFoundError:
            continue
        total += int(fields[11]) + int(fields[12])
    return total / TICKS


class Worker:
    """One process, or several that need each other and are asked together."""

    def __init__(self, commands, environment):
        self.errors = tempfile.TemporaryFile("w+")
        self.processes = [
            subprocess.Popen([str(word) for word in command], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                             stderr=self.errors, env=environment) for command in commands]
        self.facts = None  # the first answers, when they have come

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for process in self.processes:
            process.stdin.close()
            if kind is not None:
                process.terminate()
        for process in self.processes:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()

    def answers(self):
        """Of each process, one."""
        return [self.answer(process) for process in self.processes]

    def answer(self, process):
        line = process.stdout.readline()
        if not line:
            self.errors.seek(0)
            sys.exit(f"{' '.join(process.args)}\nended with {process.wait()}:\n{self.errors.read()[-3000:]}")
        return json.loads(line)

    def ready(self):
        """Waits until the worker is warm; gives the facts of each process."""
        if self.facts is None:
            self.facts = self.answers()
        return self.facts

    def take_turn(self, steps):
        for process in self.processes:
            process.stdin.write(f"{steps}\n")
            process.stdin.flush()
        return self.answers()

    def cpu_seconds(self):
        return sum(cpu_seconds(process.pid) for process in self.processes)
