# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""What ranks do when the launcher's variables lie, and when one of them is stopped.

Usage: launch_faults_test.py MPIRUN_SH RANK_PROBE
"""
import os
import re
import signal
import subprocess
import sys
import time
import unittest

MPIRUN, PROBE = sys.argv.pop(1), sys.argv.pop(1)
RANK = "$OMPI_COMM_WORLD_RANK"


def run_ranks(ranks, variables):
    """Runs `rank_probe map` on `ranks` ranks; values of variables may be shell expressions of the rank."""
    assignments = " ".join(f'{name}="{value}"' for name, value in variables.items())
    script = f'env {assignments} "{PROBE}" map' if assignments else f'"{PROBE}" map'
    return subprocess.run([MPIRUN, str(ranks), "bash", "-c", script], capture_output=True, text=True, timeout=60)


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] not in "ZX"
    except FileNotFoundError:
        return False


class LaunchVariables(unittest.TestCase):
    MAP = [f"rank {rank} of 4, local {rank} of 4, node 0, Open MPI" for rank in range(4)]

    def expect_map(self, variables):
        done = run_ranks(4, variables)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.split("\n"))[1:], self.MAP)

    def expect_refusal(self, variables, name):
        done = run_ranks(4, variables)
        self.assertEqual(done.returncode, 76, done.stdout + done.stderr)
        self.assertIn(name, done.stderr)

    def test_without_slurm(self):
        self.expect_map({})

    def test_batch_script_of_a_larger_allocation(self):
        self.expect_map({"SLURM_JOB_ID": "9", "SLURM_PROCID": "0", "SLURM_LOCALID": "0", "SLURM_NTASKS": "8",
                         "SLURM_TASKS_PER_NODE": "4(x2)"})

    def test_two_nodes_block_and_cyclic_without_a_step(self):
        # MPI says that all share one node; who is local to whom is MPI's to say.
        layout = {"SLURM_JOB_ID": "9", "SLURM_NTASKS": "4", "SLURM_TASKS_PER_NODE": "2(x2)", "SLURM_PROCID": RANK}
        self.expect_map(layout | {"SLURM_NODEID": f"$(({RANK} / 2))", "SLURM_LOCALID": f"$(({RANK} % 2))"})
        self.expect_map(layout | {"SLURM_NODEID": f"$(({RANK} % 2))", "SLURM_LOCALID": f"$(({RANK} / 2))"})

    def test_step_that_contradicts(self):
        step = {"SLURM_STEP_ID": "0", "SLURM_STEP_NUM_NODES": "2", "SLURM_PROCID": RANK}
        self.expect_refusal(step | {"SLURM_STEP_NUM_TASKS": "8"}, "SLURM_STEP_NUM_TASKS=8")
        self.expect_refusal(step | {"SLURM_STEP_NUM_TASKS": "4", "SLURM_STEP_TASKS_PER_NODE": "2(x2)",
                                    "SLURM_NODEID": f"$(({RANK} / 2))"}, "SLURM_STEP_TASKS_PER_NODE=2(x2)")
        self.expect_refusal(step | {"SLURM_STEP_NUM_TASKS": "4", "SLURM_LOCALID": f"$(({RANK} % 2))"}, "SLURM_LOCALID=")

    def test_pretended_nodes(self):
        done = run_ranks(4, {"TESSERA_RANKS_PER_NODE": "3"})
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(sorted(done.stdout.split("\n"))[1:],
                         ["rank 0 of 4, local 0 of 3, node 0, Open MPI", "rank 1 of 4, local 1 of 3, node 0, Open MPI",
                          "rank 2 of 4, local 2 of 3, node 0, Open MPI", "rank 3 of 4, local 0 of 1, node 1, Open MPI"])
        done = run_ranks(2, {"TESSERA_RANKS_PER_NODE": "two"})
        self.assertEqual(done.returncode, 78, done.stderr)
        self.assertIn("TESSERA_RANKS_PER_NODE=two is not a number of ranks", done.stderr)

    def test_equal_ranks(self):
        self.expect_refusal({"SLURM_PROCID": "1"}, "SLURM_PROCID=1")

    def test_mpirun_of_another_mpi(self):
        for variable in ("OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MV2_COMM_WORLD_SIZE"):
            done = subprocess.run([PROBE, "map"], capture_output=True, text=True, timeout=30,
                                  env=os.environ | {variable: "4"})
            self.assertEqual(done.returncode, 76, done.stdout)
            self.assertIn(f"{variable}=4, but MPI says size 1", done.stderr)


class LostRank(unittest.TestCase):
    """One of three ranks that add up in shared memory; the others sleep until its bell."""
    LIMIT = 2

    def lose_rank_1(self, how):
        """(exit code, output, seconds) of a job whose rank 1 gets a signal; no rank is left."""
        with subprocess.Popen([MPIRUN, "3", PROBE, "calls", str(self.LIMIT)], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, text=True) as job:
            pids = {}
            while len(pids) < 3:
                rank, pid = re.fullmatch(r"rank (\d) is process (\d+)\n", job.stdout.readline()).groups()
                pids[int(rank)] = int(pid)
            time.sleep(1)
            os.kill(pids[1], how)
            begin = time.monotonic()
            output, _ = job.communicate(timeout=30)
            seconds = time.monotonic() - begin
        time.sleep(1)
        self.assertEqual([rank for rank, pid in pids.items() if alive(pid)], [])
        return job.returncode, output, seconds

    def test_a_stopped_one_is_named_and_all_leave(self):
        code, output, seconds = self.lose_rank_1(signal.SIGSTOP)
        self.assertEqual(code, 80, output)
        self.assertLess(seconds, self.LIMIT + 5)
        self.assertRegex(output, r"rank [02] has waited \d+\.\d s in all_reduce max of 1000 f32, call \d+ on world\. "
                                 r"Silent is rank 1: last call all_reduce max of 1000 f32, call \d+ on world")
        self.assertIn("no sign of life", output)

    def test_a_killed_one_ends_the_job_and_leaves_no_memory(self):
        before = set(os.listdir("/dev/shm"))
        code, output, seconds = self.lose_rank_1(signal.SIGKILL)
        self.assertEqual(code, 137, output)
        self.assertLess(seconds, self.LIMIT + 5)
        # Open MPI's own segments may stay; ours have no names.
        self.assertEqual([name for name in set(os.listdir("/dev/shm")) - before if "tessera" in name], [])


if __name__ == "__main__":
    unittest.main()
