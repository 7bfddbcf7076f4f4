#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""`tessera inspect` on datasets and checkpoints, whole and damaged.

inspect_test.py PROGRAM
"""

import json
import shutil
import tempfile

import h5py

import program

# A model small enough to count by hand: 2 layers, hidden 16, feed-forward 32, vocabulary 257.
MODEL = ["layers=2", "hidden=16", "heads=2", "ffn=32", "sequence=16"]
PARAMETERS = 2 * 257 * 16 + 2 * (4 * 16 * 16 + 3 * 16 * 32 + 2 * 16) + 16


def damage(path, at):
    """Changes one bit of one byte."""
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(data)


class InspectDatasetTest(program.ProgramTest):
    def setUp(self):
        super().setUp()
        self.write("a.txt", "x" * 99)
        self.write("b.txt", "y" * 9)
        self.run_program("prepare", "--output", "data.h5", "a.txt", "b.txt")
        self.file = self.folder / "data.h5"

    def test_counts(self):
        facts = json.loads(self.run_program("inspect", "data.h5", "--sequence=10", "--json").out)
        self.assertEqual((facts["tokens"], facts["documents"]), (110, 2))
        self.assertEqual((facts["shortest_document"], facts["longest_document"]), (10, 100))
        self.assertEqual((facts["vocabulary"], facts["eod"], facts["tokenizer"]), (257, 256, "bytes"))
        # Samples of 10 inputs with 10 targets one further: (110 - 1) / 10.
        self.assertEqual((facts["samples"], facts["unused_tokens"]), (10, 9))
        self.assertEqual(facts["bytes"], self.file.stat().st_size)

    def test_text_and_json_say_the_same(self):
        text = self.run_program("inspect", "data.h5").out
        self.assertRegex(text, r"(?m)^  tokens +110$")
        self.assertRegex(text, r"(?m)^  documents +2$")

    def test_a_sound_file_is_verified(self):
        self.assertIn("OK", self.run_program("inspect", "data.h5", "--verify").out)
        self.assertIs(json.loads(self.run_program("inspect", "data.h5", "--verify", "--json").out)["verified"], True)

    def test_every_damaged_token_is_found(self):
        at = self.file.read_bytes().index(b"x\0x\0x\0")
        for place in (at, at + 100):
            damage(self.file, place)
            self.run_program("inspect", "data.h5")  # the structure is whole
            outcome = self.run_program("inspect", "data.h5", "--verify", code=program.DATA)
            self.assertIn("checksum", outcome.err)
            self.assertNotIn("OK", outcome.out)
            damage(self.file, place)

    def test_a_file_that_is_cut_or_none_of_ours(self):
        self.file.write_bytes(self.file.read_bytes()[:-100])
        self.assertIn("data.h5", self.run_program("inspect", "data.h5", code=program.DATA).err)
        self.assertIn("a.txt", self.run_program("inspect", "a.txt", code=program.DATA).err)
        self.run_program("inspect", "nothing.h5", code=program.NOT_FOUND)

    def test_mistakes_of_the_command_line(self):
        self.assertIn("did you mean verify?", self.run_program("inspect", "data.h5", "--verfy", code=program.USAGE).err)
        self.run_program("inspect", code=program.USAGE)
        self.run_program("inspect", "data.h5", "data.h5", code=program.USAGE)


class InspectCheckpointTest(program.ProgramTest):
    trained = None  # the folder of one run, copied for each test

    def setUp(self):
        super().setUp()
        self.saved = self.folder / "saved"
        if InspectCheckpointTest.trained is None:
            self.train()
        else:
            shutil.copytree(InspectCheckpointTest.trained.name, self.saved)
        self.newest = self.saved / "step-00000003"

    def train(self):
        self.write("a.txt", bytes(range(1, 250)) * 4)
        self.run_program("prepare", "--output", "data.h5", "a.txt")
        run = ["data.train=data.h5", "train.steps=3", "train.global_batch=2", "checkpoint.dir=saved", "checkpoint.interval=1"]
        self.run_program("train", *(f"--model.{value}" for value in MODEL), *(f"--{value}" for value in run))
        InspectCheckpointTest.trained = tempfile.TemporaryDirectory(prefix="tessera-e2e-")
        shutil.copytree(self.saved, InspectCheckpointTest.trained.name, dirs_exist_ok=True)

    @classmethod
    def tearDownClass(cls):
        if cls.trained is not None:
            cls.trained.cleanup()

    def test_what_a_checkpoint_holds(self):
        facts = json.loads(self.run_program("inspect", "saved/step-00000002/", "--json").out)
        self.assertEqual((facts["step"], facts["parameters"]), (2, PARAMETERS))
        self.assertEqual({file["name"] for file in facts["files"]}, {"model.h5", "optimizer.h5", "state.json"})
        for file in facts["files"]:
            self.assertEqual(file["bytes"], (self.saved / "step-00000002" / file["name"]).stat().st_size)
        shapes = {tensor["path"]: tensor["shape"] for tensor in facts["tensors"]}
        self.assertEqual(shapes["/model/layers/attention.q"], "[2, 16, 16]")
        state = {row["name"]: row["value"] for row in facts["state"]}
        self.assertEqual((state["step"], state["model.hidden"]), ("2", "16"))
        self.assertEqual(state["settings.train.steps"], "3")
        self.assertNotIn("settings.optimizer.lr", state)  # a default

    def test_a_part_of_a_checkpoint_is_none(self):
        for name in ("model.h5", "manifest.json"):
            outcome = self.run_program("inspect", f"saved/step-00000002/{name}", code=program.USAGE)
            self.assertRegex(outcome.err, r"is a part of a checkpoint: tessera inspect \S*saved/step-00000002")

    def test_of_a_folder_of_checkpoints_the_newest_whole_one(self):
        facts = json.loads(self.run_program("inspect", "saved", "--json").out)
        self.assertEqual((facts["step"], facts["checkpoints"]), (3, 3))
        (self.newest / "optimizer.h5").unlink()
        facts = json.loads(self.run_program("inspect", "saved", "--json").out)
        self.assertEqual(facts["step"], 2)
        self.assertIn("step-00000003 was passed over", facts["passed_over"][0]["reason"])
        self.assertIn("optimizer.h5", facts["passed_over"][0]["reason"])

    def test_a_whole_one_is_verified(self):
        self.assertIn("OK", self.run_program("inspect", "saved", "--verify").out)

    def test_a_damaged_weight_is_named(self):
        path = self.newest / "model.h5"
        with h5py.File(path) as file:
            place = file["model/norm.gain"].id.get_offset() + 5
        damage(path, place)
        self.run_program("inspect", self.newest)  # the sizes are right
        outcome = self.run_program("inspect", self.newest, "--verify", code=program.DATA)
        self.assertIn("model.h5: the checksum of bytes 0 to", outcome.err)
        self.assertIn("/model/norm.gain: its digest is", outcome.err)
        self.assertNotIn("optimizer.h5", outcome.err)

    def test_a_damaged_state_or_manifest_is_named(self):
        damage(self.newest / "state.json", 20)
        self.assertIn("state.json", self.run_program("inspect", self.newest, "--verify", code=program.DATA).err)
        damage(self.newest / "manifest.json", 20)
        self.assertIn("manifest.json", self.run_program("inspect", self.newest, code=program.DATA).err)

    def test_an_interrupted_save_is_no_checkpoint(self):
        unfinished = self.saved / "step-00000004.tmp"
        shutil.copytree(self.newest, unfinished)
        (unfinished / "manifest.json").unlink()
        self.assertIn("never completed", self.run_program("inspect", unfinished, code=program.DATA).err)
        self.assertEqual(json.loads(self.run_program("inspect", "saved", "--json").out)["step"], 3)

    def test_a_folder_without_checkpoints(self):
        (self.folder / "empty").mkdir()
        self.run_program("inspect", "empty", code=program.NOT_FOUND)
        for folder in self.saved.glob("step-*"):
            (folder / "manifest.json").unlink()
        outcome = self.run_program("inspect", "saved", code=program.DATA)
        self.assertEqual(outcome.err.count("was passed over"), 3)


if __name__ == "__main__":
    program.main()
