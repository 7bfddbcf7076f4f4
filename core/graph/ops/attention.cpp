// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/attention.hpp"

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

/// Which axes split what: keys and values are a coarsening of the query heads, so this rule is not one of labels.
struct AttentionSplits {
  AxisList blocks, sequence, batch, heads, kv_heads;
  AxisSet summed;  ///< axes over which the gradients of keys and values are partial

  Layout queries() const { return {sequence, batch, heads, {}}; }
  Layout keys() const { return {blocks, batch, kv_heads, {}}; }
  Layout query_tokens() const { return {sequence, batch}; }
  Layout key_tokens() const { return {blocks, batch}; }
  Layout statistics() const { return {sequence, batch, heads}; }
};

/// Whether the key/value heads can be cut by `axes` so that each part holds the heads that its queries read.
bool cuts_evenly(const Mesh& mesh, std::int64_t heads, const AxisList& axes) {
  return heads % mesh.size_of(axes.set()) == 0;
}

AxisList keep_only(const AxisList& axes, AxisSet set) {
  AxisList kept;
  for (AxisId axis : axes)
    if (set.has(axis)) kept.push_back(axis);
  return kept;
}

/// The same layout, nothing split by `axes`.
Layout without(Layout layout, AxisSet axes) {
  for (int dim = 0; dim < Shape::k_max_rank; ++dim) {
    const AxisList list = layout.splits(dim);
    layout.splits(dim) = keep_only(list, list.set() - axes);
  }
  return layout;
}

AttentionSplits attention_splits(const LayoutArgs& args, int q, int k) {
  const AxisSet blocks(static_cast<std::uint16_t>(args.attributes.as<attributes::Attention>().blocks));
  const Layout queries = without(args.in[static_cast<std::size_t>(q)], blocks);
  const Layout keys = without(args.in[static_cast<std::size_t>(k)], blocks);
  AttentionSplits splits;
  splits.blocks = splits.sequence = args.mesh.outer_first(blocks);
  for (AxisId axis : queries.splits(0)) splits.sequence.push_back(axis);
  splits.batch = queries.splits(1);
  splits.heads = queries.splits(2);
  for (int a = 0; a < args.mesh.axes(); ++a) {  // an axis that only the keys are split over: the queries follow
    const auto axis = static_cast<AxisId>(a);
    if (queries.of(axis).is_split()) continue;
    if (keys.of(axis) == Placement::split(1)) splits.batch.push_back(axis);
    if (keys.of(axis) == Placement::split(2)) splits.heads.push_back(axis);
  }
  const std::int64_t heads = args.types[static_cast<std::size_t>(q)].shape[2];
  if (!cuts_evenly(args.mesh, heads, splits.heads)) splits.heads = {};
  const AxisList shared = keep_only(splits.heads, keys.splits(2).set());
  // Keys are cut along the outer axes of the heads only: an inner one alone would hold other heads than it reads.
  AxisList outer;
  for (int i = 0; i < shared.size() && splits.heads[i] == shared[i]; ++i) outer.push_back(shared[i]);
  if (cuts_evenly(args.mesh, args.types[static_cast<std::size_t>(k)].shape[2], outer)) splits.kv_heads = outer;
  splits.summed = (splits.sequence.set() - blocks) | (splits.heads.set() - splits.kv_heads.set());
  return splits;
}

LayoutAnswer attention_layout(const Op&, const LayoutArgs& args) {
  const AttentionSplits s = attention_splits(args, 0, 1);
  return {{s.queries(), s.keys(), s.keys(), s.query_tokens(), s.key_tokens(), s.query_tokens(), s.key_tokens()},
          {s.queries(), s.statistics()}};
}

LayoutAnswer attention_grad_layout(const Op&, const LayoutArgs& args) {
  const AttentionSplits s = attention_splits(args, 2, 3);
  Layout key_gradient = s.keys();
  key_gradient.set_partial(s.summed, Merge::sum);
  return {{s.queries(), s.statistics(), s.queries(), s.keys(), s.keys(), s.query_tokens(), s.key_tokens(),
           s.query_tokens(), s.key_tokens(), s.queries(), s.statistics()},
          {s.queries(), key_gradient, key_gradient}};
}

void attention_gradient(GradientScope& g) {
  const auto grads = g.emit_all(attention_grad,
                                {g.gradient(0), g.gradient(1), g.input(0), g.input(1), g.input(2), g.input(3),
                                 g.input(4), g.input(5), g.input(6), g.output(0), g.output(1)},
                                g.attributes());
  for (int i = 0; i < 3; ++i) g.add(i, grads[static_cast<std::size_t>(i)]);
}

/// Of the full score matrix: two products of 2·s·t·b·n·d.
double attention_flops(const CostArgs& args) {
  return 4 * static_cast<double>(args.in[0].shape.count()) * static_cast<double>(args.in[1].shape[0]);
}

/// Five products: the scores again, dv, dp, dq, dk.
double attention_grad_flops(const CostArgs& args) {
  return 10 * static_cast<double>(args.in[2].shape.count()) * static_cast<double>(args.in[3].shape[0]);
}

}  // namespace

const Op attention{.name = "attention",
                   .labels = "sbnd, tbmd, tbmd, sb, tb, sb, tb -> sbnd, sbn~",
                   .layout = attention_layout,
                   .gradient = attention_gradient,
                   .flops = attention_flops};
const Op attention_grad{.name = "attention_grad",
                        .labels = "sbnd, sbn, sbnd, tbmd, tbmd, sb, tb, sb, tb, sbnd, sbn -> sbnd, tbmd, tbmd",
                        .optional = "1",
                        .layout = attention_grad_layout,
                        .flops = attention_grad_flops};

}  // namespace tessera::ops
