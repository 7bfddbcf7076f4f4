// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `metrics.jsonl`: one JSON object per step, for programs to read.
// Used: `tessera train`, on one rank.
// Must not know: which metrics there are.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "io/file.hpp"

namespace tessera::io {

/// Appends lines, each with one write, so a line is there as a whole or, after a crash, torn at the end at most.
/// Numbers have full precision; what is not finite is written as null.
class MetricsWriter {
 public:
  /// Continues a file: what it says about `first_step` and later ones, and a torn last line, is dropped, by replacing
  /// the file as a whole. Where nothing would be left, as a run from the start passes 1, the old file is put aside
  /// under a name with a number. Throws Error{io|permission|not_found}.
  MetricsWriter(const std::filesystem::path& path, std::int64_t first_step);

  /// Lines that were dropped.
  std::int64_t dropped() const { return dropped_; }

  /// Begins the object of a step; fields follow, then end().
  MetricsWriter& begin(std::int64_t step);
  MetricsWriter& field(std::string_view name, double value);
  MetricsWriter& field(std::string_view name, std::int64_t value);
  MetricsWriter& field(std::string_view name, std::string_view value);
  /// A value that is JSON already.
  MetricsWriter& json(std::string_view name, std::string_view value);
  MetricsWriter& flag(std::string_view name, bool value);

  /// Writes the line. Throws Error{io}; the next line then begins on a line of its own, whatever came of this one.
  void end();

 private:
  void name(std::string_view text);

  std::int64_t dropped_;
  File file_;
  std::string line_;
  bool torn_ = false;  // the last line may be there in part
};

}  // namespace tessera::io
