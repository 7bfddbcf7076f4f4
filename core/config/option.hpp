// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what an option is: a row of a table (core/config/options.json, options.json of a module), never code.
// Used: readers of files and flags, resolve, help, modules.
// Must not know: who reads an option, or what its value means.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera {

enum class OptionType : std::uint8_t {
  integer,
  real,
  text,
  boolean,   ///< on/off, also true/false, yes/no, 1/0
  choice,    ///< one of `choices`
  bytes,     ///< "64MiB", "1.5GiB", "4096": an integer
  duration,  ///< "90s", "30m", "1h30m", "90": seconds, a real
  path,
  list,  ///< "a, b, c"
};

/// Who needs it: everybody, those who tune, those who work on the engine.
enum class OptionLevel : std::uint8_t { user, tuning, developer };

/// Whether all ranks must have the same value (compared at start), or each may have its own.
enum class OptionRanks : std::uint8_t { equal, local };

/// What an option's value can be: boolean, integer and bytes, real and duration, text and choice and path, list.
using OptionValue = std::variant<bool, std::int64_t, double, std::string, std::vector<std::string>>;

/// A flag by which another trainer knows the same thing. `--flag V` gives `value` with "{}" replaced by V; a value
/// without "{}" is given by the bare flag ("bf16" sets train.precision to bf16).
struct Alias {
  std::string flag;  ///< without the two hyphens
  std::string value = "{}";

  bool takes_value() const { return value.find("{}") != std::string::npos; }
};

struct Option {
  std::string name = {};  ///< "section.key"; a name without a dot is a flag of one verb only ("--output")
  OptionType type = OptionType::text;
  /// "8", or "=model.heads" (the value of another option), or "model.architecture=gpt ? on : off".
  std::string fallback = {};
  std::string text = {};  ///< one or two sentences for --help
  std::vector<std::string> choices = {};
  double min = -std::numeric_limits<double>::infinity();  ///< inclusive; bytes and seconds too
  double max = std::numeric_limits<double>::infinity();
  /// The only values that this version can do; an empty list: the option is not there yet. Nothing: all of them.
  std::optional<std::vector<std::string>> available = std::nullopt;
  OptionLevel level = OptionLevel::user;
  OptionRanks ranks = OptionRanks::equal;
  std::vector<Alias> aliases = {};
  std::string used_when =
      {};  ///< "strategy.data=zero", "model.experts!=0", "train.recompute=full|block"; empty: always
  std::string owner = "core";  ///< or "optimizer/adamw"
};

std::string_view name_of(OptionType type);
std::string_view name_of(OptionLevel level);

/// The part before the dot of "section.key"; empty where there is none.
std::string_view section_of(std::string_view name);

/// A test of another option's value: "key=a|b" or "key!=a|b".
struct Condition {
  std::string_view key;
  bool negated = false;
  std::vector<std::string_view> values;

  /// Nothing if `text` is not of that form. The views point into `text`.
  static std::optional<Condition> parse(std::string_view text);
  bool holds_for(std::string_view value) const;
};

/// The three forms of `Option::fallback`, taken apart.
struct Fallback {
  std::optional<Condition> condition;  ///< chooses `value`, else `otherwise`
  std::string_view reference;          ///< the option whose value is taken; empty: none
  std::string_view value, otherwise;

  static Fallback parse(std::string_view text);
};

}  // namespace tessera
