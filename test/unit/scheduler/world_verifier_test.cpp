// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// All ranks of a mesh are compared, each with its own neighbours, though many share a plan.
#include "core/scheduler/world_verifier.hpp"

#include <set>

#include "modules/schedule/gpipe/gpipe.hpp"
#include "modules/schedule/one_f_one_b/one_f_one_b.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/tiny_plans.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing_support::PlanCase;
using testing_support::plans_of;

const DataParallel k_data(1 << 12);
const GPipe k_gpipe;
const OneFOneB k_one_f_one_b;

PlanCase pipeline_of(const Schedule& schedule, int micro_batches) {
  PlanCase run{Mesh({{"dp", "dp", 2}, {"pp", "pp", 2}}), {&k_data}};
  run.pipeline.schedule = &schedule;
  run.micro_batches = micro_batches;
  return run;
}

TEST(RankClasses, AreOneWhereAllPartsAreEqual) {
  Graph graph;
  const Mesh mesh({{"tp", "tp", 2}, {"dp", "dp", 3}});
  Layout layout;
  layout.splits(1).push_back(0);
  layout.splits(0).push_back(1);
  ValueInfo value;
  value.layout = layout;
  value.type.shape = {6, 8};
  graph.add_value(value);
  const Graph* const graphs[] = {&graph};
  EXPECT_THAT(rank_classes(mesh, graphs, {}), ElementsAre(0, 0, 0, 0, 0, 0));
  EXPECT_THAT(rank_classes(mesh, graphs, AxisSet::of(1)), ElementsAre(0, 0, 2, 2, 4, 4));
  value.type.shape = {7, 5};
  graph.add_value(value);
  EXPECT_THAT(rank_classes(mesh, graphs, {}), ElementsAre(0, 1, 0, 1, 4, 5));
}

/// Every rank's own plan.
WorldVerifier verified_alone(const PlanCase& run) {
  WorldVerifier verifier(run.mesh);
  for (int rank = 0; rank < run.mesh.size(); ++rank)
    verifier.add(plans_of(run, rank).training.plan, std::vector<int>{rank});
  return verifier;
}

TEST(WorldVerifier, FindsNothingWhereAllFollowOnePlan) {
  const PlanCase run = pipeline_of(k_one_f_one_b, 4);
  const WorldVerifier verifier = verified_alone(run);
  EXPECT_THAT(verifier.differences(), IsEmpty());
  EXPECT_EQ(verifier.ranks(), 4);
  EXPECT_GT(verifier.calls(), 4 * 8);
}

// The vocabulary and the keys' heads do not divide by the ranks.
TEST(WorldVerifier, SeesTheSameThroughClassesOfRanks) {
  PlanCase run{Mesh({{"tp", "tp", 4}, {"dp", "dp", 4}, {"pp", "pp", 2}}), {}};
  const TensorParallel tensor(4, 4, TensorParallel::Residual::split);
  run.strategies = {&k_data, &tensor};
  run.pipeline.schedule = &k_one_f_one_b;
  run.micro_batches = 3;
  run.kv_heads = 4;
  const WorldVerifier alone = verified_alone(run);
  EXPECT_THAT(alone.differences(), IsEmpty());

  WorldVerifier by_class(run.mesh);
  std::vector<Graph> graphs;
  for (int rank : {0, 16}) graphs.push_back(plans_of(run, rank).training.graph);
  const Graph* const pointers[] = {&graphs[0], &graphs[1]};
  const std::vector<int> classes = rank_classes(run.mesh, pointers, AxisSet::of(run.mesh.find("pp")));
  for (int rank : std::set<int>(classes.begin(), classes.end())) {
    std::vector<int> ranks;
    for (int r = 0; r < run.mesh.size(); ++r)
      if (classes[static_cast<std::size_t>(r)] == rank) ranks.push_back(r);
    by_class.add(plans_of(run, rank).training.plan, ranks);
  }
  EXPECT_LT(std::set<int>(classes.begin(), classes.end()).size(), 16U);
  EXPECT_THAT(by_class.differences(), IsEmpty());
  EXPECT_EQ(by_class.ranks(), alone.ranks());
  EXPECT_EQ(by_class.series(), alone.series());
  EXPECT_EQ(by_class.calls(), alone.calls());
}

std::vector<std::string> differences_with(const PlanCase& run, int odd_rank, const Plan& odd) {
  WorldVerifier verifier(run.mesh);
  for (int rank = 0; rank < run.mesh.size(); ++rank)
    verifier.add(rank == odd_rank ? odd : plans_of(run, rank).training.plan, std::vector<int>{rank});
  return verifier.differences();
}

TEST(WorldVerifier, NamesARankWithAnotherSchedule) {
  const PlanCase run = pipeline_of(k_one_f_one_b, 4);
  const auto found = differences_with(run, 2, plans_of(pipeline_of(k_gpipe, 4), 2).training.plan);
  ASSERT_FALSE(found.empty());
  EXPECT_THAT(found, testing::Contains(testing::AllOf(HasSubstr("rank 2"), HasSubstr("from rank 0 to rank 2"))));
}

TEST(WorldVerifier, NamesARankWithAnotherNumberOfMicroBatches) {
  const PlanCase run = pipeline_of(k_one_f_one_b, 4);
  const auto found = differences_with(run, 2, plans_of(pipeline_of(k_one_f_one_b, 3), 2).training.plan);
  EXPECT_THAT(found, testing::Contains(HasSubstr("no call 3 on pp")));
}

TEST(WorldVerifier, NamesRanksThatNobodyAnswers) {
  const PlanCase run = pipeline_of(k_one_f_one_b, 2);
  WorldVerifier verifier(run.mesh);
  verifier.add(plans_of(run, 0).training.plan, std::vector<int>{0});
  EXPECT_THAT(verifier.differences(), testing::Contains(HasSubstr("only 1 of 2 ranks call on dp")));
}

TEST(WorldVerifier, NamesACallInAnotherPlaceThanItsOrder) {
  const PlanCase run = pipeline_of(k_one_f_one_b, 4);
  Plan odd = plans_of(run, 1).training.plan;
  for (std::size_t a = 0; a + 1 < odd.actions.size(); ++a)
    if (odd.programs[static_cast<std::size_t>(odd.actions[a].program)].kind == ProgramKind::reduce) {
      std::swap(odd.actions[a], odd.actions.front());
      break;
    }
  EXPECT_THAT(differences_with(run, 1, odd), testing::Contains(HasSubstr("all other ranks make the second first")));
}

}  // namespace
}  // namespace tessera
