// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/convert.hpp"

namespace tessera::ops {

/// Type, layout and gradient are the business of whoever inserts it: it is the identity on the logical value.
const Op convert{.name = "convert"};

}  // namespace tessera::ops
