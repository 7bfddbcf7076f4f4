// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one op = one constant of this type, defined in core/graph/ops/<op>.cpp with its rules.
// Used: the builder, the passes, devices (kernels are found by the op's name).
// Must not know: ranks, collectives, devices, kernels.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "core/base/attributes.hpp"
#include "core/base/dtype.hpp"
#include "core/mesh/layout.hpp"

namespace tessera {

/// Global shape and element type of a value.
struct Type {
  Shape shape;
  DType dtype = DType::f32;
  friend bool operator==(const Type&, const Type&) = default;
};

struct Op;
class GradientScope;

struct TypeArgs {
  std::span<const Type> in;  ///< an absent optional input has rank 0 and dtype u8
  const Attributes& attributes;
};

/// What a layout rule sees. `hint` (may be null) is the layout that the first output should get if the rule allows it:
/// for a weight's gradient, the layout in which forward read the weight.
struct LayoutArgs {
  const Mesh& mesh;
  std::span<const Layout> in;
  std::span<const bool> present;  ///< whether input i is there
  std::span<const Type> types;
  const Attributes& attributes;
  const Layout* hint;
};

/// The layouts in which the op needs its inputs, and those in which its outputs come. `types` are those of the outputs
/// where they follow from the layout: a dim with one index per part (DESIGN section 2). Else empty.
struct LayoutAnswer {
  std::vector<Layout> in, out;
  std::vector<Type> types = {};
};

struct CostArgs {
  std::span<const Type> in, out;  ///< of one rank's parts, or global
  const Attributes& attributes;
};

using TypeRule = std::vector<Type> (*)(const TypeArgs&);
using LayoutRule = LayoutAnswer (*)(const Op&, const LayoutArgs&);
using GradientRule = void (*)(GradientScope&);
using FlopRule = double (*)(const CostArgs&);
using ByteRule = double (*)(const CostArgs&);

/// Whether outputs have memory of their own.
enum class Memory : std::uint8_t {
  own,
  view,           ///< output 0 is input 0 with another shape; nothing is computed
  may_overwrite,  ///< output 0 may be written over input 0 when nobody else reads it
  in_place,       ///< output 0 is input 0, changed; nobody else reads input 0
};

/// An op and its rules. Most ops are one line of labels, from which type and layout follow (core/graph/label_rule.hpp):
///
///   "sbi, oi* -> sbo"   one letter per dim; ".." stands for any leading dims (the same in all operands that have it)
///   *  behind an input: binding, it is never converted to suit another (parameters)
///   ~  behind an output: kept in the accumulation type (fp32 for bf16), not in that of the first floating input
struct Op {
  std::string_view name;
  std::string_view labels = {};
  std::string_view sum = {};    ///< labels that are summed over ('.': all leading dims): outputs without them are
                                ///< Partial(sum) where they are split
  std::string_view max = {};    ///< the same with Partial(max)
  std::string_view whole = {};  ///< labels that must not be split
  std::string_view priority =
      {};  ///< inputs by digit in the order in which they choose, behind binding ones; default 0, 1, …
  std::string_view passes_partial = {};  ///< inputs by digit that may stay Partial(sum) together, if no other input is
  std::string_view optional = {};        ///< inputs by digit that may be absent
  std::string_view free = {};            ///< output labels found in no input, which a hint may split
  std::string_view accumulates = {};     ///< outputs by digit that the kernel can add into (parameter gradients)
  std::int8_t counts = -1;        ///< output that says how many indices of dim 2 of output 0 are used; -1: all are
  std::string_view mutates = {};  ///< inputs by digit that the kernel writes (optimizers)
  Memory memory = Memory::own;
  TypeRule type = nullptr;          ///< null: by labels
  LayoutRule layout = nullptr;      ///< null: by labels
  GradientRule gradient = nullptr;  ///< null: not differentiable
  FlopRule flops = nullptr;         ///< null: none worth counting
  ByteRule bytes = nullptr;         ///< moved to and from memory; null: every operand once, those added into twice
};

}  // namespace tessera
