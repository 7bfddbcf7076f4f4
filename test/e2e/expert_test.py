#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Mixtures of experts with whole programs: layouts agree with one rank, a planted fault is named, metrics tell of experts.

expert_test.py PROGRAM
"""

import json
import pathlib

import program
import training

DIFFERENT = 1
LAYERS, SEQUENCE, BATCH, EXPERTS, CHOICES = 2, 16, 4, 4, 2
MODEL = {"model.layers": LAYERS, "model.hidden": 32, "model.heads": 4, "model.kv_heads": 2, "model.ffn": 48,
         "model.vocab": 131, "model.sequence": SEQUENCE, "model.experts": EXPERTS, "model.experts_per_token": CHOICES,
         "model.expert_ffn": 24, "model.z_coefficient": 1e-3, "train.global_batch": BATCH, "train.micro_batch": 1}
TENSOR = {"parallel.tensor": 2}
WHOLE = {"parallel.sequence": "off"}
RING = {"parallel.context": 2, "strategy.context": "ring"}
STAGES = {"parallel.pipeline": 2}


def experts(ranks):
    return {"parallel.expert": ranks}


LAYOUTS = {
    "dp2": (2, {}),
    "dp2 ep2": (2, experts(2)),
    "dp2 ep2 in rounds": (2, experts(2) | {"parallel.expert_rows": 0.5}),
    "dp2 ep2 with all that a router can have": (2, experts(2) | {
        "model.router_score": "sigmoid", "model.router_bias": "on", "model.router_noise": 0.1, "model.expert_groups": 2,
        "model.expert_groups_per_token": 2, "model.shared_expert_ffn": 16, "model.router_scale": 2.5}),
    "tp2 ep2": (2, TENSOR | WHOLE | experts(2)),
    "tp2 sequence ep2": (2, TENSOR | experts(2)),
    "cp2 ep2": (2, RING | experts(2)),
    "pp2": (2, STAGES),
    "dp4 ep2": (4, experts(2)),
    "tp2 sequence dp2 ep4": (4, TENSOR | experts(4)),
    "pp2 dp2 ep2 zero_bubble": (4, STAGES | {"strategy.pipeline": "zero_bubble"} | experts(2)),
    "cp2 tp2 ep4 of every second layer": (4, RING | TENSOR | experts(4) | {"model.expert_interval": 2}),
}


class ExpertTest(training.TrainingTest):
    def flags(self, *more):
        return training.flags(MODEL | {key: value for options in more for key, value in options.items()})

    def test_layouts_of_processes_agree_with_one_rank(self):
        for name, (ranks, layout) in LAYOUTS.items():
            with self.subTest(name):
                outcome = self.run_ranks(ranks, "verify", *self.flags(layout), "--precision=fp64", "--steps=2", "--json")
                result = json.loads(outcome.out)
                self.assertIs(result["agrees"], True)
                self.assertEqual(result["ranks"], ranks)
                names = {tensor["name"] for tensor in result["tensors"]}
                self.assertLessEqual({"layers.1.router", "layers.1.experts.gate", "layers.1.experts.up",
                                      "layers.1.experts.down"}, names)
                for step in result["steps"]:
                    self.assertLess(step["loss_difference"], 1e-13)

    def test_a_planted_fault_names_tensors_of_experts(self):
        modules = pathlib.Path(program.TESSERA).parent.parent / "test" / "faulty"
        outcome = self.run_ranks(2, "verify", f"--module-path={modules}", "--strategy.extra=faulty", "--steps=1",
                                 *self.flags(experts(2)), code=DIFFERENT)
        self.assertIn("DIFFERS  gradient of layers.0.experts.down: ", outcome.out)
        self.assertIn("DIFFERS  gradient of layers.0.router: ", outcome.out)
        self.assertNotIn("gradient of layers.1.experts", outcome.out)

    def train_mixture(self, ranks, name, **more):
        options = {key.replace(".", "__"): value for key, value in MODEL.items() if key != "model.vocab"}
        outcome = self.train(ranks, name, **(options | {"train__steps": 2, "train__precision": "fp64"} | more))
        lines = (self.folder / name / "metrics.jsonl").read_text().splitlines()
        return outcome, [json.loads(line) for line in lines]

    def test_metrics_tell_of_experts_and_no_layout_changes_them(self):
        console, one = self.train_mixture(1, "one")
        for line in one:
            self.assertEqual([layer["layer"] for layer in line["experts"]], list(range(LAYERS)))
            for layer in line["experts"]:
                self.assertEqual(sum(layer["load"]), BATCH * SEQUENCE * CHOICES)
                self.assertAlmostEqual(layer["imbalance"], max(layer["load"]) * EXPERTS / sum(layer["load"]))
            self.assertEqual(line["imbalance"], max(layer["imbalance"] for layer in line["experts"]))
            self.assertAlmostEqual(line["aux_loss"], 0.01 * sum(layer["unscaled_aux_loss"] for layer in line["experts"]))
            self.assertAlmostEqual(line["z_loss"], 1e-3 * sum(layer["unscaled_z_loss"] for layer in line["experts"]))
            self.assertEqual(line["dropped_share"], 0)
        self.assertIn(f"| expert imbalance: {one[0]['imbalance']:.3f} |", console.out)
        self.assertNotIn("dropped:", console.out)
        _, four = self.train_mixture(4, "four", parallel__tensor=2, parallel__expert=4)
        for line, expected in zip(four, one):
            self.assertEqual([layer["load"] for layer in line["experts"]],
                             [layer["load"] for layer in expected["experts"]])
            self.assertAlmostEqual(line["aux_loss"], expected["aux_loss"], delta=1e-12)
            self.assertAlmostEqual(line["z_loss"], expected["z_loss"], delta=1e-12)

    def test_what_a_capacity_drops_is_told(self):
        console, lines = self.train_mixture(2, "few", parallel__expert=2, model__expert_capacity=0.5)
        for line in lines:
            self.assertGreaterEqual(line["dropped_share"], 0.5)
            self.assertLess(line["dropped_share"], 1)
        self.assertIn(f"| dropped: {100 * lines[0]['dropped_share']:.3f}% |", console.out)


if __name__ == "__main__":
    program.main()
