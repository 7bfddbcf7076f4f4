// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/log/json_text.hpp"

#include <array>
#include <charconv>
#include <cmath>

namespace tessera::io {
namespace {

template <class Number>
void append_digits(std::string& to, Number value) {
  std::array<char, 32> digits;
  const auto result = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  to.append(digits.data(), result.ptr);
}

}  // namespace

void append_json(std::string& to, std::string_view text) {
  constexpr std::string_view hex = "0123456789abcdef";
  to.push_back('"');
  for (char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte < 0x20) {
      to.append("\\u00").append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
    } else {
      if (c == '"' || c == '\\') to.push_back('\\');
      to.push_back(c);
    }
  }
  to.push_back('"');
}

void append_json(std::string& to, double value) {
  if (std::isfinite(value)) {
    append_digits(to, value);
  } else {
    to.append("null");
  }
}

void append_json(std::string& to, std::int64_t value) {
  append_digits(to, value);
}

}  // namespace tessera::io
