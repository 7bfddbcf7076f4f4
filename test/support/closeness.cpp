// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/closeness.hpp"

#include <algorithm>
#include <cmath>

namespace tessera::test {

double tolerance_of(DType dtype) {
  switch (dtype) {
    case DType::f64:
      return 1e-12;
    case DType::bf16:
      return 0x1p-8;
    case DType::f16:
      return 0x1p-10;
    default:
      return 1e-5;
  }
}

testing::AssertionResult close(const Values& actual, const Values& expected, double tolerance, double scale) {
  if (actual.size() != expected.size())
    return testing::AssertionFailure() << actual.size() << " values instead of " << expected.size();
  for (double value : expected)
    if (std::isfinite(value)) scale = std::max(scale, std::fabs(value));
  for (std::size_t i = 0; i < actual.size(); ++i) {
    if (actual[i] == expected[i]) continue;
    if (!(std::fabs(actual[i] - expected[i]) <= tolerance * scale))
      return testing::AssertionFailure() << "value " << i << " of " << actual.size() << " is " << actual[i]
                                         << ", expected " << expected[i] << "; error " << actual[i] - expected[i]
                                         << ", accepted " << tolerance * scale;
  }
  return testing::AssertionSuccess();
}

Values numeric_gradient(const std::function<Values(const Values&)>& f, const Values& x, const Values& dy) {
  constexpr double step = 1e-3;
  const auto loss_at = [&](std::size_t i, double shift) {
    Values moved = x;
    moved[i] += shift;
    const Values y = f(moved);
    double loss = 0;
    for (std::size_t j = 0; j < y.size(); ++j) loss += y[j] * dy[j];
    return loss;
  };
  Values gradient(x.size());
  for (std::size_t i = 0; i < x.size(); ++i)
    gradient[i] =
        (8 * (loss_at(i, step) - loss_at(i, -step)) - (loss_at(i, 2 * step) - loss_at(i, -2 * step))) / (12 * step);
  return gradient;
}

}  // namespace tessera::test
