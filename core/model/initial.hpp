// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  initial weights: a function of (seed, field, layer, element), so that every layout starts alike.
// Used: the trainer.
// Must not know: layouts, buckets.
#pragma once

#include "core/graph/graph.hpp"

namespace tessera {

/// Fills the part of a parameter that `slab` covers (dense, row-major), in fp32 or fp64 of `dtype`. Both types get the
/// same numbers, the first rounded, on any number of threads.
void fill_initial(const Parameter& parameter, const Shape& global, const Slab& slab, std::uint64_t seed, DType dtype,
                  void* data, int threads);

}  // namespace tessera
