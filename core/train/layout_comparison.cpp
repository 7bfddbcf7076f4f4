// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/layout_comparison.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace tessera {

ParityTolerance parity_tolerance(DType dtype) {
  TESSERA_CHECK(dtype == DType::f64 || dtype == DType::f32, std::string(name_of(dtype)));
  if (dtype == DType::f64) return {1e-10, 1e-10, 1e-10, 1e-10, 1e-13, 0};
  return {1e-5, 1e-5, 1e-4, 1e-5, 0, 1e-8};
}

double relative_difference(double actual, double expected) {
  if (!std::isfinite(actual) || !std::isfinite(expected)) return std::numeric_limits<double>::infinity();
  return actual == expected ? 0 : std::abs(actual - expected) / std::abs(expected);
}

bool LayoutComparison::agrees() const {
  return !steps.empty() && !gradients.empty() && drifted.empty() &&
         std::all_of(steps.begin(), steps.end(), [](const StepComparison& step) { return step.agrees; }) &&
         std::all_of(gradients.begin(), gradients.end(), [](const TensorComparison& t) { return t.agrees(); });
}

}  // namespace tessera
