// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the step of a world on a machine that is not there: how long it takes, and its timeline.
// Used: the verb `plan`.
// Must not know: how plans are made.
#pragma once

#include <filesystem>
#include <span>
#include <string>

#include "apps/document.hpp"
#include "core/scheduler/machine.hpp"
#include "core/scheduler/simulator.hpp"
#include "core/train/step_plans.hpp"

namespace tessera::apps {

/// A file, or a name of those in share/machines. Throws Error{not_found} that names these.
Machine read_machine(const std::string& name);

Simulation simulate_step(const Machine& machine, const Mesh& mesh, std::span<const StepPlans> stages,
                         SimulationArgs::Record record);

/// Where the time of each stage's rank goes.
Table times_table(const Simulation& simulation, std::span<const StepPlans> stages);

/// The simulated step, with the names of a run's trace. Throws Error{cannot_create}.
void write_timeline(const std::filesystem::path& path, const Simulation& simulation, std::span<const StepPlans> stages);

}  // namespace tessera::apps
