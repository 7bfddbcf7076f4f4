// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a digest of a tensor that does not depend on who holds which part of it.
// Used: checkpoints (written, read back, loaded), comparison of runs.
// Must not know: files, layouts.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "io/checkpoint/tensor.hpp"

namespace tessera::io {

/// 128 bits: two sums modulo 2^64 over the elements of a tensor, each of another mix of (path, dtype, logical index,
/// bits). Digests of disjoint parts add up to the digest of the whole, in any order. Catches accidents (a lost, moved,
/// repeated or changed element), not adversaries. -0 and 0, and NaNs of different bits, differ.
struct Digest {
  std::uint64_t low = 0;
  std::uint64_t high = 0;

  Digest& operator+=(const Digest& other) {
    low += other.low;
    high += other.high;
    return *this;
  }
  friend bool operator==(const Digest&, const Digest&) = default;
};

/// 32 hexadecimal digits, high part first.
std::string to_string(const Digest& digest);
std::optional<Digest> digest_from(std::string_view text);

/// Digest of elements [index, index + count) (row-major in the logical tensor) that lie densely at `data`, aligned or
/// not.
Digest digest_run(const LogicalTensor& tensor, std::int64_t index, const void* data, std::int64_t count);

/// Digest of a box at `data`.
Digest digest_box(const LogicalTensor& tensor, const Box& box, const void* data, const Strides& strides);

}  // namespace tessera::io
