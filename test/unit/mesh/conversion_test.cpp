// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/mesh/conversion.hpp"

#include <algorithm>
#include <random>

#include "test/support/conversion_interpreter.hpp"

namespace tessera {
namespace {

using testing_support::Part;
using testing_support::Parts;
using Kind = ConversionStep::Kind;

Layout random_layout(const Mesh& mesh, std::mt19937& random) {
  Layout layout;
  std::vector<AxisId> axes;
  for (int a = 0; a < mesh.axes(); ++a) axes.push_back(static_cast<AxisId>(a));
  std::shuffle(axes.begin(), axes.end(), random);
  const Merge merge = random() % 4 == 0 ? Merge::max : Merge::sum;
  for (AxisId axis : axes) {
    const auto choice = static_cast<int>(random() % 6);
    if (choice < 3) layout.splits(choice).push_back(axis);
    if (choice == 3) layout.set_partial(AxisSet::of(axis), merge);
  }
  return layout;
}

TEST(ConversionTest, RandomPairsKeepTheValueAndTheReplicas) {
  const unsigned seed = 7;
  SCOPED_TRACE(seed);
  std::mt19937 random(seed);
  const Mesh meshes[] = {Mesh({{"a", "a", 2}, {"b", "b", 3}, {"c", "c", 2}}),
                         Mesh({{"a", "a", 2}, {"b", "b", 3}, {"c", "c", 2}, {"d", "d", 2}})};
  for (int round = 0; round < 6000; ++round) {
    const Mesh& mesh = meshes[round % 2];
    const Layout from = random_layout(mesh, random), to = random_layout(mesh, random);
    Shape global;
    for (int dim = 0; dim < 3; ++dim) global.append(1 + static_cast<std::int64_t>(random() % 8));
    Parts parts;
    for (int rank = 0; rank < mesh.size(); ++rank) {
      // Replicas hold the same numbers: rank 0 of each replica group draws them.
      AxisSet replicated;
      for (int a = 0; a < mesh.axes(); ++a)
        if (from.of(static_cast<AxisId>(a)).is_replicated())
          replicated = replicated | AxisSet::of(static_cast<AxisId>(a));
      const int first = mesh.group(rank, replicated)[0];
      if (first != rank) {
        parts.push_back(parts[static_cast<std::size_t>(first)]);
        continue;
      }
      Part part{slab_of(mesh, from, global, rank).extent, {}};
      for (std::int64_t e = 0; e < part.shape.count(); ++e) part.data.push_back(static_cast<int>(random() % 19) - 9);
      parts.push_back(part);
    }
    bool equal = true;
    const Part before = assemble(mesh, from, global, parts, equal);
    ASSERT_TRUE(equal);
    Layout now = from;
    const std::vector<Conversion> steps = plan_conversion(mesh, from, to);
    ASSERT_LE(steps.size(), static_cast<std::size_t>(2 * mesh.axes()))
        << to_string(from, mesh) << " -> " << to_string(to, mesh);
    for (const Conversion& step : steps) {
      parts = apply(mesh, now, step, global, parts);
      now = step.after;
    }
    ASSERT_EQ(now, to);
    ASSERT_EQ(assemble(mesh, to, global, parts, equal), before)
        << to_string(from, mesh) << " -> " << to_string(to, mesh) << " of " << to_string(global);
    ASSERT_TRUE(equal);
  }
}

std::vector<Kind> kinds(const Mesh& mesh, const Layout& from, const Layout& to) {
  std::vector<Kind> result;
  for (const Conversion& conversion : plan_conversion(mesh, from, to)) result.push_back(conversion.step.kind);
  return result;
}

TEST(ConversionTest, TheTable) {
  const Mesh mesh({{"tp", "tp", 2}});
  Layout replicated, split0({{0}}), split1({{}, {0}}), partial;
  partial.set_partial(AxisSet::of(0), Merge::sum);
  EXPECT_THAT(kinds(mesh, partial, replicated), testing::ElementsAre(Kind::all_reduce));
  EXPECT_THAT(kinds(mesh, partial, split0), testing::ElementsAre(Kind::reduce_scatter));
  EXPECT_THAT(kinds(mesh, replicated, split0), testing::ElementsAre(Kind::slice));
  EXPECT_THAT(kinds(mesh, split0, replicated), testing::ElementsAre(Kind::all_gather));
  EXPECT_THAT(kinds(mesh, split0, split1), testing::ElementsAre(Kind::all_to_all));
  EXPECT_THAT(kinds(mesh, replicated, partial), testing::ElementsAre(Kind::mask));
  EXPECT_TRUE(kinds(mesh, split0, split0).empty());
}

TEST(ConversionTest, NeighbouringStepsAreOneCallOverSeveralAxes) {
  const Mesh mesh({{"tp", "tp", 2}, {"cp", "cp", 2}});
  const Layout tokens({{1, 0}}), replicated;
  const auto gather = plan_conversion(mesh, tokens, replicated);
  ASSERT_EQ(gather.size(), 1U);
  EXPECT_EQ(gather[0].step.axes, (AxisList{1, 0}));
  Layout partial;
  partial.set_partial(AxisSet::of(0) | AxisSet::of(1), Merge::sum);
  const auto scatter = plan_conversion(mesh, partial, tokens);
  ASSERT_EQ(scatter.size(), 1U);
  EXPECT_EQ(scatter[0].step.kind, Kind::reduce_scatter);
  EXPECT_EQ(scatter[0].step.axes, (AxisList{1, 0}));
}

TEST(ConversionTest, OnlyTheInnermostAxisMoves) {
  const Mesh mesh({{"tp", "tp", 2}, {"cp", "cp", 2}});
  EXPECT_THAT(kinds(mesh, Layout({{1, 0}}), Layout({{0}})), testing::ElementsAre(Kind::all_gather, Kind::slice));
}

}  // namespace
}  // namespace tessera
