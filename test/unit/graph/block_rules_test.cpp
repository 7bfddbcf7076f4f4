// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Ops that know blocks of tokens: shift, and attention with block axes. Which tokens are a block follows from the mesh,
// so these rules have a test of their own.
#include <functional>

#include "core/base/op_attributes.hpp"
#include "core/graph/label_rule.hpp"
#include "core/graph/ops/attention.hpp"
#include "core/graph/ops/shift.hpp"
#include "test/unit/graph/op_check.hpp"

namespace tessera::test {
namespace {

constexpr std::size_t k_trials = 60;
constexpr std::size_t k_every = 4;  ///< only each so many-th trial: there are many inputs and many layouts of each
constexpr unsigned k_seed = 20;

std::vector<AxisSet> axis_sets(const Mesh& mesh) {
  std::vector<AxisSet> sets;
  for (std::uint16_t bits = 1; bits <= mesh.all().bits(); ++bits) sets.emplace_back(bits);
  return sets;
}

Operand floats(const Shape& shape, std::uint64_t seed) {
  return {{shape, DType::f64}, random_values(seed, shape.count())};
}

Operand integers(const Shape& shape, std::int64_t high, std::uint64_t seed) {
  return {{shape, DType::i32}, random_integers(seed, shape.count(), 0, high)};
}

/// Rows rolled by `by` of `blocks` equal blocks.
Operand rolled(const Operand& x, std::int64_t blocks, std::int64_t by) {
  Operand result = x;
  const auto count = static_cast<std::int64_t>(x.values.size());
  for (std::int64_t i = 0; i < count; ++i) {
    const std::int64_t to = ((i + by * (count / blocks)) % count + count) % count;
    result.values[static_cast<std::size_t>(to)] = x.values[static_cast<std::size_t>(i)];
  }
  return result;
}

std::vector<OpCase> shift_cases(const Mesh& mesh, AxisSet axes) {
  std::vector<OpCase> cases;
  const std::int64_t blocks = mesh.size_of(axes);
  for (const std::int64_t rows : {1, 3})
    for (const std::int64_t by : {1, -1, 3})
      for (const Operand& x : {floats({rows * blocks, 3, 2}, 1), integers({rows * blocks, 2}, 50, 2)})
        cases.push_back({&ops::shift, {x}, ops::shift_by(axes, by), {rolled(x, blocks, by)}});
  return cases;
}

/// Documents that differ where the block of the token does.
Operand apart(Operand documents, const Mesh& mesh, AxisSet axes) {
  const std::int64_t tokens = documents.type.shape[0], batch = documents.type.shape[1];
  const std::vector<int> ring = mesh.group(0, axes);
  for (std::size_t block = 0; block < ring.size(); ++block) {
    const Range part = part_of(mesh, tokens, mesh.outer_first(axes), ring[block]);
    for (std::int64_t i = part.begin * batch; i < part.end * batch; ++i)
      documents.values[static_cast<std::size_t>(i)] += static_cast<double>(100 * block);
  }
  return documents;
}

/// s queries on t keys, and the gradient. What comes out is that of plain attention when no document crosses blocks.
std::vector<OpCase> attention_cases(const Mesh& mesh, AxisSet axes, std::int64_t s, std::int64_t t) {
  const std::int64_t b = 2, n = 4, m = 2, d = 2;
  const Shape q{s, b, n, d}, k{t, b, m, d}, query_tokens{s, b}, key_tokens{t, b};
  const attributes::Attention plain{0.7, n / m}, blocks{0.7, n / m, axes.bits()};
  std::vector<Operand> in{floats(q, 1),
                          floats(k, 2),
                          floats(k, 3),
                          integers(query_tokens, 6, 4),
                          integers(key_tokens, 6, 5),
                          integers(query_tokens, 2, 6),
                          integers(key_tokens, 2, 7)};
  std::vector<Operand> separate = in;
  for (std::size_t i : {5, 6}) separate[i] = apart(in[i], mesh, axes);
  std::vector<OpCase> cases{make_case(ops::attention, separate, Attributes::of(plain))};
  const std::vector<Operand> out = cases[0].out;
  const auto gradient_in = [&](const std::vector<Operand>& forward) {
    std::vector<Operand> all{floats(q, 8), floats({s, b, n}, 9)};
    all.insert(all.end(), forward.begin(), forward.end());
    all.insert(all.end(), out.begin(), out.end());
    return all;
  };
  cases.push_back(make_case(ops::attention_grad, gradient_in(separate), Attributes::of(plain)));
  cases[0].in = in;
  cases[1].in = gradient_in(in);
  for (OpCase& c : cases) c.attributes = Attributes::of(blocks);
  return cases;
}

/// Calls test(case, mesh) for every case on every mesh, for every set of axes that blocks may be made of.
template <class Test>
void for_each_case(const Op& op, const Test& test) {
  for (const Mesh& mesh : rule_meshes()) {
    for (const AxisSet axes : axis_sets(mesh)) {
      std::vector<OpCase> cases = shift_cases(mesh, axes);
      for (const auto& [s, t] : {std::pair<std::int64_t, std::int64_t>{12, 12}, {5, 7}})
        for (OpCase& c : attention_cases(mesh, axes, s, t)) cases.push_back(std::move(c));
      for (const OpCase& c : cases)
        if (c.op == &op) test(c, mesh);
    }
  }
}

class BlockRuleTest : public testing::TestWithParam<const Op*> {};

TEST_P(BlockRuleTest, RightForEveryLayoutOfTheInputs) {
  int count = 0, wrong = 0;
  for_each_case(*GetParam(), [&](const OpCase& c, const Mesh& mesh) {
    const std::vector<Trial> trials = trials_of(c, mesh, k_trials, k_seed);
    for (std::size_t t = 0; t < trials.size(); t += k_every) {
      ++count;
      const std::string failure = failure_of(*c.op, c, mesh, trials[t]);
      if (!failure.empty() && ++wrong <= 3) ADD_FAILURE() << failure << "\nseed " << k_seed;
    }
  });
  EXPECT_EQ(wrong, 0) << "of " << count;
  RecordProperty("cases", count);
}

using Break = std::function<void(const LayoutArgs&, LayoutAnswer&)>;
const Op* original = nullptr;
Break apply_break;

/// Whether any case shows that a rule is broken.
bool is_caught(const Op& op, Break how) {
  original = &op;
  apply_break = std::move(how);
  Op changed = op;
  changed.layout = [](const Op&, const LayoutArgs& args) {
    LayoutAnswer answer = layout_of(*original, args);
    apply_break(args, answer);
    return answer;
  };
  bool caught = false;
  for_each_case(op, [&](const OpCase& c, const Mesh& mesh) {
    for (const Trial& trial : trials_of(c, mesh, 30, k_seed)) {
      if (caught) return;
      caught = !failure_of(changed, c, mesh, trial).empty();
    }
  });
  return caught;
}

/// The checks above can fail: outputs that are said to be whole though they are partial.
TEST_P(BlockRuleTest, APartialOutputThatIsCalledWholeIsSeen) {
  if (GetParam() == &ops::attention) return;  // none of its outputs is ever partial
  for (const std::size_t output : {std::size_t{1}, std::size_t{2}, std::size_t{0}}) {
    if (GetParam() == &ops::attention_grad && output == 0) continue;
    if (GetParam() == &ops::shift && output > 0) continue;
    EXPECT_TRUE(is_caught(*GetParam(), [output](const LayoutArgs&, LayoutAnswer& answer) {
      answer.out[output].clear_partial(answer.out[output].partial());
    })) << output;
  }
}

INSTANTIATE_TEST_SUITE_P(Ops, BlockRuleTest, testing::Values(&ops::shift, &ops::attention, &ops::attention_grad),
                         [](const auto& test) { return std::string(test.param->name); });

TEST(BlockPowerTest, BlocksThatAreNotTheOutermostAreSeen) {
  EXPECT_TRUE(is_caught(ops::shift, [](const LayoutArgs& args, LayoutAnswer& answer) {
    const AxisSet axes(static_cast<std::uint16_t>(args.attributes.as<attributes::Shift>().axes));
    AxisList& list = answer.in[0].splits(0);
    AxisList inner;
    for (AxisId axis : list)
      if (!axes.has(axis)) inner.push_back(axis);
    for (AxisId axis : args.mesh.outer_first(axes)) inner.push_back(axis);
    list = answer.out[0].splits(0) = inner;
  }));
}

TEST(BlockPowerTest, SummandsThatTravelBesidesTheirBlocksAreSeen) {
  EXPECT_TRUE(is_caught(
      ops::shift, [](const LayoutArgs& args, LayoutAnswer& answer) { answer.in[0] = answer.out[0] = args.in[0]; }));
}

/// Keys that are whole beside blocks of queries, and keys that are split by another axis than queries.
TEST(BlockPowerTest, KeysThatAreNoBlocksAreSeen) {
  const std::pair<const Op*, std::size_t> ops[] = {{&ops::attention, 1}, {&ops::attention_grad, 3}};
  for (const auto& [op, k] : ops) {
    EXPECT_TRUE(is_caught(*op, [k = k](const LayoutArgs&, LayoutAnswer& answer) {
      for (std::size_t i : {k, k + 1, k + 3, k + 5}) answer.in[i].splits(0) = {};
      if (answer.out.size() == 3) answer.out[1].splits(0) = answer.out[2].splits(0) = {};
    })) << op->name;
    EXPECT_TRUE(is_caught(*op, [k = k](const LayoutArgs&, LayoutAnswer& answer) {
      for (std::size_t i : {k, k + 1, k + 3, k + 5}) answer.in[i].splits(0) = answer.in[k - 1].splits(0);
      if (answer.out.size() == 3) answer.out[1].splits(0) = answer.out[2].splits(0) = answer.in[k].splits(0);
    })) << op->name;
  }
}

TEST(ShiftTest, UnequalBlocksAreRefused) {
  const Mesh mesh({{"a", "a", 2}});
  const OpCase c{&ops::shift, {floats({5, 1}, 1)}, ops::shift_by(mesh.all(), 1), {}};
  EXPECT_NE(failure_of(ops::shift, c, mesh, {{Layout{}}, {}}).find("5 tokens in 2 blocks"), std::string::npos);
}

}  // namespace
}  // namespace tessera::test
