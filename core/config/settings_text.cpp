// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/settings_text.hpp"

#include <fmt/core.h>

#include <bit>
#include <cstring>
#include <nlohmann/json.hpp>

#include "core/config/value.hpp"

namespace tessera {

namespace {

constexpr std::string_view k_magic = "tessera-settings-1";

/// Appends numbers and texts to bytes.
class Packer {
 public:
  void number(std::uint64_t number) {
    std::byte bytes[sizeof number];
    std::memcpy(bytes, &number, sizeof number);
    bytes_.insert(bytes_.end(), bytes, bytes + sizeof number);
  }
  void text(std::string_view text) {
    number(text.size());
    const auto* first = reinterpret_cast<const std::byte*>(text.data());
    bytes_.insert(bytes_.end(), first, first + text.size());
  }

  void value(const OptionValue& value) {
    number(value.index());
    struct Writer {
      Packer& packer;
      void operator()(bool boolean) const { packer.number(boolean ? 1 : 0); }
      void operator()(std::int64_t number) const { packer.number(static_cast<std::uint64_t>(number)); }
      void operator()(double number) const { packer.number(std::bit_cast<std::uint64_t>(number)); }
      void operator()(const std::string& text) const { packer.text(text); }
      void operator()(const std::vector<std::string>& items) const {
        packer.number(items.size());
        for (const std::string& item : items) packer.text(item);
      }
    };
    std::visit(Writer{*this}, value);
  }

  std::vector<std::byte> take() { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : rest_(bytes) {}

  std::uint64_t number() {
    std::uint64_t number = 0;
    std::memcpy(&number, take(sizeof number).data(), sizeof number);
    return number;
  }
  std::uint64_t number_below(std::uint64_t limit) {
    const std::uint64_t found = number();
    if (found >= limit) fail();
    return found;
  }
  std::string text() {
    const auto bytes = take(number());
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  OptionValue value() {
    switch (number()) {
      case 0:
        return number_below(2) == 1;
      case 1:
        return static_cast<std::int64_t>(number());
      case 2:
        return std::bit_cast<double>(number());
      case 3:
        return text();
      case 4: {
        std::vector<std::string> items;
        for (std::uint64_t left = number(); left > 0; --left) items.push_back(text());
        return items;
      }
      default:
        fail();
    }
  }

  bool at_end() const { return rest_.empty(); }

  [[noreturn]] static void fail() {
    throw Error(ErrorKind::data, "the packed settings are damaged",
                "All ranks must run the same build of Tessera; start again.");
  }

 private:
  std::span<const std::byte> take(std::uint64_t count) {
    if (count > rest_.size()) fail();
    const auto taken = rest_.first(count);
    rest_ = rest_.subspan(count);
    return taken;
  }

  std::span<const std::byte> rest_;
};

/// One line per option: a line break in a text must not look like another option.
std::string one_line(const std::string& text) {
  std::string line;
  for (const char c : text) {
    if (c == '\\')
      line += "\\\\";
    else if (c == '\n')
      line += "\\n";
    else
      line += c;
  }
  return line;
}

}  // namespace

std::string to_json(const Settings& settings) {
  nlohmann::ordered_json document = nlohmann::ordered_json::object();
  for (const auto& [name, entry] : settings.entries()) {
    nlohmann::ordered_json& row = document[name];
    std::visit([&](const auto& value) { row["value"] = value; }, entry.value);
    row["from"] = name_of(entry.origin.from);
    if (!entry.origin.where.empty()) row["where"] = entry.origin.where;
  }
  return document.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string canonical_text(const Settings& settings) {
  std::string text;
  for (const auto& [name, entry] : settings.entries())
    if (entry.ranks == OptionRanks::equal) text += fmt::format("{}={}\n", name, one_line(to_text(entry.value)));
  return text;
}

ContentHash settings_hash(const Settings& settings) {
  return content_hash(canonical_text(settings));
}

std::vector<std::byte> pack_settings(const Settings& settings) {
  Packer packer;
  packer.text(k_magic);
  packer.number(settings.entries().size());
  for (const auto& [name, entry] : settings.entries()) {
    packer.text(name);
    packer.value(entry.value);
    packer.number(static_cast<std::uint64_t>(entry.origin.from));
    packer.text(entry.origin.where);
    packer.number(static_cast<std::uint64_t>(entry.ranks));
  }
  return packer.take();
}

Settings unpack_settings(std::span<const std::byte> bytes) {
  Unpacker unpacker(bytes);
  if (unpacker.text() != k_magic) Unpacker::fail();
  Settings settings;
  for (std::uint64_t left = unpacker.number(); left > 0; --left) {
    std::string name = unpacker.text();
    Settings::Entry entry;
    entry.value = unpacker.value();
    entry.origin.from =
        static_cast<Origin::From>(unpacker.number_below(static_cast<std::uint64_t>(Origin::From::alias) + 1));
    entry.origin.where = unpacker.text();
    entry.ranks = static_cast<OptionRanks>(unpacker.number_below(2));
    settings.set(std::move(name), std::move(entry));
  }
  if (!unpacker.at_end()) Unpacker::fail();
  return settings;
}

}  // namespace tessera
