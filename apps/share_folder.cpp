// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/share_folder.hpp"

namespace tessera::apps {

std::filesystem::path share_folder() {
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path installed = program.parent_path().parent_path() / "share" / "tessera";
  return std::filesystem::exists(installed / "models") ? installed : std::filesystem::path(TESSERA_SOURCE_SHARE);
}

}  // namespace tessera::apps
