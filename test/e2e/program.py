# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Runs the program that is tested, in a folder of its own per test."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

DONE, USAGE, DATA, NOT_FOUND, CANNOT_CREATE, IO, CONFIGURATION = 0, 64, 65, 66, 73, 74, 78
SECONDS = 60  # no single run takes longer
TESSERA = None  # set by main()

# Also as root, one thread per rank, and a failed job is torn down at once.
MPI_ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "OMPI_MCA_odls_base_sigkill_timeout": "0",
    "OMP_NUM_THREADS": "1",
}


class Outcome:
    def __init__(self, finished):
        self.code = finished.returncode
        self.out = finished.stdout.decode("utf-8", errors="replace")
        self.err = finished.stderr.decode("utf-8", errors="replace")

    def __str__(self):
        return f"exit code {self.code}\nstdout:\n{self.out}\nstderr:\n{self.err}"


class ProgramTest(unittest.TestCase):
    """`self.folder` is empty at the start of each test and the working directory of the program."""

    def setUp(self):
        holder = tempfile.TemporaryDirectory(prefix="tessera-e2e-")
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def write(self, name, content):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_program(self, *arguments, code=DONE, environment=None):
        """Fails unless the program ends with `code`."""
        return self.run_command([TESSERA, *map(str, arguments)], code, environment)

    def run_ranks(self, ranks, *arguments, code=DONE):
        """The same under mpirun."""
        launcher = ["timeout", "-k", "5", str(SECONDS), "mpirun", "--oversubscribe", "--bind-to", "none"]
        return self.run_command([*launcher, "-n", str(ranks), TESSERA, *map(str, arguments)], code, MPI_ENVIRONMENT)

    def run_command(self, command, code, environment, text=""):
        finished = subprocess.run(
            command,
            cwd=self.folder,
            capture_output=True,
            input=text.encode(),
            timeout=SECONDS + 10,
            env={**os.environ, **(environment or {})},
            check=False,
        )
        outcome = Outcome(finished)
        self.assertEqual(outcome.code, code, f"{' '.join(command)}: {outcome}")
        return outcome


def main():
    """unittest.main, with the program's path as the first argument."""
    global TESSERA
    TESSERA = str(pathlib.Path(sys.argv.pop(1)).resolve())
    unittest.main(verbosity=1)
