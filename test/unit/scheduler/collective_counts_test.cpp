// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// A layout that is right may still communicate too much: the collectives of one layer, of the head and of the embedding
// are what the parallelism costs when it is written by hand, and not one more.
#include "core/graph/ops/convert.hpp"
#include "core/mesh/conversion.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/placed_model.hpp"
#include "test/support/test_strategies.hpp"

namespace tessera::test {
namespace {

using Kind = ConversionStep::Kind;

/// Number of collectives by "kind(axes)".
using Counts = std::map<std::string, int>;

struct Where {
  int layer;
  Phase phase;
};
constexpr Where k_layer_forward{1, Phase::forward}, k_layer_backward{1, Phase::backward},
    k_head_forward{k_head, Phase::forward}, k_head_backward{k_head, Phase::backward},
    k_embedding_forward{k_embedding, Phase::forward}, k_embedding_backward{k_embedding, Phase::backward};

constexpr std::int64_t k_heads = 8;

struct Extras {
  bool biases = false, qk_norm = false;
  std::int64_t key_heads = 4;
  std::int64_t head_pieces = 1;
  bool marks_block_inputs = true;
};

class PlacedLlama {
 public:
  PlacedLlama(std::vector<Axis> axes, Residual residual, const std::string& context = "allgather",
              const Extras& extras = {})
      : mesh_(std::move(axes)),
        tensor_(k_heads, extras.key_heads, residual),
        context_(context_strategy(context)),
        model_(place_it(extras)) {}

  Counts count(Where where) const {
    Counts counts;
    for (const Node& node : model_.graph().nodes) {
      if (node.op != &ops::convert || node.layer != where.layer || node.phase != where.phase) continue;
      const auto step = node.attributes.as<ConversionStep>();
      if (communicates(step.kind))
        ++counts[std::string(name_of(step.kind)) + "(" + mesh_.describe(step.axes.set()) + ")"];
    }
    return counts;
  }

  /// Axes over which the gradient of a parameter of layer 1 is still to be summed, "none" when it is complete.
  std::string unsummed(const std::string& field) const {
    for (const Accumulator& accumulator : model_.graph().accumulators) {
      const Parameter& parameter = model_.graph().parameters[static_cast<std::size_t>(accumulator.parameter)];
      if (parameter.field == field && parameter.layer == 1) return mesh_.describe(accumulator.layout.partial());
    }
    return "missing";
  }

 private:
  PlacedModel place_it(const Extras& extras) const {
    ModelConfig config;
    config.layers = 3;
    config.hidden = 16;
    config.heads = k_heads;
    config.kv_heads = extras.key_heads;
    config.ffn = 24;
    config.vocab = 40;
    config.sequence = 16;
    config.biases = extras.biases;
    config.qk_norm = extras.qk_norm;
    const UnmarkedTensorParallel unmarked(tensor_);
    const Strategy* strategies[] = {&tensor_, context_.get(), &data_};
    if (!extras.marks_block_inputs) strategies[0] = &unmarked;
    return {config, {16, 4, extras.head_pieces}, mesh_, strategies};
  }

