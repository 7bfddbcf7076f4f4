// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Every layout computes the same function: loss and all gradients of a model on a mesh are those of one rank.
#include <numeric>

#include "test/support/closeness.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/placed_model.hpp"
#include "test/support/test_strategies.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::test {
namespace {

using testing_support::uneven_model;

struct Layouts {
  std::string name;
  std::vector<Axis> axes;
  Residual residual = Residual::replicated;
  std::string context = "allgather";
  bool marks_block_inputs = true;
};

struct Model {
  std::string name;
  ModelConfig config;
  MicroBatch micro_batch{16, 4, 1};
};

const std::vector<Axis> k_tp2{{"tp", "tp", 2}}, k_tp4{{"tp", "tp", 4}}, k_dp2{{"dp", "dp", 2}}, k_cp2{{"cp", "cp", 2}},
    k_cp4{{"cp", "cp", 4}}, k_all2{{"tp", "tp", 2}, {"cp", "cp", 2}, {"dp", "dp", 2}},
    k_factored{{"tp.replica", "tp", 2}, {"tp.head", "tp", 2}},
    k_factored_cp2{{"tp.replica", "tp", 2}, {"tp.head", "tp", 2}, {"cp", "cp", 2}};

const std::vector<Layouts>& layouts() {
  static const std::vector<Layouts> all{
      {"tp2", k_tp2},
      {"tp2_sequence", k_tp2, Residual::split},
      {"tp2_sequence_unmarked", k_tp2, Residual::split, "allgather", false},
      {"tp4", k_tp4},
      {"tp4_sequence", k_tp4, Residual::split},
      {"tp4_factored", k_factored},
      {"tp4_factored_sequence", k_factored, Residual::split},
      {"tp4_factored_sequence_unmarked", k_factored, Residual::split, "allgather", false},
      {"dp2", k_dp2},
      {"dp3", {{"dp", "dp", 3}}},
      {"dp8", {{"dp", "dp", 8}}},
      {"cp2_allgather", k_cp2},
      {"cp4_allgather", k_cp4},
      {"cp2_ulysses", k_cp2, Residual::replicated, "ulysses"},
      {"cp4_ulysses", k_cp4, Residual::replicated, "ulysses"},
      {"cp2_ring", k_cp2, Residual::replicated, "ring"},
      {"cp4_ring", k_cp4, Residual::replicated, "ring"},
      {"cp4_factored_ring", {{"cp.inner", "cp", 2}, {"cp.outer", "cp", 2}}, Residual::replicated, "ring"},
      {"tp2_cp2_dp2_ring", k_all2, Residual::replicated, "ring"},
      {"tp2_cp2_dp2_ring_sequence", k_all2, Residual::split, "ring"},
      {"tp4_factored_cp2_ring", k_factored_cp2, Residual::replicated, "ring"},
      {"tp4_factored_cp2_ring_sequence", k_factored_cp2, Residual::split, "ring"},
      {"cp4_factored_allgather", {{"cp.inner", "cp", 2}, {"cp.outer", "cp", 2}}},
      {"cp4_factored_ulysses", {{"cp.inner", "cp", 2}, {"cp.outer", "cp", 2}}, Residual::replicated, "ulysses"},
      {"tp2_cp2_dp2_allgather", k_all2},
      {"tp2_cp2_dp2_allgather_sequence", k_all2, Residual::split},
      {"tp2_cp2_dp2_allgather_sequence_unmarked", k_all2, Residual::split, "allgather", false},
      {"tp2_cp2_dp2_ulysses", k_all2, Residual::replicated, "ulysses"},
      {"tp2_cp2_dp2_ulysses_sequence", k_all2, Residual::split, "ulysses"},
      {"tp4_factored_cp2_allgather_sequence", k_factored_cp2, Residual::split},
      {"tp4_factored_cp2_ulysses_sequence", k_factored_cp2, Residual::split, "ulysses"},
      {"tp4_factored_cp2_ulysses", k_factored_cp2, Residual::replicated, "ulysses"},
  };
  return all;
}

ModelConfig with_everything(const ModelConfig& config) {
  return testing_support::with_everything(config, 0.2);
}

const std::vector<Model>& models() {
  static const std::vector<Model> all = [] {
    std::vector<Model> list{{"llama", uneven_model(Architecture::llama, 4)},
                            {"llama_2_key_heads", uneven_model(Architecture::llama, 2), {16, 4, 2}},
                            {"llama_everything", with_everything(uneven_model(Architecture::llama, 2)), {16, 3, 2}},
                            {"llama_1_key_head_everything", with_everything(uneven_model(Architecture::llama, 1))},
                            {"llama_uneven", with_everything(uneven_model(Architecture::llama, 8)), {13, 3, 1}},
                            {"gpt", uneven_model(Architecture::gpt, 8), {16, 4, 2}},
                            {"gpt_everything", with_everything(uneven_model(Architecture::gpt, 4)), {16, 3, 1}}};
    ModelConfig odd = with_everything(uneven_model(Architecture::gpt, 3));
    odd.hidden = 12;
    odd.heads = 6;
    list.push_back({"gpt_6_heads", odd, {11, 2, 1}});
    return list;
  }();
  return all;
}

double seed_of(const NamedValues& inputs) {
  const Values& mask = inputs.at("mask");
  return 1 / std::accumulate(mask.begin(), mask.end(), 0.0);
}

struct Reference {
  NamedValues inputs, weights;
  PlacedModel::Result result;
};

const Reference& reference_of(const Model& model) {
  static std::map<std::string, Reference> made;
  if (const auto found = made.find(model.name); found != made.end()) return found->second;
  const Mesh one({{"tp", "tp", 1}});
  Reference reference{random_inputs(model.config, model.micro_batch, 1), random_weights(model.config, 2), {}};
  reference.result = PlacedModel(model.config, model.micro_batch, one, {})
                         .run(reference.inputs, reference.weights, seed_of(reference.inputs));
  return made.emplace(model.name, std::move(reference)).first->second;
}

PlacedModel::Result run(const Model& model, const Layouts& l) {
  const Mesh mesh(l.axes);
  const TensorParallel tensor(model.config.heads, model.config.key_heads(), l.residual);
  const UnmarkedTensorParallel unmarked(tensor);
  const auto context = context_strategy(l.context);
  const DataStrategy data;
  const Strategy* strategies[] = {&tensor, context.get(), &data};
  if (!l.marks_block_inputs) strategies[0] = &unmarked;
  const Reference& reference = reference_of(model);
  return PlacedModel(model.config, model.micro_batch, mesh, strategies)
      .run(reference.inputs, reference.weights, seed_of(reference.inputs));
}

void expect_equal(const PlacedModel::Result& actual, const PlacedModel::Result& expected) {
  EXPECT_NEAR(actual.loss, expected.loss, 1e-10);
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (const auto& [name, gradient] : expected.gradients)
    EXPECT_TRUE(close(actual.gradients.at(name), gradient, 1e-10)) << name;
}

/// What a context strategy cannot do: heads that ranks cannot share, blocks that are not equally long.
bool is_refused(const Model& model, const Layouts& l) {
  const Mesh mesh(l.axes);
  const int context = mesh.size_of(mesh.factors("cp").set()), tensor = mesh.size_of(mesh.factors("tp").set());
  if (l.context == "ulysses") return model.config.heads % (tensor * context) != 0;
  return l.context == "ring" && model.micro_batch.sequence % context != 0;
}

class ParityTest : public testing::TestWithParam<Layouts> {};

TEST_P(ParityTest, LossAndGradientsAreThoseOfOneRank) {
  for (const Model& model : models()) {
    SCOPED_TRACE(model.name);
    if (is_refused(model, GetParam())) {
      EXPECT_THROW(run(model, GetParam()), Error);
      continue;
    }
    expect_equal(run(model, GetParam()), reference_of(model).result);
  }
}

/// What is compared is not nothing.
TEST(ParityReferenceTest, EveryGradientIsLarge) {
  for (const Model& model : models()) {
    const PlacedModel::Result& result = reference_of(model).result;
    EXPECT_GT(result.loss, 1) << model.name;
    for (const auto& [name, gradient] : result.gradients) {
      double largest = 0;
      for (double x : gradient) largest = std::max(largest, std::abs(x));
      EXPECT_GT(largest, 1e-3) << model.name << " " << name;
    }
  }
}

/// Two micro-batches of a step: their contributions add up, each weighted by the tokens of the whole step.
TEST(MicroBatchTest, ContributionsAddUpToThoseOfTheWholeBatch) {
  const Mesh mesh(k_all2);
  const Model model{"llama_micro_batches", with_everything(uneven_model(Architecture::llama, 4)), {16, 5, 2}};
  const TensorParallel tensor(model.config.heads, model.config.kv_heads, Residual::split);
  const auto context = context_strategy("allgather");
  const DataStrategy data;
  const Strategy* strategies[] = {&tensor, context.get(), &data};
  const Reference& reference = reference_of(model);
  PlacedModel::Result sum;
  for (const auto& [first, count] : {std::pair<std::int64_t, std::int64_t>{0, 3}, {3, 2}}) {
    const MicroBatch part{model.micro_batch.sequence, count, model.micro_batch.head_pieces};
    const PlacedModel::Result result = PlacedModel(model.config, part, mesh, strategies)
                                           .run(samples_of(reference.inputs, model.micro_batch, first, count),
                                                reference.weights, seed_of(reference.inputs));
    sum.loss += result.loss;
    for (const auto& [name, gradient] : result.gradients) {
      Values& total = sum.gradients[name];
      total.resize(gradient.size());
      for (std::size_t i = 0; i < gradient.size(); ++i) total[i] += gradient[i];
    }
  }
  expect_equal(sum, reference.result);
}

INSTANTIATE_TEST_SUITE_P(Layouts, ParityTest, testing::ValuesIn(layouts()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tessera::test
