// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  plans as tables: memory, actions, calls of a layer.
// Used: the verb `plan`.
// Must not know: machines, times.
#pragma once

#include <span>

#include "apps/document.hpp"
#include "core/train/step_plans.hpp"

namespace tessera::apps {

/// Layers, instructions, actions and calls of each stage's rank. `layers`: of the model.
Table stages_table(std::span<const StepPlans> stages, std::int64_t layers);

/// Planned peak of each tag, in bytes, for each stage: the larger of training and evaluation.
Table memory_table(std::span<const StepPlans> stages);

/// How often a stage runs programs of each kind in a step.
Table actions_table(std::span<const StepPlans> stages);

/// The calls of one micro-batch by layer; neighbouring layers that are alike share a row.
Table layer_calls_table(std::span<const StepPlans> stages);

/// All other calls of a rank in a step.
Table step_calls_table(const Plan& plan);

}  // namespace tessera::apps
