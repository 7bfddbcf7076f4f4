#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""`tessera bench`: the form of what it prints. Its numbers are not judged here, since tests run on busy machines.

bench_test.py PROGRAM
"""

import json
import re

import program

# Two measurements contradict each other: what a busy machine can do to them.
CONTRADICTION = 1


class BenchTest(program.ProgramTest):
    def bench(self, *arguments):
        """(text, JSON) of a benchmark; that the machine was too busy to measure is no failure of the form."""
        command = [program.TESSERA, "bench", *map(str, arguments), "--json", "out.json"]
        try:
            outcome = self.run_command(command, program.DONE, None)
        except AssertionError:
            outcome = self.run_command(command, CONTRADICTION, None)
        return outcome.out, json.loads((self.folder / "out.json").read_text())

    def test_one_product(self):
        text, facts = self.bench("gemm", "--m=64", "--n=96", "--k=128", "--threads=1", "--repetitions=5")
        (row,) = facts["threads_1"]
        self.assertEqual((row["m"], row["n"], row["k"]), (64, 96, 128))
        # GFLOP/s are 2 m n k over the median time.
        self.assertAlmostEqual(row["gflops"] * row["milliseconds"] / (2e-6 * 64 * 96 * 128), 1, places=6)
        self.assertLessEqual(row["gflops_least"], row["gflops"])
        self.assertLessEqual(row["gflops"], row["gflops_most"])
        self.assertGreater(facts["peak_gflops_1"], 0)
        last = text.splitlines()[-1]
        figure = re.fullmatch(r"FOM gemm_gflops=([\d.]+) peak_gflops=[\d.]+ share=[\d.]+ threads=1", last)
        self.assertAlmostEqual(float(figure.group(1)), row["gflops"], delta=0.06)

    def test_the_products_of_a_model(self):
        _, facts = self.bench("gemm", "--tokens=2", "--threads=1", "--repetitions=5")
        sizes = {row["name"]: (row["m"], row["n"], row["k"]) for row in facts["threads_1"]}
        self.assertEqual(len(sizes), 15)
        self.assertEqual(sizes["qkv"], (2, 2304, 768))
        self.assertEqual(sizes["down dx"], (2, 3072, 768))
        self.assertEqual(sizes["head dw"], (50257, 768, 2))

    def test_mistakes_of_the_command_line(self):
        self.assertIn("did you mean gemm?", self.run_program("bench", "gem", code=program.USAGE).err)
        self.run_program("bench", code=program.USAGE)
        self.run_program("bench", "gemm", "--m=8", code=program.USAGE)
        self.assertIn("at least 5", self.run_program("bench", "gemm", "--repetitions=1", code=program.USAGE).err)


if __name__ == "__main__":
    program.main()
