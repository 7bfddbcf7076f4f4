// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/loader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/base/content_hash.hpp"
#include "core/base/error.hpp"
#include "core/base/log.hpp"
#include "core/config/nearest.hpp"
#include "core/module/elf_check.hpp"
#include "core/module/handshake.hpp"

namespace tessera {

namespace {

ModuleRecord refused(Manifest manifest, std::string reason) {
  return {.manifest = std::move(manifest), .state = ModuleState::refused, .reason = std::move(reason)};
}

/// The record of a manifest file: listed, or refused with the first thing that is wrong.
ModuleRecord record_of(const std::filesystem::path& file) {
  Manifest manifest;
  manifest.file = file;
  try {
    manifest = read_manifest(file);
  } catch (const Error& error) {
    // The file's name says which module it would have been.
    const std::string stem = file.stem().string();
    const std::size_t line = std::min(stem.find('_'), stem.size());
    manifest.kind = stem.substr(0, line);
    manifest.name = stem.substr(std::min(line + 1, stem.size()));
    manifest.library = std::filesystem::path(file).replace_extension(".so");
    return refused(std::move(manifest), error.what());
  }
  std::string fault = build_fault(manifest.abi_major, manifest.abi_minor, manifest.build_tag);
  if (const std::string broken = elf_fault(manifest.library); fault.empty() && !broken.empty())
    fault = "the library " + broken;
  if (!fault.empty())
    return refused(manifest, fmt::format("module {} ({}): {}", manifest.full_name(), manifest.library.string(), fault));
  return {.manifest = std::move(manifest)};
}

/// Manifests of a folder, and where a library has none the place where it should be; sorted.
std::vector<std::filesystem::path> manifests_in(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> files;
  std::error_code code;
  for (std::filesystem::directory_iterator entry(folder, code), end; !code && entry != end; entry.increment(code)) {
    const std::filesystem::path& path = entry->path();
    if (path.extension() == ".json") files.push_back(path);
    if (path.extension() == ".so") files.push_back(std::filesystem::path(path).replace_extension(".json"));
  }
  std::sort(files.begin(), files.end());
  files.erase(std::unique(files.begin(), files.end()), files.end());
  return files;
}

/// The one record that a name stands for, or null.
template <class Records>
auto lookup(Records& records, std::string_view kind, std::string_view name) -> decltype(&records.front()) {
  const auto found = std::find_if(records.begin(), records.end(), [&](const ModuleRecord& record) {
    return record.manifest.kind == kind && record.manifest.name == name && record.state != ModuleState::hidden;
  });
  return found == records.end() ? nullptr : &*found;
}

void load_record(ModuleRecord& record, Registry& registry) {
  try {
    const tessera_module_descriptor& descriptor =
        record.linked != nullptr ? *record.linked : open_module(record.manifest);
    check_descriptor(record.manifest, descriptor);
    record.score = enroll_module(record.manifest, descriptor, registry);
    record.state = ModuleState::loaded;
  } catch (const Error& error) {
    record.state = ModuleState::refused;
    record.reason = error.what();
    throw;
  }
}

}  // namespace

std::string_view name_of(ModuleState state) {
  constexpr std::array<std::string_view, 4> names{"listed", "loaded", "refused", "hidden"};
  return names[static_cast<std::size_t>(state)];
}

ModuleLoader::ModuleLoader(Registry& registry, std::vector<SearchFolder> folders,
                           std::span<const tessera_module_descriptor* const> linked)
    : registry_(registry), folders_(std::move(folders)) {
  for (const tessera_module_descriptor* descriptor : linked)
    add({.manifest = manifest_of(*descriptor), .linked = descriptor});
  for (const SearchFolder& folder : folders_) scan(folder);
}

void ModuleLoader::scan(const SearchFolder& folder) {
  for (const std::filesystem::path& file : manifests_in(folder.path)) add(record_of(file));
}

void ModuleLoader::add(ModuleRecord record) {
  if (const ModuleRecord* first = lookup(records_, record.manifest.kind, record.manifest.name)) {
    record.state = ModuleState::hidden;
    record.reason =
        fmt::format("{} comes first in the search order",
                    first->linked != nullptr ? "the module that is linked in" : first->manifest.file.string());
  }
  records_.push_back(std::move(record));
}

const ModuleRecord& ModuleLoader::find(std::string_view kind, std::string_view name) const {
  if (const ModuleRecord* record = lookup(records_, kind, name)) {
    if (record->state == ModuleState::refused)
      throw Error(ErrorKind::configuration, record->reason, "tessera modules list shows all modules and their state.");
    return *record;
  }
  std::vector<std::string> names;
  for (const ModuleRecord& record : records_)
    if (record.manifest.kind == kind) names.push_back(record.manifest.name);
  std::string message = fmt::format("there is no module {}/{}; searched in this order:", kind, name);
  for (const SearchFolder& folder : folders_)
    message += fmt::format("\n  {} ({})", folder.path.string(), folder.reason);
  std::string hint = did_you_mean(name, names);
  throw Error(ErrorKind::not_found, message, hint.empty() ? "tessera modules list shows all modules." : hint);
}

const ModuleRecord& ModuleLoader::load(std::string_view kind, std::string_view name) {
  (void)find(kind, name);
  ModuleRecord& record = *lookup(records_, kind, name);
  if (record.state == ModuleState::loaded) return record;
  load_record(record, registry_);
  log_debug("module", fmt::format("{} {} loaded from {}", record.manifest.full_name(), record.manifest.version,
                                  record.linked != nullptr ? "the program" : record.manifest.library.string()));
  return record;
}

ModuleRecord ModuleLoader::check(const std::filesystem::path& file) {
  ModuleRecord record = record_of(std::filesystem::path(file).replace_extension(".json"));
  if (record.state == ModuleState::refused) return record;
  Registry registry;
  try {
    load_record(record, registry);
  } catch (const Error&) {  // the record says it
  }
  return record;
}

std::string ModuleLoader::loaded_text() const {
  std::vector<std::string> lines;
  for (const ModuleRecord& record : records_) {
    if (record.state != ModuleState::loaded) continue;
    const std::string hash =
        record.linked != nullptr ? "linked" : to_string(file_content_hash(record.manifest.library));
    lines.push_back(fmt::format("{} {} {}\n", record.manifest.full_name(), record.manifest.version, hash));
  }
  std::sort(lines.begin(), lines.end());
  std::string text;
  for (const std::string& line : lines) text += line;
  return text;
}

}  // namespace tessera
