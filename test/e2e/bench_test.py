#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""`tessera bench`: the form of what it prints. Its numbers are not judged here, since tests run on busy machines.

bench_test.py PROGRAM
"""

import json
import math
import re

import program

# A llama small enough to be quick: 2 layers of 7 matrices each, and a head that is one piece.
MODEL = ["layers=2", "hidden=64", "heads=2", "ffn=96", "sequence=32", "vocab=131"]
MODEL_FLAGS = [f"--model.{value}" for value in MODEL]

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

    def test_products_of_experts(self):
        text, facts = self.bench("experts", "--hidden=8", "--ffn=16", "--threads=1", "--repetitions=5")
        rows = facts["threads_1"]
        self.assertEqual({(row["experts"], row["rows"], row["parts"]) for row in rows},
                         {(8, 256, 1), (8, 256, 4), (8, 16, 1), (64, 16, 1), (64, 16, 4)})
        self.assertEqual({row["op"] for row in rows}, {"grouped_linear", "grouped_linear_dx", "grouped_linear_dw"})
        for row in rows:
            flops = 2 * row["experts"] * row["rows"] * 8 * 16
            self.assertAlmostEqual(row["gflops"] * row["milliseconds"] / (1e-6 * flops), 1, places=6)
            self.assertLessEqual(row["ratio_least"], row["ratio"])
        figure = re.fullmatch(r"FOM expert_ratio=([\d.]+) threads=1", text.splitlines()[-1])
        self.assertAlmostEqual(float(figure.group(1)), min(row["ratio"] for row in rows), delta=0.001)

    def check_step(self, text, facts, ranks, samples):
        self.assertEqual((facts["ranks"], facts["tokens_per_step"]), (ranks, 32 * samples))
        seconds = facts["step_milliseconds"] / 1e3
        self.assertAlmostEqual(facts["tokens_per_second"] * seconds / (32 * samples), 1, places=6)
        self.assertAlmostEqual(facts["step_over_products"] * facts["product_milliseconds"] / (1e3 * seconds), 1, places=6)
        self.assertLessEqual(facts["step_milliseconds_least"], facts["step_milliseconds"])
        # Untrained, and the tokens are random.
        self.assertAlmostEqual(facts["loss"], math.log(131), delta=0.3)
        figure = re.fullmatch(
            r"FOM tokens_per_second=([\d.]+) tokens_per_second_per_rank=([\d.]+) mfu=[\d.]+ step_over_gemm=[\d.]+ "
            r"attention_over_products=([\d.]+) update_over_memory=([\d.]+) "
            rf"repetitions=5 world={ranks}",
            text.splitlines()[-1],
        )
        self.assertAlmostEqual(float(figure.group(1)), facts["tokens_per_second"], delta=0.06)
        self.assertAlmostEqual(float(figure.group(2)) * ranks, facts["tokens_per_second"], delta=0.2)
        for number, ratio in ((3, "attention_over_products"), (4, "update_over_memory")):
            self.assertAlmostEqual(float(figure.group(number)), facts[ratio], delta=0.001)
            self.assertGreater(facts[ratio], 0)
        return {row["op"]: row for row in facts["ops"]}

    def test_a_step(self):
        text, facts = self.bench("step", *MODEL_FLAGS, "--repetitions=5")
        ops = self.check_step(text, facts, ranks=1, samples=1)
        for op in ("linear", "linear_dx", "linear_dw"):
            self.assertEqual(ops[op]["calls"], 2 * 7 + 1)
        self.assertEqual((ops["attention"]["calls"], ops["attention_grad"]["calls"]), (2, 2))
        # Matrix elements x 2 x tokens, forward.
        matrices = 2 * (4 * 64 * 64 + 3 * 64 * 96) + 131 * 64
        work = ops["linear"]["gflops"] * ops["linear"]["milliseconds"] * 1e6
        self.assertAlmostEqual(work / (2 * 32 * matrices), 1, places=6)
        self.assertLessEqual(facts["step_milliseconds_least"] * 0.5, sum(op["milliseconds"] for op in ops.values()))
        self.assertTrue(all(row["excess"] > 0 for row in facts["costliest"]))

    def test_products_of_a_mixture(self):
        experts = ["--model.experts=4", "--model.experts_per_token=2", "--model.expert_ffn=96"]
        _, facts = self.bench("step", *MODEL_FLAGS, *experts, "--repetitions=5")
        ops = {row["op"]: row for row in facts["ops"]}
        # Of 32 tokens that 2 experts each see; every product of the forward has two more in the backward.
        matrices = 2 * (4 * 64 * 64 + 2 * 3 * 64 * 96 + 4 * 64) + 131 * 64
        flops = facts["product_gflops"] * facts["product_milliseconds"] * 1e6
        self.assertAlmostEqual(flops / (3 * 2 * 32 * matrices), 1, delta=1e-3)
        self.assertEqual(ops["grouped_linear"]["calls"], 2 * 3)

    def test_turns(self):
        command = [program.TESSERA, "bench", "step", *MODEL_FLAGS, "--threads", "1", "--turns", "--json=out.json"]
        outcome = self.run_command(command, program.DONE, None, text="3\n1\n")
        facts, first, second, *_, figure = outcome.out.splitlines()
        self.assertGreater(json.loads((self.folder / "out.json").read_text())["tokens_per_second"], 0)
        self.assertEqual(json.loads(facts)["tokens_per_step"], 32)
        self.assertEqual((json.loads(facts)["ranks"], json.loads(facts)["threads"]), (1, 1))
        first, second = json.loads(first), json.loads(second)
        self.assertEqual((len(first["seconds"]), len(second["seconds"])), (3, 1))
        self.assertLess(0, first["ops"]["adamw"])
        self.assertLess(sum(first["ops"].values()), sum(first["seconds"]))
        self.assertGreater(first["cpu_seconds"], 0)
        self.assertGreater(first["stream_bytes_per_second"], 0)
        self.assertRegex(figure, r"^FOM tokens_per_second=[\d.]+ repetitions=4 world=1$")
        refused = self.run_command(command, program.USAGE, None, text="1\nmany\n")
        self.assertIn("'many' is no number of steps", refused.err)

    def test_a_step_of_two_ranks_with_a_run_file(self):
        lines = ["[model]", *MODEL, "[train]", "global_batch=4"]
        self.write("run.ini", "\n".join(lines))
        outcome = self.run_ranks(2, "bench", "step", "run.ini", "--repetitions=5", "--json=out.json")
        facts = json.loads((self.folder / "out.json").read_text())
        ops = self.check_step(outcome.out, facts, ranks=2, samples=4)
        self.assertEqual(facts["micro_batches"], 2)
        self.assertEqual(ops["linear"]["calls"], 2 * (2 * 7 + 1))
        self.assertIn("all_reduce(dp)", ops)

    def test_ops_of_a_given_model(self):
        text, facts = self.bench("ops", *MODEL_FLAGS, "--repetitions=5")
        rows = {(row["op"], row["shapes"]): row for row in facts["given"]}
        self.assertEqual(rows[("linear", "[32, 1, 64] [96, 64] -> [32, 1, 96]")]["calls"], 4)
        self.assertEqual(rows[("linear_dw", "[32, 1, 131] [32, 1, 64] -> [131, 64]")]["calls"], 1)
        self.assertEqual(len(facts["models"]), 1)
        self.assertRegex(text.splitlines()[-1], r"^FOM given_step_over_gemm=[\d.]+$")

    def test_calls_between_ranks(self):
        outcome = self.run_ranks(2, "bench", "collectives", "--bytes=4096", "--repetitions=5", "--json=out.json")
        facts = json.loads((self.folder / "out.json").read_text())
        self.assertEqual([row["call"] for row in facts["calls"]],
                         ["all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast", "send"])
        self.assertTrue(facts["shared_memory"])
        for row in facts["calls"]:
            self.assertEqual(row["bytes"], 4096)
            for ratio in ("over_mpi", "over_copy", "cycles_over_mpi"):
                self.assertLessEqual(row[ratio + "_least"], row[ratio])
                self.assertLessEqual(row[ratio], row[ratio + "_most"])
        self.assertRegex(outcome.out.splitlines()[-1], r"^FOM over_mpi_4k=[\d.]+ over_copy_4k=[\d.]+ ranks=2$")
        self.assertIn("two ranks or more", self.run_program("bench", "collectives", code=program.USAGE).err)

    def test_help_has_the_flags_of_every_benchmark(self):
        text = self.run_program("bench", "--help").out
        for flag in ("repetitions", "m", "hidden", "turns", "table", "turn-milliseconds", "bytes", "call"):
            self.assertEqual(len(re.findall(rf"^  --{flag}\b(?!-)", text, re.MULTILINE)), 1, flag)

    def test_mistakes_of_the_command_line(self):
        self.assertIn("did you mean gemm?", self.run_program("bench", "gem", code=program.USAGE).err)
        self.run_program("bench", code=program.USAGE)
        self.run_program("bench", "gemm", "--m=8", code=program.USAGE)
        self.assertIn("from 5 to", self.run_program("bench", "gemm", "--repetitions=1", code=program.USAGE).err)
        outcome = self.run_program("bench", "step", "--model.layer=2", code=program.CONFIGURATION)
        self.assertIn("did you mean model.layers?", outcome.err)
        self.run_program("bench", "step", "--repetitons=5", code=program.CONFIGURATION)
        self.run_program("bench", "step", "missing.ini", code=program.NOT_FOUND)
        outcome = self.run_program("bench", "step", "--threds", "1", code=program.CONFIGURATION)
        self.assertRegex(outcome.err, r"(?s)unknown flag --threds\s+did you mean threads\?.*taken for the run file")
        run_file = self.write("run.ini", "[model]\nlayers = 2\n")
        outcome = self.run_program("bench", "step", run_file, "--tokens", "5", code=program.CONFIGURATION)
        self.assertRegex(outcome.err, r"(?s)unknown flag --tokens.*one run file at most: \S*run.ini, 5")


if __name__ == "__main__":
    program.main()
