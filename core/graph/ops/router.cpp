// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/router.hpp"

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"
#include "core/graph/label_rule.hpp"

namespace tessera::ops {
namespace {

Type last_dim(Type type, std::int64_t extent) {
  type.shape[type.shape.rank() - 1] = extent;
  return type;
}

std::vector<Type> choice_type(const TypeArgs& args) {
  return {{last_dim(args.in[0], args.attributes.as<attributes::TopK>().k).shape, DType::i32}};
}
std::vector<Type> take_type(const TypeArgs& args) {
  return {{args.in[1].shape, args.in[0].dtype}};
}
std::vector<Type> take_grad_type(const TypeArgs& args) {
  return {last_dim(args.in[0], args.attributes.as<attributes::Extent>().extent)};
}
std::vector<Type> share_type(const TypeArgs& args) {
  return {{{args.in[0].shape[1], args.attributes.as<attributes::ExpertShare>().experts}, DType::f64}};
}
std::vector<Type> load_type(const TypeArgs& args) {
  const auto load = args.attributes.as<attributes::ExpertLoad>();
  return {{{load.experts}, load.to}};
}
std::vector<Type> as_second(const TypeArgs& args) {
  return {args.in[1]};
}

LayoutAnswer seed_layout(const Op&, const LayoutArgs&) {
  return {{}, {Layout{}}};
}

void softmax_gradient(GradientScope& g) {
  g.add(0, g.emit(softmax_grad, {g.gradient(), g.output(0)}));
}
void sigmoid_gradient(GradientScope& g) {
  g.add(0, g.emit(sigmoid_grad, {g.gradient(), g.output(0)}));
}
void take_gradient(GradientScope& g) {
  const Shape scores = g.type(g.input(0)).shape;
  g.add(0,
        g.emit(take_grad, {g.gradient(), g.input(1)}, Attributes::of(attributes::Extent{scores[scores.rank() - 1]})));
}
void normalise_gradient(GradientScope& g) {
  g.add(0, g.emit(normalise_grad, {g.gradient(), g.input(0)}, g.attributes()));
}
void sequence_mean_gradient(GradientScope& g) {
  g.add(0, g.emit(sequence_mean_grad, {g.gradient(), g.input(0)}, g.attributes()));
}
void balance_loss_gradient(GradientScope& g) {
  g.add(1, g.emit(balance_loss_grad, {g.gradient(), g.input(0)}));
}
void z_loss_gradient(GradientScope& g) {
  g.add(0, g.emit(z_loss_grad, {g.gradient(), g.input(0)}, g.attributes()));
}

}  // namespace

const Op softmax{.name = "softmax", .labels = "..e -> ..e~", .whole = "e", .gradient = softmax_gradient};
const Op softmax_grad{.name = "softmax_grad", .labels = "..e, ..e -> ..e", .whole = "e", .passes_partial = "0"};
const Op sigmoid{.name = "sigmoid", .labels = ".. -> ..~", .gradient = sigmoid_gradient};
const Op sigmoid_grad{.name = "sigmoid_grad", .labels = ".., .. -> ..", .passes_partial = "0"};

const Op top_k{.name = "top_k", .labels = "..e, e -> ..k", .whole = "e", .optional = "1", .type = choice_type};
const Op take{.name = "take", .labels = "..e, ..k -> ..k", .whole = "ek", .type = take_type, .gradient = take_gradient};
const Op take_grad{
    .name = "take_grad", .labels = "..k, ..k -> ..e", .whole = "k", .passes_partial = "0", .type = take_grad_type};
const Op normalise{.name = "normalise", .labels = "..k -> ..k", .whole = "k", .gradient = normalise_gradient};
const Op normalise_grad{.name = "normalise_grad", .labels = "..k, ..k -> ..k", .whole = "k", .passes_partial = "0"};

const Op expert_share{.name = "expert_share", .labels = "sbk -> be", .sum = "s", .whole = "k", .type = share_type};
const Op expert_load{
    .name = "expert_load", .labels = "sbk -> e", .sum = "sb", .whole = "k", .accumulates = "0", .type = load_type};
const Op sequence_mean{.name = "sequence_mean", .labels = "sbe -> be~", .sum = "s", .gradient = sequence_mean_gradient};
const Op sequence_mean_grad{
    .name = "sequence_mean_grad", .labels = "be, sbe -> sbe", .priority = "1", .type = as_second};
const Op balance_loss{.name = "balance_loss",
                      .labels = "be, be -> ",
                      .sum = "be",
                      .passes_partial = "1",
                      .accumulates = "0",
                      .type = f64_scalar,
                      .gradient = balance_loss_gradient};
const Op balance_loss_grad{.name = "balance_loss_grad", .labels = ", be -> be", .priority = "1", .type = as_second};
const Op z_loss{.name = "z_loss",
                .labels = "sbe -> ",
                .sum = "sb",
                .whole = "e",
                .accumulates = "0",
                .type = f64_scalar,
                .gradient = z_loss_gradient};
const Op z_loss_grad{.name = "z_loss_grad", .labels = ", sbe -> sbe", .whole = "e", .priority = "1", .type = as_second};
const Op auxiliary_seed{.name = "auxiliary_seed", .type = f64_scalar, .layout = seed_layout};

}  // namespace tessera::ops
