// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the parts that a rank holds, as boxes of the logical tensors of a checkpoint, and which of them it writes.
// Used: saving, loading, text generation.
// Must not know: HDF5, engines.
#pragma once

#include <string>
#include <vector>

#include "core/mesh/mesh.hpp"
#include "core/train/tensor_part.hpp"
#include "io/checkpoint/tensor.hpp"

namespace tessera::apps {

/// Where a part belongs in a checkpoint.
struct FilePart {
  std::string path;  ///< "/model/layers/attention.q", "/moment1/embedding"
  io::Box box;       ///< of the logical tensor, stacked where there are layers
  TensorPart part;
};

/// Parameters of a kind are stacked over the layers that have it.
std::vector<FilePart> file_parts(const std::vector<TensorPart>& parts);

/// The logical tensors of a group ("model", or all states with `group` empty and model left out), in the order of their
/// first appearance. The same on all ranks.
enum class TensorFile : std::uint8_t { model, optimizer };
std::vector<io::LogicalTensor> logical_tensors(const std::vector<FilePart>& parts, TensorFile file);

/// This rank's share of a part that several ranks hold: consecutive rows, so that all write and each element once.
struct Share {
  io::Box box;
  const void* data = nullptr;  ///< dense
};
Share share_of(const FilePart& part, const Mesh& mesh, int rank);

}  // namespace tessera::apps
