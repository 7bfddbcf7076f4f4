// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  lines for a person on standard output and error, of which nobody can say whether they are read: a pager waits,
//       a terminal is held, a launcher that ends its job no longer reads. No step and no save waits for them.
// Used: the log, the line of a step, the report of an error.
// Must not know: what the lines say.
#pragma once

#include <cstdint>
#include <mutex>
#include <string>
#include <string_view>

namespace tessera {

class LineOutput {
 public:
  /// A descriptor that outlives this.
  explicit LineOutput(int descriptor);
  ~LineOutput();
  LineOutput(const LineOutput&) = delete;
  LineOutput& operator=(const LineOutput&) = delete;

  /// Writes whole lines, from any thread. Where nobody takes them it waits for a moment, once; then it keeps some,
  /// leaves out the others, and says how many as soon as some are taken again.
  void write(std::string_view lines);

  /// Whether lines could not be written for another reason: a full disk, a reader that has ended.
  bool failed() const;

 private:
  void offer();
  bool becomes_ready();

  int descriptor_;
  int own_ = -1;         ///< the same file, opened so that writing does not wait
  bool waited_ = false;  ///< since something was taken
  bool failed_ = false;
  std::string pending_;  ///< not taken yet; may begin within a line
  std::int64_t left_out_ = 0;
  mutable std::mutex mutex_;
};

LineOutput& standard_output();
LineOutput& standard_error();

}  // namespace tessera
