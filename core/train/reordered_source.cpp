// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/reordered_source.hpp"

#include <algorithm>

namespace tessera {
namespace {

/// `count` rows of the view from row `first` on, which are the places from `place` on.
BatchView rows_of(BatchView view, std::int64_t first, std::int64_t count, std::int64_t place) {
  const std::int64_t elements = first * view.tokens.extent[1];
  for (std::int32_t** array : {&view.ids, &view.target, &view.position, &view.index, &view.document})
    if (*array != nullptr) *array += elements;
  if (view.mask != nullptr) view.mask = static_cast<std::byte*>(view.mask) + elements * size_of(view.mask_dtype);
  view.tokens.start[0] = place;
  view.tokens.extent[0] = count;
  return view;
}

}  // namespace

std::vector<Range> sequence_order(std::span<const Strategy* const> strategies, std::int64_t sequence,
                                  const Mesh& mesh) {
  std::vector<Range> order;
  for (const Strategy* strategy : strategies) {
    std::vector<Range> asked = strategy->sequence_order(sequence, mesh);
    if (asked.empty()) continue;
    if (!order.empty())
      throw Error(ErrorKind::configuration, "two strategies ask for an order of the sequence",
                  "name only one of them, or switch the order of one off");
    order = std::move(asked);
  }
  return order;
}

void ReorderedSource::fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) {
  const std::int64_t begin = view.tokens.start[0], end = begin + view.tokens.extent[0];
  if (order_.empty() || begin == end) return source_.fill(first_sample, samples, view);
  std::int64_t row = 0;  // of the whole batch: where the run lies
  for (const Range& run : order_) {
    const std::int64_t from = std::max(row, begin), to = std::min(row + run.size(), end);
    if (from < to) source_.fill(first_sample, samples, rows_of(view, from - begin, to - from, run.begin + from - row));
    row += run.size();
  }
}

}  // namespace tessera
