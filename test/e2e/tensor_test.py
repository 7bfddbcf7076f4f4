#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Tensor and sequence parallelism with whole programs: the losses of one rank, and checkpoints that any layout reads.

tensor_test.py PROGRAM
"""

import program
import training

STEPS = 6
SEQUENCE = {"parallel__sequence": "on"}
WHOLE = {"parallel__sequence": "off"}

# Two key heads: on four ranks two ranks share each. 257 tokens of the vocabulary, which nothing divides.
LAYOUTS = {
    "tp2": (2, {"parallel__tensor": 2, **WHOLE}),
    "tp2-sequence": (2, {"parallel__tensor": 2, **SEQUENCE}),
    "tp4": (4, {"parallel__tensor": 4, **WHOLE}),
    "tp4-sequence": (4, {"parallel__tensor": 4, **SEQUENCE}),
    "tp2-sequence-dp2": (4, {"parallel__tensor": 2, **SEQUENCE}),
}


class TensorTest(training.TrainingTest):
    def expect_parity(self, **more):
        self.train(1, "one", train__steps=STEPS, **more)
        for name, (ranks, layout) in LAYOUTS.items():
            with self.subTest(name):
                self.train(ranks, name, train__steps=STEPS, **layout, **more)
                self.expect_close(name, "one")

    def test_every_layout_trains_as_one_rank(self):
        self.expect_parity(model__vocab=257)

    def test_nothing_but_the_query_heads_need_divide(self):
        self.expect_parity(model__ffn=45, model__sequence=31, model__tied="on", model__biases="on", model__qk_norm="on")

    def test_gpt_with_evaluations(self):
        self.expect_parity(model__architecture="gpt", model__kv_heads=4, train__eval_interval=3, data__split="0.9,0.1")

    def test_ranks_that_do_not_divide_the_heads_are_refused(self):
        outcome = self.train(3, "refused", code=program.CONFIGURATION, train__steps=1, parallel__tensor=3)
        self.assertIn("parallel.tensor = 3 does not divide model.heads = 4", outcome.err)
        self.assertIn("nearest values of parallel.tensor: 2 and 4", outcome.err)

    def test_the_sequence_option_is_no_fault_on_one_rank(self):
        for value in ("on", "off"):
            self.train(1, f"one-{value}", train__steps=1, parallel__sequence=value)
        self.assertEqual(self.metrics("one-on"), self.metrics("one-off"))

    def test_a_resumed_run_is_bitwise_the_run_that_never_stopped(self):
        for name in ("tp2-sequence", "tp4"):
            with self.subTest(name):
                ranks, layout = LAYOUTS[name]
                self.train(ranks, f"{name}-halves", train__steps=3, checkpoint__interval=3, **layout)
                self.train(ranks, f"{name}-halves", train__steps=6, checkpoint__interval=6, **layout)
                self.train(ranks, f"{name}-straight", train__steps=6, checkpoint__interval=6, **layout)
                self.assertEqual(self.metrics(f"{name}-halves"), self.metrics(f"{name}-straight"))
                self.assertEqual(self.digests(f"{name}-halves", 6), self.digests(f"{name}-straight", 6))

    def test_a_checkpoint_goes_on_in_every_layout(self):
        """What is loaded has the digests that were saved, or the program refuses it."""
        self.train(2, "straight", train__steps=6, checkpoint__interval=6, **LAYOUTS["tp2-sequence"][1])
        self.train(2, "saved", train__steps=3, checkpoint__interval=3, **LAYOUTS["tp2-sequence"][1])
        checkpoint = f"{self.folder}/saved/checkpoints/step-00000003"
        for name, (ranks, layout) in {"one": (1, {}), **LAYOUTS}.items():
            with self.subTest(name):
                self.train(ranks, f"on-{name}", train__steps=6, checkpoint__resume=checkpoint, **layout)
                self.expect_close(f"on-{name}", "straight", first=4)

    def test_checkpoints_of_the_same_weights_are_the_same(self):
        """The initial weights, saved by every layout: one digest per tensor."""
        tiny_rate = {"optimizer__lr": 0, "train__steps": 1, "checkpoint__interval": 1}
        self.train(1, "one", **tiny_rate)
        weights = {path: digest for path, digest in self.digests("one", 1).items() if path.startswith("/model/")}
        self.assertIn("/model/layers/attention.k", weights)
        for name, (ranks, layout) in LAYOUTS.items():
            with self.subTest(name):
                self.train(ranks, name, **tiny_rate, **layout)
                digests = self.digests(name, 1)
                self.assertEqual({path: digests[path] for path in weights}, weights)
                shapes = {tensor["path"]: tensor["shape"] for tensor in self.manifest(name, 1)["tensors"]}
                self.assertEqual(shapes, {tensor["path"]: tensor["shape"] for tensor in self.manifest("one", 1)["tensors"]})


if __name__ == "__main__":
    program.main()