  Mesh mesh_;
  TensorParallel tensor_;
  std::unique_ptr<Strategy> context_;
  DataStrategy data_;
  PlacedModel model_;
};

const std::vector<Axis> k_tp2{{"tp", "tp", 2}}, k_cp2{{"cp", "cp", 2}},
    k_factored{{"tp.replica", "tp", 2}, {"tp.head", "tp", 2}};
const Extras k_plain, k_adorned{true, true, 4};

Counts together(const std::vector<Counts>& all) {
  Counts sum;
  for (const Counts& counts : all)
    for (const auto& [name, count] : counts) sum[name] += count;
  return sum;
}

class TensorCountsTest : public testing::TestWithParam<Extras> {};

TEST_P(TensorCountsTest, TwoReductionsEachWay) {
  const PlacedLlama model(k_tp2, Residual::replicated, "allgather", GetParam());
  EXPECT_EQ(model.count(k_layer_forward), (Counts{{"all_reduce(tp)", 2}}));
  EXPECT_EQ(model.count(k_layer_backward), (Counts{{"all_reduce(tp)", 2}}));
  EXPECT_EQ(model.count(k_head_forward), (Counts{{"all_reduce(tp)", 3}}));
  EXPECT_EQ(model.count(k_head_backward), (Counts{{"all_reduce(tp)", 1}}));
  EXPECT_EQ(model.count(k_embedding_forward), (Counts{{"all_reduce(tp)", 1}}));
  EXPECT_EQ(model.count(k_embedding_backward), Counts{});
  for (const char* field : {"norm1.gain", "attention.q", "attention.k", "attention.o", "feed_forward.down"})
    EXPECT_EQ(model.unsummed(field), "none") << field;
}

TEST_P(TensorCountsTest, WithTheSequenceSplitTheyBecomeGathersAndScatters) {
  const PlacedLlama model(k_tp2, Residual::split, "allgather", GetParam());
  EXPECT_EQ(model.count(k_layer_forward), (Counts{{"all_gather(tp)", 2}, {"reduce_scatter(tp)", 2}}));
  // Two gathers of the row matrices' output gradients, two of block inputs again for the weights' gradients.
  EXPECT_EQ(model.count(k_layer_backward), (Counts{{"all_gather(tp)", 4}, {"reduce_scatter(tp)", 2}}));
  EXPECT_EQ(model.count(k_head_forward), (Counts{{"all_gather(tp)", 1}, {"all_reduce(tp)", 3}}));
  EXPECT_EQ(model.count(k_head_backward),
            (Counts{{"reduce_scatter(tp)", 1}}));  // the gathered input is kept: it is read at once
  EXPECT_EQ(model.count(k_embedding_forward), (Counts{{"reduce_scatter(tp)", 1}}));
  EXPECT_EQ(model.count(k_embedding_backward), (Counts{{"all_gather(tp)", 1}}));
  for (const char* field : {"norm1.gain", "norm2.gain"}) EXPECT_EQ(model.unsummed(field), "tp") << field;
  for (const char* field : {"attention.q", "attention.k", "attention.o", "feed_forward.down"})
    EXPECT_EQ(model.unsummed(field), "none") << field;
}

INSTANTIATE_TEST_SUITE_P(Extras, TensorCountsTest, testing::Values(k_plain, k_adorned),
                         [](const auto& test) { return test.param.biases ? "biases_and_head_norms" : "plain"; });

TEST(CollectiveCountsTest, BiasesAndHeadNormsAreSummedOncePerStep) {
  const PlacedLlama model(k_tp2, Residual::split, "allgather", k_adorned);
  for (const char* field :
       {"attention.q_norm.gain", "attention.k_norm.gain", "attention.o.bias", "feed_forward.down.bias"})
    EXPECT_EQ(model.unsummed(field), "tp") << field;
  EXPECT_EQ(model.unsummed("attention.q.bias"), "none");
}

/// Two key heads on four ranks: the gradients of what ranks share stay partial as far as the block's input, where they
/// are summed with those of the queries, and as far as the weights, where they are summed once per step.
TEST(CollectiveCountsTest, SharedKeyHeadsCostNothingInALayer) {
  for (const bool adorned : {false, true}) {
    const Extras extras{adorned, adorned, 2};
    const PlacedLlama model(k_factored, Residual::replicated, "allgather", extras);
    const std::string all = "(tp.replica.tp.head)";
    EXPECT_EQ(model.count(k_layer_forward), (Counts{{"all_reduce" + all, 2}}));
    EXPECT_EQ(model.count(k_layer_backward), (Counts{{"all_reduce" + all, 2}}));
    const PlacedLlama split(k_factored, Residual::split, "allgather", extras);
    EXPECT_EQ(split.count(k_layer_forward), (Counts{{"all_gather" + all, 2}, {"reduce_scatter" + all, 2}}));
    EXPECT_EQ(split.count(k_layer_backward), (Counts{{"all_gather" + all, 4}, {"reduce_scatter" + all, 2}}));
    for (const PlacedLlama* placed : {&model, &split}) {
      for (const char* field : {"attention.k", "attention.v"}) EXPECT_EQ(placed->unsummed(field), "tp.replica");
      for (const char* field : {"attention.q", "attention.o", "feed_forward.up", "feed_forward.down"})
        EXPECT_EQ(placed->unsummed(field), "none") << field;
      if (!adorned) continue;
      for (const char* field : {"attention.k.bias", "attention.v.bias"})
        EXPECT_EQ(placed->unsummed(field), "tp.replica") << field;
      for (const char* field : {"attention.q_norm.gain", "attention.k_norm.gain"})
        EXPECT_EQ(placed->unsummed(field), "tp.replica.tp.head") << field;
    }
  }
}

/// With context parallelism the keys' gradients are scattered over the sequence on the way, and still partial behind
/// it.
TEST(CollectiveCountsTest, SharedKeyHeadsCostNothingBesideContext) {
  std::vector<Axis> axes = k_factored;
  axes.push_back({"cp", "cp", 2});
  const Extras extras{.key_heads = 2};
  for (const Residual residual : {Residual::replicated, Residual::split}) {
    const PlacedLlama both(axes, residual, "allgather", extras), alone(k_factored, residual, "allgather", extras),
        context(k_cp2, residual, "allgather");
    for (const Where where : {k_layer_forward, k_layer_backward})
      EXPECT_EQ(both.count(where), together({alone.count(where), context.count(where)}));
    EXPECT_EQ(both.unsummed("attention.k"), "tp.replica.cp");
  }
}

/// Without the mark of block inputs the axes of key heads and their replicas part: right, and wasteful.
TEST(CollectiveCountsTest, FactoredAxesNeedTheMarkOfBlockInputs) {
  const Extras extras{.key_heads = 2, .marks_block_inputs = false};
  const PlacedLlama model(k_factored, Residual::split, "allgather", extras);
  const std::string all = "(tp.replica.tp.head)";
  EXPECT_EQ(model.count(k_layer_forward),
            (Counts{{"all_gather" + all, 2}, {"all_gather(tp.replica)", 2}, {"reduce_scatter" + all, 2}}));
  EXPECT_EQ(model.count(k_layer_backward), (Counts{{"all_gather" + all, 4},
                                                   {"all_gather(tp.replica)", 3},
                                                   {"reduce_scatter" + all, 2},
                                                   {"reduce_scatter(tp.replica)", 2},
                                                   {"reduce_scatter(tp.head)", 1}}));
}

TEST(CollectiveCountsTest, PiecesOfTheHeadReduceTheirInputsGradientTogether) {
  const Extras extras{.head_pieces = 4};
  const PlacedLlama model(k_tp2, Residual::replicated, "allgather", extras);
  EXPECT_EQ(model.count(k_head_forward), (Counts{{"all_reduce(tp)", 12}}));
  EXPECT_EQ(model.count(k_head_backward), (Counts{{"all_reduce(tp)", 1}}));
  const PlacedLlama split(k_tp2, Residual::split, "allgather", extras);
  EXPECT_EQ(split.count(k_head_forward), (Counts{{"all_gather(tp)", 1}, {"all_reduce(tp)", 12}}));
  EXPECT_EQ(split.count(k_head_backward), (Counts{{"reduce_scatter(tp)", 1}}));
}

TEST(CollectiveCountsTest, ContextThatGathersKeys) {
  const PlacedLlama model(k_cp2, Residual::replicated, "allgather");
  EXPECT_EQ(model.count(k_layer_forward), (Counts{{"all_gather(cp)", 2}}));
  EXPECT_EQ(model.count(k_layer_backward), (Counts{{"all_gather(cp)", 2}, {"reduce_scatter(cp)", 2}}));
  EXPECT_EQ(model.count(k_head_forward), Counts{});
  EXPECT_EQ(model.count(k_head_backward), Counts{});
  for (const char* field : {"norm1.gain", "attention.q", "attention.k", "attention.o", "feed_forward.down"})
    EXPECT_EQ(model.unsummed(field), "cp") << field;
}

TEST(CollectiveCountsTest, ContextThatExchangesTheSequenceForHeads) {
  const PlacedLlama model(k_cp2, Residual::replicated, "ulysses");
  EXPECT_EQ(model.count(k_layer_forward), (Counts{{"all_to_all(cp)", 4}}));
  EXPECT_EQ(model.count(k_layer_backward), (Counts{{"all_to_all(cp)", 4}}));
}

/// Axes do not disturb each other: a product of parallelisms costs what they cost alone.
TEST(CollectiveCountsTest, ProductsCostTheSum) {
  const std::vector<Axis> tp_cp_dp{{"tp", "tp", 2}, {"cp", "cp", 2}, {"dp", "dp", 2}};
  for (const Residual residual : {Residual::replicated, Residual::split}) {
    for (const char* const attention : {"allgather", "ulysses"}) {
      const PlacedLlama all(tp_cp_dp, residual, attention), tensor(k_tp2, residual),
          context(k_cp2, residual, attention);
      for (const Where where : {k_layer_forward, k_layer_backward})
        EXPECT_EQ(all.count(where), together({tensor.count(where), context.count(where)}));
    }
  }
}

TEST(CollectiveCountsTest, DataCostsNothingBeforeTheStep) {
  const PlacedLlama model({{"dp", "dp", 4}}, Residual::replicated);
  for (const Where where : {k_layer_forward, k_layer_backward, k_head_forward, k_head_backward, k_embedding_backward})
    EXPECT_EQ(model.count(where), Counts{});
  EXPECT_EQ(model.unsummed("attention.k"), "dp");
}

}  // namespace
}  // namespace tessera::test
