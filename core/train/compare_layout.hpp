// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the proof that a layout trains as one rank does: the same steps from the same weights and samples, compared.
// Used: the verb `verify`, tests.
// Must not know: strategies, files, how ranks are started.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/train/layout_comparison.hpp"

namespace tessera {

/// Which steps are compared. Engines begin with their initial weights, which depend on the seed alone.
struct ComparedSteps {
  std::int64_t steps = 3;
  std::int64_t global_batch = 1;                           ///< samples per step; step 1 begins with sample 0
  std::function<double(std::int64_t step)> learning_rate;  ///< of steps from 1
};

/// What one rank alone did, all of it in one process.
struct ReferenceSteps {
  struct Gradient {
    Shape shape;
    std::vector<double> values;  ///< row-major
  };
  std::vector<StepOutcome> steps;
  std::map<std::string, Gradient> gradients;  ///< of the first step, by the names of parameters
  DType dtype = DType::f32;                   ///< of gradients
};

/// Trains an engine of a mesh of one rank, which is ready to step.
ReferenceSteps reference_steps(Engine& alone, BatchSource& source, const ComparedSteps& steps);

/// Trains `engine`, which is ready to step on all ranks of `world`, and compares it with what rank 0 passes as
/// `reference` (others pass null). The result is the same on all ranks. Collective.
LayoutComparison compare_layout(Communicator& world, Engine& engine, BatchSource& source, const ComparedSteps& steps,
                                const ReferenceSteps* reference);

}  // namespace tessera
