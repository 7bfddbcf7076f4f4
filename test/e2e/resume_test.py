#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""B02 and B09 with whole programs: a run that was stopped and started again is the run that never stopped.

resume_test.py PROGRAM
"""

import signal

import program
import training

KILLED = 137  # what mpirun makes of a rank that was killed

# Ranks do not know each other's numbers from SLURM but from MPI; these are what a job with two nodes of two tasks has,
# in block and in cyclic order, seen from a batch script that calls mpirun.
ALLOCATION = {"SLURM_JOB_ID": "4711", "SLURM_NTASKS": "4", "SLURM_NNODES": "2", "SLURM_TASKS_PER_NODE": "2(x2)"}
RANK = "$OMPI_COMM_WORLD_RANK"
BLOCK = f'SLURM_PROCID={RANK} SLURM_NODEID=$(({RANK} / 2)) SLURM_LOCALID=$(({RANK} % 2)) exec "$@"'
CYCLIC = f'SLURM_PROCID={RANK} SLURM_NODEID=$(({RANK} % 2)) SLURM_LOCALID=$(({RANK} / 2)) exec "$@"'


def in_shell(script):
    return ("bash", "-c", script, "rank")


class ResumeTest(training.TrainingTest):
    def expect_continued(self, ranks, folder, step):
        """Goes on for five steps from the checkpoint of `step`, and compares with a run that was never stopped."""
        end = step + 5
        self.train(ranks, folder, train__steps=end, checkpoint__interval=end)
        self.train(ranks, "straight", train__steps=end, checkpoint__interval=end)
        self.assertEqual(self.metrics(folder), self.metrics("straight"))
        self.assertEqual(self.digests(folder, end), self.digests("straight", end))
        self.assertIn("/moment2/embedding", self.digests(folder, end))
        ours, straight = self.state(folder, end), self.state("straight", end)
        for state in (ours, straight):
            del state["settings"]
        self.assertEqual(ours, straight)

    def test_b02_five_steps_and_five_more_are_ten(self):
        self.train(2, "halves", train__steps=5, checkpoint__interval=5)
        self.assertEqual(len(self.metrics("halves")), 5)
        self.expect_continued(2, "halves", 5)
        self.assertEqual(self.checkpoints("halves"), ["step-00000005", "step-00000010"])

    def test_b02_a_schedule_goes_on_where_it_was(self):
        schedule = {"lr__schedule": "cosine", "lr__warmup_steps": 3, "lr__decay_steps": 10, "lr__min": 1e-5}
        self.train(2, "halves", train__steps=4, checkpoint__interval=4, **schedule)
        self.train(2, "halves", train__steps=10, checkpoint__interval=4, **schedule)
        self.train(2, "straight", train__steps=10, checkpoint__interval=4, **schedule)
        self.assertEqual(self.metrics("halves"), self.metrics("straight"))
        self.assertEqual(self.digests("halves", 10), self.digests("straight", 10))

    def test_b09_a_signal_to_any_rank_saves_once_and_stops_all(self):
        for number, wrapper in ((signal.SIGUSR1, in_shell(BLOCK)), (signal.SIGTERM, in_shell(CYCLIC))):
            with self.subTest(number.name):
                folder = number.name
                outcome, seconds = self.signal_during_run(4, folder, 2, number, ALLOCATION, wrapper,
                                                          train__micro_batch=1, checkpoint__interval=1000000)
                self.assertEqual(outcome.code, training.STOPPED, outcome)
                self.assertLess(seconds, 30)
                saved = self.checkpoints(folder)
                self.assertEqual(len(saved), 1, saved)
                step = int(saved[0].removeprefix("step-"))
                self.assertEqual(len(self.metrics(folder)), step)
                self.assertEqual(self.state(folder, step)["consumed_samples"], 8 * step)
                self.run_program("inspect", f"{folder}/checkpoints/{saved[0]}", "--verify")
        # The rest with the second of them; the first has shown that it saves.
        self.train(4, folder, train__micro_batch=1, train__steps=step + 3, checkpoint__interval=step + 3)
        self.train(4, "straight", train__micro_batch=1, train__steps=step + 3, checkpoint__interval=step + 3)
        self.assertEqual(self.metrics(folder), self.metrics("straight"))
        self.assertEqual(self.digests(folder, step + 3), self.digests("straight", step + 3))

    def test_b09_a_stop_saves_also_without_an_interval(self):
        outcome, _ = self.signal_during_run(2, "run", 0, signal.SIGUSR1)
        self.assertEqual(outcome.code, training.STOPPED, outcome)
        self.assertEqual(len(self.checkpoints("run")), 1)

    def test_b02_a_killed_rank_costs_no_more_than_the_steps_since_the_last_checkpoint(self):
        outcome, _ = self.signal_during_run(2, "run", 1, signal.SIGKILL, after=20, checkpoint__interval=5)
        self.assertEqual(outcome.code, KILLED, outcome)
        saved = [name for name in self.checkpoints("run") if not name.endswith(".tmp")]
        step = int(saved[-1].removeprefix("step-"))
        self.assertGreaterEqual(step, 15)
        self.expect_continued(2, "run", step)

    def test_b09_a_file_and_a_time_limit_stop_as_a_signal_does(self):
        for step in (1, 2):  # each file stops one run
            self.write("asked/STOP", "")
            outcome = self.train(2, "asked", code=training.STOPPED, train__steps=1000000)
            self.assertIn("asked/STOP is there already", outcome.err)
            self.assertEqual(self.checkpoints("asked")[-1], f"step-{step:08d}")
            self.assertFalse((self.folder / "asked/STOP").exists())
        outcome = self.train(2, "limited", code=training.STOPPED, train__steps=1000000, train__stop_after="1s")
        self.assertEqual(len(self.checkpoints("limited")), 1)
        self.assertIn("the time limit (train.stop_after)", outcome.err)

    def test_b02_another_run_is_not_continued(self):
        self.train(2, "run", train__steps=2, checkpoint__interval=2)
        self.write("other.txt", "other words " * 2000)
        self.run_program("prepare", "--output", "other.h5", "other.txt")
        outcome = self.train(2, "run", code=program.CONFIGURATION, train__steps=4, train__seed=5, data__train="other.h5",
                             optimizer__name="lion")
        self.assertIn("train.seed is 5, the checkpoint has 1234", outcome.err)
        self.assertIn("optimizer.name is lion, the checkpoint has adamw", outcome.err)
        self.assertIn("data.train is not the dataset that the run has consumed so far", outcome.err)
        self.assertEqual(len(self.metrics("run")), 2)

    def test_b09_variables_that_contradict_are_named(self):
        step = 'SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=8 SLURM_PROCID=$OMPI_COMM_WORLD_RANK exec "$@"'
        options = training.flags(self.options("run", train__steps=1))
        launcher = ["mpirun", "--oversubscribe", "-n", "2", *in_shell(step), program.TESSERA, "train", *options]
        outcome = self.run_command(launcher, training.DISAGREEMENT, program.MPI_ENVIRONMENT)
        self.assertIn("SLURM_STEP_NUM_TASKS=8", outcome.err)


if __name__ == "__main__":
    program.main()
