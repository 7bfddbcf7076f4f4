// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/batch.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"

namespace tessera::io {

/// One column of the arrays: element i of the part is at i * stride + column.
struct BatchReader::Column {
  const BatchView& out;
  SequencePart part;
  std::int64_t column;
  std::int64_t stride;

  std::int64_t at(std::int64_t place) const { return (place - part.begin) * stride + column; }

  template <class T, class Value>
  void put(T* array, Value value) const {
    if (array == nullptr) return;
    for (std::int64_t place = part.begin; place < part.end; ++place) array[at(place)] = value(place);
  }

  void put_mask(double value) const {
    if (out.mask_dtype == DType::f64) {
      put(static_cast<double*>(out.mask), [&](std::int64_t) { return value; });
    } else {
      put(static_cast<float*>(out.mask), [&](std::int64_t) { return static_cast<float>(value); });
    }
  }
};

BatchReader::BatchReader(const Dataset& dataset, const Sampler& sampler, std::int64_t sequence, DocumentMode mode,
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

void BatchReader::fill(std::span<const std::int64_t> consumed, SequencePart part, const BatchView& out) {
  TESSERA_CHECK(part.begin >= 0 && part.begin <= part.end && part.end <= sequence_,
                fmt::format("places {} to {} of {}", part.begin, part.end, sequence_));
  TESSERA_CHECK(out.mask_dtype == DType::f32 || out.mask_dtype == DType::f64,
                fmt::format("mask of {}", name_of(out.mask_dtype)));
  const auto stride = static_cast<std::int64_t>(consumed.size());
  for (std::int64_t b = 0; b < stride; ++b) {
    const std::int64_t number = consumed[static_cast<std::size_t>(b)];
    const Column column{out, part, b, stride};
    if (out.sample != nullptr) out.sample[b] = number;
    column.put(out.index, [](std::int64_t place) { return static_cast<std::int32_t>(place); });
    if (number == k_padding) {
      fill_padding(column);
      continue;
    }
    const std::int64_t first_token = sampler_.sample(number) * sequence_;
    dataset_.read(first_token + part.begin,
                  std::span(tokens_).first(static_cast<std::size_t>(part.end - part.begin + 1)));
    fill_column(column);
    fill_documents(column, first_token);
  }
}

void BatchReader::fill_column(const Column& column) {
  const std::int64_t begin = column.part.begin;
  column.put(column.out.ids, [&](std::int64_t place) { return tokens_[static_cast<std::size_t>(place - begin)]; });
  column.put(column.out.targets,
             [&](std::int64_t place) { return tokens_[static_cast<std::size_t>(place - begin + 1)]; });
  column.put_mask(1);
}

void BatchReader::fill_padding(const Column& column) {
  column.put(column.out.ids, [](std::int64_t) { return 0; });
  column.put(column.out.targets, [](std::int64_t) { return 0; });
  column.put(column.out.position, [](std::int64_t place) { return static_cast<std::int32_t>(place); });
  column.put(column.out.document, [](std::int64_t) { return 0; });
  column.put_mask(0);
}

void BatchReader::fill_documents(const Column& column, std::int64_t first_token) {
  const BatchView& out = column.out;
  if (mode_ == DocumentMode::joined) {
    column.put(out.position, [](std::int64_t place) { return static_cast<std::int32_t>(place); });
    column.put(out.document, [](std::int64_t) { return 0; });
    return;
  }
  if (column.part.begin == column.part.end || (out.position == nullptr && out.document == nullptr)) return;
  const std::int64_t first_document = dataset_.document_of(first_token);
  std::int64_t document = dataset_.document_of(first_token + column.part.begin);
  for (std::int64_t place = column.part.begin; place < column.part.end; ++document) {
    // The part of a document that began in an earlier sample starts at position 0 here.
    const std::int64_t start = std::max<std::int64_t>(dataset_.document_start(document) - first_token, 0);
    const std::int64_t end = std::min(dataset_.document_start(document + 1) - first_token, column.part.end);
    for (; place < end; ++place) {
      if (out.position != nullptr) out.position[column.at(place)] = static_cast<std::int32_t>(place - start);
      if (out.document != nullptr)
        out.document[column.at(place)] = static_cast<std::int32_t>(document - first_document);
    }
  }
}

}  // namespace tessera::io
