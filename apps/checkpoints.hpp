// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  saving and resuming a run: engine and progress to files and back.
// Used: the verb `train`.
// Must not know: the loop, when to save.
#pragma once

#include <optional>
#include <string>

#include "apps/ranks.hpp"
#include "core/config/settings.hpp"
#include "core/train/trainer.hpp"

namespace tessera::apps {

/// What identifies the data that a run consumes.
struct DataIdentity {
  std::uint64_t fingerprint = 0;
  std::int64_t samples = 0;  ///< to train on, in an epoch
  bool isolate_documents = false;
  friend bool operator==(const DataIdentity&, const DataIdentity&) = default;
};

struct CheckpointContext {
  Ranks& ranks;
  const Settings& settings;
  const Mesh& mesh;
  const ModelConfig& model;
  DataIdentity data;
  std::string kernels;  ///< text of the table that the run uses
};

/// Saves into checkpoint.dir. Collective; throws AgreedError, and what was committed before stays as it was. Weights
/// and states that are not finite, or not the same bits on ranks that hold the same part, are Error{numerics}.
void save_checkpoint(const CheckpointContext& context, Engine& engine, const Progress& progress);

struct Resumed {
  Progress progress;
  bool in_place = false;  ///< from a checkpoint in checkpoint.dir
};

/// Resumes as checkpoint.resume says: fills weights and states and returns the progress; nothing when there is nothing
/// to resume from. Refuses another model or other data, and a checkpoint.dir with later checkpoints of another run.
/// Collective; throws AgreedError.
std::optional<Resumed> resume_checkpoint(const CheckpointContext& context, Engine& engine);

}  // namespace tessera::apps
