// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/text/line_reader.hpp"

#include <fmt/core.h>

#include <algorithm>

namespace tessera::io {
namespace {

constexpr std::int64_t k_chunk_bytes = 1 << 20;
constexpr std::size_t k_max_line_bytes = std::size_t{1} << 30;

}  // namespace

std::string_view without_byte_order_mark(std::string_view text) {
  return text.starts_with("\xef\xbb\xbf") ? text.substr(3) : text;
}

LineReader::LineReader(const std::filesystem::path& path) : file_(path, Access::read), size_(file_.size()) {}

/// Drops what was read before the line and appends a chunk; false when the file has no more.
bool LineReader::refill() {
  buffer_.erase(0, begin_);
  buffer_offset_ += static_cast<std::int64_t>(begin_);
  begin_ = 0;
  const std::int64_t at = buffer_offset_ + static_cast<std::int64_t>(buffer_.size());
  const std::int64_t part = std::min(k_chunk_bytes, size_ - at);
  if (part <= 0) return false;
  const std::size_t old_size = buffer_.size();
  buffer_.resize(old_size + static_cast<std::size_t>(part));
  file_.read(at, buffer_.data() + old_size, part);
  return true;
}

bool LineReader::next() {
  begin_ = next_;
  std::size_t searched = 0;  // of the line
  for (;;) {
    const std::size_t end = buffer_.find('\n', begin_ + searched);
    terminated_ = end != std::string::npos;
    length_ = (terminated_ ? end : buffer_.size()) - begin_;
    if (length_ > k_max_line_bytes)
      throw Error(ErrorKind::data,
                  fmt::format("line {} of {} is longer than 1 GiB", number_ + 1, file_.path().native()));
    if (terminated_) break;
    searched = length_;
    if (!refill()) break;
  }
  next_ = begin_ + length_ + (terminated_ ? 1 : 0);
  if (length_ == 0 && !terminated_) return false;
  ++number_;
  return true;
}

}  // namespace tessera::io
