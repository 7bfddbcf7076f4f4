#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Who reads what a run prints, or does not, changes nothing about the run."""

import contextlib
import os
import signal
import subprocess
import time

import program
import training


@contextlib.contextmanager
def running(command, **more):
    """A process that is gone afterwards, whatever happens."""
    job = subprocess.Popen(command, **more)
    try:
        yield job
    finally:
        job.kill()
        job.wait()


class ConsoleTest(training.TrainingTest):
    def wait_for_step(self, folder, step):
        deadline = time.monotonic() + 4 * program.SECONDS
        while self.steps(folder) < step:
            self.assertLess(time.monotonic(), deadline, f"step {step} was not logged")
            time.sleep(0.02)

    def test_a_reader_that_waits_does_not_hold_up_a_run(self):
        reading, writing = os.pipe()
        self.addCleanup(os.close, reading)
        command = [program.TESSERA, "train", *training.flags(self.options("run", train__steps=1000000))]
        with running(command, cwd=self.folder, stdout=writing, stderr=writing) as job:
            os.close(writing)
            self.wait_for_step("run", 400)  # of some 400 bytes each: more than a pipe and the program keep
            job.send_signal(signal.SIGUSR1)
            self.assertEqual(job.wait(program.SECONDS), training.STOPPED)
        self.assertEqual(len(self.checkpoints("run")), 1)

    def test_a_launcher_that_is_asked_to_end_lets_its_ranks_save(self):
        command = ["mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2", program.TESSERA, "train",
                   *training.flags(self.options("run", train__steps=1000000))]
        # Long enough for a busy machine; by itself it is one second.
        environment = os.environ | program.MPI_ENVIRONMENT | {"OMPI_MCA_odls_base_sigkill_timeout": "20"}
        with running(command, cwd=self.folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                     env=environment) as job:
            self.wait_for_step("run", 50)
            job.send_signal(signal.SIGTERM)
            job.wait(program.SECONDS)
        self.assertEqual(len(self.checkpoints("run")), 1)

    def test_an_error_that_nobody_reads_keeps_its_code(self):
        reading, writing = os.pipe()
        os.close(reading)
        for arguments, code in ((("inspect", "none.h5"), program.NOT_FOUND), (("inspect", "train.h5"), program.IO)):
            finished = subprocess.run([program.TESSERA, *arguments], cwd=self.folder, stdout=writing, stderr=writing,
                                      timeout=program.SECONDS, check=False)
            self.assertEqual(finished.returncode, code)
        os.close(writing)


if __name__ == "__main__":
    program.main()
