// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  datasets that are sound HDF5 files and say something odd. Bytes that change at random end at the first checksum
//       of HDF5, before anything of ours is asked.
// Used: the fuzzer of datasets.
// Must not know: what the reader makes of them.
#pragma once

#include <cstdint>
#include <optional>
#include <random>
#include <span>
#include <vector>

/// A dataset like `file` with one to three changes of its attributes, arrays and numbers, mostly with right checksums
/// of tokens and documents; nothing if `file` is no HDF5 file.
std::optional<std::vector<std::uint8_t>> changed_dataset(std::span<const std::uint8_t> file, std::minstd_rand& random);
