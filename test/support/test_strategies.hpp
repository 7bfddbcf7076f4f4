// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the ways of parallel training in their plainest form, as tests of the passes need them.
// Used: tests of layout rules, placement and differentiation.
// Must not know: passes, ops, options.
#pragma once

#include "core/scheduler/strategy.hpp"

namespace tessera::test {

/// Axes of stem "dp" split the batch.
class DataStrategy final : public Strategy {
 public:
  void place_input(std::string_view name, const TokenDims& dims, const Mesh& mesh, Layout& layout) const override;
};

/// What the residual stream is between the blocks.
enum class Residual : std::uint8_t {
  replicated,
  split,           ///< on the sequence, by the tensor axes; block inputs are gathered by their mark
  split_unmarked,  ///< the same without the mark of block inputs: right, but not what was meant
};

/// Axes of stem "tp" split matrices (Shoeybi et al. 2019): columns by output, rows by input, tables by vocabulary. Key and
/// value heads are split by the axis "tp.head" alone if the stem is factored, by all of it if it is not, or not at all.
class TensorStrategy final : public Strategy {
 public:
  enum class KeyHeads : std::uint8_t { split, whole };

  explicit TensorStrategy(Residual residual, KeyHeads key_heads = KeyHeads::split) : residual_(residual), key_heads_(key_heads) {}

  void place_parameter(const Parameter& parameter, const Shape& shape, const Mesh& mesh, Layout& layout) const override;
  void place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const override;

 private:
  Residual residual_;
  KeyHeads key_heads_;
};

/// Axes of stem "cp" split the sequence; attention gathers keys and values, or exchanges the sequence for heads
/// (Jacobs et al. 2023).
class ContextStrategy final : public Strategy {
 public:
  enum class Attention : std::uint8_t { gathers, exchanges };

  explicit ContextStrategy(Attention attention) : attention_(attention) {}

  void place_input(std::string_view name, const TokenDims& dims, const Mesh& mesh, Layout& layout) const override;
  void place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const override;

 private:
  Attention attention_;
};

}  // namespace tessera::test
