// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  comparing numbers with references, and gradients with finite differences.
// Used: tests.
// Must not know: ops.
#pragma once

#include <gtest/gtest.h>

#include <functional>

#include "test/support/tensor_value.hpp"

namespace tessera::test {

/// Largest accepted error of a kernel, relative to the largest magnitude of the expected values: rounding of the result
/// plus, in the wide types, of the sums.
double tolerance_of(DType dtype);

/// |actual - expected| <= tolerance·max(|expected|, over all finite ones; at least `scale`); infinities must be equal.
testing::AssertionResult close(const Values& actual, const Values& expected, double tolerance, double scale = 1e-3);

/// Σ dy·∂f/∂x by central differences of fourth order. Accurate to about 1e-10 where f is smooth.
Values numeric_gradient(const std::function<Values(const Values&)>& f, const Values& x, const Values& dy);

}  // namespace tessera::test
