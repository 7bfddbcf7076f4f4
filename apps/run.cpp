// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/run.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <optional>
#include <string_view>
#include <variant>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "apps/kernel_tables.hpp"
#include "core/base/log.hpp"
#include "core/config/core_options.hpp"
#include "core/config/help.hpp"
#include "core/config/named_modules.hpp"
#include "core/config/resolve.hpp"
#include "core/config/run_rules.hpp"
#include "core/config/run_sources.hpp"
#include "core/config/settings_text.hpp"
#include "core/module/linked_modules.hpp"
#include "io/checkpoint/together.hpp"
#include "io/output.hpp"
#include "mpi/launch.hpp"

namespace tessera::apps {
namespace {

/// Options that name a file to be written, of the core and of verbs.
constexpr std::array k_outputs{"train.trace", "timeline", "table", "json"};

constexpr std::array k_severities{Severity::trace, Severity::debug, Severity::info, Severity::warning, Severity::error};

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

std::vector<SearchFolder> search_folders(const std::string& flag, std::span<const std::string> configured) {
  const char* environment = std::getenv("TESSERA_MODULE_PATH");
  return module_search_path(flag, environment != nullptr ? environment : "", configured);
}

std::vector<std::string> environment_texts() {
  std::vector<std::string> texts;
  for (const auto& [name, value] : mpi::environment_variables()) texts.push_back(name + "=" + value);
  return texts;
}

/// Modules that are named and not there, or refused, are problems like any other. Nothing else wrong: the error of the
/// first of them.
std::optional<Error> check_modules(const ModuleLoader& loader, const Settings& settings,
                                   std::vector<Problem>& problems) {
  std::optional<Error> first;
  const std::size_t others = problems.size();
  for (const NamedModule& module : named_modules(settings)) {
    try {
      loader.find(module.kind, module.name);
    } catch (const Error& error) {
      if (!first) first = error;
      const bool by_degree = !module.degree.empty() && !settings.is_set(module.option);
      const std::string& option = by_degree ? module.degree : module.option;
      problems.push_back({fmt::format("{} = {}: {}", option, settings.text(option), error.what()),
                          to_string(settings.origin(option)),
                          module.degree.empty() ? error.hint() : fmt::format("set {} = 1", module.degree)});
    }
  }
  return others == 0 && problems.size() == 1 ? first : std::nullopt;
}

/// The options of named modules, and in `dormant` those of the others.
std::vector<Option> options_with_modules(const ModuleLoader& loader, const Settings& first,
                                         std::span<const Option> extra, std::vector<Option>& dormant) {
  std::vector<Option> options = core_options();
  options.insert(options.end(), extra.begin(), extra.end());
  const std::vector<NamedModule> named = named_modules(first);
  for (const ModuleRecord& record : loader.records()) {
    if (record.state != ModuleState::listed) continue;
    bool used = false;
    for (const NamedModule& module : named)
      used |= module.kind == record.manifest.kind && module.name == record.manifest.name;
    std::vector<Option>& list = used ? options : dormant;
    list.insert(list.end(), record.manifest.options.begin(), record.manifest.options.end());
  }
  return options;
}

/// How many ranks there are, or which option says it.
using World = std::variant<int, std::string_view>;

std::int64_t size_of(const World& world, const Settings& settings) {
  if (const int* ranks = std::get_if<int>(&world)) return *ranks;
  return settings.get<std::int64_t>(std::get<std::string_view>(world));
}

/// What the core's options say, whatever else is wrong.
Settings first_settings(const std::vector<std::string>& arguments, std::span<const Option> extra) {
  std::vector<Option> known = core_options();
  known.insert(known.end(), extra.begin(), extra.end());
  return resolve(known, gather_sources(arguments, environment_texts(), known, RunFile::first).raws).settings;
}

/// No output takes the place of what the run reads.
void check_outputs(const Settings& settings, std::span<const Option> options,
                   const std::vector<std::string>& run_files) {
  std::vector<std::filesystem::path> inputs(run_files.begin(), run_files.end());
  for (const char* input : {"data.train", "data.valid", "train.kernels"})
    if (!settings.text(input).empty()) inputs.emplace_back(settings.text(input));
  for (const Option& option : options) {
    const bool writes = std::find(k_outputs.begin(), k_outputs.end(), option.name) != k_outputs.end();
    if (!writes || option.type != OptionType::path || settings.text(option.name).empty()) continue;
    io::check_output(settings.text(option.name), inputs);
  }
}

Settings resolve_run(const std::vector<std::string>& arguments, std::span<const Option> extra,
                     const ModuleLoader& loader, const World& world, DataNeed data) {
  std::vector<Option> dormant;
  const std::vector<Option> options = options_with_modules(loader, first_settings(arguments, extra), extra, dormant);
  RunSources sources = gather_sources(arguments, environment_texts(), options, RunFile::first);
  std::vector<Problem>& problems = sources.problems;
  if (sources.positionals.size() > 1)
    problems.push_back({fmt::format("one run file at most: {}", fmt::join(sources.positionals, ", ")), {}, {}});
  Resolved resolved = resolve(options, sources.raws, dormant);
  problems.insert(problems.end(), resolved.problems.begin(), resolved.problems.end());
  const std::vector<Problem> broken = check_run(resolved.settings, size_of(world, resolved.settings));
  problems.insert(problems.end(), broken.begin(), broken.end());
  const std::vector<Problem> absent = check_available(resolved.settings, options);
  problems.insert(problems.end(), absent.begin(), absent.end());
  if (data == DataNeed::required && resolved.settings.text("data.train").empty())
    problems.push_back({"data.train is not set: there is nothing to train on",
                        {},
                        "Make a dataset with `tessera prepare --output FILE TEXT...` and name it in data.train."});
  if (const std::optional<Error> missing = check_modules(loader, resolved.settings, problems)) throw *missing;
  if (!problems.empty()) throw run_error(problems);
  check_outputs(resolved.settings, options, sources.positionals);
  return std::move(resolved.settings);
}

std::string joined(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    lines.push_back(text.substr(begin, end - begin));
    begin = end + 1;
  }
  return lines;
}

/// What has had its effect by now, or can have only one.
void apply_first(const Settings& settings) {
  for (const char* option : {"model.preset", "modules.path", "train.kernels"}) settings.mark_used(option);
  for (const Option& option : core_options())
    if (option.available && option.available->size() == 1) settings.mark_used(option.name);
  const auto level = settings.get<std::string>("log.level");
  for (const Severity severity : k_severities)
    if (name_of(severity) == level) set_log_level(severity);
}

}  // namespace

