// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Every op gives the right value whatever the layouts of its inputs are.
#include <set>

#include "core/graph/label_rule.hpp"
#include "core/graph/ops/add.hpp"
#include "core/scheduler/placer.hpp"
#include "test/unit/graph/op_cases.hpp"

namespace tessera::test {
namespace {

constexpr std::size_t k_trials = 120;  ///< of one case on one mesh
constexpr unsigned k_seed = 20;

std::vector<std::string> op_names() {
  std::set<std::string> names;
  for (const OpCase& c : op_cases()) names.emplace(c.op->name);
  return {names.begin(), names.end()};
}

class OpRuleTest : public testing::TestWithParam<std::string> {};

TEST_P(OpRuleTest, RightForEveryLayoutOfTheInputs) {
  int count = 0, wrong = 0;
  for (const OpCase& c : op_cases()) {
    if (c.op->name != GetParam()) continue;
    for (const Mesh& mesh : rule_meshes()) {
      for (const Trial& trial : trials_of(c, mesh, k_trials, k_seed)) {
        ++count;
        const std::string failure = failure_of(*c.op, c, mesh, trial);
        if (!failure.empty() && ++wrong <= 3) ADD_FAILURE() << failure << "\nseed " << k_seed;
      }
    }
  }
  EXPECT_EQ(wrong, 0) << "of " << count;
  RecordProperty("cases", count);
}

/// A parameter is converted only where the op needs a dim whole: activations follow.
TEST_P(OpRuleTest, BindingInputsAreNeverConverted) {
  for (const OpCase& c : op_cases()) {
    if (c.op->name != GetParam() || c.op->layout != nullptr || !c.op->whole.empty()) continue;
    std::vector<Type> types;
    for (const Operand& operand : c.in) types.push_back(operand.type);
    const Labels labels = labels_of(*c.op, types);
    const bool all[] = {true, true, true, true};
    const std::span present(all, types.size());
    for (const Mesh& mesh : rule_meshes()) {
      for (const Trial& trial : trials_of(c, mesh, k_trials, k_seed)) {
        const LayoutAnswer answer = layout_of(*c.op, {mesh, trial.in, present, types, c.attributes, nullptr});
        for (std::size_t i = 0; i < types.size(); ++i) {
          if (labels.binding[i]) {
            EXPECT_EQ(answer.in[i], trial.in[i]) << to_string(trial.in[i], mesh);
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, OpRuleTest, testing::ValuesIn(op_names()), [](const auto& test) { return test.param; });

TEST(AddRuleTest, ASumTakesTheOrderOfAxesOfItsSecondOperandWhereTheFirstHasNone) {
  const Mesh mesh({{"a", "a", 2}, {"b", "b", 2}});
  const Type type{{4, 4}, DType::f64};
  const Type types[] = {type, type};
  const bool present[] = {true, true};
  for (const Layout& split : {Layout({{0, 1}}), Layout({{1, 0}})}) {
    const Layout in[] = {Layout(), split};
    EXPECT_EQ(layout_of(ops::add, {mesh, in, present, types, {}, nullptr}).out[0], split) << to_string(split, mesh);
  }
}

}  // namespace
}  // namespace tessera::test
