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

}  // namespace

void DataStrategy::place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const {
  if (dims.batch >= 0) append(layout.splits(dims.batch), mesh.factors("dp"));
}

void UnmarkedTensorParallel::place_parameter(const Parameter& parameter, const Shape& shape, const Mesh& mesh,
                                             Layout& layout) const {
  tensor_.place_parameter(parameter, shape, mesh, layout);
}

void UnmarkedTensorParallel::place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const {
  if (mark != Mark::block_input) tensor_.place_value(mark, type, mesh, layout);
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
