// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the pass that says where persistent values live.
// Used: the scheduler.
// Must not know: models, optimizers, how calls are made.
#pragma once

#include "core/scheduler/agenda.hpp"
#include "core/scheduler/lower.hpp"
#include "core/scheduler/update.hpp"

namespace tessera {

/// Lays out weights, gradients, optimizer state, scalars of the step and the inputs of a micro-batch, and makes the
/// groups of what lies in copies.
void reside(const Graph& graph, const Update& update, const Agenda& agenda, int micro_batches, Lowering& lowering,
            Plan& plan);

}  // namespace tessera
