// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/storage.hpp"

#include <algorithm>

#include "core/scheduler/bucket.hpp"

namespace tessera {
namespace {

bool packed_by_life(Tag tag) {
  return tag == Tag::scratch || tag == Tag::communication;
}

}  // namespace

std::int64_t MemoryPlan::total() const {
  std::int64_t sum = 0;
  for (std::int64_t tag : bytes) sum += aligned(tag);
  return sum;
}

std::int32_t Storage::add(Tag tag, std::int64_t bytes, std::int32_t position) {
  const auto index = static_cast<std::int32_t>(buffers_.size());
  if (packed_by_life(tag)) {
    buffers_.push_back({{tag, -1}, bytes, position, position});
    unpacked_.push_back(index);
  } else {
    buffers_.push_back({reserve(tag, bytes), bytes, position, position});
  }
  return index;
}

std::int32_t Storage::add_copy(std::int16_t group, int chunk, std::int64_t bytes) {
  CopyGroup& g = groups_[static_cast<std::size_t>(group)];
  std::int64_t& end = chunk_bytes_[{group, chunk}];
  const Address at{g.tag, aligned(end), group};
  end = at.offset + bytes;
  g.bytes = std::max(g.bytes, end);
  return add_fixed(at, bytes);
}

std::int16_t Storage::add_group(const CopyGroup& group) {
  groups_.push_back(group);
  return static_cast<std::int16_t>(groups_.size() - 1);
}

void Storage::lay_out_groups() {
  for (CopyGroup& group : groups_)
    if (group.bytes > 0)
      group.first = reserve(group.tag, aligned(group.bytes) * (group.count - 1) + group.bytes).offset;
}

std::int32_t Storage::add_fixed(Address address, std::int64_t bytes) {
  buffers_.push_back({address, bytes, 0, 0});
  return static_cast<std::int32_t>(buffers_.size() - 1);
}

void Storage::use(std::int32_t buffer, std::int32_t position) {
  Buffer& b = buffers_[static_cast<std::size_t>(buffer)];
  b.last = std::max(b.last, position);
}

Address Storage::reserve(Tag tag, std::int64_t bytes) {
  const Address at{tag, aligned(memory_[tag])};
  memory_[tag] = at.offset + bytes;
  if (packed_by_life(tag)) base_[tag] = memory_[tag];
  return at;
}

void Storage::pack_program() {
  for (Tag tag : {Tag::scratch, Tag::communication}) {
    std::vector<std::int32_t> of_tag;
    for (std::int32_t b : unpacked_)
      if (buffers_[static_cast<std::size_t>(b)].at.tag == tag) of_tag.push_back(b);
    pack(std::move(of_tag), tag);
  }
  unpacked_.clear();
}

/// Largest first, each at the lowest offset that is free during its whole life.
void Storage::pack(std::vector<std::int32_t> order, Tag tag) {
  auto buffer = [&](std::int32_t index) -> Buffer& { return buffers_[static_cast<std::size_t>(index)]; };
  std::stable_sort(order.begin(), order.end(),
                   [&](std::int32_t a, std::int32_t b) { return buffer(a).bytes > buffer(b).bytes; });
  std::vector<std::int32_t> placed;  // by offset
  for (std::int32_t index : order) {
    Buffer& b = buffer(index);
    std::int64_t offset = aligned(base_[tag]);
    for (std::int32_t other_index : placed) {
      const Buffer& other = buffer(other_index);
      if (other.last < b.first || b.last < other.first) continue;
      if (other.at.offset >= offset + b.bytes) break;
      offset = std::max(offset, aligned(other.at.offset + other.bytes));
    }
    b.at.offset = offset;
    memory_[tag] = std::max(memory_[tag], offset + b.bytes);
    const auto behind =
        std::find_if(placed.begin(), placed.end(), [&](std::int32_t o) { return buffer(o).at.offset > offset; });
    placed.insert(behind, index);
    releases_.push_back({b.last, b.at, b.bytes});
  }
}

Address Storage::address(Place place) const {
  if (!place) return {};
  Address at = buffers_[static_cast<std::size_t>(place.buffer)].at;
  at.offset += place.offset;
  return at;
}

}  // namespace tessera
