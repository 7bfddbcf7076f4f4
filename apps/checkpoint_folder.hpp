// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  which checkpoint a path means, and what a folder of checkpoints must not hold when a run begins to save there.
// Used: resuming, text generation.
// Must not know: engines, options.
#pragma once

#include <filesystem>
#include <optional>

#include "core/comm/communicator.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"

namespace tessera::apps {

/// The newest whole checkpoint in a folder of them; nothing where there are none. Warns of newer ones that are not
/// whole. Collective; throws Error{data} when there are some and none is whole.
std::optional<io::CheckpointReader> newest_checkpoint(const std::filesystem::path& directory, Communicator& ranks,
                                                      io::Verify verify);

/// `path` is a checkpoint or a folder of checkpoints. Collective; throws as newest_checkpoint and CheckpointReader do.
io::CheckpointReader open_checkpoint(std::filesystem::path path, Communicator& ranks, io::Verify verify);

/// A run that begins behind `step` (nothing: a new one) and saves in `directory` must not find later checkpoints there:
/// they are another run's, and the next start would take them for its own. Collective; throws Error{configuration}.
void check_no_later(const std::filesystem::path& directory, std::optional<std::int64_t> step, Communicator& ranks);

}  // namespace tessera::apps
