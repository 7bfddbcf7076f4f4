// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/strategy/context_allgather/context_allgather.hpp"

namespace tessera {

void ContextAllgather::place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const {
  if (dims.sequence >= 0) layout.splits(dims.sequence).append(mesh.factors("cp"));
}

std::vector<Range> ContextAllgather::sequence_order(std::int64_t sequence, const Mesh& mesh) const {
  return zigzag_order(sequence, mesh.size_of(mesh.factors("cp").set()), zigzag_);
}

}  // namespace tessera
