// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  reading a box of a row-major tensor out of a file with few, large reads.
// Used: the checkpoint reader.
// Must not know: manifests.
#pragma once

#include <cstdint>

#include "io/checkpoint/tensor.hpp"
#include "io/file.hpp"

namespace tessera::io {

/// Elements in a file: row-major from byte `offset` on.
struct StoredArray {
  const File& file;
  std::int64_t offset = 0;
  Shape shape;
  std::int64_t element_bytes = 0;
};

/// Reads a box of `stored` to `data`. Long runs are read to their place; short ones that lie close together are read
/// in windows of 4 MiB, gaps included.
void read_box(const StoredArray& stored, const Box& box, void* data, const Strides& strides);

}  // namespace tessera::io
