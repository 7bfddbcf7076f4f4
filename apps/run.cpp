// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/run.hpp"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <sstream>

#include <fmt/core.h>

#include "apps/share_folder.hpp"
#include "core/base/log.hpp"
#include "core/config/core_options.hpp"
#include "core/config/help.hpp"
#include "core/config/resolve.hpp"
#include "core/config/settings_text.hpp"
#include "core/config/sources.hpp"
#include "core/module/linked_modules.hpp"
#include "io/checkpoint/together.hpp"
#include "mpi/launch.hpp"

namespace tessera::apps {
namespace {

std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file)
    throw Error(ErrorKind::not_found, fmt::format("cannot read {}", path.string()), "check the path of the run file");
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// "--module-path=DIR" or "--module-path DIR", taken out of the arguments: it is needed before options are known.
std::string take_module_path(std::vector<std::string>& arguments) {
  for (std::size_t i = 0; i < arguments.size(); ++i) {
    std::string path;
    if (arguments[i].starts_with("--module-path=")) {
      path = arguments[i].substr(std::strlen("--module-path="));
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i));
      return path;
    }
    if (arguments[i] == "--module-path" && i + 1 < arguments.size()) {
      path = arguments[i + 1];
      arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(i),
                      arguments.begin() + static_cast<std::ptrdiff_t>(i) + 2);
      return path;
    }
  }
  return {};
}

std::vector<SearchFolder> search_folders(const std::string& flag) {
  const char* environment = std::getenv("TESSERA_MODULE_PATH");
  return module_search_path(flag, environment != nullptr ? environment : "", {});
}

/// Everything that was written, from the weakest source to the strongest.
std::vector<Raw> read_sources(std::vector<std::string> arguments, std::span<const Option> options,
                              std::vector<Problem>& problems) {
  std::vector<Raw> raws;
  auto add = [&](std::vector<Raw> more) { raws.insert(raws.end(), more.begin(), more.end()); };
  const Flags flags = read_flags(arguments, options, problems);
  if (flags.positionals.size() > 1)
    throw Error(ErrorKind::usage, fmt::format("one run file at most, got {}", flags.positionals.size()),
                "see `tessera train --help`");
  if (!flags.positionals.empty()) add(read_ini(read_text(flags.positionals[0]), flags.positionals[0], problems));
  std::vector<std::string> environment;
  for (const auto& [name, value] : mpi::environment_variables()) environment.push_back(name + "=" + value);
  add(read_environment(environment));
  add(flags.raws);
  return raws;
}

/// The values of share/models/NAME.ini, below everything that was written.
std::vector<Raw> read_preset(const std::string& name, std::vector<Problem>& problems) {
  if (name.empty()) return {};
  const std::filesystem::path path = share_folder() / "models" / (name + ".ini");
  if (!std::filesystem::exists(path)) {
    problems.push_back({fmt::format("model.preset = {}: there is no {}", name, path.string()), "",
                        "the presets are the files of that folder"});
    return {};
  }
  return read_ini(read_text(path), path.string(), problems, Origin::From::preset);
}

/// The options of named modules, and in `dormant` those of the others.
std::vector<Option> options_with_modules(const ModuleLoader& loader, const Settings& first,
                                         std::span<const Option> extra, std::vector<Option>& dormant) {
  std::vector<Option> options = core_options();
  options.insert(options.end(), extra.begin(), extra.end());
  const std::vector<ModuleName> named = named_modules(first);
  for (const ModuleRecord& record : loader.records()) {
    if (record.state != ModuleState::listed) continue;
    bool used = false;
    for (const ModuleName& module : named)
      used |= module.kind == record.manifest.kind && module.name == record.manifest.name;
    std::vector<Option>& list = used ? options : dormant;
    list.insert(list.end(), record.manifest.options.begin(), record.manifest.options.end());
  }
  return options;
}

Settings resolve_run(const std::vector<std::string>& arguments, std::span<const Option> extra,
                     const ModuleLoader& loader) {
  std::vector<Option> known = core_options();
  known.insert(known.end(), extra.begin(), extra.end());
  std::vector<Problem> ignored;
  const Settings first = resolve(known, read_sources(arguments, known, ignored)).settings;
  for (const ModuleName& module : named_modules(first)) loader.find(module.kind, module.name);

  std::vector<Option> dormant;
  const std::vector<Option> options = options_with_modules(loader, first, extra, dormant);
  std::vector<Problem> problems;
  std::vector<Raw> raws = read_preset(first.get<std::string>("model.preset"), problems);
  const std::vector<Raw> written = read_sources(arguments, options, problems);
  raws.insert(raws.end(), written.begin(), written.end());
  Resolved resolved = resolve(options, raws, dormant);
  problems.insert(problems.end(), resolved.problems.begin(), resolved.problems.end());
  if (!problems.empty()) throw run_error(problems);
  return std::move(resolved.settings);
}

}  // namespace

std::vector<ModuleName> named_modules(const Settings& settings) {
  std::vector<ModuleName> names{{"strategy", settings.get<std::string>("strategy.data")},
                                {"optimizer", settings.get<std::string>("optimizer.name")}};
  for (const std::string& extra : settings.get<std::vector<std::string>>("strategy.extra"))
    names.push_back({"strategy", extra});
  return names;
}

Run::Run(Ranks& ranks, std::span<const std::string> arguments, std::span<const Option> extra) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const std::string module_path = take_module_path(rest);
  ranks.agreed(
      [&] { loader_ = std::make_unique<ModuleLoader>(registry_, search_folders(module_path), linked_modules()); });
  const std::string packed = ranks.from_root([&] {
    const std::vector<std::byte> bytes = pack_settings(resolve_run(rest, extra, *loader_));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  settings_ = unpack_settings(std::as_bytes(std::span(packed)));
  (void)settings_.get<std::string>("model.preset");  // rank 0 has used it
  load_modules(ranks);
}

void Run::load_modules(Ranks& ranks) {
  ranks.agreed([&] {
    for (const ModuleName& module : named_modules(settings_)) loader_->load(module.kind, module.name);
  });
  const bool hashes = ranks.environment().layout().facts.local_rank == 0;  // one rank of a node reads the files
  const std::string mine = hashes ? loader_->loaded_text() : std::string();
  const std::string roots = ranks.from_root([&] { return mine; });
  ranks.agreed([&] {
    if (hashes && mine != roots)
      throw Error(ErrorKind::disagreement,
                  fmt::format("the modules here differ from those of rank 0.\nhere:\n{}\nrank 0:\n{}", mine, roots),
                  "install the same build on all nodes");
  });
}

void Run::check_used() const {
  const std::vector<Problem> unused = settings_.unused();
  if (!unused.empty()) throw run_error(unused);
}

std::string run_help() {
  Registry registry;
  const ModuleLoader loader(registry, search_folders({}), linked_modules());
  std::vector<Option> options = core_options();
  for (const ModuleRecord& record : loader.records())
    if (record.state == ModuleState::listed)
      options.insert(options.end(), record.manifest.options.begin(), record.manifest.options.end());
  return "Options of a run file (`[section]`, `key = value`) are flags too (`--section.key=value`); flags win.\n\n" +
         help_text(options, {OptionLevel::tuning});
}

}  // namespace tessera::apps
