// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/verify/random_documents.hpp"

#include <string_view>

#include "core/base/counter_rng.hpp"

namespace tessera::apps {
namespace {

constexpr double k_document_tokens = 8;  ///< on average

/// A number in [0, 1) of a place of a sample.
double chance(std::uint64_t seed, std::string_view what, std::int64_t sample, std::int64_t place) {
  return CounterRng(seed, hash_name(what), static_cast<std::uint64_t>(sample))
      .uniform(static_cast<std::uint64_t>(place));
}

template <class T, class Value>
void put(T* array, std::int64_t at, Value value) {
  if (array != nullptr) array[at] = static_cast<T>(value);
}

}  // namespace

std::int32_t RandomDocuments::token(std::int64_t sample, std::int64_t place) const {
  return static_cast<std::int32_t>(chance(seed_, "verify.token", sample, place) * static_cast<double>(vocab_));
}

bool RandomDocuments::begins_document(std::int64_t sample, std::int64_t place) const {
  return place > 0 && chance(seed_, "verify.document", sample, place) < 1 / k_document_tokens;
}

/// A share of its own in each sample; something always counts.
bool RandomDocuments::counts(std::int64_t sample, std::int64_t place) const {
  return place == 0 || chance(seed_, "verify.counts", sample, place) < chance(seed_, "verify.share", sample, 0);
}

void RandomDocuments::fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) {
  const std::int64_t rows = view.tokens.extent[0], columns = view.tokens.extent[1], first_row = view.tokens.start[0];
  for (std::int64_t c = 0; c < columns; ++c) {
    const std::int64_t number = view.tokens.start[1] + c, sample = first_sample + number;
    put(view.sample, c, number < samples ? sample : io::k_padding);
    std::int64_t document = 0, start = 0;
    for (std::int64_t place = 0; place < first_row + rows; ++place) {
      if (mode_ == io::DocumentMode::isolated && begins_document(sample, place)) ++document, start = place;
      if (place < first_row) continue;
      const std::int64_t at = (place - first_row) * columns + c;
      put(view.ids, at, token(sample, place));
      put(view.target, at, token(sample, place + 1));
      put(view.position, at, place - start);
      put(view.index, at, place);
      put(view.document, at, document);
      const bool valid = number < samples && counts(sample, place);
      if (view.mask_dtype == DType::f64)
        put(static_cast<double*>(view.mask), at, valid);
      else
        put(static_cast<float*>(view.mask), at, valid);
    }
  }
}

std::uint64_t RandomDocuments::digest(std::int64_t first_sample, std::int64_t samples) const {
  return mix(seed_ ^ mix(static_cast<std::uint64_t>(first_sample) ^ mix(static_cast<std::uint64_t>(samples))));
}

}  // namespace tessera::apps
