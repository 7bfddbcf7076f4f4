// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What tensor and sequence parallelism cost: the calls of one layer, of the head and of the embedding in the compiled
// plan of every rank, and the bytes that it hands over.
#include <gtest/gtest.h>

#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/plan_calls.hpp"

namespace tessera {
namespace {

using testing_support::Calls;
using testing_support::calls_of;
using testing_support::CallsByName;
using Residual = TensorParallel::Residual;

constexpr std::int64_t k_batch = 2, k_hidden = 64, k_heads = 8;

struct Case {
  std::string name;
  int tensor = 2;
  std::int64_t key_heads = 4;
  std::string axes = "tp";  ///< what the tensor axes are called together
  Architecture architecture = Architecture::llama;
  bool adorned = false;  ///< biases, norms of heads, a tied table
  std::int64_t sequence = 32;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

ModelConfig model_of(const Case& c) {
  ModelConfig model;
  model.architecture = c.architecture;
  model.layers = 3;
  model.hidden = k_hidden;
  model.heads = k_heads;
  model.kv_heads = c.key_heads;
  model.ffn = 50;  // uneven parts
  model.vocab = 61;
  model.sequence = c.sequence;
  model.biases = model.qk_norm = model.tied = c.adorned;
  return model;
}

/// Data parallelism of two beside.
Mesh mesh_of(const Case& c) {
  std::vector<Axis> axes{{"tp", "tp", c.tensor}, {"cp", "cp", 1}, {"dp", "dp", 2}};
  TensorParallel(k_heads, c.key_heads, Residual::split).factor(axes);
  return Mesh(axes);
}

/// The plan of every rank.
std::vector<Plan> plans_of(const Case& c, Residual residual, std::int64_t head_pieces = 1) {
  const ModelConfig model = model_of(c);
  const TensorParallel tensor(model.heads, model.kv_heads, residual);
  const DataParallel data(1 << 20);
  const Strategy* strategies[] = {&data, &tensor};
  const Mesh mesh = mesh_of(c);
  std::vector<Plan> plans;
  for (int rank = 0; rank < mesh.size(); ++rank)
    plans.push_back(
        testing_support::training_plan(model, {c.sequence, 2 * k_batch, head_pieces}, mesh, rank, strategies));
  return plans;
}

class TensorCalls : public testing::TestWithParam<Case> {
 protected:
  std::string named(const std::string& kind) const { return kind + "(" + GetParam().axes + ")"; }

  /// Bytes of the residual stream of a data-parallel rank.
  std::int64_t whole() const { return GetParam().sequence * k_batch * k_hidden * 4; }

  /// And of a tensor rank's part of it.
  std::int64_t part(int rank) const {
    const Mesh mesh = mesh_of(GetParam());
    return part_of(mesh, GetParam().sequence, mesh.factors("tp"), rank).size() * k_batch * k_hidden * 4;
  }

  std::int64_t statistic() const { return GetParam().sequence * k_batch * 4; }
};

TEST_P(TensorCalls, ALayerReducesTwiceEachWay) {
  for (const Plan& plan : plans_of(GetParam(), Residual::replicated)) {
    const CallsByName twice{{named("all_reduce"), {2, 2 * whole()}}};
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, 1), twice);
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, 1), twice);
    const CallsByName embedding{{named("all_reduce"), {1, whole()}}};
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, k_embedding), embedding);
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, k_embedding), CallsByName{});
  }
}

/// Forward two gathers and two scatters; backward the gradients of both matrices out of a block are gathered, those of
/// both block inputs scattered, and both block inputs gathered again for the weights' gradients.
TEST_P(TensorCalls, WithTheSequenceALayerGathersAndScatters) {
  const std::vector<Plan> plans = plans_of(GetParam(), Residual::split);
  for (const Plan& plan : plans) {
    const std::int64_t mine = part(plan.rank);
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, 1),
              (CallsByName{{named("all_gather"), {2, 2 * mine}}, {named("reduce_scatter"), {2, 2 * whole()}}}));
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, 1),
              (CallsByName{{named("all_gather"), {4, 4 * mine}}, {named("reduce_scatter"), {2, 2 * whole()}}}));
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, k_embedding),
              (CallsByName{{named("reduce_scatter"), {1, whole()}}}));
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, k_embedding), (CallsByName{{named("all_gather"), {1, mine}}}));
  }
}

