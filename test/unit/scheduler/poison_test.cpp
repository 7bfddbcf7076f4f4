// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Overwriting scratch that nobody reads any more changes no number: nobody does.
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "memory_probe.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/reference_source.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::test {
namespace {

using testing_support::Gathered;

struct Numbers {
  std::vector<StepOutcome> steps;
  std::vector<EvaluationOutcome> evaluations;
  Gathered weights;
  std::int64_t overwritten = 0;  ///< bytes of scratch that look so at the end, of all ranks
};

Numbers train(const MemoryCase& c, int ranks, bool poison) {
  const DataParallel data(1 << 13);
  testing_support::TrainingCase run;
  run.model = c.model;
  run.dtype = c.dtype;
  run.axes = {{"dp", "dp", ranks}};
  run.strategies = {&data};
  run.optimizer = c.optimizer;
  run.clip = 1;
  run.global_batch = c.global_batch;
  run.micro_batch = c.micro_batch;
  run.head_pieces = c.head_pieces;
  run.executor.poison = poison;
  Numbers numbers;
  std::mutex mutex;
  testing_support::run_training(run, [&](Engine& engine, int rank) {
    reference::ReferenceSource source;
    for (std::int64_t step = 1; step <= 3; ++step) {
      const StepOutcome outcome = engine.step(source, (step - 1) * c.global_batch, {step, 1e-3});
      const EvaluationOutcome evaluation = engine.evaluate(source, 24, 5);
      if (rank > 0) continue;
      numbers.steps.push_back(outcome);
      numbers.evaluations.push_back(evaluation);
    }
    const std::lock_guard lock(mutex);
    numbers.weights.add(engine.tensors(), "model");
    numbers.overwritten += std::ranges::count(engine.arena().region(Tag::scratch), std::byte{0xff});
  });
  return numbers;
}

TEST(Poison, ChangesNoNumber) {
  for (const MemoryCase& c : memory_cases())
    for (const int ranks : {1, 2}) {
      SCOPED_TRACE(c.name + " on " + std::to_string(ranks) + " ranks");
      const Numbers plain = train(c, ranks, false), poisoned = train(c, ranks, true);
      EXPECT_EQ(poisoned.steps, plain.steps);
      EXPECT_EQ(poisoned.evaluations, plain.evaluations);
      EXPECT_EQ(poisoned.weights.tensors, plain.weights.tensors);
      EXPECT_GT(poisoned.overwritten, 100 * plain.overwritten + 1000) << "nothing was overwritten";
    }
}

}  // namespace
}  // namespace tessera::test
