// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the plans of a whole world in one process: kept for one rank of each stage, compared over all ranks.
// Used: the verb `plan`.
// Must not know: how plans are shown.
#pragma once

#include <string>
#include <vector>

#include "apps/engine_parts.hpp"
#include "core/model/model.hpp"

namespace tessera::apps {

struct WorldPlans {
  std::vector<StepPlans> stages;         ///< of the ranks that differ from the asked one in the stage only, by stage
  std::vector<std::string> differences;  ///< that would make ranks wait for each other for ever, or worse
  std::int64_t compiled = 0;             ///< ranks whose plans were made; the others have the same as one of them
  std::int64_t calls = 0, series = 0;    ///< that were compared, of all ranks together
};

/// Throws Error{configuration} when the layout is impossible.
WorldPlans compile_world(const EngineParts& parts, const ModelConfig& model, std::int64_t global_batch, int rank);

}  // namespace tessera::apps
