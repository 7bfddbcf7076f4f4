// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  type and layout of an op from its labels: the rule that most ops need and nothing else.
// Used: the placer and the builder, for ops without a rule of their own.
// Must not know: any op by name.
#pragma once

#include <string>
#include <vector>

#include "core/graph/op.hpp"

namespace tessera {

/// The labels of an op for operands of given ranks: ".." has become letters of its own.
struct Labels {
  std::vector<std::string> in, out;
  std::vector<bool> binding;      ///< per input
  std::vector<bool> accumulated;  ///< per output: kept in the accumulation type
};

/// Reads `op.labels` for these inputs. Throws Error{internal} when their ranks do not fit.
Labels labels_of(const Op& op, std::span<const Type> in);

/// Shapes and dtypes of the outputs.
std::vector<Type> type_by_labels(const Op& op, const TypeArgs& args);

/// Layouts of inputs and outputs. Per axis at most one label is split: first what the hint asks for, then what binding
/// inputs and the others have, in the op's order of priority; labels that must be whole never win. An axis that no
/// label takes is replicated, or partial where the op passes that through.
LayoutAnswer layout_by_labels(const Op& op, const LayoutArgs& args);

/// Type and layout by the op's own rule, or by labels.
std::vector<Type> type_of(const Op& op, const TypeArgs& args);
LayoutAnswer layout_of(const Op& op, const LayoutArgs& args);

/// The type rule of sums over everything: a scalar in f64.
std::vector<Type> f64_scalar(const TypeArgs& args);

/// An input that is not there.
inline constexpr Type k_absent{{}, DType::u8};

}  // namespace tessera
