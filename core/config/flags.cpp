// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <boost/program_options/options_description.hpp>
#include <boost/program_options/parsers.hpp>
#include <map>
#include <optional>

#include "core/config/nearest.hpp"
#include "core/config/sources.hpp"
#include "core/config/value.hpp"

namespace tessera {

namespace {

constexpr std::string_view k_fault = "--";

/// What a flag stands for: an option, perhaps through another trainer's name for it.
struct Target {
  const Option* option = nullptr;
  const Alias* alias = nullptr;

  bool takes_value() const { return alias == nullptr || alias->takes_value(); }
  bool may_be_bare() const { return !takes_value() || option->type == OptionType::boolean; }
};

class FlagReader {
 public:
  FlagReader(std::span<const Option> options, std::vector<Problem>& problems) : problems_(problems) {
    for (const Option& option : options) targets_.insert_or_assign(option.name, Target{&option, nullptr});
    for (const Option& option : options)
      for (const Alias& alias : option.aliases) targets_.try_emplace(alias.flag, Target{&option, &alias});
  }

  /// Boost's hook for a style of its own: takes what it understands from the front. Boost itself would lose the value
  /// of a flag that it does not know yet ("--muon.momentum 0.9").
  std::vector<boost::program_options::option> take(std::vector<std::string>& arguments) {
    const std::string flag = arguments.front();
    if (flag == "--" || !flag.starts_with('-') || parse_real(flag)) return {};
    if (!flag.starts_with("--")) {
      arguments.erase(arguments.begin());
      return fault("unknown flag " + flag, {}, "Flags begin with two hyphens.");
    }
    const std::size_t equals = flag.find('=');
    const std::string name = flag.substr(2, equals - 2);
    std::optional<std::string> value;
    if (equals != std::string::npos) value = flag.substr(equals + 1);
    arguments.erase(arguments.begin());

    const auto found = find(name);
    const Target target = found == targets_.end() ? Target{} : found->second;
    const bool known = target.option != nullptr || name.find('.') != std::string::npos;
    if (!known) return unknown(name);
    if (!value && wants_next(target, arguments)) {
      value = arguments.front();
      arguments.erase(arguments.begin());
    }
    return one(name, target, value);
  }

 private:
  /// A flag of one verb is known with hyphens and with underscores.
  std::map<std::string, Target, std::less<>>::const_iterator find(std::string name) const {
    const auto found = targets_.find(name);
    if (found != targets_.end() || name.find('.') != std::string::npos) return found;
    std::replace(name.begin(), name.end(), '_', '-');
    return targets_.find(name);
  }

  using ParsedOptions = std::vector<boost::program_options::option>;

  static ParsedOptions made(std::string key, std::string value, std::string token) {
    boost::program_options::option option(std::move(key), {std::move(value)});
    option.original_tokens.push_back(std::move(token));
    return {std::move(option)};
  }

  static bool wants_next(const Target& target, const std::vector<std::string>& arguments) {
    if (arguments.empty() || arguments.front().starts_with("--")) return false;
    if (target.option == nullptr) return true;
    if (!target.takes_value()) return false;
    return target.option->type != OptionType::boolean || parse_boolean(arguments.front()).has_value();
  }

  ParsedOptions one(const std::string& name, const Target& target, const std::optional<std::string>& value) {
    const std::string token = "--" + name;
    const std::string key = target.option == nullptr ? name : target.option->name;
    if (!value && (target.option == nullptr || !target.may_be_bare())) return fault(token + " needs a value", token);
    if (value && !target.takes_value()) return fault(token + " takes no value", token);
    std::string text = value.value_or("on");
    if (target.alias != nullptr) text = substituted(target.alias->value, text);
    return made(key, std::move(text), token);
  }

  static std::string substituted(std::string pattern, const std::string& value) {
    if (const std::size_t place = pattern.find("{}"); place != std::string::npos) pattern.replace(place, 2, value);
    return pattern;
  }

  ParsedOptions unknown(const std::string& name) {
    std::vector<std::string> names;
    for (const auto& [known, target] : targets_) names.push_back(known);
    return fault("unknown flag --" + name, {}, did_you_mean(name, names));
  }

  /// Boost takes an empty answer for "not mine", so a fault is an option too, with a name that no flag can have.
  ParsedOptions fault(std::string what, std::string where, std::string hint = {}) {
    problems_.push_back({std::move(what), std::move(where), std::move(hint)});
    return made(std::string(k_fault), {}, "--");
  }

  std::map<std::string, Target, std::less<>> targets_;
  std::vector<Problem>& problems_;
};

}  // namespace

Flags read_flags(std::span<const std::string> arguments, std::span<const Option> options,
                 std::vector<Problem>& problems) {
  FlagReader reader(options, problems);
  namespace style = boost::program_options::command_line_style;
  const boost::program_options::options_description none;
  const auto parsed = boost::program_options::command_line_parser({arguments.begin(), arguments.end()})
                          .options(none)
                          .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
                          .extra_style_parser([&](std::vector<std::string>& rest) { return reader.take(rest); })
                          .allow_unregistered()
                          .run();
  Flags flags;
  for (const auto& option : parsed.options) {
    if (option.position_key >= 0) {
      flags.positionals.push_back(option.value.front());
    } else if (option.string_key != k_fault) {
      const std::string& token = option.original_tokens.front();
      const bool alias = token.substr(2) != option.string_key;
      flags.raws.push_back(
          {option.string_key, option.value.front(), {alias ? Origin::From::alias : Origin::From::flag, token}});
    }
  }
  return flags;
}

}  // namespace tessera
