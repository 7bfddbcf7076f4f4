// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the folders of checkpoints: their names, which are there, and making one appear or go as a whole.
// Used: writer and reader of checkpoints, command line tools.
// Must not know: what is inside.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::io {

inline constexpr const char* k_latest_file = "latest";

struct CheckpointFolder {
  std::int64_t step = 0;
  std::filesystem::path path;
};

/// For what is not needed for a checkpoint to count, such as removing what somebody else owns: a warning instead of an
/// Error. Returns whether it was done.
bool tried(const std::function<void()>& action);

/// "step-00001000"
std::string folder_name(std::int64_t step);

/// The step of a folder's name; empty for other names, temporary ones included.
std::optional<std::int64_t> step_of(std::string_view name);

/// Checkpoint folders inside `directory`, newest first. No directory: none. Nothing inside them is looked at.
std::vector<CheckpointFolder> list_checkpoints(const std::filesystem::path& directory);

/// Removes what interrupted saves and removals have left in `directory` ("step-...tmp"), as far as that can be.
void remove_leftovers(const std::filesystem::path& directory);

/// Makes `temporary` appear as `final` in one step and permanently. An old folder of that name is replaced: at every
/// moment one of the two is there where the file system can exchange names.
void publish_folder(const std::filesystem::path& temporary, const std::filesystem::path& final);

/// Keeps the `keep` newest checkpoints up to and including `step`, which is never removed itself; removes the older
/// ones, each vanishing as a whole, as far as that can be. Newer steps (of an abandoned run) are left alone. keep = 0
/// keeps all. Returns what was removed.
std::vector<std::filesystem::path> prune(const std::filesystem::path& directory, std::int64_t step, int keep);

}  // namespace tessera::io
