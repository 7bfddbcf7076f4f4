#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Tables of kernels: made by `tessera bench kernels`, named in train.kernels, kept in checkpoints.

kernels_test.py PROGRAM
"""

import json
import re

import program
import training

CONFIGURATION, DATA, NOT_FOUND = 78, 65, 66
# Options that shape the plans of the tiny run.
TINY_FLAGS = training.flags({k: v for k, v in training.TINY.items() if not k.startswith(("lr.", "optimizer."))})


class KernelsTest(training.TrainingTest):
    def keys(self):
        """Keys of all kernels of the tiny run that have variants, on one thread."""
        outcome = self.run_program("bench", "kernels", "--threads=1", "--repetitions=5", "--json=out.json", "--model.vocab=257",
                                   "--world=2", "--table=measured.txt", *TINY_FLAGS)
        self.assertRegex(outcome.out.splitlines()[-1], r"^FOM kernels_usual_over_chosen=\d+\.\d+ chosen=\d+ threads=1$")
        rows = json.loads((self.folder / "out.json").read_text())["threads_1"]
        for row in rows:
            self.assertGreater(row["calls"], 0)
            self.assertLessEqual(row["gain_least"], row["gain"])
            self.assertEqual(row["chosen"], row["gain"] >= 1.03 and row["gain_least"] > 1)
        chosen = {f"{row['key']} {row['variant']}" for row in rows if row["chosen"]}
        written = (self.folder / "measured.txt").read_text().splitlines()
        self.assertEqual(written[0], "tessera kernels 1")
        self.assertEqual(written[-1], "end")
        doubts = [line for line in written if line.startswith("#")]  # on a busy machine
        self.assertTrue(all("may be chance" in line for line in doubts))
        self.assertEqual(set(written[1:-1]) - set(doubts), chosen)
        return [row["key"] for row in rows]

    def narrow_table(self):
        """Every product that has one by the variant for few rows, which gives the same bits."""
        keys = [key for key in self.keys() if re.match("linear(_dx)? ", key)]
        self.assertGreater(len(keys), 6)
        self.write("narrow.txt", "tessera kernels 1  # by hand\n" + "".join(f"{key} narrow\n" for key in keys) + "end\n")
        return keys

    def state(self, folder, step):
        path = self.folder / folder / f"checkpoints/step-{step:08}/state.json"
        return json.loads(path.read_text())

    def test_a_checkpoint_keeps_the_table(self):
        keys = self.narrow_table()
        self.train(2, "usual", train__steps=4)
        self.train(2, "narrow", train__steps=2, train__kernels="narrow.txt")
        saved = self.state("narrow", 2)["kernels"]
        self.assertEqual(saved.splitlines()[1:-1], sorted(f"{key} narrow" for key in keys))
        (self.folder / "narrow.txt").unlink()
        again = self.train(2, "narrow", train__steps=3)
        self.assertNotIn("is not that of the checkpoint", again.err)
        self.assertEqual(self.state("narrow", 3)["kernels"], saved)
        without = self.train(2, "narrow", train__steps=4, train__kernels="none")
        self.assertIn("the table of kernels is not that of the checkpoint", without.err)
        self.assertEqual(self.state("narrow", 4)["kernels"], "tessera kernels 1\nend\n")
        self.assertEqual(self.metrics("narrow"), self.metrics("usual"))

    def test_tables_that_cannot_be_used(self):
        self.write("empty.txt", "")
        self.write("other.txt", "tessera kernels 1\nlinear f32 1 64x32 32x32 quick\nend\n")
        self.write("cut.txt", "tessera kernels 1\nlinear f32 1 64x32 32x32 narrow\n")
        for table, code, message in ((
                "missing.txt", NOT_FOUND, "missing.txt"), ("empty.txt", DATA, "empty.txt: line 1: it does not begin"),
                ("cut.txt", DATA, "cut.txt: line 3: it is cut"),
                ("other.txt", CONFIGURATION, "'linear f32 1 64x32 32x32 quick', which is not there")):
            for ranks in (1, 2):
                outcome = self.train(ranks, "refused", code=code, train__steps=1, train__kernels=table)
                self.assertIn(message, outcome.err)
        self.assertFalse((self.folder / "refused").exists())


if __name__ == "__main__":
    program.main()
