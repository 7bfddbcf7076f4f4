// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a folder of modules that a test may damage.
// Used: tests of the loader.
// Must not know: what is wrong with a module.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "core/module/loader.hpp"
#include "core/module/registry.hpp"

namespace tessera {

/// Removed with its content when the test ends.
class ModuleFolder {
 public:
  ModuleFolder();
  ~ModuleFolder();
  ModuleFolder(const ModuleFolder&) = delete;
  ModuleFolder& operator=(const ModuleFolder&) = delete;

  const std::filesystem::path& path() const { return path_; }

  /// Copies a module that was made by tessera_add_module, with its manifest.
  void add_built(std::string_view name) const;
  /// Copies a library that was made by hand and writes a manifest for it that fits this engine.
  void add_handmade(std::string_view name) const;
  void write_manifest(std::string_view name) const;

  std::filesystem::path library(std::string_view name) const;
  std::filesystem::path manifest(std::string_view name) const;

 private:
  std::filesystem::path path_;
};

std::string text_of(const std::filesystem::path& file);
void write_text(const std::filesystem::path& file, std::string_view text);

/// The message with which loading test/NAME from the folder is refused; fails if it is not. The refusal must be on
/// record, too.
std::string refusal_of(const ModuleFolder& folder, std::string_view name, Registry& registry);
std::string refusal_of(const ModuleFolder& folder, std::string_view name);

}  // namespace tessera
