// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the logits of one sample, as the plan of a layout computes them on thread ranks.
// Used: acceptance tests that look behind the loss.
// Must not know: which case is tested.
#pragma once

#include <vector>

#include "core/train/batch_source.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::acceptance {

/// [sequence, vocabulary], of sample 0 of the source, with weights by the reference formulas. One stage, whole batches.
std::vector<double> logits_of(const testing_support::TrainingCase& run, BatchSource& source);

}  // namespace tessera::acceptance
