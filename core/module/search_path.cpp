// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/search_path.hpp"

#include <algorithm>

#include "core/base/install_tree.hpp"

namespace tessera {

namespace {

std::vector<std::string> split_at_colons(std::string_view text) {
  std::vector<std::string> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(':'), text.size());
    if (end > 0) parts.emplace_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

}  // namespace

std::filesystem::path installed_modules_folder() {
  return library_folder() / "tessera" / "modules";
}

std::vector<SearchFolder> module_search_path(std::string_view flag, std::string_view environment,
                                             std::span<const std::string> configured) {
  std::vector<SearchFolder> folders;
  const auto add = [&](const std::filesystem::path& path, const char* reason) {
    const std::filesystem::path absolute = std::filesystem::absolute(path).lexically_normal();
    const auto same = [&](const SearchFolder& folder) { return folder.path == absolute; };
    if (std::none_of(folders.begin(), folders.end(), same)) folders.push_back({absolute, reason});
  };
  for (const std::string& path : split_at_colons(flag)) add(path, "--module-path");
  for (const std::string& path : split_at_colons(environment)) add(path, "TESSERA_MODULE_PATH");
  for (const std::string& path : configured) add(path, "modules.path");
  add(installed_modules_folder(), "installation");
  return folders;
}

}  // namespace tessera
