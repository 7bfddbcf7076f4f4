// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  matrix products by themselves, on memory of their own.
// Used: benchmarks: of products, and of steps that want to know what their products alone would take.
// Must not know: models.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera::apps {

/// What a product is in a linear layer y = x wᵀ: it says which operand is read transposed, and whether it adds.
enum class ProductRole : std::uint8_t { forward, input_gradient, weight_gradient };

/// C [m, n] of op(A) [m, k] and op(B) [k, n]; with groups, that many of them on operands of their own, as experts have.
struct Product {
  std::string name;
  ProductRole role = ProductRole::forward;
  std::int64_t m = 0, n = 0, k = 0;
  std::int64_t groups = 1;

  double flops() const {
    return 2.0 * static_cast<double>(groups * m) * static_cast<double>(n) * static_cast<double>(k);
  }
};

/// The products that a step of the plan computes in its linear ops, each as often as the step does. Experts are given
/// equal numbers of rows, as many in all as the plan expects.
std::vector<Product> products_of_plan(const Plan& plan);

/// Memory for the largest of some products. Values neither overflow nor leave the normal range.
class ProductBench {
 public:
  /// f32 or f64.
  ProductBench(std::span<const Product> products, DType dtype, int threads);
  ~ProductBench();

  void run(const Product& product);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::apps
