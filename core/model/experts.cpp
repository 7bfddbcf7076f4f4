// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
// Mixture of experts (Shazeer et al. 2017): each token visits the experts that its router scores best.
#include <algorithm>

#include "core/graph/ops/add.hpp"
#include "core/graph/ops/expert_rows.hpp"
#include "core/graph/ops/grouped_linear.hpp"
#include "core/graph/ops/router.hpp"
#include "core/graph/ops/step.hpp"
#include "core/model/blocks.hpp"

namespace tessera::blocks {
namespace {

/// Which experts a token visits [s, b, k], and what each of them counts [s, b, k].
struct Routing {
  Value choice, weights;
};

/// What keeps experts balanced, and what is told of it.
void add_auxiliary(BlockContext& context, Value logits, Value scores, Value choice) {
  const ExpertConfig& e = context.config.experts;
  if (context.purpose != ModelPurpose::train) return;
  Builder& b = context.builder;
  const std::int64_t sequence = b.type(logits).shape[0];
  ExpertReport report;
  report.load = b.emit(ops::expert_load, {choice}, Attributes::of(attributes::ExpertLoad{e.count}))[0];
  if (e.aux_coefficient != 0) {
    const attributes::ExpertShare share{e.count, e.per_token, sequence};
    const Value chosen = b.mark(b.emit(ops::expert_share, {choice}, Attributes::of(share))[0], Mark::statistic);
    const Value mean = b.emit(ops::sequence_mean, {scores}, Attributes::of(attributes::Extent{sequence}))[0];
    report.balance = b.emit(ops::balance_loss, {chosen, mean})[0];
    context.auxiliary.push_back({report.balance, e.aux_coefficient});
  }
  if (e.z_coefficient != 0) {
    report.z = b.emit(ops::z_loss, {logits}, Attributes::of(attributes::Extent{sequence}))[0];
    context.auxiliary.push_back({report.z, e.z_coefficient});
  }
  context.reports.push_back(report);
}

/// Where a capacity drops choices, those that it keeps are told.
void add_kept(BlockContext& context, Value counts) {
  if (context.purpose == ModelPurpose::train && context.config.experts.capacity != 0)
    context.reports.back().kept = context.builder.emit(ops::total, {counts})[0];
}

Routing route(BlockContext& context, Value x) {
  Builder& b = context.builder;
  const ExpertConfig& e = context.config.experts;
  const Value router =
      b.parameter({"router", {e.count, context.config.hidden}, ParameterRole::router, Initial::normal, k_deviation});
  const ModelInputs& inputs = context.inputs;
  if (context.purpose == ModelPurpose::train) x = b.jitter(x, inputs.index, inputs.sample, "router", e.noise);
  const Value logits = b.linear(x, router);
  const Value scores = b.emit(e.score == RouterScore::softmax ? ops::softmax : ops::sigmoid, {logits})[0];
  const Value bias = e.bias ? b.parameter({.field = "router.bias",
                                           .shape = {e.count},
                                           .role = ParameterRole::router_bias,
                                           .initial = Initial::zeros,
                                           .rate = e.bias_rate})
                            : Value{};
  const Value choice = b.emit(ops::top_k, {scores, bias},
                              Attributes::of(attributes::TopK{e.per_token, e.groups, e.groups_per_token}))[0];
  if (bias && context.purpose == ModelPurpose::train) {
    const attributes::ExpertLoad load{e.count, b.type(bias).dtype};
    context.gradients.push_back({bias, b.emit(ops::expert_load, {choice}, Attributes::of(load))[0]});
  }
  add_auxiliary(context, logits, scores, choice);
  const Value weights = b.emit(ops::take, {scores, choice})[0];
  if (!e.renormalise) return {choice, weights};
  return {choice, b.emit(ops::normalise, {weights}, Attributes::of(attributes::Factor{e.scale}))[0]};
}

/// What an even spread of the micro-batch leaves empty of these rows epci.
attributes::GroupedRows expected_rows(BlockContext& context, Value rows) {
  const Shape &tokens = context.builder.type(context.inputs.ids).shape, &there = context.builder.type(rows).shape;
  const std::int64_t even = tokens.count() * context.config.experts.per_token;
  return {std::max(0.0, 1 - static_cast<double>(even) / static_cast<double>(there[0] * there[1] * there[2]))};
}

struct ExpertMatrices {
  Value gate, up, down;
};

ExpertMatrices expert_matrices(BlockContext& context) {
  Builder& b = context.builder;
  const ExpertConfig& e = context.config.experts;
  const std::int64_t hidden = context.config.hidden, width = e.width(context.config.ffn);
  const auto make = [&](const char* field, std::int64_t out, std::int64_t in, double deviation) {
    return b.parameter({field, {e.count, out, in}, ParameterRole::expert, Initial::normal, deviation});
  };
  return {make("experts.gate", width, hidden, k_deviation), make("experts.up", width, hidden, k_deviation),
          make("experts.down", hidden, width, residual_deviation(context.config))};
}

/// What experts add to tokens in one round, how many further rounds hold the rows that are left, and how many rows this
/// one has.
struct Round {
  Value sum, further, counts;
};

Round round_of_rows(BlockContext& context, Value x, const Routing& routing, const ExpertMatrices& matrices,
                    double capacity) {
  Builder& b = context.builder;
  const ExpertConfig& e = context.config.experts;
  const auto plan = b.emit(ops::expert_plan, {routing.choice},
                           Attributes::of(attributes::ExpertRows{e.count, e.per_token, capacity}));
  const Value index = plan[0], counts = plan[1];
  const auto product = [&](Value rows, Value matrix) {
    return b.emit(ops::grouped_linear, {rows, matrix, counts}, Attributes::of(expected_rows(context, rows)))[0];
  };
  const Value rows = b.emit(ops::take_rows, {x, index, routing.choice})[0];
  const Value gates = b.emit(ops::take_gates, {routing.weights, index, routing.choice})[0];
  // A token's weight multiplies before the last matrix, so that its gradient is formed where the expert is.
  const Value inner =
      b.emit(ops::row_scale, {b.swiglu(product(rows, matrices.gate), product(rows, matrices.up)), gates})[0];
  return {b.emit(ops::put_rows, {product(inner, matrices.down), index, routing.choice})[0], plan[2], counts};
}

/// Rows that do not fit into the first round follow in others, whose values backward makes again.
Value all_rounds(BlockContext& context, Value x, const Routing& routing) {
  Builder& b = context.builder;
  const ExpertConfig& e = context.config.experts;
  const ExpertMatrices matrices = expert_matrices(context);
  const Round first = round_of_rows(context, x, routing, matrices, e.row_capacity());
  add_kept(context, first.counts);
  if (!e.has_further_rounds()) return first.sum;
  b.repeat(b.emit(ops::expert_rounds, {first.further})[0]);
  const Round next = round_of_rows(context, x, routing, matrices, e.row_capacity());
  const Value sum = b.emit(ops::add_into, {first.sum, next.sum})[0];
  b.repeat({});
  return sum;
}

/// What every token adds, whatever its router says.
Value shared_expert(BlockContext& context, Value x) {
  const std::int64_t width = context.config.experts.shared_ffn;
  const Value gate = matrix(context, x, "shared.gate", width, ParameterRole::column);
  const Value up = matrix(context, x, "shared.up", width, ParameterRole::column);
  return matrix(context, context.builder.swiglu(gate, up), "shared.down", context.config.hidden, ParameterRole::row,
                residual_deviation(context.config));
}

}  // namespace

Value experts(BlockContext& context, Value x) {
  Builder& b = context.builder;
  const Value y = b.mark(all_rounds(context, x, route(context, x)), Mark::residual);
  return context.config.experts.shared_ffn == 0 ? y : b.add(y, shared_expert(context, x));
}

}  // namespace tessera::blocks