Run::Run(Ranks& ranks, std::span<const std::string> arguments, std::span<const Option> extra, DataNeed data) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const std::string module_path = take_module_path(rest);
  const std::vector<std::string> configured = lines_of(ranks.from_root(
      [&] { return joined(first_settings(rest, extra).get<std::vector<std::string>>("modules.path")); }));
  ranks.agreed([&] {
    loader_ = std::make_unique<ModuleLoader>(registry_, search_folders(module_path, configured), linked_modules());
  });
  const std::string packed = ranks.from_root([&] {
    const std::vector<std::byte> bytes = pack_settings(resolve_run(rest, extra, *loader_, ranks.world().size(), data));
    return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  });
  settings_ = unpack_settings(std::as_bytes(std::span(packed)));
  apply_first(settings_);
  kernels_ = KernelChoices::parse(ranks.from_root([&] { return chosen_kernels(settings_).text(); }), "train.kernels");
  load_modules(ranks);
}

Run::Run(std::span<const std::string> arguments, std::span<const Option> extra, std::string_view world) {
  std::vector<std::string> rest(arguments.begin(), arguments.end());
  const std::string module_path = take_module_path(rest);
  const auto configured = first_settings(rest, extra).get<std::vector<std::string>>("modules.path");
  loader_ = std::make_unique<ModuleLoader>(registry_, search_folders(module_path, configured), linked_modules());
  settings_ = resolve_run(rest, extra, *loader_, world, DataNeed::optional);
  apply_first(settings_);
  kernels_ = chosen_kernels(settings_);
  for (const NamedModule& module : named_modules(settings_)) loader_->load(module.kind, module.name);
}

void Run::load_modules(Ranks& ranks) {
  ranks.agreed([&] {
    for (const NamedModule& module : named_modules(settings_)) loader_->load(module.kind, module.name);
  });
  const std::string mine = loader_->loaded_text();
  const std::string roots = ranks.from_root([&] { return mine; });
  ranks.agreed([&] {
    if (mine != roots)
      throw Error(ErrorKind::disagreement,
                  fmt::format("the modules here differ from those of rank 0.\nhere:\n{}\nrank 0:\n{}", mine, roots),
                  "install the same build on all nodes");
  });
}

void Run::check_used() const {
  const std::vector<Problem> unused = settings_.unused();
  if (!unused.empty()) throw run_error(unused);
}

double first_watchdog(std::span<const std::string> arguments) {
  try {
    std::vector<std::string> rest(arguments.begin(), arguments.end());
    (void)take_module_path(rest);
    return first_settings(rest, {}).get<double>("train.watchdog");
  } catch (const std::exception&) {  // rank 0 will report it
    return k_first_watchdog;
  }
}

std::string run_help() {
  Registry registry;
  const ModuleLoader loader(registry, search_folders({}, {}), linked_modules());
  std::vector<Option> options = core_options();
  for (const ModuleRecord& record : loader.records())
    if (record.state == ModuleState::listed)
      options.insert(options.end(), record.manifest.options.begin(), record.manifest.options.end());
  return "--module-path DIRS: folders that are searched for modules first, separated by colons.\n\n"
         "Options of a run file (`[section]`, `key = value`) are flags too (`--section.key=value`); flags win.\n\n" +
         help_text(options, {OptionLevel::tuning});
}

}  // namespace tessera::apps
