// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What expert parallelism costs: the calls of a layer with experts in the compiled plan of every rank, and the bytes
// that it hands over.
#include <gtest/gtest.h>

#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/expert_parallel/expert_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/plan_calls.hpp"

namespace tessera {
namespace {

using testing_support::Calls;
using testing_support::calls_of;
using testing_support::CallsByName;
using Residual = TensorParallel::Residual;

constexpr std::int64_t k_sequence = 32, k_hidden = 64, k_experts = 8, k_choices = 2, k_float = 4;
constexpr std::int64_t k_samples = 2;  ///< of a data-parallel rank

ModelConfig model() {
  ModelConfig model{
      .layers = 3, .hidden = k_hidden, .heads = 8, .kv_heads = 4, .ffn = 48, .vocab = 61, .sequence = k_sequence};
  model.experts = {.count = k_experts, .per_token = k_choices, .ffn = 40};
  return model;
}

struct Case {
  std::string name;
  int tensor = 1, data = 1, expert = 2;
  Residual residual = Residual::replicated;
  std::string axes;  ///< those of the experts
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

/// The plan of every rank.
std::vector<Plan> plans_of(const Case& c) {
  const TensorParallel tensor(8, 4, c.residual);
  const DataParallel data(1 << 20);
  const ExpertParallel expert(c.expert);
  const Strategy* strategies[] = {&data, &tensor, &expert};
  std::vector<Axis> axes{{"tp", "tp", c.tensor}, {"cp", "cp", 1}, {"dp", "dp", c.data}};
  for (const Strategy* strategy : strategies) strategy->factor(axes);
  const Mesh mesh(axes);
  std::vector<Plan> plans;
  for (int rank = 0; rank < mesh.size(); ++rank)
    plans.push_back(
        testing_support::training_plan(model(), {k_sequence, k_samples * c.data, 1}, mesh, rank, strategies));
  return plans;
}

/// Half of a layer is attention, whose calls are those of tensor parallelism (tensor_calls_test.cpp).
class ExpertCalls : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const Case& c = GetParam();
    const bool shares = c.tensor > 1, splits = c.residual == Residual::split;
    if (shares && splits) {
      forward_ = {{"all_gather(tp)", {1, part()}},
                  {"reduce_scatter(tp)", {1, whole()}},
                  // Shares of the choices of whole sequences, for the balancing loss.
                  {"all_reduce(tp)", {1, k_samples * k_experts * std::int64_t(sizeof(double))}}};
      backward_ = {{"all_gather(tp)", {2, 2 * part()}}, {"reduce_scatter(tp)", {1, whole()}}};
    } else if (shares) {
      // What experts give is gathered, and backward the gradients of tokens and of their weights.
      forward_ = {{"all_reduce(tp)", {1, whole()}}, {"all_gather(tp)", {1, part()}}};
      backward_ = {{"all_reduce(tp)", {1, whole()}}, {"all_gather(tp)", {2, part() + tokens() * k_choices * k_float}}};
    }
  }

  /// Bytes of the residual stream of a data-parallel rank, and of a tensor rank's part of it.
  static std::int64_t whole() { return k_sequence * k_samples * k_hidden * k_float; }
  std::int64_t part() const { return whole() / GetParam().tensor; }
  /// Whose rows a rank makes.
  std::int64_t tokens() const { return k_sequence * k_samples / GetParam().tensor; }
  /// Bytes of rows of one feature: every expert may get all of them.
  std::int64_t rows() const { return k_experts * tokens() * k_float; }

  CallsByName forward_, backward_;  ///< without those of experts
};

/// Forward rows, their weights and how many there are go to the experts, and rows come back; backward the gradient of
/// what came back goes there, and those of rows and weights return.
TEST_P(ExpertCalls, RowsGoThereAndBackOnceEachWay) {
  const std::string exchange = "all_to_all(" + GetParam().axes + ")";
  const std::int64_t counts = k_experts * std::int64_t(sizeof(std::int32_t));
  forward_[exchange] = {4, 2 * rows() * k_hidden + rows() + counts};
  backward_[exchange] = {3, 2 * rows() * k_hidden + rows()};
  for (const Plan& plan : plans_of(GetParam())) {
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, 1), forward_) << "rank " << plan.rank;
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, 1), backward_) << "rank " << plan.rank;
  }
}

const Case k_cases[]{
    {"over_tp_with_sequence", 2, 1, 2, Residual::split, "tp"},
    {"over_four_tp_with_sequence", 4, 1, 4, Residual::split, "tp"},
    {"over_tp", 2, 1, 2, Residual::replicated, "tp"},
    {"over_dp", 1, 2, 2, Residual::replicated, "dp"},
    {"over_a_part_of_dp", 1, 4, 2, Residual::replicated, "dp.expert"},
    {"over_tp_and_dp_with_sequence", 2, 2, 4, Residual::split, "tp.dp"},
    {"over_tp_and_dp", 2, 2, 4, Residual::replicated, "tp.dp"},
    {"over_tp_beside_dp", 2, 2, 2, Residual::split, "tp"},
};

INSTANTIATE_TEST_SUITE_P(All, ExpertCalls, testing::ValuesIn(k_cases), testing::PrintToStringParamName());

/// What a step tells of experts travels with its loss: no call more than a dense model has.
TEST(ExpertReport, CostsNoCallOfItsOwn) {
  for (const Plan& plan : plans_of({"", 2, 2, 4, Residual::split, ""})) {
    std::int64_t calls = 0, bytes = 0;
    for (const Program& program : plan.programs) {
      if (program.kind != ProgramKind::update) continue;
      for (std::int32_t i = program.first; i < program.first + program.count; ++i) {
        const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
        if (instruction.kind != Instruction::Kind::post) continue;
        ++calls;
        bytes += plan.calls[static_cast<std::size_t>(instruction.call)].bytes;
      }
    }
    EXPECT_EQ(calls, 2) << "the norm, and the report";
    EXPECT_EQ(bytes, 8 + 8 * (1 + 3 * (k_experts + 1))) << "a norm, a loss, and loads and a loss of each layer";
  }
}

}  // namespace
}  // namespace tessera
