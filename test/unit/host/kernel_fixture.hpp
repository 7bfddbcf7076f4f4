// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what tests of kernels share: one test, four element types.
// Used: tests of kernels.
// Must not know: which op is tested.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/base/op_attributes.hpp"
#include "test/support/closeness.hpp"
#include "test/support/kernel_runner.hpp"
#include "test/support/reference_ops.hpp"

namespace tessera::test {

class EveryFloat : public testing::TestWithParam<DType> {
 protected:
  DType dtype() const { return GetParam(); }
  DType sums() const { return accumulation_of(GetParam()); }
  double tolerance() const { return tolerance_of(GetParam()); }

  /// Random inputs, exactly as the element type holds them.
  Values random(std::uint64_t seed, std::int64_t count) const {
    return rounded(GetParam(), random_values(seed, count));
  }
};

inline auto every_float() {
  return testing::Values(DType::f64, DType::f32, DType::bf16, DType::f16);
}
inline auto wide_floats() {
  return testing::Values(DType::f64, DType::f32);
}
inline std::string dtype_name(const testing::TestParamInfo<DType>& info) {
  return std::string(name_of(info.param));
}

}  // namespace tessera::test
