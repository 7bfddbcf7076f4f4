// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/dataset_source.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"

namespace tessera::io {

/// One column of the arrays, places [begin, end) of its sample: element i of the part is at i * stride + column.
struct DatasetSource::Column {
  const BatchView& out;
  std::int64_t begin, end;
  std::int64_t column;
  std::int64_t stride;

  std::int64_t at(std::int64_t place) const { return (place - begin) * stride + column; }

  template <class T, class Value>
  void put(T* array, Value value) const {
    if (array == nullptr) return;
    for (std::int64_t place = begin; place < end; ++place) array[at(place)] = static_cast<T>(value(place));
  }

  void put_mask(double value) const {
    const auto constant = [value](std::int64_t) { return value; };
    out.mask_dtype == DType::f64 ? put(static_cast<double*>(out.mask), constant)
                                 : put(static_cast<float*>(out.mask), constant);
  }

  void put_padding() const {
    const auto zero = [](std::int64_t) { return 0; };
    put(out.ids, zero);
    put(out.target, zero);
    put(out.document, zero);
    put(out.position, [](std::int64_t place) { return place; });
    put_mask(0);
  }
};

DatasetSource::DatasetSource(const Dataset& dataset, const Sampler& sampler, std::int64_t sequence, DocumentMode mode,
                             std::int64_t model_vocabulary)
    : dataset_(dataset), sampler_(sampler), sequence_(sequence), mode_(mode) {
  if (dataset.max_id() >= model_vocabulary) {
    throw Error(ErrorKind::data,
                fmt::format("{} has ids up to {}, the model's vocabulary has {}", dataset.path().native(),
                            dataset.max_id(), model_vocabulary),
                "Set model.vocab to at least the vocabulary of the tokenizer.");
  }
  tokens_.resize(static_cast<std::size_t>(sequence + 1));
}

void DatasetSource::fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) {
  const Slab& part = view.tokens;
  const std::int64_t begin = part.start[0], end = begin + part.extent[0];
  TESSERA_CHECK(begin >= 0 && begin <= end && end <= sequence_,
                fmt::format("places {} to {} of {}", begin, end, sequence_));
  TESSERA_CHECK(view.mask_dtype == DType::f32 || view.mask_dtype == DType::f64,
                fmt::format("mask of {}", name_of(view.mask_dtype)));
  const std::int64_t stride = part.extent[1];
  for (std::int64_t c = 0; c < stride; ++c) {
    const Column column{view, begin, end, c, stride};
    const std::int64_t place_in_batch = part.start[1] + c;
    const std::int64_t number = place_in_batch < samples ? first_sample + place_in_batch : k_padding;
    if (view.sample != nullptr) view.sample[c] = number;
    column.put(view.index, [](std::int64_t place) { return place; });
    number == k_padding ? column.put_padding() : fill_sample(column, number);
  }
}

std::uint64_t DatasetSource::digest(std::int64_t first_sample, std::int64_t samples) const {
  return sampler_.digest(first_sample, samples);
}

void DatasetSource::fill_sample(const Column& column, std::int64_t number) {
  if (column.begin == column.end) return;
  const std::int64_t first_token = sampler_.sample(number) * sequence_;
  const std::int64_t begin = column.begin;
  dataset_.read(first_token + begin, std::span(tokens_).first(static_cast<std::size_t>(column.end - begin + 1)));
  column.put(column.out.ids, [&](std::int64_t place) { return tokens_[static_cast<std::size_t>(place - begin)]; });
  column.put(column.out.target,
             [&](std::int64_t place) { return tokens_[static_cast<std::size_t>(place - begin + 1)]; });
  column.put_mask(1);
  fill_documents(column, first_token);
}

void DatasetSource::fill_documents(const Column& column, std::int64_t first_token) const {
  const BatchView& out = column.out;
  if (mode_ == DocumentMode::joined) {
    column.put(out.position, [](std::int64_t place) { return place; });
    column.put(out.document, [](std::int64_t) { return 0; });
    return;
  }
  if (out.position == nullptr && out.document == nullptr) return;
  const std::int64_t first_document = dataset_.document_of(first_token);
  std::int64_t document = dataset_.document_of(first_token + column.begin);
  for (std::int64_t place = column.begin; place < column.end; ++document) {
    // The part of a document that began in an earlier sample starts at position 0 here.
    const std::int64_t start = std::max<std::int64_t>(dataset_.document_start(document) - first_token, 0);
    const std::int64_t end = std::min(dataset_.document_start(document + 1) - first_token, column.end);
    for (; place < end; ++place) {
      if (out.position != nullptr) out.position[column.at(place)] = static_cast<std::int32_t>(place - start);
      if (out.document != nullptr)
        out.document[column.at(place)] = static_cast<std::int32_t>(document - first_document);
    }
  }
}

}  // namespace tessera::io
