// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  randomness without state: a number is a function of what it is for, never of who asks or in which order.
// Used: initialisation, dropout, the order of samples, sampling of text.
// Must not know: layouts, ranks, steps.
#pragma once

#include <cstdint>
#include <string_view>

namespace tessera {

/// Finaliser of splitmix64 (Steele, Lea, Flood 2014): a bijection of 64 bits that mixes them well.
constexpr std::uint64_t mix(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15U;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

/// FNV-1a of a name, so that a site of randomness is known by its name.
constexpr std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325U;
  for (char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return hash;
}

/// A stream of numbers keyed by (seed, site, stream); `at(i)` is its i-th one.
class CounterRng {
 public:
  constexpr CounterRng(std::uint64_t seed, std::uint64_t site, std::uint64_t stream = 0)
      : key_(mix(mix(mix(seed) ^ site) + stream)) {}

  constexpr std::uint64_t at(std::uint64_t i) const { return mix(key_ ^ mix(i)); }

  /// Uniform in [0, 1), 53 bits.
  constexpr double uniform(std::uint64_t i) const { return static_cast<double>(at(i) >> 11) * 0x1p-53; }

 private:
  std::uint64_t key_;
};

}  // namespace tessera
