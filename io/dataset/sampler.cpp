// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/sampler.hpp"

#include <fmt/core.h>

#include <cmath>

#include "core/base/error.hpp"
#include "io/dataset/permutation.hpp"

namespace tessera::io {
namespace {

constexpr std::uint64_t k_site = hash_name("data.order");

}  // namespace

std::int64_t samples_in(std::int64_t tokens, std::int64_t sequence) {
  TESSERA_CHECK(sequence > 0, fmt::format("sequence = {}", sequence));
  return tokens > 0 ? (tokens - 1) / sequence : 0;
}

Split split_samples(std::int64_t samples, double fraction) {
  if (!(fraction >= 0 && fraction < 1)) {
    throw Error(ErrorKind::configuration, fmt::format("data.split is {}, it must be at least 0 and below 1", fraction),
                "data.split is the part of the samples kept for validation, such as 0.01.");
  }
  // 0.29 * 100 is 28.999999999999996 in binary; nobody means 28.
  const auto valid = static_cast<std::int64_t>(std::floor(fraction * static_cast<double>(samples) + 1e-6));
  const std::int64_t train = samples - valid;
  if (train <= 0)
    throw Error(ErrorKind::data, fmt::format("of {} samples none is left to train on", samples), "Lower data.split.");
  return {{0, train}, {train, valid}};
}

Sampler::Sampler(SampleRange range, std::uint64_t seed, SampleOrder order) : range_(range), seed_(seed), order_(order) {
  if (range.count <= 0) {
    throw Error(ErrorKind::data, "the dataset is too short for one sample",
                "A sample needs model.sequence + 1 tokens: use more data or a shorter sequence.");
  }
}

std::int64_t Sampler::sample(std::int64_t consumed) const {
  TESSERA_CHECK(consumed >= 0, fmt::format("{}", consumed));
  const std::int64_t place = consumed % range_.count;
  if (order_ == SampleOrder::sequential) return range_.first + place;
  const auto epoch = static_cast<std::uint64_t>(consumed / range_.count);
  return range_.first + Permutation(range_.count, seed_, k_site, epoch)(place);
}

std::uint64_t Sampler::digest(std::int64_t consumed, std::int64_t count) const {
  std::uint64_t digest = 0;
  for (std::int64_t i = 0; i < count; ++i) digest = mix(digest ^ static_cast<std::uint64_t>(sample(consumed + i)));
  return digest;
}

}  // namespace tessera::io
