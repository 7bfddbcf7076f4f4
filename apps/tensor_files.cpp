// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/tensor_files.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <set>

namespace tessera::apps {
namespace {

/// Layers that have a field, rising; by path.
using Stacks = std::map<std::string, std::set<int>>;

io::Box box_of(const TensorPart& part, const std::set<int>& stack) {
  io::Box box;
  for (int dim = 0; dim < part.shape.rank(); ++dim) {
    box.start.append(part.slab.start[static_cast<std::size_t>(dim)]);
    box.extent.append(part.slab.extent[dim]);
  }
  const int layer = part.parameter->layer;
  return layer < 0 ? box : io::stacked(std::distance(stack.begin(), stack.find(layer)), box);
}

std::string path_of(const TensorPart& part) {
  return "/" + part.group + (part.parameter->layer < 0 ? "/" : "/layers/") + part.parameter->field;
}

}  // namespace

std::vector<FilePart> file_parts(const std::vector<TensorPart>& parts) {
  Stacks stacks;
  for (const TensorPart& part : parts) stacks[path_of(part)].insert(part.parameter->layer);
  std::vector<FilePart> result;
  for (const TensorPart& part : parts) result.push_back({path_of(part), box_of(part, stacks[path_of(part)]), part});
  return result;
}

std::vector<io::LogicalTensor> logical_tensors(const std::vector<FilePart>& parts, TensorFile file) {
  std::vector<io::LogicalTensor> tensors;
  for (const FilePart& part : parts) {
    if ((part.part.group == "model") != (file == TensorFile::model)) continue;
    const int layer = part.part.parameter->layer;
    auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const io::LogicalTensor& t) { return t.path == part.path; });
    if (found == tensors.end()) {
      io::LogicalTensor tensor{part.path, part.part.shape, part.part.dtype, {}};
      if (layer >= 0) {
        tensor.shape = {0};
        for (std::int64_t extent : part.part.shape) tensor.shape.append(extent);
      }
      found = tensors.insert(tensors.end(), tensor);
    }
    if (layer < 0) continue;
    const std::int64_t row = part.box.start[0];
    found->shape[0] = std::max(found->shape[0], row + 1);
    found->stack.resize(static_cast<std::size_t>(found->shape[0]));
    found->stack[static_cast<std::size_t>(row)] = "layers." + std::to_string(layer);
  }
  std::sort(tensors.begin(), tensors.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return tensors;
}

Share share_of(const FilePart& part, const Mesh& mesh, int rank) {
  if (part.box.extent.count() == 0) return {part.box, nullptr};
  const std::vector<int> holders = mesh.group(rank, part.part.held);
  const int index = static_cast<int>(std::find(holders.begin(), holders.end(), rank) - holders.begin());
  const int dim = part.box.extent.rank() - part.part.shape.rank();  // behind the stack
  const Range rows = part_of(Range{0, part.box.extent[dim]}, static_cast<int>(holders.size()), index);
  Share share{part.box, nullptr};
  share.box.start[dim] += rows.begin;
  share.box.extent[dim] = rows.size();
  const std::int64_t row = part.box.extent.count_from(dim + 1) * size_of(part.part.dtype);
  share.data = static_cast<const std::byte*>(part.part.data) + rows.begin * row;
  return share;
}

}  // namespace tessera::apps