/// Largest logit, sum of exponentials and logit of the target; then the gradient of the head's input, once for all
/// pieces of it.
TEST_P(TensorCalls, TheHeadReducesThreeStatistics) {
  for (const std::int64_t pieces : {1, GetParam().sequence % 4 == 0 ? 4 : 1}) {
    const auto calls = static_cast<int>(3 * pieces);
    for (const Plan& plan : plans_of(GetParam(), Residual::replicated, pieces)) {
      EXPECT_EQ(calls_of(plan, ProgramKind::forward, k_head),
                (CallsByName{{named("all_reduce"), {calls, 3 * statistic()}}}));
      EXPECT_EQ(calls_of(plan, ProgramKind::backward, k_head), (CallsByName{{named("all_reduce"), {1, whole()}}}));
    }
    for (const Plan& plan : plans_of(GetParam(), Residual::split, pieces)) {
      EXPECT_EQ(
          calls_of(plan, ProgramKind::forward, k_head),
          (CallsByName{{named("all_gather"), {1, part(plan.rank)}}, {named("all_reduce"), {calls, 3 * statistic()}}}));
      EXPECT_EQ(calls_of(plan, ProgramKind::backward, k_head), (CallsByName{{named("reduce_scatter"), {1, whole()}}}));
    }
  }
}

const Case k_cases[]{
    {"tp2"},
    {"tp4", 4},
    {"tp8", 8, 8},
    {"tp2_adorned", 2, 4, "tp", Architecture::llama, true},
    {"tp4_gpt", 4, 8, "tp", Architecture::gpt, true},
    {"tp4_2_key_heads", 4, 2, "tp.replica.tp.head"},
    {"tp4_2_key_heads_adorned", 4, 2, "tp.replica.tp.head", Architecture::llama, true},
    {"tp8_2_key_heads", 8, 2, "tp.replica.tp.head"},
    {"tp4_uneven", 4, 4, "tp", Architecture::llama, false, 30},
    {"tp8_uneven_2_key_heads", 8, 2, "tp.replica.tp.head", Architecture::llama, false, 3},
};

INSTANTIATE_TEST_SUITE_P(All, TensorCalls, testing::ValuesIn(k_cases), testing::PrintToStringParamName());

/// Where all ranks hold the one key head, the gradients of keys and values are sums over all of them.
TEST(TensorKeyHeads, OneKeyHeadCostsTwoSmallReductions) {
  const Case one{"", 4, 1};
  const std::int64_t stream = one.sequence * k_batch * k_hidden * 4, keys = stream / k_heads;
  for (const Plan& plan : plans_of(one, Residual::replicated))
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, 1), (CallsByName{{"all_reduce(tp)", {4, 2 * stream + 2 * keys}}}));
  for (const Plan& plan : plans_of(one, Residual::split))
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, 1), (CallsByName{{"all_gather(tp)", {4, stream}},
                                                                     {"all_reduce(tp)", {2, 2 * keys}},
                                                                     {"reduce_scatter(tp)", {2, 2 * stream}}}));
}

/// Elements of trained buckets by the axes over which their gradients are summed once per step.
std::map<std::string, std::int64_t> summed_once(const Case& c, Residual residual) {
  std::map<std::string, std::int64_t> elements;
  const Mesh mesh = mesh_of(c);
  const Plan plan = plans_of(c, residual)[0];
  for (const Bucket& bucket : plan.buckets)
    for (const BucketMember& member : bucket.members)
      elements[mesh.describe(bucket.partial)] += member.slab.extent.count();
  return elements;
}

/// Two norms in each layer and one before the head; keys and values of three layers.
TEST(TensorSums, AreThoseOfNormsAndOfSharedKeyHeads) {
  const Case even{"", 2, 4}, shared{"", 4, 2};
  const std::int64_t all = model_of(even).parameters(), gains = 7 * k_hidden, keys = 3 * 2 * k_hidden * 2 * 8;
  EXPECT_EQ(model_of(shared).parameters(), all - keys);  // two heads of four
  using Sums = std::map<std::string, std::int64_t>;
  const auto split = [](std::int64_t vocab, std::int64_t ffn, std::int64_t heads, std::int64_t key_heads) {
    return 2 * vocab * k_hidden + 3 * k_hidden * (3 * ffn + 8 * 2 * heads + 8 * 2 * key_heads);
  };
  // Rank 0: 31 of 61 tokens and 25 of 50 features on two ranks, 16 and 13 on four.
  EXPECT_EQ(summed_once(even, Residual::replicated), (Sums{{"dp", split(31, 25, 4, 2) + gains}}));
  EXPECT_EQ(summed_once(even, Residual::split), (Sums{{"dp", split(31, 25, 4, 2)}, {"tp.dp", gains}}));
  EXPECT_EQ(summed_once(shared, Residual::replicated),
            (Sums{{"dp", split(16, 13, 2, 0) + gains}, {"tp.replica.dp", keys / 2}}));
  EXPECT_EQ(summed_once(shared, Residual::split),
            (Sums{{"dp", split(16, 13, 2, 0)}, {"tp.replica.dp", keys / 2}, {"tp.replica.tp.head.dp", gains}}));
}

}  // namespace
}  // namespace tessera
