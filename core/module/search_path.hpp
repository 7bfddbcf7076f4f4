// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  where modules are looked for, in which order, and why there.
// Used: apps, the loader's messages.
// Must not know: what is in the folders.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct SearchFolder {
  std::filesystem::path path;
  std::string reason;  ///< "--module-path", "TESSERA_MODULE_PATH", "modules.path", "installation"
};

/// In this order: the flag and the environment variable (folders separated by colons), the option modules.path, the
/// installation. A folder that comes twice counts once.
std::vector<SearchFolder> module_search_path(std::string_view flag, std::string_view environment,
                                             std::span<const std::string> configured);

/// <folder of libtessera>/tessera/modules
std::filesystem::path installed_modules_folder();

}  // namespace tessera
