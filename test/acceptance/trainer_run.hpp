// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  runs of the trainer on thread ranks, with everything that they report, stopped and resumed where asked.
// Used: acceptance tests about the loop.
// Must not know: what is compared with what.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "core/train/trainer.hpp"
#include "test/support/thread_training.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {

struct TrainerRun {
  testing_support::TrainingCase training;
  TokenSource::Options data, validation;  ///< their vocab is the model's
  std::int64_t validation_samples = 0;
  LearningRateConfig learning_rate{LrSchedule::cosine, 1e-3, 1e-4, 4, 20, 0};
  std::int64_t steps = 10;
  std::int64_t eval_interval = 0;
  std::int64_t stop_after = 0;        ///< a step after which the run is asked to stop; 0: never
  std::filesystem::path checkpoints;  ///< where it resumes from and saves to; empty: starts anew and saves nothing
};

/// What is said of a step or an evaluation without its times, bit by bit.
using Line = std::map<std::string, std::uint64_t>;

struct TrainerLog {
  std::vector<StepRecord> records;  ///< equal on all ranks but for times and memory, which is checked
  std::vector<std::pair<std::int64_t, EvaluationOutcome>> evaluations;
  std::map<std::string, testing_support::Gathered> tensors;  ///< at the end: "model", "moment1", …
  Progress progress;
  Ending ending = Ending::finished;
  std::int64_t first_step = 0;  ///< of this run: 1, or the one after the checkpoint's

  std::vector<Line> lines() const;
};

TrainerLog run_trainer(const TrainerRun& run);

/// Whether the tensors of two runs are the same bits.
void expect_same_tensors(const TrainerLog& actual, const TrainerLog& expected);

}  // namespace tessera::acceptance
