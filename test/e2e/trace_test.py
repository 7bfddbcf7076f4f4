#!/usr/bin/env python3
# SPDX-FileCopyrightText: The Tessera authors
# SPDX-License-Identifier: Apache-2.0
"""The timeline of a run shows that gradients are reduced while the backward goes on.

trace_test.py PROGRAM
"""

import collections
import json

import program
import training

COMPUTE, COLLECTIVE = 0, 1
STEPS = 3


class TraceTest(training.TrainingTest):
    def events(self, name):
        """Complete events by step."""
        steps = collections.defaultdict(list)
        for event in json.loads((self.folder / name).read_text()):
            if event["ph"] != "X":
                continue
            _, step, kind, micro_batch = event["cat"].split()
            steps[int(step)].append(event | {"kind": kind, "micro_batch": int(micro_batch), "end": event["ts"] + event["dur"]})
        return steps

    def test_the_first_bucket_is_reduced_before_the_backward_ends(self):
        self.train(2, "run", train__steps=STEPS, train__trace="trace.json")
        counts = []
        for rank, name in enumerate(("trace.json", "trace.json.rank1")):
            steps = self.events(name)
            self.assertEqual(sorted(steps), [1, 2, 3])
            for events in steps.values():
                self.assertEqual({event["pid"] for event in events}, {rank})
                backward = [event for event in events if event["kind"] == "backward" and event["tid"] == COMPUTE]
                # The name that the plan prints for these calls; waits for the last ones stand in the update.
                buckets = [event for event in events if event["name"] == "all_reduce(dp) head"]
                self.assertEqual({event["tid"] for event in buckets}, {COLLECTIVE})
                self.assertEqual({event["kind"] for event in buckets}, {"reduce", "update"})
                begins = sorted(event["ts"] for event in buckets)
                last = max(backward, key=lambda event: event["end"])
                self.assertEqual(last["micro_batch"], 1)
                self.assertLess(begins[0], last["end"])
                self.assertLess(begins[3], last["end"])  # and not only that of the head, whose backward comes first
                counts.append(len(buckets))
        self.assertEqual(len(set(counts)), 1, counts)
        self.assertGreater(counts[0], 5)

    def test_events_of_a_stream_do_not_overlap_and_lie_in_their_step(self):
        self.train(2, "run", train__steps=STEPS, train__trace="trace.json")
        end = 0
        for _, events in sorted(self.events("trace.json").items()):
            compute = sorted((event for event in events if event["tid"] == COMPUTE), key=lambda event: event["ts"])
            for event in compute:
                self.assertGreaterEqual(event["ts"], end - 0.002)  # nanoseconds, printed in microseconds
                end = event["end"]
            kinds = [event["kind"] for event in compute]
            self.assertEqual(kinds[0], "count")
            self.assertEqual(kinds[-1], "update")
            self.assertEqual(collections.Counter(kinds)["forward"] % 2, 0)  # two micro-batches of one program


if __name__ == "__main__":
    program.main()
