// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  every op with sensible inputs of several shapes: odd, of one, smaller than the number of parts.
// Used: tests of op rules.
// Must not know: layouts, meshes.
#pragma once

#include "test/unit/graph/op_check.hpp"

namespace tessera::test {

/// The cases of all ops whose result does not depend on the layout of its inputs. Ops of pieces of tokens are not among
/// them: what a piece holds follows from how the tokens are split.
const std::vector<OpCase>& op_cases();

}  // namespace tessera::test
