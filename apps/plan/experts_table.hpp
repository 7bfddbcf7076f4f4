// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a rank does in layers with experts, as a table: experts, rows that are planned, bytes that travel.
// Used: the verb `plan`.
// Must not know: machines, times, strategies.
#pragma once

#include "apps/document.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera::apps {

/// Of one micro-batch and the first round of rows; neighbouring layers that are alike share a row. No rows where the
/// rank has no layer with experts.
Table experts_table(const Plan& plan);

}  // namespace tessera::apps
