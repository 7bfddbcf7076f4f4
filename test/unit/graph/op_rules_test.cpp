// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Every op gives the right value whatever the layouts of its inputs are.
#include <set>

#include "core/graph/label_rule.hpp"
#include "core/scheduler/placer.hpp"
#include "test/unit/graph/op_cases.hpp"

namespace tessera::test {
namespace {

constexpr std::size_t k_trials = 200;  ///< of one case on one mesh
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

INSTANTIATE_TEST_SUITE_P(Ops, OpRuleTest, testing::ValuesIn(op_names()), [](const auto& test) { return test.param; });

}  // namespace
}  // namespace tessera::test
