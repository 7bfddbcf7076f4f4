// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the lines of a file of any size, with their places.
// Used: JSONL input, cutting of logs.
// Must not know: what is in a line.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

#include "io/file.hpp"

namespace tessera::io {

/// Drops a UTF-8 byte order mark.
std::string_view without_byte_order_mark(std::string_view text);

/// Reads line by line. A line ends at a newline or at the end of the file; a carriage return stays in it.
class LineReader {
 public:
  explicit LineReader(const std::filesystem::path& path);

  /// Goes to the next line; false at the end. Throws Error{data} for a line above 1 GiB, Error{io}.
  bool next();

  std::string_view line() const { return std::string_view(buffer_).substr(begin_, length_); }  ///< without newline
  bool terminated() const { return terminated_; }  ///< the line ends with a newline
  std::int64_t number() const { return number_; }  ///< from 1
  std::int64_t offset() const { return buffer_offset_ + static_cast<std::int64_t>(begin_); }  ///< byte in the file

 private:
  bool refill();

  File file_;
  std::int64_t size_;
  std::string buffer_;  ///< bytes from buffer_offset_ on
  std::int64_t buffer_offset_ = 0;
  std::size_t begin_ = 0;  ///< of the line, in the buffer
  std::size_t length_ = 0;
  std::size_t next_ = 0;  ///< where the next line begins
  bool terminated_ = false;
  std::int64_t number_ = 0;
};

}  // namespace tessera::io
