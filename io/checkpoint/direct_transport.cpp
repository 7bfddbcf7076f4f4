// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/direct_transport.hpp"

#include <chrono>
#include <thread>

namespace tessera::io {
namespace {

constexpr std::size_t k_staging_bytes = 4 << 20;
constexpr std::int64_t k_direct_bytes = 1 << 20;  // runs of this size gain nothing from being gathered

/// A file that another node has just made may take a while to be seen through a network file system.
File open_when_visible(const std::filesystem::path& path) {
  using namespace std::chrono_literals;
  const auto give_up = std::chrono::steady_clock::now() + 30s;
  while (!std::filesystem::exists(path) && std::chrono::steady_clock::now() < give_up)
    std::this_thread::sleep_for(20ms);
  return File(path, Access::overwrite);
}

}  // namespace

void DirectTransport::open(const std::filesystem::path& path) {
  files_.push_back(open_when_visible(path));
  staged_.reserve(k_staging_bytes);
}

void DirectTransport::write(std::span<const Piece> pieces, std::span<const Target> targets) {
  for (const Piece& piece : pieces) {
    const Target& target = targets[static_cast<std::size_t>(piece.tensor)];
    const std::int64_t element = size_of(target.tensor.dtype);
    const auto* data = static_cast<const std::byte*>(piece.data);
    File& file = files_[static_cast<std::size_t>(target.file)];
    for_each_run(target.tensor.shape, piece.box, piece.strides,
                 [&](std::int64_t index, std::int64_t offset, std::int64_t count) {
                   put(file, target.offset + index * element, data + offset * element, count * element);
                 });
    flush(file);
  }
}

void DirectTransport::put(File& file, std::int64_t offset, const std::byte* data, std::int64_t bytes) {
  const bool continues = offset == staged_offset_ + static_cast<std::int64_t>(staged_.size());
  const bool fits = staged_.size() + static_cast<std::size_t>(bytes) <= k_staging_bytes;
  if (!continues || !fits || bytes >= k_direct_bytes) flush(file);
  if (bytes >= k_direct_bytes) {
    file.write(offset, data, bytes);
    return;
  }
  if (staged_.empty()) staged_offset_ = offset;
  staged_.insert(staged_.end(), data, data + bytes);
}

void DirectTransport::flush(File& file) {
  file.write(staged_offset_, staged_.data(), static_cast<std::int64_t>(staged_.size()));
  staged_.clear();
}

void DirectTransport::finish() {
  for (File& file : files_) {
    file.sync();
    file.close();
  }
  files_.clear();
}

}  // namespace tessera::io
