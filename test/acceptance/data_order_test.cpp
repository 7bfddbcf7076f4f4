// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B03, B41: which samples a run reads, step by step, with restarts in the middle of an epoch and on its edge, and when
// the data ends inside a batch.
#include <gtest/gtest.h>

#include <mutex>
#include <numeric>

#include "io/dataset/sampler.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/unit/io/temporary_folder.hpp"
#include "trainer_run.hpp"

namespace tessera::acceptance {
namespace {

const sgd::Sgd k_sgd({0, 0});
const DataParallel k_data(1 << 14);

/// Which sample of the dataset was read under which number of the stream, by all ranks of all runs together.
class Reads {
 public:
  void note(std::int64_t g, std::int64_t c) {
    const std::lock_guard lock(mutex_);
    EXPECT_TRUE(reads_.emplace(g, c).second) << "number " << g << " was read twice";
  }

  /// Samples in the order of the stream; numbers must have no gaps.
  std::vector<std::int64_t> ids() const {
    std::vector<std::int64_t> result;
    for (const auto& [g, c] : reads_) {
      EXPECT_EQ(g, static_cast<std::int64_t>(result.size())) << "a number was left out";
      result.push_back(c);
    }
    return result;
  }

 private:
  std::mutex mutex_;
  std::map<std::int64_t, std::int64_t> reads_;
};

struct Consumption {
  std::int64_t samples, global_batch;
  int ranks;
  std::int64_t micro_batch, steps;
};

TrainerRun run_of(const Consumption& consumption, Reads& reads) {
  TrainerRun run;
  run.training.model = tiniest();
  run.training.dtype = DType::f32;
  run.training.axes = data_axis(consumption.ranks);
  run.training.strategies = {&k_data};
  run.training.optimizer = &k_sgd;
  run.training.global_batch = consumption.global_batch;
  run.training.micro_batch = consumption.micro_batch;
  run.steps = consumption.steps;
  run.learning_rate = {LrSchedule::constant, 1e-2, 0, 0, 0, 0};
  const io::Sampler sampler({0, consumption.samples}, 17, io::SampleOrder::shuffled);
  run.data = {run.training.model.vocab, unequal, [sampler](std::int64_t g) { return sampler.sample(g); },
              [&reads](std::int64_t g, std::int64_t c) { reads.note(g, c); }};
  return run;
}

struct Reading {
  std::vector<std::int64_t> ids;
  std::vector<Line> lines;
};

Reading read_through(const Consumption& consumption) {
  Reads reads;
  const TrainerLog log = run_trainer(run_of(consumption, reads));
  EXPECT_EQ(log.progress.step, consumption.steps);
  EXPECT_EQ(log.progress.consumed_samples, consumption.steps * consumption.global_batch);
  return {reads.ids(), log.lines()};
}

/// The same with a stop after each of `stops` steps, and a new engine and trainer from there.
Reading read_with_stops(const Consumption& consumption, const std::vector<std::int64_t>& stops) {
  const io::TemporaryFolder folder;
  Reads reads;
  Reading reading;
  TrainerRun run = run_of(consumption, reads);
  run.checkpoints = folder.path();
  for (std::size_t part = 0; part <= stops.size(); ++part) {
    run.stop_after = part < stops.size() ? stops[part] : 0;
    const TrainerLog log = run_trainer(run);
    EXPECT_EQ(log.first_step, part == 0 ? 1 : stops[part - 1] + 1);
    const std::vector<Line> lines = log.lines();
    reading.lines.insert(reading.lines.end(), lines.begin(), lines.end());
  }
  reading.ids = reads.ids();
  return reading;
}

void expect_epochs(const std::vector<std::int64_t>& ids, std::int64_t samples, std::size_t epochs) {
  const auto n = static_cast<std::size_t>(samples);
  ASSERT_GE(ids.size(), n * epochs);
  for (std::size_t epoch = 0; epoch < epochs; ++epoch) {
    std::vector<int> counts(n);
    for (std::size_t i = 0; i < n; ++i) ++counts[static_cast<std::size_t>(ids[epoch * n + i])];
    EXPECT_EQ(counts, std::vector<int>(n, 1)) << "epoch " << epoch;
  }
}

/// 64 samples in batches of 8, 3 epochs of 8 steps: 4 micro-batches per step; 3 is amid an epoch, 8 its edge.
TEST(AcceptanceB03, RestartsReadWhatTheUninterruptedRunReads) {
  const Reading straight = read_through({64, 8, 1, 2, 24});
  expect_epochs(straight.ids, 64, 3);
  for (const auto& [ranks, micro_batch] : {std::pair(1, 2), std::pair(2, 1), std::pair(4, 2)}) {
    const Consumption consumption{64, 8, ranks, micro_batch, 24};
    for (const std::vector<std::int64_t>& stops : {std::vector<std::int64_t>{3, 8, 11}, {8}, {11, 16, 23}}) {
      const Reading resumed = read_with_stops(consumption, stops);
      EXPECT_EQ(resumed.ids, straight.ids) << ranks << " ranks";
      EXPECT_EQ(resumed.lines, read_through(consumption).lines) << ranks << " ranks";
    }
  }
}

/// 13 samples in batches of 4: the data goes on with the next epoch inside a batch, so every step is whole, and epochs
/// meet the end of a step only after 13 steps (4 epochs). All ranks take part in every step, or this would hang.
TEST(AcceptanceB41, TheDataWrapsInsideABatch) {
  constexpr std::int64_t k_two_epochs = 7;  // 28 samples: 2 epochs and 2 samples of the third
  const Reading one_rank = read_through({13, 4, 1, 4, k_two_epochs});
  EXPECT_EQ(one_rank.ids.size(), 28U);
  expect_epochs(one_rank.ids, 13, 2);
  for (const int ranks : {2, 4}) EXPECT_EQ(read_through({13, 4, ranks, 1, k_two_epochs}).ids, one_rank.ids);
}

/// Each step is divided by its own valid tokens, also the one in which an epoch ends.
TEST(AcceptanceB41, AStepCountsItsOwnTokens) {
  Reads reads;
  const TrainerLog log = run_trainer(run_of({13, 4, 2, 1, 7}, reads));
  for (const StepRecord& record : log.records) {
    std::int64_t tokens = 0;
    for (std::int64_t g = record.consumed_samples - 4; g < record.consumed_samples; ++g)
      tokens += std::min(unequal(g), tiniest().sequence);
    EXPECT_EQ(record.valid_tokens, tokens) << "step " << record.step;
  }
}

TEST(AcceptanceB41, ResumesExactlyOnTheEdgeOfAnEpoch) {
  for (const int ranks : {2, 4}) {
    const Consumption consumption{13, 4, ranks, 1, 20};
    const Reading straight = read_through(consumption), resumed = read_with_stops(consumption, {13});
    EXPECT_EQ(resumed.ids, straight.ids);
    EXPECT_EQ(resumed.lines, straight.lines);
    expect_epochs(resumed.ids, 13, 6);
  }
}

}  // namespace
}  // namespace tessera::acceptance
