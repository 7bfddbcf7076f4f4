// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a module says of itself in the JSON file beside its library, read before any of its code.
// Used: the loader, `tessera modules`.
// Must not know: dlopen, the registry.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/option.hpp"
#include "core/module/abi.h"

namespace tessera {

struct Manifest {
  std::string kind, name, version, summary;
  int abi_major = 0, abi_minor = 0;
  std::string build_tag;
  std::vector<Option> options;
  std::filesystem::path file;     ///< the manifest; empty for a module that is linked into the program
  std::filesystem::path library;  ///< beside it

  /// "optimizer/adamw"
  std::string full_name() const { return kind + "/" + name; }
};

/// Throws Error{configuration} that names the file and the field, Error{not_found}, Error{io}.
Manifest read_manifest(const std::filesystem::path& file);
Manifest parse_manifest(std::string_view json, const std::filesystem::path& file);

/// Of a module that is linked in.
Manifest manifest_of(const tessera_module_descriptor& descriptor);

/// The tag that a module must have: that of this library.
std::string_view engine_build_tag();

/// Why a module with this ABI and tag cannot work with this engine; empty if it can.
std::string build_fault(int abi_major, int abi_minor, std::string_view build_tag);

}  // namespace tessera
