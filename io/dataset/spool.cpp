// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/spool.hpp"

#include <algorithm>
#include <cstring>

#include "io/hash.hpp"

namespace tessera::io {

Spool::Spool(const std::filesystem::path& path) : file_(path, Access::create), block_(k_hash_block) {
  std::error_code ignored;  // then the file keeps its name, and the next spool of that name empties it
  std::filesystem::remove(path, ignored);
}

void Spool::append(const void* data, std::int64_t bytes) {
  const auto* from = static_cast<const std::byte*>(data);
  auto left = static_cast<std::size_t>(bytes);
  bytes_ += bytes;
  while (left > 0) {
    const std::size_t part = std::min(left, block_.size() - filled_);
    std::memcpy(block_.data() + filled_, from, part);
    filled_ += part;
    from += part;
    left -= part;
    if (filled_ == block_.size()) flush();
  }
}

void Spool::flush() {
  if (filled_ == 0) return;
  const std::string_view bytes(reinterpret_cast<const char*>(block_.data()), filled_);
  hashes_.push_back(hash_bytes(bytes));
  file_.append(bytes);
  filled_ = 0;
}

const std::vector<std::uint64_t>& Spool::finish() {
  flush();
  return hashes_;
}

void Spool::copy_to(File& file, std::int64_t offset) {
  for (std::int64_t at = 0; at < bytes_; at += k_hash_block) {
    const std::int64_t part = std::min(k_hash_block, bytes_ - at);
    file_.read(at, block_.data(), part);
    file.write(offset + at, block_.data(), part);
  }
}

}  // namespace tessera::io
