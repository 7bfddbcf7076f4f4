// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what is in a checkpoint, as a document.
// Used: inspect.
// Must not know: flags, datasets, models.
#pragma once

#include <filesystem>

#include "apps/document.hpp"
#include "apps/inspect/dataset.hpp"

namespace tessera::apps {

/// Whether a folder is, or was to be, one checkpoint.
bool is_checkpoint(const std::filesystem::path& folder);

/// Throws Error{data} that names every damaged file and tensor, Error{not_found|io}.
Document inspect_checkpoint(const std::filesystem::path& folder, Depth depth);

/// The newest whole checkpoint of a folder of checkpoints, and why newer ones were passed over. Throws as above, and
/// Error{not_found} where there is none.
Document inspect_newest(const std::filesystem::path& directory, Depth depth);

}  // namespace tessera::apps
