#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""`tessera verify`: layouts agree with one rank, with ranks that are processes and with threads; a planted fault does not.

verify_test.py PROGRAM
"""

import json
import os
import pathlib

import program
import training

DIFFERENT = 1

# Four layers, two key heads, and a vocabulary that nothing divides.
MODEL = {"model.layers": 4, "model.hidden": 32, "model.heads": 4, "model.kv_heads": 2, "model.ffn": 48,
         "model.vocab": 131, "model.sequence": 32, "train.global_batch": 8, "train.micro_batch": 1,
         "data.isolate_documents": "on", "strategy.bucket_bytes": "16KiB"}


def pipeline(schedule, **more):
    return {"parallel.pipeline": 2, "strategy.pipeline": schedule} | more


def context(strategy):
    return {"parallel.context": 2, "strategy.context": strategy}


TENSOR = {"parallel.tensor": 2}
TIED = {"model.tied": "on"}
GPT = {"model.architecture": "gpt", "model.kv_heads": 4}
LAYOUTS = {
    "tp2": (2, TENSOR | {"parallel.sequence": "off"}),
    "tp2 sequence": (2, TENSOR),
    "pp2 gpipe": (2, pipeline("gpipe")),
    "pp2 one_f_one_b": (2, pipeline("one_f_one_b")),
    "pp2 interleaved": (2, pipeline("interleaved") | {"parallel.chunks": 2}),
    "pp2 zero_bubble": (2, pipeline("zero_bubble")),
    "cp2 ring": (2, context("ring")),
    "cp2 ring in order": (2, context("ring") | {"context_ring.zigzag": "off"}),
    "cp2 ulysses": (2, context("ulysses")),
    "cp2 allgather": (2, context("allgather")),
    "dp2": (2, {}),
    "tp2 pp2": (4, TENSOR | pipeline("one_f_one_b")),
    "pp2 dp2 tied": (4, pipeline("zero_bubble") | TIED),
    "cp2 tp2": (4, context("ring") | TENSOR),
    "tp2 dp2 of gpt": (4, TENSOR | GPT),
    "uneven pp2 of gpt": (2, pipeline("one_f_one_b") | GPT | {"parallel.layers": "3,1"}),
}


class VerifyTest(training.TrainingTest):
    def flags(self, *more):
        return training.flags(MODEL | {key: value for options in more for key, value in options.items()})

    def verify(self, *arguments, code=program.DONE):
        return self.run_program("verify", *arguments, code=code, environment=program.MPI_ENVIRONMENT)

    def verify_ranks(self, ranks, *arguments, code=program.DONE):
        return self.run_ranks(ranks, "verify", *arguments, code=code)

    def expect_agreement(self, outcome, dtype):
        """What is printed is plausible: losses near those of a start, differences that are rounding and no more."""
        result = json.loads(outcome.out)
        self.assertIs(result["agrees"], True)
        self.assertEqual(result["precision"], dtype)
        rounding = 1e-14 if dtype == "fp64" else 2e-6
        for step in result["steps"]:
            self.assertGreater(step["loss"], 3)
            self.assertGreater(step["tokens"], 20)
            self.assertLess(step["loss_difference"], rounding)
        for tensor in result["tensors"]:
            self.assertIs(tensor["agrees"], True, tensor)
            self.assertLessEqual(tensor["difference"], tensor["allowed"], tensor)
        return result

    def test_layouts_of_processes_agree_in_fp32(self):
        for name, (ranks, layout) in LAYOUTS.items():
            with self.subTest(name):
                outcome = self.verify_ranks(ranks, *self.flags(layout), "--precision=fp32", "--json")
                result = self.expect_agreement(outcome, "fp32")
                self.assertEqual(result["ranks"], ranks)
                self.assertEqual(len(result["steps"]), 3)
                gpt, tied = "model.architecture" in layout, "model.tied" in layout
                self.assertEqual(len(result["tensors"]), 4 * 16 + 4 if gpt else 4 * 9 + (2 if tied else 3))

    def test_threads_agree_in_fp64(self):
        for preset, ranks, layout in (("llama2_70b", 8, TENSOR | pipeline("interleaved") | {"parallel.chunks": 2}),
                                      ("gpt2_124m", 8, TENSOR | context("ulysses") | pipeline("zero_bubble")),
                                      ("qwen3_8b", 4, TENSOR | context("ring"))):
            with self.subTest(preset):
                options = layout | {"model.preset": preset, "train.global_batch": 256}
                outcome = self.verify(f"--in-process={ranks}", "--small", "--json", *training.flags(options))
                result = self.expect_agreement(outcome, "fp64")
                self.assertEqual(result["ranks"], ranks)
                self.assertIn("tp=2", result["mesh"])

    def test_small_keeps_what_matters(self):
        options = {"model.preset": "llama2_70b", "parallel.pipeline": 4, "parallel.layers": "19,20,20,21",
                   "parallel.tensor": 2, "train.global_batch": 1024}
        outcome = self.verify("--in-process=8", "--small", "--steps=1", *training.flags(options))
        self.assertIn("80 layers, hidden 8192, 64 heads (8 of keys), ffn 28672, vocabulary 32000, 4096 tokens",
                      outcome.out)
        self.assertIn("8 layers, hidden 64, 16 heads (2 of keys), ffn 224, vocabulary 98, 32 tokens", outcome.out)
        self.assertRegex(outcome.out, r"micro-batches +8\n")
        self.assertIn("verdict: this layout trains as one rank does", outcome.out)

    def test_several_nodes(self):
        """Pretended ones, of two ranks each; sums in the order of ranks, and within nodes first."""
        environment = program.MPI_ENVIRONMENT | {"TESSERA_RANKS_PER_NODE": "2"}
        launcher = ["timeout", "-k", "5", str(program.SECONDS), "mpirun", "--oversubscribe", "--bind-to", "none", "-n", "4"]
        for layout in ({}, {"train.deterministic": "off"}, {"train.deterministic": "off", "parallel.tensor": 2}):
            command = [*launcher, program.TESSERA, "verify", "--steps=1", "--json", *self.flags(layout)]
            self.expect_agreement(self.run_command(command, program.DONE, environment), "fp64")

    def test_ranks_that_cannot_share_memory_use_messages(self):
        pages = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024
        limited = f'ulimit -v {pages * 3 // 2} && exec "$@"'  # each rank would map as much as the node has, twice
        launcher = ["timeout", "-k", "5", str(program.SECONDS), "mpirun", "--oversubscribe", "--bind-to", "none", "-n", "2"]
        command = [*launcher, "bash", "-c", limited, "bash", program.TESSERA, "verify", "--steps=1", "--json", *self.flags()]
        outcome = self.run_command(command, program.DONE, program.MPI_ENVIRONMENT)
        self.expect_agreement(outcome, "fp64")
        self.assertRegex(outcome.err, r"warning rank \d/2 mpi: ranks of a node cannot share memory: mmap of \d+ bytes: "
                                      r"Cannot allocate memory; ranks of a node exchange data by slower messages")

    def test_the_data_of_a_run(self):
        self.write("run.ini", "[data]\ntrain = train.h5\n[train]\nsteps = 100\nglobal_batch = 8\n[checkpoint]\n"
                              "dir = saved\ninterval = 1\n[log]\ndir = run\n[parallel]\npipeline = 2\n[model]\n"
                              "layers = 2\nhidden = 32\nheads = 4\nsequence = 32\ndropout = 0.1\n")
        outcome = self.verify_ranks(4, "run.ini", "--steps=2", "--json")
        result = self.expect_agreement(outcome, "fp64")
        self.assertEqual((result["samples"], len(result["steps"])), ("train.h5", 2))
        self.assertEqual({step["tokens"] for step in result["steps"]}, {8 * 32})
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["run.ini", "text.txt", "train.h5"])
        self.train(4, "run", **{"train__steps": 1, "parallel__pipeline": 2, "model__layers": 2, "lr__schedule": "cosine",
                                "optimizer__lr": 3e-4, "model__kv_heads": 4, "train__precision": "fp64",
                                "train__micro_batch": 1})
        trained = json.loads((self.folder / "run" / "metrics.jsonl").read_text())
        self.assertAlmostEqual(trained["loss"], result["steps"][0]["loss"], delta=1e-10)

    def test_a_planted_fault_is_found_and_named(self):
        modules = pathlib.Path(program.TESSERA).parent.parent / "test" / "faulty"
        faulty = [f"--module-path={modules}", "--strategy.extra=faulty", *self.flags(TENSOR)]
        for outcome in (self.verify_ranks(2, *faulty, code=DIFFERENT),
                        self.verify("--in-process=2", *faulty, code=DIFFERENT)):
            self.assertIn("DIFFERS  gradient of layers.1.norm2.gain: ", outcome.out)
            self.assertIn("DIFFERS  gradient of layers.0.attention.q: ", outcome.out)
            self.assertNotIn("gradient of layers.2", outcome.out)
            self.assertIn("verdict: this layout DOES NOT train as one rank does", outcome.out)
        result = json.loads(self.verify("--in-process=2", "--json", *faulty, code=DIFFERENT).out)
        self.assertIs(result["agrees"], False)
        wrong = {tensor["name"] for tensor in result["tensors"] if not tensor["agrees"]}
        self.assertIn("layers.1.norm1.gain", wrong)
        self.assertNotIn("layers.3.norm1.gain", wrong)
        self.verify("--in-process=1", f"--module-path={modules}", "--strategy.extra=faulty", *self.flags({}))

    def test_what_cannot_be_verified_is_refused(self):
        refuse = program.CONFIGURATION
        in_process = ["--in-process=2", *self.flags(TENSOR)]
        outcome = self.verify("--in-process=3", *self.flags(TENSOR), code=refuse)
        self.assertIn("3 ranks are not a multiple of", outcome.err)
        outcome = self.verify(*self.flags(TENSOR), code=refuse)
        self.assertIn("1 ranks are not a multiple of", outcome.err)
        self.assertIn("unknown key model.hiden", self.verify(*in_process, "--model.hiden=3", code=refuse).err)
        self.assertIn("train.precision = bf16", self.verify(*in_process, "--train.precision=bf16", code=refuse).err)
        self.assertIn("zero.stage is not used", self.verify(*in_process, "--zero.stage=2", code=refuse).err)
        self.assertIn("steps must be", self.verify(*in_process, "--steps=0", code=refuse).err)
        self.assertIn("nothing.h5", self.verify(*in_process, "--data.train=nothing.h5", code=program.NOT_FOUND).err)
        self.assertIn("--small", self.verify(*in_process, "--train.memory_limit=1KiB", code=training.RESOURCES).err)
        self.assertIn("unknown flag --in-proces", self.verify("--in-proces=2", code=refuse).err)
        self.assertIn("at least one rank", self.verify("--in-process=0", *self.flags(TENSOR), code=program.USAGE).err)
        self.assertIn("makes its ranks itself", self.verify_ranks(2, *in_process, code=program.USAGE).err)


if __name__ == "__main__":
    program.main()
