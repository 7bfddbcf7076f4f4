// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  operands of op cases: sensible values of a shape, others each time.
// Used: the files that make op cases.
// Must not know: ops, layouts.
#pragma once

#include "core/graph/label_rule.hpp"
#include "test/unit/graph/op_check.hpp"

namespace tessera::test {

/// Tokens [s, b], a feature dim h and another o.
struct TokenExtents {
  std::int64_t s, b, h, o;
  Shape tokens() const { return {s, b}; }
  Shape with(std::int64_t features) const { return {s, b, features}; }
};

Operand floats(const Shape& shape);
/// Away from zero: for what is divided by.
Operand positive(const Shape& shape);
/// In [0, high).
Operand integers(const Shape& shape, std::int64_t high, DType dtype = DType::i32);

inline const Operand k_no_operand{k_absent, {}};

/// Adds the cases of mixtures of experts.
void add_mixture_cases(std::vector<OpCase>& cases);

}  // namespace tessera::test
