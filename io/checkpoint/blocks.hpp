// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  reading the files of a checkpoint once, shared by all ranks, and knowing their checksums and digests then.
// Used: writer (read back) and reader (verify) of checkpoints.
// Must not know: what follows from a difference.
#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <vector>

#include "core/comm/communicator.hpp"
#include "io/checkpoint/manifest.hpp"

namespace tessera::io {

/// What is really on the disk.
struct FileContents {
  std::vector<std::vector<std::uint64_t>> blocks;  ///< per file: checksum of every k_hash_block bytes
  std::vector<Digest> digests;                     ///< per tensor
};

/// Collective. Reads `files` (by their sizes) in `folder`; every rank reads its share of the blocks, and all ranks get
/// the whole result. Tensors must be in these files. Throws on all ranks when any cannot read.
FileContents read_contents(const std::filesystem::path& folder, std::span<const ManifestFile> files,
                           std::span<const ManifestTensor> tensors, Communicator& ranks);

/// Sums per tensor what all ranks have. Collective.
std::vector<Digest> sum_digests(std::span<const Digest> mine, Communicator& ranks);

}  // namespace tessera::io
