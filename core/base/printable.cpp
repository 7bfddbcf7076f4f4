// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/printable.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace tessera {
namespace {

bool is_control(unsigned char c) {
  return (c < 0x20 && c != '\n' && c != '\t') || c == 0x7f;
}

bool is_inside_character(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

void append_escaped(std::string& out, std::string_view text) {
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (is_control(byte)) {
      out += fmt::format("\\x{:02x}", byte);
    } else {
      out += c;
    }
  }
}

/// The middle is what tells least: what happened stands at one end, why at the other.
void append_line(std::string& out, std::string_view line, std::size_t most) {
  if (line.size() <= most) return append_escaped(out, line);
  std::size_t head = most - most / 4, tail = line.size() - most / 4;
  while (head > 0 && is_inside_character(line[head])) --head;
  while (tail < line.size() && is_inside_character(line[tail])) ++tail;
  append_escaped(out, line.substr(0, head));
  out += fmt::format("… ({} bytes) …", tail - head);
  append_escaped(out, line.substr(tail));
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) {
  std::string out;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    append_line(out, text.substr(0, length), most);
    if (length < text.size()) out += '\n';
    text.remove_prefix(std::min(length + 1, text.size()));
  }
  return out;
}

}  // namespace tessera
