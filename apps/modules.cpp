// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <array>
#include <cstdlib>
#include <filesystem>

#include "apps/arguments.hpp"
#include "apps/document.hpp"
#include "apps/verb.hpp"
#include "core/config/help.hpp"
#include "core/config/nearest.hpp"
#include "core/module/linked_modules.hpp"
#include "core/module/loader.hpp"

namespace tessera::apps {
namespace {

const std::vector<Option>& options() {
  static const std::vector<Option> rows{
      {.name = "module-path", .text = "Folders that are searched first, separated by colons."},
      {.name = "json", .type = OptionType::boolean, .fallback = "off", .text = "JSON instead of text."}};
  return rows;
}

std::string help() {
  return flags_help(
      "  list        what the search path holds, what was refused and why\n"
      "  show NAME   one module (adamw, or optimizer/adamw): where it comes from and its options\n"
      "  check FILE  loads one module file, as a test of it\n"
      "  path        the folders that are searched, in order\n"
      "\nNeeds neither MPI nor a device. `list`, `show` and `path` run no code of any module.\n",
      options());
}

std::vector<SearchFolder> search_path(const Settings& settings) {
  const char* environment = std::getenv("TESSERA_MODULE_PATH");
  return module_search_path(settings.get<std::string>("module-path"), environment == nullptr ? "" : environment, {});
}

std::string place_of(const ModuleRecord& record) {
  return record.linked != nullptr ? "the program" : record.manifest.library.string();
}

void print(const Document& document, const Settings& settings) {
  fmt::print("{}", settings.get<bool>("json") ? document.json() : document.text());
}

Document listing(const ModuleLoader& loader) {
  Table table{"modules",
              "",
              {{"kind", "kind"},
               {"name", "name"},
               {"version", "version"},
               {"state", "state"},
               {"options", "options"},
               {"path", "path"},
               {"summary", "summary", Place::hidden},
               {"reason", "reason", Place::below}}};
  for (const ModuleRecord& record : loader.records()) {
    const Manifest& manifest = record.manifest;
    table.add({manifest.kind, manifest.name, manifest.version, name_of(record.state),
               static_cast<std::int64_t>(manifest.options.size()), place_of(record), manifest.summary, record.reason});
  }
  Document document(fmt::format("{} modules", table.rows.size()));
  document.add(std::move(table));
  return document;
}

Document description(const ModuleRecord& record) {
  const Manifest& manifest = record.manifest;
  Document document("module " + manifest.full_name());
  document.add("kind", "kind", manifest.kind);
  document.add("name", "name", manifest.name);
  document.add("summary", "summary", manifest.summary);
  document.add("version", "version", manifest.version);
  document.add("state", "state", name_of(record.state));
  if (!record.reason.empty()) document.add("reason", "reason", record.reason);
  document.add("path", "path", place_of(record));
  document.add("build_tag", "built for", manifest.build_tag);
  return document;
}

Table options_table(std::span<const Option> module_options) {
  Table table{"options", "", {{"name", ""}, {"type", ""}, {"default", ""}, {"text", ""}}};
  for (const Option& option : module_options)
    table.add({option.name, name_of(option.type), option.fallback, option.text});
  return table;
}

/// Every record that the name stands for: "adamw" may be of several kinds, and of several folders.
std::vector<const ModuleRecord*> matches(const ModuleLoader& loader, const std::string& name) {
  std::vector<const ModuleRecord*> found;
  for (const ModuleRecord& record : loader.records())
    if (record.manifest.name == name || record.manifest.full_name() == name) found.push_back(&record);
  return found;
}

[[noreturn]] void nothing_found(const ModuleLoader& loader, const std::string& name) {
  std::vector<std::string> names;
  for (const ModuleRecord& record : loader.records()) names.push_back(record.manifest.name);
  std::string hint = did_you_mean(name, names);
  throw Error(ErrorKind::not_found, fmt::format("there is no module {}", name),
              hint.empty() ? "`tessera modules list` shows all modules, `tessera modules path` where they are searched."
                           : hint);
}

void list(const Settings& settings, const std::string&) {
  Registry registry;
  print(listing(ModuleLoader(registry, search_path(settings), linked_modules())), settings);
}

void show(const Settings& settings, const std::string& name) {
  Registry registry;
  const ModuleLoader loader(registry, search_path(settings), linked_modules());
  const std::vector<const ModuleRecord*> found = matches(loader, name);
  if (found.empty()) nothing_found(loader, name);
  std::string all;
  for (const ModuleRecord* record : found) {
    Document document = description(*record);
    if (settings.get<bool>("json")) {
      document.add(options_table(record->manifest.options));
      all += (all.empty() ? "[" : ",\n") + document.json();
    } else {
      all += document.text() + help_text(record->manifest.options, {.level = OptionLevel::developer});
    }
  }
  fmt::print("{}{}", all, settings.get<bool>("json") ? "]\n" : "");
}

void check(const Settings& settings, const std::string& file) {
  std::error_code code;
  if (!std::filesystem::exists(file, code)) throw Error(ErrorKind::not_found, fmt::format("there is no file {}", file));
  const std::filesystem::path manifest = std::filesystem::path(file).replace_extension(".json");
  if (!std::filesystem::exists(manifest, code))
    throw Error(ErrorKind::not_found, fmt::format("{} is no module: it has no manifest {}", file, manifest.native()),
                "A module is a library (.so) with a manifest (.json) of the same name beside it.");
  const ModuleRecord record = ModuleLoader::check(file);
  print(description(record), settings);
  if (record.state == ModuleState::refused)
    throw Error(ErrorKind::configuration, fmt::format("{} is refused: {}", file, record.reason));
}

void path(const Settings& settings, const std::string&) {
  Table table{"folders", "", {{"path", "folder"}, {"from", "from"}, {"exists", "exists"}}};
  for (const SearchFolder& folder : search_path(settings))
    table.add({folder.path.string(), folder.reason, Cell::yes_no(std::filesystem::is_directory(folder.path))});
  Document document("modules are searched in this order");
  document.add(std::move(table));
  print(document, settings);
}

struct Action {
  std::string_view name;
  std::size_t operands;
  void (*run)(const Settings&, const std::string& operand);
};
constexpr std::array k_actions{Action{"list", 0, list}, Action{"show", 1, show}, Action{"check", 1, check},
                               Action{"path", 0, path}};

int run(std::span<const std::string> arguments) {
  const Arguments given = read_arguments("modules", arguments, options());
  if (given.positionals.empty()) throw usage_error("modules", "what to do is missing", "list, show, check or path");
  const std::string& name = given.positionals.front();
  std::vector<std::string> names;
  for (const Action& action : k_actions) {
    names.emplace_back(action.name);
    if (action.name != name) continue;
    if (given.positionals.size() != action.operands + 1)
      throw usage_error("modules", fmt::format("`{}` takes {} operands, not {}", name, action.operands,
                                               given.positionals.size() - 1));
    action.run(given.settings, given.positionals.back());
    return k_done;
  }
  throw usage_error("modules", fmt::format("there is no `{}`", name), did_you_mean(name, names));
}

}  // namespace

const Verb k_modules{"modules", "modules list | show NAME | check FILE | path [flags]",
                     "Shows which modules there are, and why one is refused.", run, help};

}  // namespace tessera::apps
