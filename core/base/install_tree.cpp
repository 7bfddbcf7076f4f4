// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/install_tree.hpp"

#include <dlfcn.h>
#include <fmt/core.h>

#include "core/base/error.hpp"

namespace tessera {

std::filesystem::path library_folder() {
  Dl_info info{};
  TESSERA_CHECK(dladdr(reinterpret_cast<const void*>(&library_folder), &info) != 0, "dladdr");
  std::error_code code;
  const std::filesystem::path library = std::filesystem::canonical(info.dli_fname, code);
  return (code ? std::filesystem::path(info.dli_fname) : library).parent_path();
}

std::filesystem::path share_folder() {
  const std::filesystem::path library = library_folder();
  // lib/ or, with multiarch, lib/x86_64-linux-gnu/
  for (const std::filesystem::path& prefix : {library.parent_path(), library.parent_path().parent_path()}) {
    std::error_code code;
    if (std::filesystem::is_directory(prefix / "share" / "tessera", code)) return prefix / "share" / "tessera";
  }
  throw Error(ErrorKind::not_found, fmt::format("there is no share/tessera above {}", library.string()),
              "Install Tessera as a whole; its library finds its data relative to itself.");
}

}  // namespace tessera
