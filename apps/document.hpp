// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a verb has found out, once, in two forms: tables for people, JSON for programs.
// Used: inspect, modules, bench.
// Must not know: what the values mean, where the text goes.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace tessera::apps {

/// One value, as people read it and as JSON.
struct Cell {
  enum class Align : std::uint8_t { left, right };

  std::string text;
  std::string json;
  Align align = Align::left;

  Cell(std::string_view value);  // NOLINT(google-explicit-constructor): rows are lists of mixed values
  Cell(const std::string& value) : Cell(std::string_view(value)) {}
  Cell(const char* value) : Cell(std::string_view(value)) {}
  Cell(std::int64_t value);
  Cell(int value) : Cell(static_cast<std::int64_t>(value)) {}

  static Cell real(double value, int decimals);
  static Cell bytes(std::int64_t value);  ///< "1.5 MiB", in JSON the number
  static Cell yes_no(bool value);
  static Cell nothing();  ///< "-", in JSON null
  static Cell of_json(std::string text, std::string json);
};

/// Where a column or a fact stands in the text; JSON has all of them.
enum class Place : std::uint8_t {
  column,
  below,   ///< on a line of its own below the row, where it is not empty
  hidden,  ///< in JSON only
};

struct Column {
  std::string key;    ///< in JSON
  std::string title;  ///< in the text
  Place place = Place::column;
};

struct Table {
  std::string key;
  std::string title;  ///< a line above the table
  std::vector<Column> columns;
  std::vector<std::vector<Cell>> rows = {};

  /// One cell per column.
  void add(std::vector<Cell> row);
};

class Document {
 public:
  explicit Document(std::string heading) : heading_(std::move(heading)) {}

  /// A fact; a hidden one is in JSON only.
  void add(std::string key, std::string title, Cell value, Place place = Place::column);
  void add(Table table);
  void remark(std::string sentence);  ///< a line of text, not in JSON

  /// Facts one below the other, tables with aligned columns, no trailing blanks.
  std::string text() const;

  /// One object: a member per fact, a list of objects per table.
  std::string json() const;

 private:
  struct Fact {
    std::string key, title;
    Cell value;
    Place place;
  };
  struct Remark {
    std::string sentence;
  };
  using Item = std::variant<Fact, Table, Remark>;

  std::string heading_;
  std::vector<Item> items_;
};

}  // namespace tessera::apps
