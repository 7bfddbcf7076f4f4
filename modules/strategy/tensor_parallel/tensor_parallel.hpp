// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  tensor parallelism: matrices and tables are split over `tp`, and between the matrices the sequence may be.
// Used: the module's entry, tests.
// Must not know: collectives; other axes.
#pragma once

#include "core/scheduler/strategy.hpp"

namespace tessera {

/// Matrices whose outputs are features of a block are split by output, those whose inputs are by input (Shoeybi et al.
/// 2019), tables by vocabulary. Nothing needs to divide but the query heads; parts may be uneven or empty.
class TensorParallel final : public Strategy {
 public:
  /// The residual stream between the blocks.
  enum class Residual : std::uint8_t {
    replicated,
    split,  ///< on the sequence, by the same ranks (Korthikanti et al. 2022); block inputs are gathered
  };

  TensorParallel(std::int64_t heads, std::int64_t kv_heads, Residual residual)
      : heads_(heads), kv_heads_(kv_heads), residual_(residual) {}

  /// Where ranks share key and value heads, cuts "tp" into "tp.replica" and "tp.head": ranks that differ in the first
  /// alone hold the same heads. If no head can be told from another by ranks, all of them hold all. Throws
  /// Error{configuration} when the ranks do not divide the query heads.
  void factor(std::vector<Axis>& axes) const override;

  void place_parameter(const Parameter& parameter, const Shape& shape, const Mesh& mesh, Layout& layout) const override;
  void place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const override;

  /// Gains of norms between split sequences, and key heads with replicas, come out partial.
  GradientRest gradient_rest() const override { return GradientRest::replicated; }

 private:
  AxisList key_axes(const Mesh& mesh) const;

  std::int64_t heads_, kv_heads_;
  Residual residual_;
};

}  // namespace tessera
