// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  state.json of a checkpoint: progress, model, data, and the options of the run, as text.
// Used: saving, resuming, text generation, inspect.
// Must not know: engines, folders.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "apps/checkpoints.hpp"

namespace tessera::apps {

struct RunState {
  Progress progress;
  ModelConfig model;
  DataIdentity data;
  std::string optimizer;
  std::string precision;
  std::uint64_t seed = 0;
  std::string settings;  ///< JSON of all options with their origins
  std::string kernels;   ///< the table of kernels, as text
};

std::string write_state(const RunState& state);

/// A line for each size or number of the model that is not the same: "model.heads is 8, the checkpoint has 4".
std::vector<std::string> model_differences(const ModelConfig& saved, const ModelConfig& here);

/// Throws Error{data} that names what is missing or makes no sense; `where` names the file.
RunState read_state(std::string_view json, const std::string& where);

}  // namespace tessera::apps
