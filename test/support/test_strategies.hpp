// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the ways of parallel training in their plainest form, as tests of the passes need them.
// Used: tests of layout rules, placement and differentiation.
// Must not know: passes, ops, options.
#pragma once

#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"

namespace tessera::test {

using Residual = TensorParallel::Residual;

/// Axes of stem "dp" split the batch.
class DataStrategy final : public Strategy {
 public:
  void place_input(std::string_view name, const TokenDims& dims, const Mesh& mesh, Layout& layout) const override;
};

/// Tensor parallelism that does not answer the mark of block inputs: right, but not what is meant.
class UnmarkedTensorParallel final : public Strategy {
 public:
  explicit UnmarkedTensorParallel(const TensorParallel& tensor) : tensor_(tensor) {}

  void place_parameter(const Parameter& parameter, const Shape& shape, const Mesh& mesh, Layout& layout) const override;
  void place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const override;

 private:
  const TensorParallel& tensor_;
};

}  // namespace tessera::test
