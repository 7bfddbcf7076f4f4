// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/op_attributes.hpp"
#include "core/graph/ops/expert_rows.hpp"
#include "core/graph/ops/grouped_linear.hpp"
#include "core/graph/ops/router.hpp"
#include "test/unit/graph/op_operands.hpp"

namespace tessera::test {
namespace {

/// o experts, of which a token chooses k.
void add_router_cases(std::vector<OpCase>& cases, const TokenExtents& e, const attributes::TopK& rule) {
  const Shape whole = e.with(e.o), few = e.with(rule.k), statistic{e.b, e.o};
  const Attributes length = Attributes::of(attributes::Extent{e.s}), factor = Attributes::of(attributes::Factor{2.5});
  const Operand logits = floats(whole), choice = integers(few, e.o);
  cases.push_back(make_case(ops::softmax, {logits}));
  const Operand scores = cases.back().out[0];
  cases.push_back(make_case(ops::softmax_grad, {floats(whole), scores}));
  cases.push_back(make_case(ops::sigmoid, {logits}));
  cases.push_back(make_case(ops::sigmoid_grad, {floats(whole), scores}));
  cases.push_back(make_case(ops::top_k, {logits, floats({e.o})}, Attributes::of(rule)));
  cases.push_back(make_case(ops::top_k, {logits, k_no_operand}, Attributes::of(rule)));
  const Operand best = cases.back().out[0];
  cases.push_back(make_case(ops::take, {scores, best}));
  cases.push_back(make_case(ops::take_grad, {floats(few), best}, Attributes::of(attributes::Extent{e.o})));
  cases.push_back(make_case(ops::normalise, {positive(few)}, factor));
  cases.push_back(make_case(ops::normalise_grad, {floats(few), positive(few)}, factor));
  cases.push_back(make_case(ops::expert_share, {choice}, Attributes::of(attributes::ExpertShare{e.o, rule.k, e.s})));
  for (const DType to : {DType::f64, DType::f32})
    cases.push_back(make_case(ops::expert_load, {choice}, Attributes::of(attributes::ExpertLoad{e.o, to})));
  cases.push_back(make_case(ops::sequence_mean, {scores}, length));
  cases.push_back(make_case(ops::sequence_mean_grad, {floats(statistic), scores}, length));
  cases.push_back(make_case(ops::balance_loss, {floats(statistic), floats(statistic)}));
  cases.push_back(make_case(ops::balance_loss_grad, {floats({}), floats(statistic)}));
  cases.push_back(make_case(ops::z_loss, {logits}, length));
  cases.push_back(make_case(ops::z_loss_grad, {floats({}), logits}, length));
  cases.push_back(make_case(ops::auxiliary_seed, {}, factor));
}

/// Rows [experts, parts, capacity, .] of h and o features; some parts are full, some empty.
void add_expert_cases(std::vector<OpCase>& cases, const TokenExtents& e, std::int64_t experts, std::int64_t parts,
                      std::int64_t capacity) {
  const Shape rows{experts, parts, capacity}, weight{experts, e.o, e.h};
  const auto with = [&](std::int64_t width) { return Shape{experts, parts, capacity, width}; };
  const Operand counts = integers({experts, parts}, capacity + 1);
  cases.push_back(make_case(ops::grouped_linear, {floats(with(e.h)), floats(weight), counts}));
  cases.push_back(make_case(ops::grouped_linear_dx, {floats(with(e.o)), floats(weight), counts}));
  cases.push_back(make_case(ops::grouped_linear_dw, {floats(with(e.o)), floats(with(e.h)), counts}));
  cases.push_back(make_case(ops::row_scale, {floats(with(e.h)), floats(rows)}));
  cases.push_back(make_case(ops::row_dot, {floats(with(e.h)), floats(with(e.h))}));
}

}  // namespace

void add_mixture_cases(std::vector<OpCase>& cases) {
  add_router_cases(cases, {5, 3, 0, 4}, {2});
  add_router_cases(cases, {6, 2, 0, 6}, {2, 3, 2});
  add_router_cases(cases, {1, 2, 0, 3}, {1});
  add_expert_cases(cases, {0, 0, 3, 5}, 4, 2, 3);
  add_expert_cases(cases, {0, 0, 4, 2}, 3, 4, 2);
  add_expert_cases(cases, {0, 0, 1, 3}, 2, 1, 1);
}

}  // namespace tessera::test
