// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a random order of [0, n) that needs no memory: a permutation as a function.
// Used: the sampler.
// Must not know: samples, epochs.
#pragma once

#include <cstdint>

#include "core/base/counter_rng.hpp"

namespace tessera::io {

/// A permutation of [0, n) chosen by (seed, site, stream): a balanced Feistel network (Luby, Rackoff 1988) on the
/// smallest square power of two that holds n, walked along its cycle until it lands below n (Black, Rogaway 2002);
/// fewer than four rounds of it on average. n may be up to 2^62.
class Permutation {
 public:
  Permutation(std::int64_t n, std::uint64_t seed, std::uint64_t site, std::uint64_t stream);

  std::int64_t size() const { return n_; }

  /// Where `i` goes.
  std::int64_t operator()(std::int64_t i) const;

 private:
  std::uint64_t once(std::uint64_t x) const;

  CounterRng rng_;
  std::int64_t n_;
  int half_bits_;
};

}  // namespace tessera::io
