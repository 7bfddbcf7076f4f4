// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  finding, checking and loading modules; what was refused is kept with the reason.
// Used: apps, tests.
// Must not know: the kinds of modules and their interfaces.
#pragma once

#include <cstdint>
#include <deque>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/module/abi.h"
#include "core/module/manifest.hpp"
#include "core/module/registry.hpp"
#include "core/module/search_path.hpp"

namespace tessera {

enum class ModuleState : std::uint8_t {
  listed,   ///< its manifest fits; nothing of it has run
  loaded,   ///< its factories are in the registry
  refused,  ///< `reason` says why
  hidden,   ///< another of the same name comes first in the search order
};

std::string_view name_of(ModuleState state);

struct ModuleRecord {
  Manifest manifest;  ///< as far as it could be read
  ModuleState state = ModuleState::listed;
  std::string reason = {};                            ///< a sentence, for refused and hidden ones
  int score = 0;                                      ///< of a loaded one, 1 to 100
  const tessera_module_descriptor* linked = nullptr;  ///< of one that is part of the program
};

/// Modules are never unloaded: objects that they made may live as long as the program.
class ModuleLoader {
 public:
  /// Reads the manifests in the folders (missing folders are empty). Runs no code of any module.
  ModuleLoader(Registry& registry, std::vector<SearchFolder> folders,
               std::span<const tessera_module_descriptor* const> linked = {});

  /// All that was found, in search order.
  const std::deque<ModuleRecord>& records() const { return records_; }

  /// The record that the name stands for; its options are needed before anything is loaded. Throws Error{not_found}
  /// with the search path and the nearest names, or the reason for which it was refused.
  const ModuleRecord& find(std::string_view kind, std::string_view name) const;

  /// Loads it unless it is loaded already. The steps, each with its own sentence: manifest, ABI and tag, library,
  /// dlopen, symbol, descriptor, supported, enroll. A refusal is recorded and thrown.
  const ModuleRecord& load(std::string_view kind, std::string_view name);

  /// The record of one manifest or library file, wherever it lies; loaded into a registry of its own, as a test.
  static ModuleRecord check(const std::filesystem::path& file);

  /// "optimizer/adamw 0.1.0 <hash of the library>" per loaded module, sorted: equal text, equal modules. Reads the
  /// libraries.
  std::string loaded_text() const;

 private:
  void scan(const SearchFolder& folder);
  void add(ModuleRecord record);

  Registry& registry_;
  std::vector<SearchFolder> folders_;
  std::deque<ModuleRecord> records_;
};

}  // namespace tessera
