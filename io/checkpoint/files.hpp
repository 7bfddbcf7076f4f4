// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the empty HDF5 files of a checkpoint, with all their space.
// Used: the checkpoint writer, on rank 0.
// Must not know: other ranks, what is written later.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "io/checkpoint/segments.hpp"
#include "io/checkpoint/tensor.hpp"

namespace tessera::io {

/// Makes `files` in `folder` for these tensors, whose segments lie in them, and sets the segments' offsets. Where there
/// are several files, also makes `name`, which joins them. Throws Error{io} when there is no room.
void make_checkpoint_files(const std::filesystem::path& folder, const std::string& name,
                           std::span<const std::string> files, std::span<const LogicalTensor> tensors,
                           std::span<std::vector<Segment>> segments, std::int64_t step);

}  // namespace tessera::io
