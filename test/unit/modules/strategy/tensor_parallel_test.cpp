// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"

#include <gtest/gtest.h>

namespace tessera {
namespace {

using Residual = TensorParallel::Residual;

std::vector<Axis> grid(int tensor) {
  return {{"tp", "tp", tensor}, {"cp", "cp", 1}, {"dp", "dp", 2}, {"pp", "pp", 1}};
}

std::string factored(std::int64_t heads, std::int64_t kv_heads, int tensor) {
  std::vector<Axis> axes = grid(tensor);
  TensorParallel(heads, kv_heads, Residual::split).factor(axes);
  return Mesh(axes).describe();
}

TEST(TensorParallelTest, RanksThatShareKeyHeadsAreAnAxis) {
  EXPECT_EQ(factored(8, 8, 1), "tp=1 cp=1 dp=2 pp=1");
  EXPECT_EQ(factored(8, 8, 8), "tp=8 cp=1 dp=2 pp=1");
  EXPECT_EQ(factored(8, 4, 4), "tp=4 cp=1 dp=2 pp=1");
  EXPECT_EQ(factored(8, 4, 2), "tp=2 cp=1 dp=2 pp=1");
  EXPECT_EQ(factored(8, 2, 4), "tp.replica=2 tp.head=2 cp=1 dp=2 pp=1");
  EXPECT_EQ(factored(32, 8, 32), "tp.replica=4 tp.head=8 cp=1 dp=2 pp=1");
  EXPECT_EQ(factored(24, 4, 6), "tp.replica=3 tp.head=2 cp=1 dp=2 pp=1");  // more ranks than heads, and no multiple
  EXPECT_EQ(factored(12, 6, 4), "tp.replica=2 tp.head=2 cp=1 dp=2 pp=1");  // fewer, and no divisor
  EXPECT_EQ(factored(8, 1, 4), "tp=4 cp=1 dp=2 pp=1");                     // all hold the one head
  EXPECT_EQ(factored(6, 3, 2), "tp=2 cp=1 dp=2 pp=1");
}

TEST(TensorParallelTest, AMeshWithoutTheAxisStaysAsItIs) {
  std::vector<Axis> axes{{"dp", "dp", 3}};
  TensorParallel(8, 2, Residual::split).factor(axes);
  EXPECT_EQ(Mesh(axes).describe(), "dp=3");
}

void expect_refusal(std::int64_t heads, int tensor, const std::string& nearest) {
  try {
    factored(heads, heads, tensor);
    FAIL() << tensor << " ranks were not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    const std::string what = error.what();
    EXPECT_NE(what.find("parallel.tensor = " + std::to_string(tensor)), std::string::npos) << what;
    EXPECT_NE(what.find("model.heads = " + std::to_string(heads)), std::string::npos) << what;
    EXPECT_EQ(error.hint(), "nearest values of parallel.tensor: " + nearest);
  }
}

TEST(TensorParallelTest, RanksThatDoNotDivideTheHeadsAreRefused) {
  expect_refusal(12, 5, "4 and 6");
  expect_refusal(12, 7, "6 and 12");
  expect_refusal(12, 24, "12");
  expect_refusal(1, 2, "1");
}

Layout placed(const TensorParallel& tensor, const Mesh& mesh, ParameterRole role) {
  Parameter parameter;
  parameter.role = role;
  Layout layout;
  tensor.place_parameter(parameter, {64, 64}, mesh, layout);
  return layout;
}

TEST(TensorParallelTest, ParametersAreSplitByRole) {
  std::vector<Axis> axes = grid(4);
  const TensorParallel tensor(8, 2, Residual::split);
  tensor.factor(axes);
  const Mesh mesh(axes);
  for (const ParameterRole role : {ParameterRole::table, ParameterRole::column, ParameterRole::column_bias})
    EXPECT_EQ(to_string(placed(tensor, mesh, role), mesh), "0:tp.head.tp.replica");
  for (const ParameterRole role : {ParameterRole::kv_column, ParameterRole::kv_column_bias})
    EXPECT_EQ(to_string(placed(tensor, mesh, role), mesh), "0:tp.head");
  EXPECT_EQ(to_string(placed(tensor, mesh, ParameterRole::row), mesh), "1:tp.head.tp.replica");
  for (const ParameterRole role :
       {ParameterRole::position_table, ParameterRole::row_bias, ParameterRole::gain, ParameterRole::head_gain})
    EXPECT_EQ(placed(tensor, mesh, role), Layout{});

  const TensorParallel one_key_head(8, 1, Residual::split);
  EXPECT_EQ(placed(one_key_head, Mesh(grid(4)), ParameterRole::kv_column), Layout{});
  const TensorParallel many(8, 4, Residual::split);
  EXPECT_EQ(to_string(placed(many, Mesh(grid(4)), ParameterRole::kv_column), Mesh(grid(4))), "0:tp");
}

Layout marked(Residual residual, Mark mark, const Mesh& mesh, Layout layout) {
  TensorParallel(8, 8, residual).place_value(mark, {}, mesh, layout);
  return layout;
}

TEST(TensorParallelTest, TheResidualIsSplitBehindOtherAxesOfTheSequence) {
  const Mesh mesh({{"tp", "tp", 2}, {"cp", "cp", 2}, {"dp", "dp", 2}});
  const AxisList tp = mesh.factors("tp"), cp = mesh.factors("cp"), dp = mesh.factors("dp");
  const Layout whole{cp, dp}, split{{cp[0], tp[0]}, dp};
  for (const Layout& from : {whole, split}) {
    EXPECT_EQ(marked(Residual::split, Mark::residual, mesh, from), split);
    EXPECT_EQ(marked(Residual::replicated, Mark::residual, mesh, from), whole);
    for (const Residual residual : {Residual::split, Residual::replicated})
      EXPECT_EQ(marked(residual, Mark::block_input, mesh, from), whole);
  }
  const Layout heads{cp, dp, tp};
  for (const Mark mark : {Mark::query, Mark::key_value, Mark::attention_output, Mark::statistic})
    EXPECT_EQ(marked(Residual::split, mark, mesh, heads), heads);
}

}  // namespace
}  // namespace tessera
