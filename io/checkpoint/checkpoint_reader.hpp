// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  finding a checkpoint that is whole, and reading any box of any of its tensors.
// Used: resume, generation, conversion, inspection.
// Must not know: layouts; how many ranks wrote it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/comm/communicator.hpp"
#include "io/checkpoint/digest.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/checkpoint/tensor.hpp"

namespace tessera::io {

enum class Verify : std::uint8_t {
  present,  ///< as `sizes`, but files may be missing: reading what lies in them is Error{not_found}
  sizes,    ///< the checksums of the manifest and of the state, and the sizes of all files
  full,     ///< also the checksum of every block; ranks share the reading
};

/// An open checkpoint, for any number of ranks. Reading is independent per rank.
class CheckpointReader {
 public:
  /// Collective. Throws on all ranks: Error{not_found|data|io} that says which file is wrong and how;
  /// Error{disagreement} when ranks see different manifests.
  CheckpointReader(const std::filesystem::path& folder, Communicator& ranks, Verify verify);
  ~CheckpointReader();
  CheckpointReader(CheckpointReader&&) noexcept;
  CheckpointReader& operator=(CheckpointReader&&) noexcept;

  /// Collective. The newest whole checkpoint in `directory`; none when there is none. `passed_over` receives a sentence
  /// for each newer one that is not whole.
  static std::optional<CheckpointReader> newest(const std::filesystem::path& directory, Communicator& ranks,
                                                Verify verify, std::vector<std::string>& passed_over);

  const std::filesystem::path& folder() const;
  const Manifest& manifest() const;

  /// The JSON that was given to CheckpointWriter::set_state.
  const std::string& state() const;

  /// Compares with what the caller needs: throws Error{data} that lists tensors missing and left over, and those whose
  /// shapes, dtypes or stacks differ, with both.
  void expect(std::span<const LogicalTensor> wanted) const;

  /// Number of a tensor in the manifest. Throws Error{data} when it is not there.
  int find(std::string_view path) const;

  /// Reads a box to `data`. Throws Error{io|data}.
  void read(int tensor, const Box& box, void* data, const Strides& strides) const;

  /// Collective. `mine[i]` is the digest (digest_box) of what this rank holds of tensor i in the manifest's order, each
  /// element counted by one rank. Throws Error{data} on all ranks that names the tensors which differ.
  void check_digests(std::span<const Digest> mine, Communicator& ranks) const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace tessera::io
