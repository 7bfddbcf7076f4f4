// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/part_reports.hpp"

#include <bit>
#include <map>
#include <set>

#include "core/base/content_hash.hpp"
#include "core/comm/exchange.hpp"

namespace tessera {
namespace {

constexpr std::size_t k_words = 4;

std::int64_t hash_of(const void* data, std::size_t bytes) {
  return std::bit_cast<std::int64_t>(content_hash({static_cast<const char*>(data), bytes}).low);
}

}  // namespace

PartReport report_of(const TensorPart& part, double difference) {
  const std::int64_t elements = part.data == nullptr ? 0 : part.slab.extent.count();
  if (elements == 0) return {};
  std::vector<std::int64_t> place;
  for (int d = 0; d < part.shape.rank(); ++d) {
    place.push_back(part.slab.start[static_cast<std::size_t>(d)]);
    place.push_back(part.slab.extent[d]);
  }
  return {hash_of(place.data(), place.size() * sizeof place[0]),
          hash_of(part.data, static_cast<std::size_t>(elements * size_of(part.dtype))), elements, difference};
}

PartReports::PartReports(Communicator& world, const std::vector<PartReport>& mine)
    : tensors_(mine.size()), ranks_(world.size()) {
  std::vector<std::int64_t> words;
  for (const PartReport& r : mine)
    for (const std::int64_t word : {r.place, r.content, r.elements, std::bit_cast<std::int64_t>(r.difference)})
      words.push_back(word);
  words_ = gather_words(world, words);
}

PartReport PartReports::of(int rank, std::size_t tensor) const {
  const std::int64_t* word = words_.data() + (static_cast<std::size_t>(rank) * tensors_ + tensor) * k_words;
  return {word[0], word[1], word[2], std::bit_cast<double>(word[3])};
}

bool PartReports::replicas_equal(std::size_t tensor) const {
  std::map<std::int64_t, std::int64_t> contents;
  for (int rank = 0; rank < ranks_; ++rank) {
    const PartReport report = of(rank, tensor);
    if (report.elements > 0 && contents.try_emplace(report.place, report.content).first->second != report.content)
      return false;
  }
  return true;
}

std::int64_t PartReports::elements(std::size_t tensor) const {
  std::set<std::int64_t> places;
  std::int64_t sum = 0;
  for (int rank = 0; rank < ranks_; ++rank) {
    const PartReport report = of(rank, tensor);
    if (report.elements > 0 && places.insert(report.place).second) sum += report.elements;
  }
  return sum;
}

}  // namespace tessera
