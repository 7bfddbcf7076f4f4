// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/strategy/context_ulysses/context_ulysses.hpp"

#include <fmt/core.h>

namespace tessera {
namespace {

/// Whether every rank gets as many heads when `axes` share them besides those that do already.
bool shared_evenly(std::int64_t heads, const Mesh& mesh, const AxisList& already, const AxisList& axes) {
  return heads % mesh.size_of(already.set() | axes.set()) == 0;
}

void refuse(std::int64_t heads, int tensor, int context) {
  throw Error(ErrorKind::configuration,
              fmt::format("{} attention heads cannot be shared evenly by parallel.tensor x parallel.context = {} x {} "
                          "ranks, as strategy.context = ulysses has to",
                          heads, tensor, context),
              "choose a parallel.context whose product with parallel.tensor divides model.heads, or strategy.context = "
              "ring or allgather, which do not share heads");
}

}  // namespace

void ContextUlysses::place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const {
  if (dims.sequence >= 0) layout.splits(dims.sequence).append(mesh.factors("cp"));
}

void ContextUlysses::place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const {
  const AxisList axes = mesh.factors("cp");
  AxisList &sequence = layout.splits(0), &heads = layout.splits(2);
  if (mark == Mark::query || mark == Mark::key_value) {
    const bool even = shared_evenly(type.shape[2], mesh, heads, axes);
    if (!even && mark == Mark::query) refuse(type.shape[2], mesh.size_of(heads.set()), mesh.size_of(axes.set()));
    if (!even) return;
    sequence.remove(axes);
    heads.append(axes);
  }
  if (mark == Mark::attention_output) {
    heads.remove(axes);
    sequence.append(axes);
  }
}

}  // namespace tessera
