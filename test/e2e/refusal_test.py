#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""B12: what cannot be trained is refused at once, before anything large is allocated, with all that is wrong.

refusal_test.py PROGRAM
"""

import pathlib
import resource
import shutil
import time

import program
import training

# 65 billion parameters: if any weight were allocated, this machine would notice.
HUGE = {"model.layers": 80, "model.hidden": 8192, "model.heads": 64, "model.kv_heads": 8, "train.steps": 1}
MOST_BYTES = 1 << 30
MOST_SECONDS = 10


class RefusalTest(training.TrainingTest):
    def refuse(self, sentences, ranks=2, **more):
        """Every one of the sentences must be said."""
        options = self.options("run") | HUGE | {key.replace("__", "."): value for key, value in more.items()}
        begin = time.monotonic()
        outcome = self.run_ranks(ranks, "train", *training.flags(options), code=program.CONFIGURATION)
        self.assertLess(time.monotonic() - begin, MOST_SECONDS)
        self.assertLess(1024 * resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss, MOST_BYTES)
        for sentence in sentences:
            self.assertIn(sentence, outcome.err)
        self.assertNotIn("planned peak", outcome.err)
        self.assertFalse((self.folder / "run").exists())
        return outcome

    def test_b12_a_batch_that_ranks_cannot_share(self):
        self.refuse(["--train.global_batch: train.global_batch = 7 is not a multiple of train.micro_batch x "
                     "data-parallel ranks = 2 x 2", "Nearest: 4 and 8."], train__global_batch=7)

    def test_b12_heads_that_do_not_divide(self):
        self.refuse(["model.hidden = 8192 is not a multiple of model.heads = 63",
                     "model.heads = 63 is not a multiple of model.kv_heads = 8"], model__heads=63)
        self.refuse(["--model.kv_heads: model.heads = 64 is not a multiple of model.kv_heads = 7"], model__kv_heads=7)

    def test_b12_a_misspelt_key(self):
        self.refuse(["--model.hiden: unknown key model.hiden", "did you mean model.hidden?"], model__hiden=64)

    def test_b12_keys_that_this_run_does_not_use(self):
        self.refuse(["--lr.min: lr.min is not used, since lr.schedule is constant"], lr__min=1e-5)
        self.refuse(["--sgd.momentum: sgd.momentum belongs to the module optimizer/sgd"], sgd__momentum=0.9)
        self.refuse(["--data.valid: data.valid is not used, since train.eval_interval is 0"], data__valid="train.h5")

    def test_b12_ranks_that_a_layout_cannot_use(self):
        self.refuse(["2 ranks are not a multiple of parallel.tensor x parallel.context x parallel.pipeline = 3 x 1 x 1"],
                    parallel__tensor=3)

    def test_b12_layouts_without_a_module(self):
        there = self.run_program("modules", "list").out
        for degree, module in (("tensor", "tensor_parallel"), ("context", "context_ring"), ("pipeline", "one_f_one_b")):
            if module not in there:
                self.refuse([f"--parallel.{degree}: parallel.{degree} = 2: there is no module", module,
                             f"set parallel.{degree} = 1"], **{f"parallel__{degree}": 2})

    def test_b12_what_this_version_does_not_do(self):
        self.refuse(["--train.precision: train.precision = bf16: this version has only fp32, fp64",
                     "--zero.stage: zero.stage is not used, since strategy.data is data_parallel",
                     "--offload.path: offload.path is not used, since offload.name is none",
                     "--checkpoint.async: checkpoint.async = on: this version has only off"],
                    train__precision="bf16", zero__stage=2, offload__path="somewhere",
                    checkpoint__async="on")

    def test_b12_everything_at_once(self):
        outcome = self.refuse(["the configuration has 10 problems", "unknown key model.hiden", "zero.stage is not used",
                               "train.steps must be an integer, not 'many'", "train.global_batch = 7",
                               "model.heads = 64 is not a multiple of model.kv_heads = 7", "train.precision = bf16",
                               "there is no module optimizer/adamv", "there is no module strategy/unknown",
                               "train.eval_interval is set, but there is nothing to evaluate on",
                               "data.train is not set"],
                              optimizer__name="adamv", strategy__data="unknown", train__eval_interval=1, data__train="",
                              model__hiden=3, zero__stage=1, train__steps="many", train__global_batch=7,
                              model__kv_heads=7, train__precision="bf16")
        self.assertEqual(outcome.err.count("tessera: error:"), 1, outcome)

    def test_b12_a_module_that_is_not_there_is_not_found(self):
        options = training.flags(self.options("run", train__steps=1, optimizer__name="adamv"))
        outcome = self.run_program("train", *options, code=program.NOT_FOUND)
        self.assertIn("there is no module optimizer/adamv", outcome.err)
        self.assertIn("did you mean adamw?", outcome.err)

    def test_b12_what_is_documented_can_be_written(self):
        self.copy_of_lion()
        given = {"train.watchdog": "9m", "log.level": "warning", "train.deterministic": "on", "parallel.sequence": "on",
                 "checkpoint.async": "off", "checkpoint.files": 2, "modules.path": "own", "optimizer.name": "lion",
                 "train.precision": "fp32", "train.recompute": "none", "strategy.context": "ulysses",
                 "strategy.pipeline": "gpipe", "offload.name": "none", "model.experts": 0}
        options = self.options("run", train__steps=1) | given
        outcome = self.run_program("train", *training.flags(options))
        self.assertNotIn(" info ", outcome.err)
        files = {entry["name"] for entry in self.manifest("run", 1)["files"]}
        self.assertIn("model.001.h5", files)
        outcome = self.run_program("train", *training.flags(options | {"log.level": "debug", "train.steps": 2}))
        self.assertRegex(outcome.err, r"debug module: optimizer/lion .* loaded from \S*/own/optimizer_lion.so")

    def copy_of_lion(self):
        built = pathlib.Path(program.TESSERA).parent.parent / "lib/tessera/modules"
        (self.folder / "own").mkdir()
        for suffix in (".so", ".json"):
            shutil.copy(built / f"optimizer_lion{suffix}", self.folder / "own")

    def test_b12_a_run_file_is_named_with_its_line(self):
        self.write("run.ini", "[train]\nsteps = 3\n\nglobal_batches = 8\n[model]\nheads = 5\n")
        outcome = self.run_ranks(2, "train", "run.ini", "--data.train=train.h5", code=program.CONFIGURATION)
        self.assertIn("run.ini:4: unknown key train.global_batches", outcome.err)
        self.assertIn("did you mean train.global_batch?", outcome.err)
        self.assertIn("run.ini:6: model.hidden = 768 is not a multiple of model.heads = 5", outcome.err)

    def test_b12_a_checkpoint_holds_the_resolved_configuration(self):
        self.write("run.ini", "[optimizer]\nlr = 2e-3\n")
        options = training.flags(self.options("run", train__steps=2, checkpoint__interval=2))
        options.remove("--optimizer.lr=0.001")
        self.run_ranks(2, "train", "run.ini", *options)
        settings = self.state("run", 2)["settings"]
        self.assertEqual(settings["optimizer.lr"], {"from": "file", "value": 0.002, "where": "run.ini:2"})
        self.assertEqual(settings["model.hidden"], {"from": "flag", "value": 32, "where": "--model.hidden"})
        self.assertEqual(settings["optimizer.beta1"], {"from": "default", "value": 0.9})
        self.assertEqual(settings["train.seed"]["value"], 1234)


if __name__ == "__main__":
    program.main()
