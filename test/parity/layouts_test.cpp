// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The tiny dense model, and the tiny mixture of experts, in every layout of up to eight ranks: loss, norm and every
// gradient are those of one rank.
#include <gtest/gtest.h>

#include <fmt/core.h>

#include <map>

#include "test/support/context_strategies.hpp"
#include "test/support/layout_run.hpp"

namespace tessera {
namespace {

using testing_support::LayoutChoice;
using testing_support::TrainingResult;
using testing_support::TrainingShape;

constexpr int k_ranks = 8;

/// Four layers, eight where chunks ask for them; four key heads on four tensor ranks, else two.
TrainingShape shape_for(const LayoutChoice& layout) {
  TrainingShape shape;
  shape.model = {.layers = layout.pipeline * layout.chunks > 4 ? 8 : 4,
                 .hidden = 64,
                 .heads = 4,
                 .kv_heads = layout.tensor == 4 ? 4 : 2,
                 .ffn = 176,
                 .vocab = 131,
                 .sequence = 32};
  return shape;
}

/// Every second layout plans for about half of the rows that come, so that further rounds run.
TrainingShape shape_with_experts(const LayoutChoice& layout) {
  TrainingShape shape = shape_for(layout);
  const bool rounds = (layout.tensor + layout.context + layout.pipeline + layout.data + layout.expert) % 2 == 0;
  shape.model.experts = {
      .count = 4, .ffn = 96, .bias = true, .bias_rate = 0.01, .noise = 0.05, .rows = rounds ? 0.6 : 0};
  shape.steps = layout.pipeline == 1 ? 3 : 1;  // biases move where loads of other steps moved them
  return shape;
}

const TrainingResult& one_rank(const TrainingShape& shape) {
  static std::map<std::tuple<std::int64_t, std::int64_t, std::int64_t, int>, TrainingResult> made;
  const auto key = std::tuple(shape.model.layers, shape.model.kv_heads, shape.model.experts.count, shape.steps);
  if (!made.contains(key)) made.emplace(key, train_layout(shape, {}));
  return made.at(key);
}

/// The schedules and chunks of a pipeline.
std::vector<std::pair<std::string, int>> pipelines(int stages) {
  if (stages == 1) return {{"one_f_one_b", 1}};
  std::vector<std::pair<std::string, int>> all;
  for (const char* schedule : {"gpipe", "one_f_one_b", "interleaved", "zero_bubble"})
    for (int chunks : {1, 2}) all.emplace_back(schedule, chunks);
  return all;
}

std::vector<LayoutChoice> layouts_of(int tensor, int context, int stages) {
  std::vector<LayoutChoice> all;
  const std::vector<std::string> first{test::context_strategies()[0]};
  for (int data = 1; tensor * context * stages * data <= k_ranks; data *= 2)
    for (const auto& [schedule, chunks] : pipelines(stages))
      for (const std::string& strategy : context > 1 ? test::context_strategies() : first)
        for (bool sequence : {false, true})
          if (!sequence || tensor > 1)
            all.push_back({tensor, context, data, stages, chunks, sequence, strategy, schedule});
  return all;
}

/// Tensor, context and pipeline ranks.
using Sizes = std::tuple<int, int, int>;

class LayoutsTest : public testing::TestWithParam<Sizes> {};

/// Trains in every layout and compares with one rank; layouts that are refused are counted by reason.
void compare_all(const std::vector<LayoutChoice>& layouts, TrainingShape (*shape_of)(const LayoutChoice&)) {
  int compared = 0;
  std::map<std::string, int> refused;
  for (const LayoutChoice& layout : layouts) {
    const TrainingShape shape = shape_of(layout);
    try {
      const TrainingResult result = train_layout(shape, layout);
      EXPECT_EQ(difference(result, one_rank(shape)), "") << name_of(layout);
      ++compared;
    } catch (const Error& error) {
      ASSERT_EQ(error.kind(), ErrorKind::configuration) << name_of(layout) << ": " << error.what();
      ++refused[error.what()];
    }
  }
  fmt::print("{} layouts compared\n", compared);
  for (const auto& [reason, count] : refused) fmt::print("{} refused: {}\n", count, reason);
  testing::Test::RecordProperty("compared", compared);
  EXPECT_GT(compared, 0);
}

TEST_P(LayoutsTest, TrainAsOneRankDoes) {
  const auto [tensor, context, stages] = GetParam();
  compare_all(layouts_of(tensor, context, stages), shape_for);
}

/// The tiny mixture of experts over every number of expert ranks.
TEST_P(LayoutsTest, TrainExpertsAsOneRankDoes) {
  const auto [tensor, context, stages] = GetParam();
  std::vector<LayoutChoice> layouts;
  for (LayoutChoice layout : layouts_of(tensor, context, stages))
    for (int expert = 1; expert <= layout.tensor * layout.context * layout.data; expert *= 2) {
      if (layout.schedule != "interleaved" && layout.chunks > 1) continue;
      layout.expert = expert;
      layouts.push_back(layout);
    }
  compare_all(layouts, shape_with_experts);
}

std::vector<Sizes> sizes() {
  std::vector<Sizes> all;
  for (int tensor : {1, 2, 4})
    for (int context : {1, 2, 4})
      for (int stages : {1, 2, 4})
        if (tensor * context * stages <= k_ranks) all.emplace_back(tensor, context, stages);
  return all;
}

std::string size_name(const testing::TestParamInfo<Sizes>& info) {
  const auto [tensor, context, stages] = info.param;
  return fmt::format("tp{}_cp{}_pp{}", tensor, context, stages);
}

INSTANTIATE_TEST_SUITE_P(All, LayoutsTest, testing::ValuesIn(sizes()), size_name);

}  // namespace
}  // namespace tessera
