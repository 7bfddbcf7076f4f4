// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/digest.hpp"

#include <cstring>

#include "core/base/counter_rng.hpp"
#include "io/hash.hpp"

namespace tessera::io {
namespace {

// Index and bits are joined by x = bits + index * golden ratio: multiples of it keep farther apart than 2^32 for all
// indices below 2^31, so no two (index, 32-bit value) pairs meet there. Then two rounds of multiply and shift.
constexpr std::uint64_t k_low_step = 0x9e3779b97f4a7c15U;
constexpr std::uint64_t k_high_step = 0xd1342543de82ef95U;

constexpr std::uint64_t scramble(std::uint64_t x, std::uint64_t first, std::uint64_t second) {
  x ^= x >> 32;
  x *= first;
  x ^= x >> 29;
  x *= second;
  return x ^ x >> 32;
}

template <class Bits>
Digest digest_bits(std::uint64_t key, std::int64_t index, const std::byte* data, std::int64_t count) {
  std::uint64_t low_at = key + static_cast<std::uint64_t>(index) * k_low_step;
  std::uint64_t high_at = mix(key) + static_cast<std::uint64_t>(index) * k_high_step;
  Digest digest;
  for (std::int64_t i = 0; i < count; ++i) {
    Bits bits;
    std::memcpy(&bits, data + i * static_cast<std::int64_t>(sizeof bits), sizeof bits);
    const auto place = static_cast<std::uint64_t>(i);
    digest.low += scramble(low_at + place * k_low_step + bits, 0xbf58476d1ce4e5b9U, 0x94d049bb133111ebU);
    digest.high += scramble(high_at + place * k_high_step + bits, 0xff51afd7ed558ccdU, 0xc4ceb9fe1a85ec53U);
  }
  return digest;
}

}  // namespace

std::string to_string(const Digest& digest) {
  return to_hex(digest.high) + to_hex(digest.low);
}

std::optional<Digest> digest_from(std::string_view text) {
  if (text.size() != 32) return std::nullopt;
  const std::optional<std::uint64_t> high = from_hex(text.substr(0, 16));
  const std::optional<std::uint64_t> low = from_hex(text.substr(16));
  if (!high || !low) return std::nullopt;
  return Digest{*low, *high};
}

Digest digest_run(const LogicalTensor& tensor, std::int64_t index, const void* data, std::int64_t count) {
  const std::uint64_t key = mix(hash_name(tensor.path) + hash_name(name_of(tensor.dtype)));
  const auto* bytes = static_cast<const std::byte*>(data);
  switch (size_of(tensor.dtype)) {
    case 8:
      return digest_bits<std::uint64_t>(key, index, bytes, count);
    case 4:
      return digest_bits<std::uint32_t>(key, index, bytes, count);
    case 2:
      return digest_bits<std::uint16_t>(key, index, bytes, count);
    default:
      return digest_bits<std::uint8_t>(key, index, bytes, count);
  }
}

Digest digest_box(const LogicalTensor& tensor, const Box& box, const void* data, const Strides& strides) {
  const auto* bytes = static_cast<const std::byte*>(data);
  Digest digest;
  for_each_run(tensor.shape, box, strides, [&](std::int64_t index, std::int64_t offset, std::int64_t count) {
    digest += digest_run(tensor, index, bytes + offset * size_of(tensor.dtype), count);
  });
  return digest;
}

}  // namespace tessera::io
