// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/state_check.hpp"

#include <array>
#include <limits>

#include "core/comm/thread_communicator.hpp"

namespace tessera {
namespace {

using Values = std::array<std::array<float, 2>, 4>;

/// What the ranks say of a vector of 4, each half of it on two of four ranks.
std::vector<std::string> problems_of(const Values& values) {
  const Parameter norm{.field = "norm", .value = {}};
  std::array<std::vector<std::string>, 4> problems;
  run_ranks(4, [&](Communicator& world) {
    const auto rank = static_cast<std::size_t>(world.rank());
    std::array<float, 2> mine = values[rank];
    const Slab half{{world.rank() / 2 * 2}, {2}};
    problems[rank] = state_problems({{"model", &norm, {4}, half, DType::f32, mine.data(), {}}}, world, 2);
  });
  for (const auto& others : problems) EXPECT_EQ(others, problems[0]);
  return problems[0];
}

constexpr float k_nan = std::numeric_limits<float>::quiet_NaN();
constexpr float k_infinite = std::numeric_limits<float>::infinity();

TEST(StateCheckTest, SoundOnesHaveNoProblems) {
  EXPECT_TRUE(problems_of({{{1, 2}, {1, 2}, {3, std::numeric_limits<float>::denorm_min()}, {3, 1e-45F}}}).empty());
}

TEST(StateCheckTest, RanksWithValuesThatAreNotFiniteAreNamed) {
  const std::vector<std::string> expected{"rank 0 holds 1 values that are not finite in model norm",
                                          "rank 1 holds 1 values that are not finite in model norm"};
  EXPECT_EQ(problems_of({{{1, k_nan}, {1, k_nan}, {3, 4}, {3, 4}}}), expected);
  EXPECT_EQ(problems_of({{{1, 2}, {1, 2}, {k_infinite, -k_infinite}, {k_infinite, -k_infinite}}})[0],
            "rank 2 holds 2 values that are not finite in model norm");
}

TEST(StateCheckTest, ReplicasThatDifferAreNamed) {
  const std::vector<std::string> expected{"ranks 2 and 3 hold other bits of the same part of model norm"};
  EXPECT_EQ(problems_of({{{1, 2}, {1, 2}, {3, 0.0F}, {3, -0.0F}}}), expected);
}

TEST(StateCheckTest, RanksMayListTheirTensorsInAnyOrder) {
  const Parameter first{.field = "a", .value = {}}, second{.field = "b", .value = {}};
  run_ranks(2, [&](Communicator& world) {
    std::array<float, 2> a{1, 2}, b{3, 4};
    const Slab whole{{0}, {2}};
    std::vector<TensorPart> parts{{"model", &first, {2}, whole, DType::f32, a.data(), {}},
                                  {"model", &second, {2}, whole, DType::f32, b.data(), {}}};
    if (world.rank() == 1) std::swap(parts[0], parts[1]);
    EXPECT_TRUE(state_problems(parts, world, 5).empty());
    b[0] += static_cast<float>(world.rank());
    EXPECT_EQ(state_problems(parts, world, 5),
              std::vector<std::string>{"ranks 0 and 1 hold other bits of the same part of model b"});
  });
}

TEST(StateCheckTest, NoMoreAreNamedThanWanted) {
  EXPECT_EQ(problems_of({{{k_nan, 1}, {1, k_nan}, {k_nan, 3}, {3, 3}}}).size(), 2U);
}

}  // namespace
}  // namespace tessera
