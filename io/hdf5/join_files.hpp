// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one HDF5 file that shows the datasets of several others as if they were its own.
// Used: checkpoints in several files.
// Must not know: what the numbers are for.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "io/hdf5/layout_file.hpp"

namespace tessera::io::hdf5 {

/// Entries [first_row, first_row + rows) of dim 0, found under the same path in another file.
struct JoinedPart {
  std::string file;  ///< relative to the folder of the joining file
  std::int64_t first_row = 0;
  std::int64_t rows = 0;
};

struct JoinedDataset {
  Extent whole;
  std::vector<JoinedPart> parts;  ///< one: an external link; several: a virtual dataset
};

/// Writes such a file. HDF5 1.10 reads it serially only. Throws Error{io}.
void join_files(const std::filesystem::path& path, const std::vector<JoinedDataset>& datasets,
                const std::vector<Attribute>& attributes);

}  // namespace tessera::io::hdf5
