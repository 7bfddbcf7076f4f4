// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/run_sources.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "core/base/install_tree.hpp"
#include "core/config/nearest.hpp"
#include "core/config/sources.hpp"

namespace tessera {

namespace {

std::string text_of(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    throw Error(ErrorKind::not_found, fmt::format("{}: there is no such file", path.string()));
  if (!std::filesystem::is_regular_file(path, code))
    throw Error(ErrorKind::not_found, fmt::format("{}: this is not a regular file", path.string()));
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) throw Error(ErrorKind::io, fmt::format("{}: the file cannot be read", path.string()));
  return text.str();
}

/// Reads the preset that the strongest of the raws names.
void add_preset(RunSources& sources) {
  const Raw* preset = nullptr;
  for (const Raw& raw : sources.raws)
    if (raw.key == "model.preset" && (preset == nullptr || preset->origin.from < raw.origin.from)) preset = &raw;
  if (preset == nullptr || preset->value.empty()) return;
  const std::filesystem::path folder = share_folder() / "models";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".ini") names.push_back(entry.path().stem().string());
  std::sort(names.begin(), names.end());
  if (std::find(names.begin(), names.end(), preset->value) == names.end()) {
    std::string hint = did_you_mean(preset->value, names);
    if (hint.empty()) {
      hint = "There are:";
      for (const std::string& name : names) hint.append(" ").append(name);
    }
    sources.problems.push_back({fmt::format("there is no preset '{}' in {}", preset->value, folder.string()),
                                to_string(preset->origin), hint});
    return;
  }
  const std::filesystem::path file = folder / (preset->value + ".ini");
  for (Raw& raw : read_ini(text_of(file), file.filename().string(), sources.problems, Origin::From::preset))
    sources.raws.push_back(std::move(raw));
}

}  // namespace

RunSources gather_sources(std::span<const std::string> arguments, std::span<const std::string> environment,
                          std::span<const Option> options, RunFile run_file) {
  RunSources sources;
  Flags flags = read_flags(arguments, options, sources.problems);
  sources.positionals = std::move(flags.positionals);
  if (run_file == RunFile::first && !sources.positionals.empty()) {
    const std::string& path = sources.positionals.front();
    sources.raws = read_ini(text_of(path), path, sources.problems);
  }
  for (Raw& raw : read_environment(environment)) sources.raws.push_back(std::move(raw));
  for (Raw& raw : flags.raws) sources.raws.push_back(std::move(raw));
  add_preset(sources);
  return sources;
}

}  // namespace tessera
