// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the text of a value and the value, in both directions, in no locale.
// Used: resolve, settings, and whoever else reads numbers from text.
// Must not know: where a text came from.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/config/option.hpp"

namespace tessera {

// Each takes the whole text or gives nothing. Numbers are decimal; infinities and NaN are none.
std::optional<std::int64_t> parse_integer(std::string_view text);
std::optional<double> parse_real(std::string_view text);
std::optional<bool> parse_boolean(std::string_view text);
std::optional<std::int64_t> parse_bytes(std::string_view text);  ///< with B, KiB, MiB, GiB, TiB
std::optional<double> parse_duration(std::string_view text);     ///< seconds, from "90", "90s", "1h30m"

/// A value, or why there is none.
struct ParsedValue {
  std::optional<OptionValue> value;
  std::string problem;  ///< continues "model.layers ": "must be an integer, not 'ten'"
  std::string hint;
};

/// Type, range and choices of the option.
ParsedValue parse_value(const Option& option, std::string_view text);

/// Shortest text that parses to the same value.
std::string to_text(const OptionValue& value);

/// Without white space at both ends.
std::string_view trimmed(std::string_view text);

}  // namespace tessera
