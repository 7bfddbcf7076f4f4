// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/document.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/base/printable.hpp"
#include "core/scheduler/describe.hpp"
#include "io/log/json_text.hpp"

namespace tessera::apps {
namespace {

constexpr std::string_view k_gap = "  ";

template <class Value>
std::string json_of(Value value) {
  std::string text;
  io::append_json(text, value);
  return text;
}

/// Code points, which is what columns need of the texts that come here.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

std::string padded(std::string_view text, std::size_t width, Cell::Align align) {
  const std::string blanks(width - std::min(width, width_of(text)), ' ');
  return align == Cell::Align::right ? blanks + std::string(text) : std::string(text) + blanks;
}

void append_line(std::string& out, std::string line) {
  line.erase(line.find_last_not_of(' ') + 1);
  out += line + "\n";
}

/// A row of the table, or its titles when `row` is null.
std::string line_of(const Table& table, const std::vector<Cell>* row, const std::vector<std::size_t>& widths) {
  std::string line;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    if (table.columns[c].place != Place::column) continue;
    // A title stands over its numbers.
    const Cell::Align align = table.rows.empty() ? Cell::Align::left : table.rows.front()[c].align;
    line += std::string(k_gap);
    line += row == nullptr ? padded(table.columns[c].title, widths[c], align)
                           : padded((*row)[c].text, widths[c], (*row)[c].align);
  }
  return line;
}

void append_text(std::string& out, const Table& table) {
  std::vector<std::size_t> widths;
  for (std::size_t c = 0; c < table.columns.size(); ++c) {
    std::size_t width = width_of(table.columns[c].title);
    for (const auto& row : table.rows) width = std::max(width, width_of(row[c].text));
    widths.push_back(width);
  }
  out += "\n";
  if (!table.title.empty()) out += table.title + "\n";
  append_line(out, line_of(table, nullptr, widths));
  for (const auto& row : table.rows) {
    append_line(out, line_of(table, &row, widths));
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      if (table.columns[c].place == Place::below && !row[c].text.empty())
        append_line(out, fmt::format("      {}: {}", table.columns[c].title, row[c].text));
  }
}

std::string json_of(const Table& table) {
  std::string text = "[";
  for (std::size_t r = 0; r < table.rows.size(); ++r) {
    text += r == 0 ? "\n    {" : ",\n    {";
    for (std::size_t c = 0; c < table.columns.size(); ++c)
      text += fmt::format("{}{}: {}", c == 0 ? "" : ", ", json_of(std::string_view(table.columns[c].key)),
                          table.rows[r][c].json);
    text += "}";
  }
  return text + "]";
}

}  // namespace

Cell::Cell(std::string_view value) : text(printable(value)), json(json_of(value)) {}
Cell::Cell(std::int64_t value) : text(fmt::format("{}", value)), json(text), align(Align::right) {}

Cell Cell::of_json(std::string text, std::string json) {
  Cell cell{std::string_view()};
  cell.text = std::move(text);
  cell.json = std::move(json);
  return cell;
}

Cell Cell::real(double value, int decimals) {
  Cell cell = of_json(fmt::format("{:.{}f}", value, decimals), json_of(value));
  cell.align = Align::right;
  return cell;
}

Cell Cell::bytes(std::int64_t value) {
  Cell cell(value);
  cell.text = describe_bytes(value);
  return cell;
}

Cell Cell::yes_no(bool value) {
  return of_json(value ? "yes" : "no", value ? "true" : "false");
}

Cell Cell::nothing() {
  Cell cell = of_json("-", "null");
  cell.align = Align::right;
  return cell;
}

void Table::add(std::vector<Cell> row) {
  TESSERA_CHECK(row.size() == columns.size(), fmt::format("{}: {} of {} cells", key, row.size(), columns.size()));
  rows.push_back(std::move(row));
}

void Document::add(std::string key, std::string title, Cell value, Place place) {
  items_.emplace_back(Fact{std::move(key), std::move(title), std::move(value), place});
}
void Document::add(Table table) {
  items_.emplace_back(std::move(table));
}
void Document::remark(std::string sentence) {
  items_.emplace_back(Remark{std::move(sentence)});
}

std::string Document::text() const {
  std::size_t width = 0;
  for (const Item& item : items_)
    if (const Fact* fact = std::get_if<Fact>(&item); fact != nullptr && fact->place != Place::hidden)
      width = std::max(width, width_of(fact->title));
  std::string out = heading_ + "\n";
  for (const Item& item : items_) {
    if (const Fact* fact = std::get_if<Fact>(&item)) {
      if (fact->place == Place::hidden) continue;
      append_line(out, fmt::format("  {}  {}", padded(fact->title, width, Cell::Align::left), fact->value.text));
    } else if (const Table* table = std::get_if<Table>(&item)) {
      append_text(out, *table);
    } else {
      append_line(out, std::get<Remark>(item).sentence);
    }
  }
  return out;
}

std::string Document::json() const {
  std::string out = "{";
  const auto member = [&out](const std::string& key, const std::string& value) {
    out += fmt::format("{}\n  {}: {}", out.size() == 1 ? "" : ",", json_of(std::string_view(key)), value);
  };
  for (const Item& item : items_) {
    if (const Fact* fact = std::get_if<Fact>(&item)) member(fact->key, fact->value.json);
    if (const Table* table = std::get_if<Table>(&item)) member(table->key, json_of(*table));
  }
  return out + "\n}\n";
}

}  // namespace tessera::apps
