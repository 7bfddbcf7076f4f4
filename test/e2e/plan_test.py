#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""`tessera plan`: worlds of any size in one process, and the same plans as runs have.

plan_test.py PROGRAM
"""

import collections
import json
import pathlib
import re

import program
import training

COMPUTE = 0
MODELS = pathlib.Path(__file__).resolve().parents[2] / "share" / "models"
# 70 billion parameters on 512 ranks.
LARGE = ("--model.preset=llama2_70b", "--world=512", "--parallel.tensor=8", "--parallel.pipeline=8",
         "--train.global_batch=512", "--machine=h100_node")
TINY = (*training.flags(training.TINY), "--model.vocab=257")


class PlanTest(training.TrainingTest):
    def plan(self, *arguments, code=program.DONE):
        outcome = self.run_program("plan", *arguments, "--json", code=code)
        return json.loads(outcome.out) if code == program.DONE else outcome

    def test_a_large_world_is_planned_and_compared(self):
        plan = self.plan(*LARGE)
        self.assertEqual((plan["world"], plan["mesh"], plan["micro_batches"]), (512, "tp=8 cp=1 dp=8 pp=8", 64))
        self.assertEqual(plan["differences"], 0)
        self.assertGreater(plan["compared_calls"], 512 * 64 * 10 * 6)  # ranks, micro-batches, layers, calls
        self.assertAlmostEqual(plan["schedule_bubble"], 7 / (64 + 7))
        self.assertEqual([stage["layers"] for stage in plan["stages"]][::7], ["0-9", "70-79"])
        self.assertEqual([row["forward"] for row in plan["programs"]], [64] * 8)
        # 1F1B: stage s keeps 8 - s frames.
        kept = [row["activations"] for row in plan["memory"]]
        self.assertEqual(kept, sorted(kept, reverse=True))
        self.assertAlmostEqual((kept[1] - kept[2]) / (kept[2] - kept[3]), 1)

    def test_time_grows_with_the_ranks_and_not_faster(self):
        world = 1000000  # seconds; minutes, were each of them compared with each
        plan = self.plan("--world", world, "--train.global_batch", world, "--model.layers=2",
                         "--model.hidden=64", "--model.heads=4", "--model.sequence=32", "--model.vocab=257")
        self.assertEqual((plan["world"], plan["compiled"], plan["differences"]), (world, 1, 0))

    def test_the_head_has_few_pieces_however_large_it_is(self):
        self.plan("--world=1", "--train.global_batch=1", "--model.layers=1", "--model.hidden=64", "--model.heads=4",
                  f"--model.sequence={1 << 24}", f"--model.vocab={1 << 24}")

    def test_presets_of_mixtures_are_planned(self):
        """With the parameters that their files name, experts over ranks, pipelines cut by what layers cost."""
        for preset, world, experts, stages, layers in (
                ("mixtral_8x7b", 32, 8, 4, ["0-7", "8-15", "16-23", "24-31"]),
                ("mixtral_8x22b", 64, 8, 8, [f"{first}-{first + 6}" for first in range(0, 56, 7)]),
                ("qwen3_30b_a3b", 16, 8, 2, ["0-25", "26-47"]),
                ("qwen3_235b_a22b", 64, 16, 4, ["0-23", "24-47", "48-71", "72-93"]),
                ("deepseek_v3_mixture", 128, 32, 4, ["0-15", "16-30", "31-45", "46-60"])):
            with self.subTest(preset):
                plan = self.plan(f"--model.preset={preset}", f"--world={world}", f"--parallel.expert={experts}",
                                 f"--parallel.pipeline={stages}", "--train.global_batch=64", "--model.sequence=2048")
                said = re.search("^# Parameters: ([0-9,]+)$", (MODELS / f"{preset}.ini").read_text(), re.MULTILINE)
                self.assertEqual(plan["parameters"], int(said[1].replace(",", "")))
                self.assertEqual([stage["layers"] for stage in plan["stages"]], layers)
                self.assertEqual(plan["differences"], 0)

    def test_the_calls_of_a_layer_are_those_of_sequence_parallelism(self):
        calls = {(row["program"], row["layers"], row["call"]): row["calls"] for row in self.plan(*LARGE)["layer_calls"]}
        self.assertEqual(calls["forward", "0-79", "all_gather(tp)"], 2)
        self.assertEqual(calls["forward", "0-79", "reduce_scatter(tp)"], 2)
        self.assertEqual(calls["backward", "0-79", "reduce_scatter(tp)"], 2)

    def test_experts_of_a_rank(self):
        mixture = ("--model.preset=llama_tiny", "--model.layers=4", "--model.sequence=256", "--model.experts=8",
                   "--model.expert_interval=2", "--train.global_batch=2", "--parallel.expert=2", "--world=2")
        (odd, last) = self.plan(*mixture, "--parallel.expert_rows=1.5")["experts"]
        self.assertEqual((odd["layers"], last["layers"]), ("1", "3"))
        rows = 256 * 2 * 3 // 2 // 8  # of the rank's own tokens, two choices each
        self.assertEqual((odd["experts"], odd["rows"], odd["all_rows"]), (4, rows, 4 * 2 * rows))
        self.assertEqual(odd["row_bytes"], odd["all_rows"] * 256 * 4)
        self.assertEqual(odd["combine_bytes"], 8 * rows * 256 * 4)
        self.assertEqual(odd["dispatch_bytes"], 8 * rows * (256 + 1) * 4 + 8 * 4)
        self.assertNotIn("experts", self.plan("--model.preset=llama_tiny", "--world=2"))

    def test_ranks_agree_under_every_context_strategy(self):
        for strategy in ("allgather", "ring", "ulysses"):
            plan = self.plan("--model.preset=llama_tiny", "--world=16", "--parallel.context=4", "--parallel.pipeline=2",
                             "--train.global_batch=4", f"--strategy.context={strategy}")
            self.assertEqual(plan["differences"], 0, strategy)
            self.assertGreater(plan["step_milliseconds"], 0)

    def test_bubbles_are_those_of_the_formulas(self):
        for schedule, chunks, bubble in (("gpipe", 1, 3 / 11), ("one_f_one_b", 1, 3 / 11), ("interleaved", 2, 3 / 19),
                                         ("zero_bubble", 1, 3 / 27)):
            plan = self.plan("--model.preset=llama_tiny", "--model.layers=8", "--world=4", "--parallel.pipeline=4",
                             f"--parallel.chunks={chunks}", "--train.global_batch=8", f"--strategy.pipeline={schedule}")
            self.assertAlmostEqual(plan["schedule_bubble"], bubble, msg=schedule)
            self.assertEqual(plan["programs"][0]["weight"], 8 if schedule == "zero_bubble" else 0)

    def test_memory_is_what_a_run_plans(self):
        outcome = self.train(2, "run", train__steps=1, parallel__pipeline=2)
        (arena,) = re.findall(r"arena .* (\d+) bytes", outcome.err)
        plan = self.plan("--world=2", "--parallel.pipeline=2", *TINY)
        self.assertEqual(plan["memory"][0]["arena"], int(arena))

    def kernels(self, name, step):
        """How often each kernel of each kind of program stands in one step of a timeline, by rank."""
        counts = collections.defaultdict(collections.Counter)
        for event in json.loads((self.folder / name).read_text()):
            if event["ph"] != "X" or event["tid"] != COMPUTE or event["name"].startswith("wait "):
                continue
            _, number, kind, _ = event["cat"].split()
            if int(number) == step:
                counts[event["pid"]][kind, event["name"]] += 1
        return counts

    def test_the_timeline_has_the_names_of_a_trace(self):
        self.train(2, "run", train__steps=1, train__trace="trace.json", parallel__pipeline=2)
        self.run_program("plan", "--world=2", "--parallel.pipeline=2", *TINY, "--timeline=plan.json")
        planned = self.kernels("plan.json", 1)
        self.assertEqual(sorted(planned), [0, 1])
        for rank, name in enumerate(("trace.json", "trace.json.rank1")):
            self.assertEqual(planned[rank], self.kernels(name, 1)[rank])
            self.assertIn(("forward", "linear layer 0" if rank == 0 else "linear layer 1"), planned[rank])
        events = [event for event in json.loads((self.folder / "plan.json").read_text()) if event["ph"] == "X"]
        trace = [event for event in json.loads((self.folder / "trace.json").read_text()) if event["ph"] == "X"]
        self.assertLessEqual({event["name"] for event in trace}, {event["name"] for event in events})

    def test_events_of_a_simulated_stream_do_not_overlap(self):
        self.run_program("plan", "--world=2", "--parallel.pipeline=2", *TINY, "--timeline=plan.json")
        ends = collections.defaultdict(float)
        for event in json.loads((self.folder / "plan.json").read_text()):
            if event["ph"] == "X" and event["tid"] == COMPUTE:
                self.assertGreaterEqual(event["ts"], ends[event["pid"]] - 0.002)
                ends[event["pid"]] = event["ts"] + event["dur"]

    def test_explain_shows_every_instruction(self):
        out = self.run_program("plan", "--world=4", "--parallel.tensor=2", "--parallel.pipeline=2", "--rank=2", *TINY,
                               "--explain").out
        for part in ("rank 2 of mesh tp=2 cp=1 dp=1 pp=2", "reduce_scatter(tp)", "receive(pp)", "layer 1", "linear",
                     "micro-batch 3", "slot ", "arena", "on collective over tp", "on pipeline from member 0", "<sum(tp)> ->",
                     " of reduce_scatter(tp)"):
            self.assertIn(part, out)

    def test_what_cannot_run_is_refused_with_the_numbers(self):
        pipeline = ("--world=4", "--parallel.pipeline=4", *TINY)
        for arguments, code, sentence in (
            (("--world=6", "--parallel.tensor=4", *TINY), program.CONFIGURATION, "6 ranks are not a multiple"),
            (("--world=65", "--parallel.pipeline=65", *TINY), program.CONFIGURATION, "must be from 1 to 64, not '65'"),
            (pipeline, program.CONFIGURATION, "model.layers = 2 is less than parallel.pipeline x parallel.chunks = 4 x 1"),
            (("--world=2", "--parallel.pipeline=2", "--parallel.layers=2, 1", *TINY), program.CONFIGURATION,
             "parallel.layers = 2, 1 are 3 layers"),
            (("--model.preset=llama_tiny", "--world=2", "--parallel.pipeline=2", "--parallel.chunks=2"),
             program.CONFIGURATION, "one_f_one_b runs one chunk per stage"),
            (("--world=1", *training.flags(training.TINY)), program.CONFIGURATION, "the vocabulary is not known"),
            (("--world=1", "--machine=h100_nod", *TINY), program.NOT_FOUND, "did you mean h100_node?"),
            (TINY, program.USAGE, "the number of ranks is missing"),
            (("--world=2", "--rank=2", *TINY), program.USAGE, "there is no rank 2 among 2"),
        ):
            self.assertIn(sentence, self.run_program("plan", *arguments, code=code).err)


if __name__ == "__main__":
    program.main()
