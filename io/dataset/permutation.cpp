// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/permutation.hpp"

#include <fmt/core.h>

#include <bit>

#include "core/base/error.hpp"

namespace tessera::io {
namespace {

// Four would do against an adversary on large domains; small domains mix slower.
constexpr std::uint64_t k_rounds = 8;

}  // namespace

Permutation::Permutation(std::int64_t n, std::uint64_t seed, std::uint64_t site, std::uint64_t stream)
    : rng_(seed, site, stream), n_(n) {
  TESSERA_CHECK(n > 0 && n <= std::int64_t{1} << 62, fmt::format("n = {}", n));
  half_bits_ = (static_cast<int>(std::bit_width(static_cast<std::uint64_t>(n - 1))) + 1) / 2;
}

std::uint64_t Permutation::once(std::uint64_t x) const {
  const std::uint64_t mask = (std::uint64_t{1} << half_bits_) - 1;
  std::uint64_t left = x >> half_bits_;
  std::uint64_t right = x & mask;
  for (std::uint64_t round = 0; round < k_rounds; ++round) {
    const std::uint64_t next = left ^ (rng_.at(round << 32 | right) & mask);
    left = right;
    right = next;
  }
  return left << half_bits_ | right;
}

std::int64_t Permutation::operator()(std::int64_t i) const {
  TESSERA_CHECK(i >= 0 && i < n_, fmt::format("{} of {}", i, n_));
  auto x = static_cast<std::uint64_t>(i);
  do {
    x = once(x);
  } while (x >= static_cast<std::uint64_t>(n_));
  return static_cast<std::int64_t>(x);
}

}  // namespace tessera::io
