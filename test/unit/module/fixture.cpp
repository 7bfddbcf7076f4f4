// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/module/fixture.hpp"

#include <gmock/gmock.h>

#include <fstream>
#include <sstream>

#include "core/base/error.hpp"

namespace tessera {

namespace fs = std::filesystem;

ModuleFolder::ModuleFolder() {
  std::string pattern = testing::TempDir() + "modules-XXXXXX";
  if (mkdtemp(pattern.data()) == nullptr) throw Error(ErrorKind::cannot_create, pattern);
  path_ = pattern;
}

ModuleFolder::~ModuleFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

fs::path ModuleFolder::library(std::string_view name) const {
  return path_ / ("test_" + std::string(name) + ".so");
}
fs::path ModuleFolder::manifest(std::string_view name) const {
  return path_ / ("test_" + std::string(name) + ".json");
}

void ModuleFolder::add_built(std::string_view name) const {
  for (const fs::path& file : {library(name), manifest(name)})
    fs::copy_file(fs::path(TESSERA_TEST_MODULES) / file.filename(), file);
}

void ModuleFolder::add_handmade(std::string_view name) const {
  fs::copy_file(fs::path(TESSERA_TEST_HANDMADE) / library(name).filename(), library(name));
  write_manifest(name);
}

void ModuleFolder::write_manifest(std::string_view name) const {
  std::ostringstream json;
  json << R"({"kind": "test", "name": ")" << name
       << R"(", "version": "1.2.3", "summary": "made by hand", "abi_major": )" << TESSERA_ABI_MAJOR
       << R"(, "abi_minor": )" << TESSERA_ABI_MINOR << R"(, "build_tag": ")" << engine_build_tag()
       << R"(", "library": )" << library(name).filename() << R"(, "options": []})";
  write_text(manifest(name), json.str());
}

std::string text_of(const fs::path& file) {
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

void write_text(const fs::path& file, std::string_view text) {
  fs::remove(file);  // a library that is loaded keeps its old content
  std::ofstream(file, std::ios::binary) << text;
}

std::string refusal_of(const ModuleFolder& folder, std::string_view name, Registry& registry) {
  ModuleLoader loader(registry, {{folder.path(), "test"}});
  try {
    loader.load("test", name);
  } catch (const Error& error) {
    for (const ModuleRecord& record : loader.records()) {
      if (record.manifest.name != name) continue;
      EXPECT_EQ(record.state, ModuleState::refused);
      EXPECT_EQ(record.reason, error.what());
    }
    return error.what();
  }
  ADD_FAILURE() << name << " was loaded";
  return {};
}

std::string refusal_of(const ModuleFolder& folder, std::string_view name) {
  Registry registry;
  return refusal_of(folder, name, registry);
}

}  // namespace tessera
