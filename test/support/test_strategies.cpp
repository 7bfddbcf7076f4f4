// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/test_strategies.hpp"

namespace tessera::test {
void DataStrategy::place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const {
  if (dims.batch >= 0) layout.splits(dims.batch).append(mesh.factors("dp"));
}

void UnmarkedTensorParallel::place_parameter(const Parameter& parameter, const Shape& shape, const Mesh& mesh,
                                             Layout& layout) const {
  tensor_.place_parameter(parameter, shape, mesh, layout);
}

void UnmarkedTensorParallel::place_value(Mark mark, const Type& type, const Mesh& mesh, Layout& layout) const {
  if (mark != Mark::block_input) tensor_.place_value(mark, type, mesh, layout);
}

}  // namespace tessera::test
