// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B31: context-parallel ranks divide by the tokens that count in the whole batch, not by those that they hold: also
// when only one rank has any.
#include <gtest/gtest.h>

#include "core/base/counter_rng.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "parallel_run.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, 0.1});
constexpr std::int64_t k_steps = 3;

enum class Mask : std::uint8_t { first_token, random };

TokenSource::Options data_of(Mask mask) {
  TokenSource::Options data{tiny_dense().vocab, [](std::int64_t) { return tiny_dense().sequence; }, {}, {}};
  data.counts = [mask](std::int64_t c, std::int64_t place) {
    if (mask == Mask::first_token) return c % 8 == 0 && place == 0;
    return CounterRng(3, hash_name("mask"), static_cast<std::uint64_t>(c)).uniform(static_cast<std::uint64_t>(place)) <
           0.3;
  };
  return data;
}

StepLog run(DType dtype, const ParallelLayout& layout, Mask mask) {
  const ParallelRun parallel(tiny_dense(), dtype, layout, k_adamw);
  return train_steps(parallel.training, k_steps, data_of(mask));
}

class AcceptanceB31 : public testing::TestWithParam<ParallelLayout> {};

TEST_P(AcceptanceB31, MasksOfAnyKindCountOnce) {
  for (const DType dtype : {DType::f32, DType::f64})
    for (const Mask mask : {Mask::first_token, Mask::random})
      expect_parity(run(dtype, GetParam(), mask), run(dtype, {}, mask), dtype);
}

TEST_P(AcceptanceB31, OneTokenThatCountsGivesTheNormOfOneRank) {
  const StepLog actual = run(DType::f32, GetParam(), Mask::first_token), one = run(DType::f32, {}, Mask::first_token);
  EXPECT_EQ(one.steps[0].tokens, 1);
  EXPECT_EQ(actual.steps[0].tokens, 1);
  EXPECT_GT(one.steps[0].gradient_norm, 0.1);
  EXPECT_NEAR(actual.steps[0].gradient_norm / one.steps[0].gradient_norm, 1, 1e-5);
}

std::vector<ParallelLayout> layouts() {
  std::vector<ParallelLayout> all;
  for (const auto& [context, data] : {std::pair(2, 1), std::pair(4, 1), std::pair(2, 2)})
    for (const std::string& attention : test::context_strategies()) {
      ParallelLayout layout;
      layout.context = context;
      layout.data = data;
      layout.attention = attention;
      for (const Zigzag zigzag : {Zigzag::never, Zigzag::always}) {
        layout.zigzag = zigzag;
        if (attention != "ulysses" || zigzag == Zigzag::never) all.push_back(layout);
      }
    }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Layouts, AcceptanceB31, testing::ValuesIn(layouts()),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace tessera::acceptance
