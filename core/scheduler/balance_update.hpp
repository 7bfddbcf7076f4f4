// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the biases of routers after a step (Wang et al. 2024, loss-free balancing): those of experts that got more tokens
//       than the mean of their layer fall by a fixed amount, those of the others rise.
// Used: the pass that builds the update.
// Must not know: optimizers, how the tokens were counted.
#pragma once

#include "core/scheduler/optimizer.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera {

/// Emits the op that moves the biases of a bucket with UpdateRule::balance, whose gradient is what each expert got in
/// the step. A skipped step moves nothing.
void balance_update(const UpdateArgs& args, const Bucket& bucket, Placer& placer);

}  // namespace tessera
