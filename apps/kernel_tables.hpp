// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  which table of kernels a run uses: a file's, or that of the checkpoint that it goes on from; what it is for.
// Used: the resolved run, `train`, `bench kernels`.
// Must not know: what is in a table.
#pragma once

#include <functional>
#include <span>
#include <string>

#include "core/config/settings.hpp"
#include "core/scheduler/kernel_choices.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera::apps {

/// What train.kernels says, on this process; empty: every op has its usual kernel. Throws Error{data, not_found} for a
/// file that is not a table; of a checkpoint that cannot be read nothing is said here.
KernelChoices chosen_kernels(const Settings& settings);

/// An instruction that runs a kernel, with the op that it computes.
using KernelVisitor = std::function<void(std::size_t index, const std::string& op, std::span<const Tensor> in,
                                         std::span<const Tensor> out)>;

/// Visits all instructions of a plan that run kernels.
void each_kernel(const Plan& plan, const KernelVisitor& visit);

/// How many of the choices are for kernels of this plan.
std::int64_t choices_used(const KernelChoices& choices, const Plan& plan, int threads);

}  // namespace tessera::apps
