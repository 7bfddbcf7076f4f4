// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The checker of op rules can fail: every rule is broken in every way that matters, and each break must be seen.
#include <functional>

#include "core/graph/label_rule.hpp"
#include "core/graph/ops/add.hpp"
#include "core/graph/ops/attention.hpp"
#include "core/graph/ops/heads.hpp"
#include "test/unit/graph/op_cases.hpp"

namespace tessera::test {
namespace {

/// Changes what a rule answers.
using Break = std::function<void(const LayoutArgs&, LayoutAnswer&)>;

/// The op under test and its break. A layout rule is a plain function, so it finds them here.
struct Broken {
  const Op* op = nullptr;
  Break apply;
  bool applied = false;  ///< whether the answer was ever another one
};
Broken broken;

LayoutAnswer broken_layout(const Op&, const LayoutArgs& args) {
  LayoutAnswer answer = layout_of(*broken.op, args);
  const LayoutAnswer right = answer;
  broken.apply(args, answer);
  broken.applied = broken.applied || answer.in != right.in || answer.out != right.out;
  return answer;
}

enum class Verdict { caught, missed, without_effect };

/// Tries the broken op on all cases of `original` until something is wrong.
Verdict verdict_of(const Op& changed, const Op& original) {
  for (const OpCase& c : op_cases()) {
    if (c.op != &original) continue;
    for (const Mesh& mesh : rule_meshes())
      for (const Trial& trial : trials_of(c, mesh, 60, 20))
        if (!failure_of(changed, c, mesh, trial).empty()) return Verdict::caught;
  }
  return Verdict::missed;
}

Verdict verdict_of_break(const Op& original, Break apply) {
  broken = {&original, std::move(apply), false};
  Op changed = original;
  changed.layout = broken_layout;
  const Verdict verdict = verdict_of(changed, original);
  return verdict == Verdict::missed && !broken.applied ? Verdict::without_effect : verdict;
}

std::vector<const Op*> all_ops() {
  std::vector<const Op*> ops;
  for (const OpCase& c : op_cases())
    if (std::find(ops.begin(), ops.end(), c.op) == ops.end()) ops.push_back(c.op);
  return ops;
}

const OpCase& first_case(const Op& op) {
  return *std::find_if(op_cases().begin(), op_cases().end(), [&](const OpCase& c) { return c.op == &op; });
}

/// Outputs by digit that the rule can make partial; a wrong number, unequal replicas or an exception must follow when
/// it says they are replicated.
TEST(OpPowerTest, EveryPartialOutputIsNeeded) {
  const std::map<std::string_view, std::string> expected{{"accumulate", "0"},
                                                         {"add", "0"},
                                                         {"attention_grad", "12"},
                                                         {"balance_loss", "0"},
                                                         {"bias_grad", "0"},
                                                         {"dropout", "0"},
                                                         {"embed", "0"},
                                                         {"embed_grad", "0"},
                                                         {"expert_load", "0"},
                                                         {"expert_share", "0"},
                                                         {"gelu_grad", "0"},
                                                         {"grouped_linear", "0"},
                                                         {"grouped_linear_dw", "0"},
                                                         {"grouped_linear_dx", "0"},
                                                         {"jitter", "0"},
                                                         {"layer_norm_grad", "012"},
                                                         {"linear", "0"},
                                                         {"linear_dw", "0"},
                                                         {"linear_dx", "0"},
                                                         {"lse_merge_grad", "0123"},
                                                         {"masked_sum", "0"},
                                                         {"merge_heads", "0"},
                                                         {"normalise_grad", "0"},
                                                         {"pack", "0"},
                                                         {"rms_norm_grad", "01"},
                                                         {"rope", "0"},
                                                         {"row_dot", "0"},
                                                         {"row_max", "0"},
                                                         {"sequence_mean", "0"},
                                                         {"sigmoid_grad", "0"},
                                                         {"softmax_grad", "0"},
                                                         {"softmax_sums", "12"},
                                                         {"split_heads", "0"},
                                                         {"sum_squares", "0"},
                                                         {"swiglu_grad", "01"},
                                                         {"take_grad", "0"},
                                                         {"token_loss_grad", "01"},
                                                         {"total", "0"},
                                                         {"z_loss", "0"}};
  std::map<std::string_view, std::string> caught;
  for (const Op* op : all_ops()) {
    for (std::size_t o = 0; o < first_case(*op).out.size(); ++o) {
      const Verdict verdict = verdict_of_break(
          *op, [o](const LayoutArgs&, LayoutAnswer& answer) { answer.out[o].clear_partial(answer.out[o].partial()); });
      EXPECT_NE(verdict, Verdict::missed) << op->name << " output " << o;
      if (verdict == Verdict::caught) caught[op->name] += static_cast<char>('0' + o);
    }
  }
  EXPECT_EQ(caught, expected);
}

/// The declarations themselves: without its list of summed labels, of labels with a maximum, of whole labels.
TEST(OpPowerTest, EveryDeclarationIsNeeded) {
  const std::pair<const char*, std::string_view Op::*> fields[] = {
      {"sum", &Op::sum}, {"max", &Op::max}, {"whole", &Op::whole}};
  for (const Op* op : all_ops()) {
    for (const auto& [name, field] : fields) {
      if ((op->*field).empty()) continue;
      Op changed = *op;
      changed.*field = {};
      EXPECT_EQ(verdict_of(changed, *op), Verdict::caught) << op->name << " without " << name;
    }
  }
}

/// Inputs by digit in which an op is linear on its own, so that they could pass partial values though they do not.
const std::map<std::string_view, std::string_view> k_linear_inputs{{"balance_loss", "0"},
                                                                   {"balance_loss_grad", "01"},
                                                                   {"grouped_linear", "0"},
                                                                   {"grouped_linear_dw", "01"},
                                                                   {"grouped_linear_dx", "0"},
                                                                   {"linear", "0"},
                                                                   {"linear_dw", "1"},
                                                                   {"masked_sum", "01"},
                                                                   {"row_dot", "01"},
                                                                   {"row_scale", "01"},
                                                                   {"sequence_mean", "0"},
                                                                   {"sequence_mean_grad", "0"},
                                                                   {"spread", "01"},
                                                                   {"swiglu", "1"},
                                                                   {"take", "0"},
                                                                   {"total", "0"},
                                                                   {"z_loss_grad", "0"}};

/// Partial inputs pass where the op is linear in them, and nowhere else.
TEST(OpPowerTest, PassingPartialInputsThatMustNotIsSeen) {
  for (const Op* op : all_ops()) {
    if (op->layout != nullptr) continue;
    const OpCase& c = first_case(*op);
    std::vector<Type> types;
    for (const Operand& operand : c.in) types.push_back(operand.type);
    const Labels labels = labels_of(*op, types);
    for (std::size_t i = 0; i < c.in.size(); ++i) {
      const std::string digit(1, static_cast<char>('0' + i));
      if (!is_floating(types[i].dtype) || labels.binding[i] || op->passes_partial.find(digit) != std::string_view::npos)
        continue;
      const auto linear = k_linear_inputs.find(op->name);
      const bool harmless = linear != k_linear_inputs.end() && linear->second.find(digit) != std::string_view::npos;
      Op alone = *op;
      alone.passes_partial = digit;
      EXPECT_EQ(verdict_of(alone, *op), harmless ? Verdict::missed : Verdict::caught) << op->name << " input " << digit;
      if (op->passes_partial.empty()) continue;
      const std::string both = std::string(op->passes_partial) + digit;
      Op together = *op;
      together.passes_partial = both;
      EXPECT_EQ(verdict_of(together, *op), Verdict::caught) << op->name << " inputs " << both;
    }
  }
}

TEST(OpPowerTest, AdditionWithoutTheMaskIsSeen) {
  EXPECT_EQ(verdict_of_break(ops::add,
                             [](const LayoutArgs& args, LayoutAnswer& answer) {
                               if (!args.in[1].is_partial()) answer.in[1].clear_partial(answer.in[1].partial());
                             }),
            Verdict::caught);
}

TEST(OpPowerTest, CutHeadsAreSeen) {
  for (const Op* op : {&ops::split_heads, &ops::merge_heads})
    EXPECT_EQ(verdict_of_break(*op,
                               [](const LayoutArgs& args, LayoutAnswer& answer) {
                                 answer.in[0].splits(2) = answer.out[0].splits(2) = args.in[0].splits(2);
                               }),
              Verdict::caught)
        << op->name;
}

/// Keys that are cut where they must be whole, or like the queries though a part then holds other heads than it reads.
TEST(OpPowerTest, WronglyCutKeysAreSeen) {
  const std::pair<const Op*, std::size_t> ops[] = {{&ops::attention, 0}, {&ops::attention_grad, 2}};
  for (const auto& [op, q] : ops) {
    const auto with_keys_cut = [q = q](int dim, bool like_queries) {
      return [=](const LayoutArgs& args, LayoutAnswer& answer) {
        const AxisList axes = like_queries ? answer.in[q].splits(dim) : args.in[q + 1].splits(dim);
        for (std::size_t i : {q + 1, q + 2}) answer.in[i].splits(dim) = axes;
        for (std::size_t o = 1; o < answer.out.size() && answer.out.size() == 3; ++o) answer.out[o].splits(dim) = axes;
      };
    };
    EXPECT_EQ(verdict_of_break(*op, with_keys_cut(2, true)), Verdict::caught) << op->name << " heads";
    EXPECT_EQ(verdict_of_break(*op, with_keys_cut(0, true)), Verdict::caught) << op->name << " sequence";
    EXPECT_EQ(verdict_of_break(*op, with_keys_cut(0, false)), Verdict::caught) << op->name << " sequence of the keys";
  }
}

}  // namespace
}  // namespace tessera::test
