// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/resolve.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "core/config/core_options.hpp"
#include "core/config/nearest.hpp"
#include "core/config/value.hpp"

namespace tessera {

namespace {

using From = Origin::From;

class Resolver {
 public:
  Resolver(std::span<const Option> options, std::span<const Option> dormant) : options_(options), dormant_(dormant) {
    for (const Option& option : options) {
      if (!by_name_.emplace(option.name, &option).second)
        problem(fmt::format("option {} is declared by {} and by {}", option.name, by_name_[option.name]->owner,
                            option.owner),
                {}, "Use one of the two modules, or rename the option.");
    }
  }

  Resolved run(std::span<const Raw> raws) {
    for (const Raw& raw : raws) take(raw);
    for (const Option& option : options_) settle(option);
    for (const Option& option : options_) check_use(option);
    return std::move(resolved_);
  }

 private:
  void problem(std::string what, std::string where, std::string hint) {
    resolved_.problems.push_back({std::move(what), std::move(where), std::move(hint)});
  }

  void take(const Raw& raw) {
    const auto found = by_name_.find(raw.key);
    if (found == by_name_.end()) return unknown(raw);
    const Option& option = *found->second;
    ParsedValue parsed = parse_value(option, raw.value);
    if (!parsed.value) problem(option.name + " " + parsed.problem, to_string(raw.origin), parsed.hint);
    const auto [place, first] = given_.try_emplace(raw.key);
    Given& given = place->second;
    if (!first && same_source(given.origin.from, raw.origin.from))
      problem(option.name + " is given twice", to_string(raw.origin),
              fmt::format("The other one is {}. Keep one of them.", to_string(given.origin)));
    if (!first && raw.origin.from < given.origin.from) return;
    given = {std::move(parsed.value), raw.origin};
  }

  static bool same_source(From a, From b) { return std::min(a, From::flag) == std::min(b, From::flag); }

  void unknown(const Raw& raw) {
    for (const Option& option : dormant_)
      if (option.name == raw.key)
        return problem(fmt::format("{} belongs to the module {}, which this run does not use", raw.key, option.owner),
                       to_string(raw.origin), "Remove it, or name the module.");
    std::vector<std::string> names;
    for (const Option& option : options_) names.push_back(option.name);
    for (const Option& option : dormant_) names.push_back(option.name);
    std::string hint = did_you_mean(raw.key, names);
    problem(fmt::format("unknown key {}", raw.key), to_string(raw.origin), hint.empty() ? overview(raw.key) : hint);
  }

  /// What there is instead of a key that resembles nothing: its section's keys, or the sections.
  std::string overview(std::string_view key) const {
    const std::string_view section = section_of(key);
    std::string keys, sections, last;
    for (const Option& option : options_) {
      const std::string of_option(section_of(option.name));
      if (of_option.empty()) continue;
      if (of_option == section) keys.append(" ").append(option.name, section.size() + 1);
      if (of_option != last) sections.append(" ").append(of_option);
      last = of_option;
    }
    return keys.empty() ? "The sections are:" + sections + "." : fmt::format("The keys of [{}] are:{}.", section, keys);
  }

  /// Enters the option and, before it, those that its default refers to.
  void settle(const Option& option) {
    if (resolved_.settings.has(option.name)) return;
    if (!in_progress_.insert(option.name).second) throw table_error(option, "has a default that refers to itself");
    const auto given = given_.find(option.name);
    if (given != given_.end() && given->second.value)
      resolved_.settings.set(option.name, {*given->second.value, given->second.origin, option.ranks, false});
    else
      resolved_.settings.set(option.name, {fallback_of(option), {}, option.ranks, false});
    in_progress_.erase(option.name);
  }

  OptionValue fallback_of(const Option& option) {
    const Fallback fallback = Fallback::parse(option.fallback);
    std::string text(fallback.value);
    if (!fallback.reference.empty()) text = settled_text(option, fallback.reference);
    if (fallback.condition && !fallback.condition->holds_for(settled_text(option, fallback.condition->key)))
      text = fallback.otherwise;
    Option unbounded = option;  // a value taken over was checked where it was given
    if (!fallback.reference.empty()) unbounded.min = -(unbounded.max = std::numeric_limits<double>::infinity());
    ParsedValue parsed = parse_value(unbounded, text);
    if (!parsed.value) throw table_error(option, fmt::format("has a default that {}", parsed.problem));
    return *parsed.value;
  }

  static Error table_error(const Option& option, std::string_view what) {
    return {ErrorKind::configuration, fmt::format("option {} of {} {}", option.name, option.owner, what),
            "This is a fault in the options.json of its owner."};
  }

  std::string settled_text(const Option& asking, std::string_view name) {
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) throw table_error(asking, fmt::format("refers to {}, which is in no table", name));
    settle(*found->second);
    return resolved_.settings.text(name);
  }

  void check_use(const Option& option) {
    const auto given = given_.find(option.name);
    if (given == given_.end() || given->second.origin.from <= From::preset) return;
    const std::optional<Condition> condition = Condition::parse(option.used_when);
    if (!condition) return;
    const std::string other(condition->key), value = settled_text(option, other);
    if (condition->holds_for(value)) return;
    problem(fmt::format("{} is not used, since {} is {}", option.name, other, value.empty() ? "empty" : value),
            to_string(given->second.origin),
            fmt::format("It is used when {}. {} comes from: {}.", option.used_when, other,
                        to_string(resolved_.settings.origin(other))));
  }

  struct Given {
    std::optional<OptionValue> value;
    Origin origin;
  };

  std::span<const Option> options_, dormant_;
  std::map<std::string, const Option*, std::less<>> by_name_;
  std::map<std::string, Given, std::less<>> given_;
  std::set<std::string> in_progress_;
  Resolved resolved_;
};

}  // namespace

Resolved resolve(std::span<const Option> options, std::span<const Raw> raws, std::span<const Option> dormant) {
  return Resolver(options, dormant).run(raws);
}

Settings settings_of(std::initializer_list<std::pair<std::string_view, std::string_view>> assignments,
                     std::span<const Option> options) {
  std::vector<Raw> raws;
  for (const auto& [key, value] : assignments)
    raws.push_back({std::string(key), std::string(value), {Origin::From::flag, fmt::format("{} = {}", key, value)}});
  Resolved resolved = resolve(options, raws);
  if (!resolved.problems.empty()) throw run_error(resolved.problems);
  return std::move(resolved.settings);
}

Settings settings_of(std::initializer_list<std::pair<std::string_view, std::string_view>> assignments) {
  return settings_of(assignments, core_options());
}

}  // namespace tessera
