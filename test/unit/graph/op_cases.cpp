// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/unit/graph/op_cases.hpp"

#include <limits>

#include "core/base/op_attributes.hpp"
#include "core/graph/ops/add.hpp"
#include "core/graph/ops/attention.hpp"
#include "core/graph/ops/bias.hpp"
#include "core/graph/ops/cross_entropy.hpp"
#include "core/graph/ops/dropout.hpp"
#include "core/graph/ops/embed.hpp"
#include "core/graph/ops/gelu.hpp"
#include "core/graph/ops/heads.hpp"
#include "core/graph/ops/jitter.hpp"
#include "core/graph/ops/layer_norm.hpp"
#include "core/graph/ops/linear.hpp"
#include "core/graph/ops/lse_merge.hpp"
#include "core/graph/ops/masked_sum.hpp"
#include "core/graph/ops/rms_norm.hpp"
#include "core/graph/ops/rope.hpp"
#include "core/graph/ops/step.hpp"
#include "core/graph/ops/swiglu.hpp"
#include "test/unit/graph/op_operands.hpp"

namespace tessera::test {
namespace {

std::uint64_t next_seed() {
  static std::uint64_t seed = 100;
  return ++seed;
}

}  // namespace

Operand floats(const Shape& shape) {
  return {{shape, DType::f64}, random_values(next_seed(), shape.count())};
}

Operand positive(const Shape& shape) {
  Operand operand = floats(shape);
  for (double& x : operand.values) x = 1.5 + x;
  return operand;
}

Operand integers(const Shape& shape, std::int64_t high, DType dtype) {
  return {{shape, dtype}, random_integers(next_seed(), shape.count(), 0, high)};
}

namespace {

constexpr TokenExtents k_extents[] = {{5, 3, 4, 7}, {1, 2, 3, 6}, {6, 1, 8, 1}};

void add_linear_cases(std::vector<OpCase>& cases, const TokenExtents& e) {
  cases.push_back(make_case(ops::linear, {floats(e.with(e.h)), floats({e.o, e.h})}));
  cases.push_back(make_case(ops::linear_dx, {floats(e.with(e.o)), floats({e.o, e.h})}));
  cases.push_back(make_case(ops::linear_dw, {floats(e.with(e.o)), floats(e.with(e.h))}));
  cases.push_back(make_case(ops::add_bias, {floats(e.with(e.h)), floats({e.h})}));
  cases.push_back(make_case(ops::bias_grad, {floats(e.with(e.h))}));
  cases.push_back(make_case(ops::add, {floats(e.with(e.h)), floats(e.with(e.h))}));
  cases.push_back(make_case(ops::accumulate, {floats(e.with(e.h))}));
}

void add_table_cases(std::vector<OpCase>& cases, const TokenExtents& e) {
  const std::int64_t vocabulary = e.o;
  cases.push_back(make_case(ops::embed, {floats({vocabulary, e.h}), integers(e.tokens(), vocabulary)}));
  cases.push_back(make_case(ops::embed_grad, {floats(e.with(e.h)), integers(e.tokens(), vocabulary)},
                            Attributes::of(attributes::Extent{vocabulary})));
}

void add_norm_cases(std::vector<OpCase>& cases, const Shape& shape) {
  const Attributes record = Attributes::of(attributes::Norm{1e-2});
  const std::int64_t width = shape[shape.rank() - 1];
  const Operand x = floats(shape), gain = positive({width}), bias = floats({width});
  cases.push_back(make_case(ops::rms_norm, {x, gain}, record));
  const Operand rstd = cases.back().out[1];
  cases.push_back(make_case(ops::rms_norm_grad, {floats(shape), x, rstd, gain}));
  cases.push_back(make_case(ops::layer_norm, {x, gain, bias}, record));
  const std::vector<Operand> statistics = cases.back().out;
  cases.push_back(make_case(ops::layer_norm_grad, {floats(shape), x, statistics[1], statistics[2], gain}));
}

void add_elementwise_cases(std::vector<OpCase>& cases, const TokenExtents& e) {
  const Shape shape = e.with(e.h);
  cases.push_back(make_case(ops::swiglu, {floats(shape), floats(shape)}));
  cases.push_back(make_case(ops::swiglu_grad, {floats(shape), floats(shape), floats(shape)}));
  for (auto form : {attributes::GeluForm::erf, attributes::GeluForm::tanh}) {
    const Attributes record = Attributes::of(attributes::Gelu{form});
    cases.push_back(make_case(ops::gelu, {floats(shape)}, record));
    cases.push_back(make_case(ops::gelu_grad, {floats(shape), floats(shape)}, record));
  }
  cases.push_back(make_case(ops::dropout, {floats(shape), integers(e.tokens(), 9), integers({e.b}, 9, DType::i64)},
                            Attributes::of(attributes::Dropout{11, 0.4, e.h})));
  cases.push_back(make_case(ops::jitter, {floats(shape), integers(e.tokens(), 9), integers({e.b}, 9, DType::i64)},
                            Attributes::of(attributes::Jitter{11, 0.4, e.h})));
}

/// Query heads n, key heads m.
void add_head_cases(std::vector<OpCase>& cases, const TokenExtents& e, std::int64_t n, std::int64_t d) {
  const Attributes record = Attributes::of(attributes::Heads{d});
  cases.push_back(make_case(ops::split_heads, {floats(e.with(n * d))}, record));
  cases.push_back(make_case(ops::merge_heads, {floats({e.s, e.b, n, d})}, record));
  for (double sign : {1.0, -1.0})
    cases.push_back(make_case(ops::rope, {floats({e.s, e.b, n, d}), integers(e.tokens(), 9)},
                              Attributes::of(attributes::Rope{100, sign})));
}

/// s queries on t keys. Some queries see no key.
void add_attention_cases(std::vector<OpCase>& cases, std::int64_t s, std::int64_t t, std::int64_t b, std::int64_t n,
                         std::int64_t m) {
  const std::int64_t d = 2;
  const Attributes record = Attributes::of(attributes::Attention{0.7, n / m});
  const Shape q{s, b, n, d}, k{t, b, m, d}, query_tokens{s, b}, key_tokens{t, b};
  const std::vector<Operand> in{floats(q),
                                floats(k),
                                floats(k),
                                integers(query_tokens, 6),
                                integers(key_tokens, 6),
                                integers(query_tokens, 2),
                                integers(key_tokens, 2)};
  cases.push_back(make_case(ops::attention, in, record));
  const std::vector<Operand> out = cases.back().out;
  for (const Operand& statistics : {floats({s, b, n}), k_no_operand}) {
    std::vector<Operand> gradient_in{floats(q), statistics};
    gradient_in.insert(gradient_in.end(), in.begin(), in.end());
    gradient_in.insert(gradient_in.end(), out.begin(), out.end());
    cases.push_back(make_case(ops::attention_grad, gradient_in, record));
  }
}

/// Attention over two sets of keys; some queries saw no key of one of them, or of neither.
void add_merge_cases(std::vector<OpCase>& cases, const Shape& shape) {
  const Shape rows{shape[0], shape[1], shape[2]};
  Operand first = floats(rows), second = floats(rows);
  for (std::size_t row = 0; row < first.values.size(); ++row) {
    if (row % 5 == 1 || row % 5 == 3) first.values[row] = -std::numeric_limits<double>::infinity();
    if (row % 5 == 2 || row % 5 == 3) second.values[row] = -std::numeric_limits<double>::infinity();
  }
  const std::vector<Operand> in{floats(shape), first, floats(shape), second};
  cases.push_back(make_case(ops::lse_merge, in));
  const std::vector<Operand> out = cases.back().out;
  for (const Operand& statistics : {floats(rows), k_no_operand}) {
    std::vector<Operand> gradient_in{floats(shape), statistics};
    gradient_in.insert(gradient_in.end(), in.begin(), in.end());
    gradient_in.insert(gradient_in.end(), out.begin(), out.end());
    cases.push_back(make_case(ops::lse_merge_grad, gradient_in));
  }
}

void add_loss_cases(std::vector<OpCase>& cases, const TokenExtents& e) {
  const Shape tokens = e.tokens(), logits = e.with(e.o);
  const Operand targets = integers(tokens, e.o);
  cases.push_back(make_case(ops::row_max, {floats(logits)}));
  cases.push_back(make_case(ops::softmax_sums, {floats(logits), floats(tokens), targets}));
  const Operand exponentials = cases.back().out[0];
  cases.push_back(make_case(ops::softmax_sums_grad, {exponentials, floats(tokens), floats(tokens), targets}));
  cases.push_back(make_case(ops::token_loss, {positive(tokens), floats(tokens), floats(tokens)}));
  cases.push_back(make_case(ops::token_loss_grad, {floats(tokens), positive(tokens)}));
  cases.push_back(make_case(ops::masked_sum, {floats(tokens), floats(tokens)}));
  cases.push_back(make_case(ops::spread, {floats({}), floats(tokens)}));
}

void add_step_cases(std::vector<OpCase>& cases, const TokenExtents& e) {
  cases.push_back(make_case(ops::total, {floats(e.tokens())}));
  cases.push_back(make_case(ops::total, {integers(e.tokens(), 5)}));
  cases.push_back(make_case(ops::pack, {floats({e.o}), floats({}), floats({2, e.b})}));
  cases.push_back(make_case(ops::sum_squares, {floats({e.s, e.o})}));
  cases.push_back(make_case(ops::loss_seed, {positive({})}));
  cases.push_back(make_case(ops::step_decision, {positive({})}, Attributes::of(attributes::Clip{0.1})));
  cases.push_back(make_case(ops::add, {floats({}), floats({})}));
}

std::vector<OpCase> make_cases() {
  std::vector<OpCase> cases;
  for (const TokenExtents& e : k_extents) {
    add_linear_cases(cases, e);
    add_table_cases(cases, e);
    add_norm_cases(cases, e.with(e.h));
    add_elementwise_cases(cases, e);
    add_loss_cases(cases, e);
    add_step_cases(cases, e);
  }
  cases.push_back(make_case(ops::linear, {floats({5, 3}), floats({4, 3})}));
  cases.push_back(make_case(ops::linear_dw, {floats({5, 3}), floats({5, 4})}));
  add_norm_cases(cases, {3, 2, 4, 6});
  add_norm_cases(cases, {2, 1, 3, 4});
  add_head_cases(cases, {5, 3, 0, 0}, 4, 2);
  add_head_cases(cases, {3, 2, 0, 0}, 6, 4);
  add_head_cases(cases, {2, 1, 0, 0}, 3, 2);
  add_mixture_cases(cases);
  add_merge_cases(cases, {5, 3, 4, 2});
  add_merge_cases(cases, {6, 1, 2, 3});
  add_attention_cases(cases, 5, 5, 3, 4, 4);
  add_attention_cases(cases, 4, 6, 2, 4, 2);
  add_attention_cases(cases, 3, 3, 1, 4, 1);
  add_attention_cases(cases, 4, 4, 2, 12, 6);
  add_attention_cases(cases, 2, 5, 2, 6, 2);
  add_attention_cases(cases, 1, 2, 5, 3, 3);
  return cases;
}

}  // namespace

const std::vector<OpCase>& op_cases() {
  static const std::vector<OpCase> cases = make_cases();
  return cases;
}

}  // namespace tessera::test
