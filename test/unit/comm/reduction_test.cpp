// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/reduction.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <numeric>
#include <vector>

#include "core/base/half.hpp"

namespace tessera {
namespace {

TEST(Reduction, AddsInTheOrderOfInputs) {
  // (1e8 + 1) - 1e8 is 0 in fp32, (1e8 - 1e8) + 1 is 1.
  const float big = 1e8F;
  const float one = 1;
  const float minus = -1e8F;
  float out = 0;
  void* const outputs[] = {&out};
  const void* const lost[] = {&big, &one, &minus};
  reduce_in_order(lost, 0, outputs, 0, 1, DType::f32, ReduceOp::sum);
  EXPECT_EQ(out, 0);
  const void* const kept[] = {&big, &minus, &one};
  reduce_in_order(kept, 0, outputs, 0, 1, DType::f32, ReduceOp::sum);
  EXPECT_EQ(out, 1);
}

TEST(Reduction, ReadsAndWritesAtTheirOwnPlaces) {
  std::vector<std::int32_t> a(6000);
  std::vector<std::int32_t> b(6000);
  std::iota(a.begin(), a.end(), 0);
  std::iota(b.begin(), b.end(), 10000);
  std::vector<std::int32_t> out(6000, -1);
  std::vector<std::int32_t> other(6000, -1);
  const void* const inputs[] = {a.data(), b.data()};
  void* const outputs[] = {out.data(), other.data()};
  reduce_in_order(inputs, 100, outputs, 7, 5000, DType::i32, ReduceOp::sum);
  EXPECT_EQ(out[6], -1);
  for (int e = 0; e < 5000; ++e) {
    ASSERT_EQ(out[static_cast<std::size_t>(7 + e)], 10200 + 2 * e);
  }
  EXPECT_EQ(out[5007], -1);
  EXPECT_EQ(other, out);
}

TEST(Reduction, IntegersWrapAndCompareWithTheirSign) {
  const std::int64_t a = std::numeric_limits<std::int64_t>::max();
  const std::int64_t b = 1;
  const std::int32_t c = -1;
  const std::int32_t d = 1;
  std::int64_t wide = 0;
  std::int32_t narrow = 0;
  const void* const wide_inputs[] = {&a, &b};
  const void* const narrow_inputs[] = {&c, &d};
  void* const wide_output[] = {&wide};
  void* const narrow_output[] = {&narrow};
  reduce_in_order(wide_inputs, 0, wide_output, 0, 1, DType::i64, ReduceOp::sum);
  EXPECT_EQ(wide, std::numeric_limits<std::int64_t>::min());
  reduce_in_order(narrow_inputs, 0, narrow_output, 0, 1, DType::i32, ReduceOp::max);
  EXPECT_EQ(narrow, 1);
}

TEST(Reduction, HalvesAreSummedWide) {
  const std::vector<BFloat16> ones(4096, BFloat16(1.0F));
  std::vector<const void*> inputs(4096);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    inputs[i] = &ones[i];
  }
  BFloat16 out;
  void* const outputs[] = {&out};
  reduce_in_order(inputs, 0, outputs, 0, 1, DType::bf16, ReduceOp::sum);
  EXPECT_EQ(static_cast<float>(out), 4096.0F);
}

}  // namespace
}  // namespace tessera
