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

/// Reads `box` of `tensor`, which begins at byte `offset` of `file`, to `data`. Long runs are read to their place;
/// short ones that lie close together are read in windows of 4 MiB, gaps included.
void read_box(const File& file, std::int64_t offset, const LogicalTensor& tensor, const Box& box, void* data,
              const Strides& strides);

}  // namespace tessera::io
