#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Pipelines with whole programs: B34, one line per step with the loss of one rank; resuming, stopping, refusals.

pipeline_test.py PROGRAM
"""

import signal

import program
import training

STEPS = 5
LAYERS = {"model__layers": 4}

LAYOUTS = {
    "pp2": (2, {"parallel__pipeline": 2}),
    "pp2-interleaved": (2, {"parallel__pipeline": 2, "parallel__chunks": 2, "strategy__pipeline": "interleaved"}),
    "pp4-zero-bubble": (4, {"parallel__pipeline": 4, "strategy__pipeline": "zero_bubble"}),
    "tp2-pp2-dp2": (8, {"parallel__tensor": 2, "parallel__pipeline": 2}),
}


class PipelineTest(training.TrainingTest):
    def losses_on_the_console(self, outcome):
        """The loss of every line about a step, of all ranks together."""
        lines = [line for line in outcome.out.splitlines() if "lm loss: " in line and "validation" not in line]
        return [float(line.split("lm loss: ")[1].split("|")[0]) for line in lines]

    def test_b34_one_line_per_step_with_the_loss_of_one_rank(self):
        """More ranks than cores: the number of lines must not depend on that either."""
        one = self.losses_on_the_console(self.train(1, "one", train__steps=STEPS, model__tied="on", **LAYERS))
        self.assertEqual(len(one), STEPS)
        for name, (ranks, layout) in LAYOUTS.items():
            with self.subTest(name):
                outcome = self.train(ranks, name, train__steps=STEPS, model__tied="on", **LAYERS, **layout)
                losses = self.losses_on_the_console(outcome)
                self.assertEqual(len(losses), STEPS)
                for ours, theirs in zip(losses, one):
                    self.assertLessEqual(abs(ours - theirs), 2e-5 * theirs)
                self.expect_close(name, "one")

    def test_a_resumed_run_is_bitwise_the_run_that_never_stopped(self):
        for name in ("pp2", "pp2-interleaved"):
            with self.subTest(name):
                ranks, layout = LAYOUTS[name]
                run = LAYERS | layout
                self.train(ranks, f"{name}-halves", train__steps=3, checkpoint__interval=3, **run)
                self.train(ranks, f"{name}-halves", train__steps=6, checkpoint__interval=6, **run)
                self.train(ranks, f"{name}-straight", train__steps=6, checkpoint__interval=6, **run)
                self.assertEqual(self.metrics(f"{name}-halves"), self.metrics(f"{name}-straight"))
                self.assertEqual(self.digests(f"{name}-halves", 6), self.digests(f"{name}-straight", 6))

    def test_a_checkpoint_goes_on_in_other_layouts(self):
        layouts = {"one": (1, {}), "tp2": (2, {"parallel__tensor": 2}), "pp4": LAYOUTS["pp4-zero-bubble"]}
        self.train(2, "straight", train__steps=6, checkpoint__interval=6, **LAYERS, **LAYOUTS["pp2"][1])
        self.train(2, "saved", train__steps=3, checkpoint__interval=3, **LAYERS, **LAYOUTS["pp2"][1])
        checkpoint = f"{self.folder}/saved/checkpoints/step-00000003"
        for name, (ranks, layout) in layouts.items():
            with self.subTest(name):
                self.train(ranks, f"on-{name}", train__steps=6, checkpoint__resume=checkpoint, **LAYERS, **layout)
                self.expect_close(f"on-{name}", "straight", first=4)

    def test_a_signal_to_the_last_stage_stops_all(self):
        outcome, _ = self.signal_during_run(2, "run", 1, signal.SIGUSR1, **LAYERS, **LAYOUTS["pp2"][1])
        self.assertEqual(outcome.code, training.STOPPED, outcome)
        (saved,) = self.checkpoints("run")
        self.assertEqual(self.steps("run"), int(saved.removeprefix("step-")))

    def test_pipelines_that_cannot_work_are_refused(self):
        for sentence, options in (
                ("model.layers = 4 is less than parallel.pipeline x parallel.chunks = 2 x 3",
                 {"parallel__chunks": 3, "strategy__pipeline": "interleaved"}),
                ("parallel.layers = 3,2 are 5 layers, but model.layers = 4", {"parallel__layers": "3,2"}),
                ("there is no module", {"strategy__pipeline": "nothing"})):
            with self.subTest(sentence):
                code = program.NOT_FOUND if "module" in sentence else program.CONFIGURATION
                outcome = self.train(2, "refused", code=code, train__steps=1, parallel__pipeline=2, **LAYERS, **options)
                self.assertIn(sentence, outcome.err.replace("3, 2", "3,2"))


if __name__ == "__main__":
    program.main()
