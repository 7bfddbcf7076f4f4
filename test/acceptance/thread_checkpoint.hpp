// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  checkpoints of engines on thread ranks: the files of the program, without MPI.
// Used: acceptance tests of resuming.
// Must not know: the loop.
#pragma once

#include <filesystem>
#include <optional>

#include "core/train/trainer.hpp"

namespace tessera::acceptance {

/// Saves weights, states and progress below `directory`. Collective.
void save_engine(const std::filesystem::path& directory, const Engine& engine, const Mesh& mesh, Communicator& world,
                 const Progress& progress);

/// Loads the newest checkpoint and returns its progress; nothing when there is none. Collective.
std::optional<Progress> load_engine(const std::filesystem::path& directory, Engine& engine, const Mesh& mesh,
                                    Communicator& world);

}  // namespace tessera::acceptance
