// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/layout_file.hpp"

namespace tessera::io::hdf5 {

std::int64_t Extent::count() const {
  std::int64_t product = 1;
  for (std::int64_t extent : extents) product *= extent;
  return product;
}

const Extent* FileLayout::find(std::string_view path) const {
  for (const Extent& dataset : datasets)
    if (dataset.path == path) return &dataset;
  return nullptr;
}

const Attribute* FileLayout::attribute(std::string_view name) const {
  for (const Attribute& attribute : attributes)
    if (attribute.name == name) return &attribute;
  return nullptr;
}

}  // namespace tessera::io::hdf5
