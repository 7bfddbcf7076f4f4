// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the training plans of a tiny model on any mesh, one rank at a time; nothing runs.
// Used: tests that read plans.
// Must not know: what is tested.
#pragma once

#include <vector>

#include "core/train/step_plans.hpp"

namespace tessera::testing_support {

struct PlanCase {
  Mesh mesh;
  std::vector<const Strategy*> strategies;
  PipelineArgs pipeline = {};
  int micro_batches = 1;
  std::int64_t layers = 4, kv_heads = 2, vocab = 31;
};

/// AdamW with clipping; f32; buckets as the strategies want them.
StepPlans plans_of(const PlanCase& run, int rank);

}  // namespace tessera::testing_support
