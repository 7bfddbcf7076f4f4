// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B01: one global batch gives one loss and one gradient, however it is cut into micro-batches and over ranks, although
// the samples have very different numbers of targets that count.
#include <gtest/gtest.h>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/kernel_runner.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

constexpr std::int64_t k_steps = 5;

struct Cut {
  DType dtype;
  std::int64_t global_batch;
  int ranks;
  std::int64_t micro_batch;
};

std::ostream& operator<<(std::ostream& out, const Cut& cut) {
  return out << "batch " << cut.global_batch << ", " << cut.ranks << " ranks, micro-batch " << cut.micro_batch;
}

std::string cut_name(const testing::TestParamInfo<Cut>& info) {
  const Cut& c = info.param;
  return (c.dtype == DType::f64 ? "fp64_batch" : "fp32_batch") + std::to_string(c.global_batch) + "_ranks" +
         std::to_string(c.ranks) + "_micro" + std::to_string(c.micro_batch);
}

StepLog run(const Cut& cut) {
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 16);
  testing_support::TrainingCase run;
  run.model = tiny_dense();
  run.dtype = cut.dtype;
  run.axes = data_axis(cut.ranks);
  run.strategies = {&data};
  run.optimizer = &optimizer;
  run.global_batch = cut.global_batch;
  run.micro_batch = cut.micro_batch;
  return train_steps(run, k_steps, unequal);
}

const StepLog& whole(DType dtype, std::int64_t global_batch) {
  static std::map<std::pair<DType, std::int64_t>, StepLog> made;
  const auto key = std::pair(dtype, global_batch);
  if (!made.contains(key)) made.emplace(key, run({dtype, global_batch, 1, global_batch}));
  return made.at(key);
}

class AcceptanceB01Cuts : public testing::TestWithParam<Cut> {};

TEST_P(AcceptanceB01Cuts, EveryCutOfABatchIsTheBatch) {
  const Cut& cut = GetParam();
  expect_parity(run(cut), whole(cut.dtype, cut.global_batch), cut.dtype);
}

std::vector<Cut> cuts() {
  std::vector<Cut> list;
  for (DType dtype : {DType::f64, DType::f32})
    for (const auto& [global_batch, ranks] : {std::pair(8, 1), std::pair(8, 2), std::pair(24, 3), std::pair(8, 4)})
      for (std::int64_t micro_batch = global_batch / ranks; micro_batch > 0; micro_batch /= 2)
        list.push_back({dtype, global_batch, ranks, micro_batch});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, AcceptanceB01Cuts, testing::ValuesIn(cuts()), cut_name);

/// The loss of a whole batch is not what averages of its parts would give, so the cases above can fail.
TEST(AcceptanceB01, CountsDifferBetweenParts) {
  const StepLog& batch = whole(DType::f64, 8);
  EXPECT_EQ(batch.steps[0].tokens, 1 + 3 + 32 + 7 + 2 + 19 + 5 + 11);
  EXPECT_GT(batch.steps[0].gradient_norm, 0.1);
}

/// Token losses {4} and {1, 1, 1} in two micro-batches: 7 / 4, where a mean of means is 2.5.
TEST(AcceptanceB01, MeanOfTokensAndNotOfMicroBatches) {
  using test::KernelRun;
  for (DType dtype : {DType::f64, DType::f32}) {
    test::Values loss{0}, count{0};
    for (const test::Values& losses : {test::Values{4, 9, 9}, test::Values{1, 1, 1}}) {
      const test::Values mask = losses[0] == 4 ? test::Values{1, 0, 0} : test::Values{1, 1, 1};
      const test::TensorValue x(dtype, {3, 1}, losses), m(dtype, {3, 1}, mask);
      loss = test::results_of({"masked_sum", dtype, {x, m}, {{DType::f64, {}, loss}}, {}, 1U})[0];
      count = test::results_of({"total", dtype, {m}, {{DType::f64, {}, count}}, {}, 1U})[0];
    }
    const double mean =
        loss[0] * test::results_of({"loss_seed", DType::f64, {{DType::f64, {}, count}}, {{DType::f64, {}}}})[0][0];
    EXPECT_NEAR(mean, 1.75, 1e-6);
  }
}

/// Eight samples on three ranks would leave one of them without: refused, not rounded.
TEST(AcceptanceB01, ABatchThatRanksCannotShareIsRefused) {
  try {
    run({DType::f64, 8, 3, 1});
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_NE(std::string(error.what()).find("train.global_batch = 8"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace tessera::acceptance
