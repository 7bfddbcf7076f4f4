// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  places that the user names for output: what may be written there, and what must not be replaced.
// Used: everything that writes where an option or a flag says.
// Must not know: what is written.
#pragma once

#include <filesystem>
#include <span>
#include <string>

namespace tessera::io {

/// An output that will be made or replaced. Throws Error{cannot_create} where there is a folder, a device, a pipe or a
/// socket, or one of the inputs under any of its names, or where no folder is; Error{permission|io} where nothing can be
/// made in that folder.
void check_output(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs = {});

/// Makes a folder and those above it, permanently; one that is there already is good. Throws Error{cannot_create|permission|io}.
void make_folder(const std::filesystem::path& folder);

}  // namespace tessera::io
