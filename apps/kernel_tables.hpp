// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  which table of kernels a run uses: a file's, or that of the checkpoint that it goes on from.
// Used: the resolved run.
// Must not know: what is in a table.
#pragma once

#include "core/config/settings.hpp"
#include "core/scheduler/kernel_choices.hpp"

namespace tessera::apps {

/// What train.kernels says, on this process; empty: every op has its usual kernel. Throws Error{data, not_found} for a
/// file that is not a table; of a checkpoint that cannot be read nothing is said here.
KernelChoices chosen_kernels(const Settings& settings);

}  // namespace tessera::apps
