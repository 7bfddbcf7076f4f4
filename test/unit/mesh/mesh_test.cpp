// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/mesh/mesh.hpp"

#include "core/mesh/layout.hpp"

namespace tessera {
namespace {

Mesh megatron_order(int tp, int cp, int dp, int pp) {
  return Mesh({{"tp", "tp", tp}, {"cp", "cp", cp}, {"dp", "dp", dp}, {"pp", "pp", pp}});
}

TEST(MeshTest, WorkedExampleOfEightRanks) {
  const Mesh mesh = megatron_order(2, 1, 2, 2);
  EXPECT_EQ(mesh.group(0, AxisSet::of(mesh.find("tp"))), (std::vector<int>{0, 1}));
  EXPECT_EQ(mesh.group(3, AxisSet::of(mesh.find("dp"))), (std::vector<int>{1, 3}));
  EXPECT_EQ(mesh.group(6, AxisSet::of(mesh.find("pp"))), (std::vector<int>{2, 6}));
}

TEST(MeshTest, GroupsOfEveryAxisTileTheGrid) {
  const Mesh mesh = megatron_order(2, 3, 2, 2);
  for (int a = 0; a < mesh.axes(); ++a) {
    std::vector<int> seen(static_cast<std::size_t>(mesh.size()));
    for (int rank = 0; rank < mesh.size(); ++rank) {
      const std::vector<int> group = mesh.group(rank, AxisSet::of(static_cast<AxisId>(a)));
      EXPECT_EQ(static_cast<int>(group.size()), mesh.axis(static_cast<AxisId>(a)).size);
      if (group[0] == rank)
        for (int member : group) ++seen[static_cast<std::size_t>(member)];
    }
    EXPECT_THAT(seen, testing::Each(1));
  }
}

TEST(LayoutTest, NestedPartsOfAnUnevenExtent) {
  const Mesh mesh({{"inner", "inner", 2}, {"outer", "outer", 2}});
  const AxisList axes{mesh.find("outer"), mesh.find("inner")};
  std::vector<std::int64_t> sizes;
  for (int rank = 0; rank < 4; ++rank) sizes.push_back(part_of(mesh, 10, axes, rank).size());
  EXPECT_EQ(sizes, (std::vector<std::int64_t>{3, 2, 3, 2}));
}

TEST(LayoutTest, PartsMayBeEmpty) {
  const Mesh mesh({{"a", "a", 4}});
  EXPECT_EQ(part_of(mesh, 5, {0}, 3), (Range{5, 5}));
}

}  // namespace
}  // namespace tessera
