// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/run_sources.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <iterator>

#include "core/base/install_tree.hpp"
#include "core/config/nearest.hpp"
#include "core/config/sources.hpp"

namespace tessera {

namespace {

constexpr std::uintmax_t k_most_bytes = 16 << 20;

std::string text_of(const std::filesystem::path& path) {
  std::error_code code;
  if (!std::filesystem::exists(path, code))
    throw Error(ErrorKind::not_found, fmt::format("{}: there is no such file", path.string()));
  if (!std::filesystem::is_regular_file(path, code))
    throw Error(ErrorKind::not_found, fmt::format("{}: this is not a regular file", path.string()));
  if (const auto bytes = std::filesystem::file_size(path, code); !code && bytes > k_most_bytes)
    throw Error(ErrorKind::data, fmt::format("{}: {} bytes are too many for a run file", path.string(), bytes),
                fmt::format("Name a run file; one has at most {} bytes.", k_most_bytes));
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!file || file.bad()) throw Error(ErrorKind::io, fmt::format("{}: the file cannot be read", path.string()));
  if (text.find('\0') != std::string::npos)
    throw Error(ErrorKind::data, fmt::format("{}: this is no text", path.string()), "Name a run file.");
  return text;
}

/// What follows an unknown flag may be its value, not the run file.
std::string text_of_run_file(const std::string& path, std::span<const Problem> problems) {
  try {
    return text_of(path);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::not_found || problems.empty()) throw;
    std::vector<Problem> all(problems.begin(), problems.end());
    all.push_back({error.what(), {}, "It was taken for the run file."});
    throw run_error(all);
  }
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

/// "train.steps" -> "TESSERA_TRAIN_STEPS", as somebody might write it.
std::string mistaken_variable(const Option& option) {
  std::string name = "TESSERA_" + option.name;
  std::transform(name.begin(), name.end(), name.begin(), [](char c) {
    return c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

/// A variable with one underscore where two are meant would have no effect.
void check_variables(std::span<const std::string> environment, std::span<const Option> options,
                     std::vector<Problem>& problems) {
  for (const std::string& variable : environment) {
    const std::string name = variable.substr(0, variable.find('='));
    if (!name.starts_with("TESSERA_") || name.starts_with("TESSERA__")) continue;
    for (const Option& option : options)
      if (name == mistaken_variable(option))
        problems.push_back({fmt::format("{} has no effect", name), name,
                            "Options are set by TESSERA__SECTION__KEY, with two underscores."});
  }
}

}  // namespace

RunSources gather_sources(std::span<const std::string> arguments, std::span<const std::string> environment,
                          std::span<const Option> options, RunFile run_file) {
  RunSources sources;
  Flags flags = read_flags(arguments, options, sources.problems);
  sources.positionals = std::move(flags.positionals);
  if (run_file == RunFile::first && !sources.positionals.empty()) {
    const std::string& path = sources.positionals.front();
    sources.raws = read_ini(text_of_run_file(path, sources.problems), path, sources.problems);
  }
  check_variables(environment, options, sources.problems);
  for (Raw& raw : read_environment(environment)) sources.raws.push_back(std::move(raw));
  for (Raw& raw : flags.raws) sources.raws.push_back(std::move(raw));
  add_preset(sources);
  return sources;
}

}  // namespace tessera
