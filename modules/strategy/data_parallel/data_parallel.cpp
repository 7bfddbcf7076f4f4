// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/strategy/data_parallel/data_parallel.hpp"

namespace tessera {

void DataParallel::place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const {
  if (dims.batch >= 0) layout.splits(dims.batch).append(mesh.factors("dp"));
}

}  // namespace tessera
