#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""Context parallelism with whole programs: two ranks that share the tokens of a sequence train as one rank does.

context_test.py PROGRAM
"""

import program
import training

STRATEGIES = ("allgather", "ring", "ulysses")
STEPS = 6


class ContextTest(training.TrainingTest):
    def test_every_strategy_trains_as_one_rank(self):
        for documents in ("off", "on"):
            one = f"one-{documents}"
            self.train(1, one, train__steps=STEPS, data__isolate_documents=documents)
            for strategy in STRATEGIES:
                with self.subTest(strategy, documents=documents):
                    folder = f"{strategy}-{documents}"
                    self.train(2, folder, train__steps=STEPS, data__isolate_documents=documents, parallel__context=2,
                               strategy__context=strategy)
                    self.expect_close(folder, one)

    def test_a_sequence_lies_as_it_comes_or_in_zigzag(self):
        self.train(1, "one", train__steps=STEPS)
        for word in ("on", "off"):
            self.train(2, word, train__steps=STEPS, parallel__context=2, context_ring__zigzag=word)
            self.expect_close(word, "one")
        outcome = self.train(2, "refused", code=program.CONFIGURATION, train__steps=1, parallel__context=2,
                             model__sequence=30, context_ring__zigzag="on")
        self.assertIn("model.sequence = 30 cannot be cut into 2 x parallel.context = 4 equal pieces", outcome.err)
        outcome = self.train(2, "refused", code=program.CONFIGURATION, train__steps=1, parallel__context=2,
                             strategy__context="ulysses", context_ring__zigzag="on")
        self.assertIn("context_ring.zigzag belongs to the module strategy/context_ring", outcome.err)

    def test_a_sequence_without_equal_blocks_is_refused_by_the_ring_only(self):
        self.train(1, "one", train__steps=2, model__sequence=31)
        outcome = self.train(2, "ring", code=program.CONFIGURATION, train__steps=2, model__sequence=31,
                             parallel__context=2)
        self.assertIn("model.sequence = 31 is not a multiple of parallel.context = 2", outcome.err)
        for strategy in ("allgather", "ulysses"):
            self.train(2, strategy, train__steps=2, model__sequence=31, parallel__context=2,
                       strategy__context=strategy)
            self.expect_close(strategy, "one")

    def test_evaluations_see_the_same_samples(self):
        losses = {}
        for folder, ranks, more in (("one", 1, {}),
                                    *((name, 2, {"parallel__context": 2, "strategy__context": name})
                                      for name in STRATEGIES)):
            outcome = self.train(ranks, folder, train__steps=2, train__eval_interval=1, data__split="0.9,0.1", **more)
            losses[folder] = [float(word) for line in (outcome.out + outcome.err).splitlines() if "validation" in line
                              for word in line.replace(",", " ").split() if word.replace(".", "", 1).isdigit()]
        self.assertTrue(losses["one"])
        for name in STRATEGIES:
            self.assertEqual(len(losses[name]), len(losses["one"]))
            for a, b in zip(losses[name], losses["one"]):
                self.assertLessEqual(abs(a - b), 1e-4 * abs(b), name)

    def test_heads_that_cannot_be_shared_are_refused(self):
        outcome = self.train(3, "refused", code=program.CONFIGURATION, train__steps=1, parallel__context=3,
                             strategy__context="ulysses")
        self.assertIn("4 attention heads cannot be shared evenly", outcome.err)


if __name__ == "__main__":
    program.main()
