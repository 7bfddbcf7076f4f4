// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/shape.hpp"

namespace tessera {

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int dim = 0; dim < shape.rank(); ++dim) {
    if (dim > 0) text += ", ";
    text += std::to_string(shape[dim]);
  }
  return text + "]";
}

}  // namespace tessera
