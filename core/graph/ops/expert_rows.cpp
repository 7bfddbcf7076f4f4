// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/expert_rows.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

/// How the tokens lie when rows are made of them, and the parts that follow.
struct TokenParts {
  AxisList sequence, batch;
  AxisList parts;  ///< of the dim p, outer first: the axes of experts are the inner ones

  Layout tokens() const { return {sequence, batch, {}}; }
  Layout rows() const { return {{}, parts, {}, {}}; }
};

/// Ranks that share the experts have tokens of their own: where they hold the same, each takes a part of the sequence.
TokenParts token_parts(const Mesh& mesh, const Layout& tokens) {
  TokenParts result{tokens.splits(0), tokens.splits(1), {}};
  const AxisSet held = result.sequence.set() | result.batch.set(), experts = mesh.expert_axes().set();
  for (AxisId axis : mesh.expert_axes())
    if (!held.has(axis)) result.sequence.push_back(axis);
  for (int a = mesh.axes() - 1; a >= 0; --a)
    if (const auto axis = static_cast<AxisId>(a); (held - experts).has(axis)) result.parts.push_back(axis);
  result.parts.append(mesh.expert_axes());
  return result;
}

/// Rows of one rank for one expert: of the rank with the most tokens, since all parts are equally long.
std::int64_t capacity(const attributes::ExpertRows& rows, std::int64_t tokens) {
  if (rows.capacity == 0) return tokens;
  const double even = static_cast<double>(tokens * rows.k) / static_cast<double>(rows.experts);
  return std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(rows.capacity * even)), 1, tokens);
}

std::vector<Type> plan_type(std::int64_t parts, std::int64_t tokens, const Attributes& attributes) {
  const auto rows = attributes.as<attributes::ExpertRows>();
  const Type per_part{{rows.experts, parts}, DType::i32};
  return {{{rows.experts, parts, capacity(rows, tokens)}, DType::i32}, per_part, per_part};
}

/// Of the logical graph: all tokens in one part.
std::vector<Type> logical_plan_type(const TypeArgs& args) {
  return plan_type(1, args.in[0].shape[0] * args.in[0].shape[1], args.attributes);
}

LayoutAnswer plan_layout(const Op&, const LayoutArgs& args) {
  const TokenParts parts = token_parts(args.mesh, args.in[0]);
  const Slab largest = slab_of(args.mesh, parts.tokens(), args.types[0].shape, 0);
  return {{parts.tokens()},
          {parts.rows(), parts.rows(), parts.rows()},
          plan_type(args.mesh.size_of(parts.parts.set()), largest.extent[0] * largest.extent[1], args.attributes)};
}

std::vector<Type> rounds_type(const TypeArgs& args) {
  return {{{}, args.in[0].dtype}};
}

/// Of tokens, index and choice, in the order of an op's inputs; rows come out.
LayoutAnswer take_layout(const Op&, const LayoutArgs& args) {
  const TokenParts parts = token_parts(args.mesh, args.in[2]);
  return {{parts.tokens(), parts.rows(), parts.tokens()}, {parts.rows()}, {}};
}
LayoutAnswer put_layout(const Op&, const LayoutArgs& args) {
  const TokenParts parts = token_parts(args.mesh, args.in[2]);
  return {{parts.rows(), parts.rows(), parts.tokens()}, {parts.tokens()}, {}};
}

std::vector<Type> take_rows_type(const TypeArgs& args) {
  Type rows{args.in[1].shape, args.in[0].dtype};
  rows.shape.append(args.in[0].shape[2]);
  return {rows};
}
std::vector<Type> take_gates_type(const TypeArgs& args) {
  return {{args.in[1].shape, args.in[0].dtype}};
}
std::vector<Type> put_rows_type(const TypeArgs& args) {
  const Shape& tokens = args.in[2].shape;
  return {{{tokens[0], tokens[1], args.in[0].shape[3]}, args.in[0].dtype}};
}
std::vector<Type> put_gates_type(const TypeArgs& args) {
  return {{args.in[2].shape, args.in[0].dtype}};
}

void take_rows_gradient(GradientScope& g) {
  g.add(0, g.emit(put_rows, {g.gradient(), g.input(1), g.input(2)}));
}
void put_rows_gradient(GradientScope& g) {
  g.add(0, g.emit(take_rows, {g.gradient(), g.input(1), g.input(2)}));
}
void take_gates_gradient(GradientScope& g) {
  g.add(0, g.emit(put_gates, {g.gradient(), g.input(1), g.input(2)}));
}
void row_scale_gradient(GradientScope& g) {
  g.add(0, g.emit(row_scale, {g.gradient(), g.input(1)}));
  g.add(1, g.emit(row_dot, {g.gradient(), g.input(0)}));
}

}  // namespace

const Op expert_plan{
    .name = "expert_plan", .labels = "sbk -> epc, ep, ep", .counts = 1, .type = logical_plan_type, .layout = plan_layout};
const Op expert_rounds{.name = "expert_rounds", .labels = "ep -> ", .max = "ep", .type = rounds_type};
const Op take_rows{.name = "take_rows",
                   .labels = "sbh, epc, sbk -> epch",
                   .type = take_rows_type,
                   .layout = take_layout,
                   .gradient = take_rows_gradient};
const Op put_rows{.name = "put_rows",
                  .labels = "epch, epc, sbk -> sbh",
                  .type = put_rows_type,
                  .layout = put_layout,
                  .gradient = put_rows_gradient};
const Op take_gates{.name = "take_gates",
                    .labels = "sbk, epc, sbk -> epc",
                    .type = take_gates_type,
                    .layout = take_layout,
                    .gradient = take_gates_gradient};
const Op put_gates{.name = "put_gates", .labels = "epc, epc, sbk -> sbk", .type = put_gates_type, .layout = put_layout};
const Op row_scale{.name = "row_scale", .labels = "epcf, epc -> epcf", .gradient = row_scale_gradient};
const Op row_dot{.name = "row_dot", .labels = "epcf, epcf -> epc~", .sum = "f"};

}  // namespace tessera::ops
