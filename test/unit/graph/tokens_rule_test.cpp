// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Pieces of tokens: what one holds follows from how the tokens are split, so these rules have a test of their own.
#include "core/base/op_attributes.hpp"
#include "core/graph/ops/tokens.hpp"
#include "core/scheduler/placer.hpp"
#include "test/support/naive_executor.hpp"
#include "test/unit/graph/op_check.hpp"

namespace tessera::test {
namespace {

constexpr std::int64_t k_batch = 3, k_width = 2;

/// x [s, b, h], whose element (s, b, 0) is the number of the token, and the numbers themselves [s, b].
struct Tokens {
  OpCase both;
  explicit Tokens(std::int64_t s) {
    const Shape x{s, k_batch, k_width}, tokens{s, k_batch};
    Operand features{{x, DType::f64}, random_values(5, x.count())}, numbers{{tokens, DType::i32}, {}};
    for (std::int64_t i = 0; i < tokens.count(); ++i) {
      features.values[static_cast<std::size_t>(i * k_width)] = static_cast<double>(i);
      numbers.values.push_back(static_cast<double>(i));
    }
    both.op = &ops::split_tokens;
    both.in = {features, numbers};
  }
};

/// Pieces of x and of the numbers, and x put together again, on a mesh.
struct Pieces {
  std::vector<Values> x, numbers;
  Values again;
};

enum class Guide { given, left_out };

Pieces pieces_of(const Tokens& tokens, std::int64_t pieces, const Mesh& mesh, const std::vector<Layout>& layouts, Guide guide) {
  Graph graph;
  std::vector<Value> in;
  for (std::size_t i = 0; i < 2; ++i) {
    ValueInfo info;
    info.type = tokens.both.in[i].type;
    info.layout = layouts[i];
    in.push_back(graph.add_value(std::move(info)));
  }
  Placer placer(graph, mesh);
  const Attributes record = Attributes::of(attributes::Pieces{pieces});
  const auto emit = [&](const Op& op, const std::vector<Value>& operands) { return placer.emit(op, operands, record); };
  const auto x = emit(ops::split_tokens, {in[0]});
  const auto numbers = guide == Guide::given ? emit(ops::split_tokens, {in[1], in[0]}) : emit(ops::split_tokens, {in[1]});
  const Value again = emit(ops::concat_tokens, x)[0];

  NaiveExecutor executor(graph, mesh);
  for (std::size_t i = 0; i < 2; ++i) executor.set(in[i], tokens.both.in[i].values);
  executor.run();
  Pieces result;
  for (Value v : x) result.x.push_back(executor.assemble(v));
  for (Value v : numbers) result.numbers.push_back(executor.assemble(v));
  result.again = executor.assemble(again);
  return result;
}

/// Whether every piece holds the same tokens in both.
bool correspond(const Pieces& pieces) {
  for (std::size_t piece = 0; piece < pieces.x.size(); ++piece)
    for (std::size_t token = 0; token < pieces.numbers[piece].size(); ++token)
      if (std::abs(pieces.x[piece][token * k_width] - pieces.numbers[piece][token]) > 1e-12) return false;
  return true;
}

TEST(TokensRuleTest, PiecesCorrespondAndMakeTheWholeAgain) {
  int even = 0, uneven = 0;
  for (const std::int64_t s : {12, 24, 10}) {
    const Tokens tokens(s);
    for (const std::int64_t pieces : {1, 2}) {
      for (const Mesh& mesh : rule_meshes()) {
        for (const Trial& trial : trials_of(tokens.both, mesh, 100, 3)) {
          const int parts = mesh.size_of(trial.in[0].splits(0).set());
          if (pieces > 1 && s % (parts * pieces) != 0) {
            ++uneven;
            EXPECT_THROW(pieces_of(tokens, pieces, mesh, trial.in, Guide::given), Error);
            continue;
          }
          ++even;
          const Pieces result = pieces_of(tokens, pieces, mesh, trial.in, Guide::given);
          EXPECT_TRUE(correspond(result)) << to_string(trial.in[0], mesh) << " and " << to_string(trial.in[1], mesh);
          const Values& x = tokens.both.in[0].values;
          for (std::size_t i = 0; i < x.size(); ++i) ASSERT_NEAR(result.again[i], x[i], 1e-12) << to_string(trial.in[0], mesh);
        }
      }
    }
  }
  EXPECT_GT(even, 1000);
  EXPECT_GT(uneven, 100);
}

TEST(TokensRuleTest, WithoutAGuidePiecesHoldOtherTokens) {
  const Mesh mesh({{"a", "a", 2}});
  EXPECT_FALSE(correspond(pieces_of(Tokens(12), 2, mesh, {Layout({{0}}), Layout()}, Guide::left_out)));
  EXPECT_TRUE(correspond(pieces_of(Tokens(12), 2, mesh, {Layout({{0}}), Layout()}, Guide::given)));
}

}  // namespace
}  // namespace tessera::test
