// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/test_strategies.hpp"

namespace tessera::test {
namespace {

void append(AxisList& list, const AxisList& axes) {
  for (AxisId axis : axes) list.push_back(axis);
}

void remove(AxisList& list, const AxisList& axes) {
  AxisList kept;
  for (AxisId axis : list)
    if (!axes.has(axis)) kept.push_back(axis);
  list = kept;
}

/// The axes of `stem` that split key and value heads.
AxisList key_axes(const Mesh& mesh, const AxisList& axes) {
  AxisList heads;
  for (AxisId axis : axes)
    if (mesh.axis(axis).name == mesh.axis(axis).stem || mesh.axis(axis).name.ends_with(".head")) heads.push_back(axis);
  return heads;
}

}  // namespace

void DataStrategy::place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const {
  if (dims.batch >= 0) append(layout.splits(dims.batch), mesh.factors("dp"));
}

void TensorStrategy::place_parameter(const Parameter& parameter, const Shape&, const Mesh& mesh, Layout& layout) const {
  const AxisList axes = mesh.factors("tp");
  switch (parameter.role) {
    case ParameterRole::table:
    case ParameterRole::column:
    case ParameterRole::column_bias:
      return append(layout.splits(0), axes);
    case ParameterRole::kv_column:
    case ParameterRole::kv_column_bias:
      if (key_heads_ == KeyHeads::split) append(layout.splits(0), key_axes(mesh, axes));
      return;
    case ParameterRole::row:
      return append(layout.splits(1), axes);
    default:
      return;
  }
}

void TensorStrategy::place_value(Mark mark, const Type&, const Mesh& mesh, Layout& layout) const {
  const AxisList axes = mesh.factors("tp");
  if (mark == Mark::residual) {
    remove(layout.splits(0), axes);
    if (residual_ != Residual::replicated) append(layout.splits(0), axes);
  }
  if (mark == Mark::block_input && residual_ != Residual::split_unmarked) remove(layout.splits(0), axes);
}

void ContextStrategy::place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const {
  if (dims.sequence >= 0) append(layout.splits(dims.sequence), mesh.factors("cp"));
}

void ContextStrategy::place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const {
  if (attention_ == Attention::gathers) return;
  const AxisList axes = mesh.factors("cp");
  AxisList &sequence = layout.splits(0), &heads = layout.splits(2);
  if (mark == Mark::query || mark == Mark::key_value) {
    remove(sequence, axes);
    if (type.shape[2] % mesh.size_of(heads.set() | axes.set()) == 0) append(heads, axes);
  }
  if (mark == Mark::attention_output) {
    for (AxisList* list : {&heads, &sequence}) remove(*list, axes);
    append(sequence, axes);
  }
}

}  // namespace tessera::test
