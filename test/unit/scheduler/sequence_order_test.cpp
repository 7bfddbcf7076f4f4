// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/sequence_order.hpp"

#include <algorithm>

namespace tessera::test {
namespace {

std::vector<std::int64_t> places_of(const std::vector<Range>& order) {
  std::vector<std::int64_t> places;
  for (const Range& run : order)
    for (std::int64_t place = run.begin; place < run.end; ++place) places.push_back(place);
  return places;
}

/// Pairs of a query and a key that it sees, for the queries of each rank.
std::vector<std::int64_t> work_of(const std::vector<std::int64_t>& places, int ranks) {
  std::vector<std::int64_t> work(static_cast<std::size_t>(ranks));
  for (std::size_t i = 0; i < places.size(); ++i)
    work[i * static_cast<std::size_t>(ranks) / places.size()] += places[i] + 1;
  return work;
}

TEST(SequenceOrderTest, TwoRanksHoldTheEndsAndTheMiddle) {
  EXPECT_EQ(zigzag_order(16, 2, Zigzag::where_possible), (std::vector<Range>{{0, 4}, {12, 16}, {4, 8}, {8, 12}}));
}

TEST(SequenceOrderTest, EveryPlaceOnceAndTheSameWorkForAll) {
  for (const int ranks : {2, 3, 4, 8})
    for (const std::int64_t length : {1, 2, 5}) {
      const std::int64_t sequence = 2 * ranks * length;
      std::vector<std::int64_t> places = places_of(zigzag_order(sequence, ranks, Zigzag::always));
      const auto work = work_of(places, ranks);
      EXPECT_EQ(work, std::vector<std::int64_t>(work.size(), sequence * (sequence + 1) / 2 / ranks));
      std::sort(places.begin(), places.end());
      const auto straight = places_of({{0, sequence}});
      EXPECT_EQ(places, straight);
      EXPECT_NE(work_of(straight, ranks), work);
    }
}

TEST(SequenceOrderTest, WhereItCannotBeTokensLieAsTheyCome) {
  EXPECT_TRUE(zigzag_order(12, 4, Zigzag::where_possible).empty());
  EXPECT_TRUE(zigzag_order(16, 4, Zigzag::never).empty());
  EXPECT_TRUE(zigzag_order(16, 1, Zigzag::always).empty());
}

TEST(SequenceOrderTest, WhereItMustBeAndCannotItIsRefused) {
  try {
    zigzag_order(12, 4, Zigzag::always);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr("model.sequence = 12 cannot be cut into 2 x "
                                                              "parallel.context = 8 equal pieces"));
  }
}

TEST(SequenceOrderTest, Names) {
  EXPECT_EQ(zigzag_named("auto"), Zigzag::where_possible);
  EXPECT_EQ(zigzag_named("on"), Zigzag::always);
  EXPECT_EQ(zigzag_named("off"), Zigzag::never);
}

}  // namespace
}  // namespace tessera::test
