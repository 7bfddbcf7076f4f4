// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that packs parameters into buckets: what is reduced, updated and sharded together.
// Used: the scheduler.
// Must not know: strategies, optimizers, addresses.
#pragma once

#include "core/scheduler/plan.hpp"

namespace tessera {

/// Buckets of at most `bucket_bytes` (a larger parameter has one of its own; 0: no limit), in the order in which
/// gradients are complete. Parameters share a bucket when the axes that split them, the axes over which their gradients
/// are partial, their decay and what moves them are the same. Parameters without a gradient come last, in buckets of
/// their own.
std::vector<Bucket> make_buckets(const Graph& graph, const Mesh& mesh, int rank, std::int64_t bucket_bytes);

}  // namespace tessera
