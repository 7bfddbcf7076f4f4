// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/cached_attention.hpp"

namespace tessera::ops {

const Op cached_attention{
    .name = "cached_attention", .labels = "sbnd, sbmd, sbmd, tbmd, tbmd -> sbnd", .whole = "stnmd", .mutates = "34"};

}  // namespace tessera::ops
