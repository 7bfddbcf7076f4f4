// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Random documents are the same whichever part of them is asked for.
#include "apps/verify/random_documents.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace tessera::apps {
namespace {

constexpr std::int64_t k_sequence = 64, k_columns = 12, k_vocab = 50;

struct Batch {
  std::vector<std::int32_t> ids, target, position, index, document;
  std::vector<double> mask;
  std::vector<std::int64_t> sample;
};

Batch filled(RandomDocuments& source, std::int64_t first, std::int64_t samples, const Slab& slab) {
  Batch b;
  const auto count = static_cast<std::size_t>(slab.extent.count());
  for (auto* array : {&b.ids, &b.target, &b.position, &b.index, &b.document}) array->resize(count);
  b.mask.resize(count);
  b.sample.resize(static_cast<std::size_t>(slab.extent[1]));
  source.fill(first, samples,
              {slab, b.ids.data(), b.target.data(), b.mask.data(), DType::f64, b.position.data(), b.index.data(),
               b.document.data(), b.sample.data()});
  return b;
}

Batch whole(RandomDocuments& source, std::int64_t first = 0, std::int64_t samples = k_columns) {
  return filled(source, first, samples, {{}, {k_sequence, k_columns}});
}

TEST(RandomDocuments, PartsAreThoseOfTheWhole) {
  RandomDocuments source(5, k_vocab, io::DocumentMode::isolated);
  const Batch all = whole(source, 3);
  const Batch part = filled(source, 3, k_columns, {{17, 4}, {30, 5}});
  for (std::int64_t r = 0; r < 30; ++r)
    for (std::int64_t c = 0; c < 5; ++c) {
      const auto to = static_cast<std::size_t>((r + 17) * k_columns + c + 4),
                 from = static_cast<std::size_t>(r * 5 + c);
      EXPECT_EQ(part.ids[from], all.ids[to]);
      EXPECT_EQ(part.target[from], all.target[to]);
      EXPECT_EQ(part.mask[from], all.mask[to]);
      EXPECT_EQ(part.position[from], all.position[to]);
      EXPECT_EQ(part.index[from], r + 17);
      EXPECT_EQ(part.document[from], all.document[to]);
      EXPECT_EQ(part.sample[static_cast<std::size_t>(c)], 3 + 4 + c);
    }
}

TEST(RandomDocuments, DocumentsBeginAnywhereAndCountTheirPlaces) {
  RandomDocuments source(5, k_vocab, io::DocumentMode::isolated);
  const Batch all = whole(source);
  std::set<std::int64_t> starts, valid;
  for (std::int64_t c = 0; c < k_columns; ++c) {
    double count = 0;
    for (std::int64_t r = 0; r < k_sequence; ++r) {
      const auto at = static_cast<std::size_t>(r * k_columns + c), before = at - static_cast<std::size_t>(k_columns);
      EXPECT_TRUE(all.ids[at] >= 0 && all.ids[at] < k_vocab);
      count += all.mask[at];
      if (r == 0) continue;
      EXPECT_EQ(all.target[before], all.ids[at]) << "the token that follows";
      const bool begins = all.document[at] != all.document[before];
      EXPECT_EQ(all.document[at], all.document[before] + (begins ? 1 : 0));
      EXPECT_EQ(all.position[at], begins ? 0 : all.position[before] + 1);
      if (begins) starts.insert(r);
    }
    valid.insert(static_cast<std::int64_t>(count));
  }
  EXPECT_GT(starts.size(), 20U);
  EXPECT_GT(valid.size(), 6U) << "samples have other numbers of targets that count";
  EXPECT_GE(*valid.begin(), 1);
}

TEST(RandomDocuments, JoinedDocumentsAreOne) {
  RandomDocuments source(5, k_vocab, io::DocumentMode::joined);
  const Batch all = whole(source);
  for (std::size_t at = 0; at < all.document.size(); ++at) {
    EXPECT_EQ(all.document[at], 0);
    EXPECT_EQ(all.position[at], all.index[at]);
  }
}

TEST(RandomDocuments, ColumnsBehindTheLastSampleDoNotCount) {
  RandomDocuments source(5, k_vocab, io::DocumentMode::isolated);
  const Batch some = whole(source, 0, 7);
  for (std::int64_t c = 0; c < k_columns; ++c) {
    double count = 0;
    for (std::int64_t r = 0; r < k_sequence; ++r) count += some.mask[static_cast<std::size_t>(r * k_columns + c)];
    EXPECT_EQ(count > 0, c < 7);
    EXPECT_EQ(some.sample[static_cast<std::size_t>(c)], c < 7 ? c : io::k_padding);
  }
}

}  // namespace
}  // namespace tessera::apps
