// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/files.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "io/file.hpp"
#include "io/hdf5/join_files.hpp"
#include "io/hdf5/layout_file.hpp"

namespace tessera::io {
namespace {

// What comes on top of the tensors: metadata and manifest, and up to a step of alignment for each large segment.
constexpr std::int64_t k_spare_bytes = 1 << 20;
constexpr std::int64_t k_alignment = 1 << 20;

void check_space(const std::filesystem::path& folder, std::span<const LogicalTensor> tensors, std::size_t files) {
  std::int64_t needed = k_spare_bytes;
  for (const LogicalTensor& tensor : tensors)
    needed += tensor.bytes() + std::min(tensor.bytes(), k_alignment * static_cast<std::int64_t>(files));
  const std::int64_t available = free_bytes(folder);
  if (available >= needed) return;
  throw Error(
      ErrorKind::io,
      fmt::format("saving to {} needs {}, {} are free", folder.native(), human_bytes(needed), human_bytes(available)),
      "Free space, lower checkpoint.keep, or set checkpoint.dir to another file system.");
}

/// The dataset of some rows of a tensor.
hdf5::Extent dataset_of(const LogicalTensor& tensor, std::int64_t first_row, std::int64_t rows) {
  const Shape shape = with_rows(tensor.shape, rows);
  hdf5::Extent dataset{tensor.path, hdf5::element_of(tensor.dtype), {shape.begin(), shape.end()}, {}};
  dataset.attributes.push_back({"dtype", std::string(name_of(tensor.dtype))});
  if (!tensor.stack.empty()) {
    const auto first = tensor.stack.begin() + first_row;
    dataset.attributes.push_back({"stack", std::vector<std::string>(first, first + rows)});
  }
  return dataset;
}

std::vector<hdf5::Attribute> attributes_of(std::int64_t step) {
  return {{"format", std::string("tessera-checkpoint")}, {"step", step}};
}

void make_one(const std::filesystem::path& folder, const std::string& file, std::span<const LogicalTensor> tensors,
              std::span<std::vector<Segment>> segments, std::int64_t step) {
  hdf5::FileLayout layout;
  layout.attributes = attributes_of(step);
  std::vector<Segment*> inside;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    for (Segment& segment : segments[i]) {
      if (segment.file != file) continue;
      layout.datasets.push_back(dataset_of(tensors[i], segment.first_row, segment.rows));
      inside.push_back(&segment);
    }
  }
  hdf5::create_file(folder / file, layout);
  File(folder / file, Access::overwrite).reserve(layout.file_bytes);
  for (std::size_t i = 0; i < inside.size(); ++i) inside[i]->offset = layout.datasets[i].offset;
}

void join(const std::filesystem::path& path, std::span<const LogicalTensor> tensors,
          std::span<const std::vector<Segment>> segments, std::int64_t step) {
  std::vector<hdf5::JoinedDataset> datasets;
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    hdf5::JoinedDataset dataset{dataset_of(tensors[i], 0, rows_of(tensors[i].shape)), {}};
    for (const Segment& segment : segments[i]) dataset.parts.push_back({segment.file, segment.first_row, segment.rows});
    datasets.push_back(std::move(dataset));
  }
  hdf5::join_files(path, datasets, attributes_of(step));
}

}  // namespace

void make_checkpoint_files(const std::filesystem::path& folder, const std::string& name,
                           std::span<const std::string> files, std::span<const LogicalTensor> tensors,
                           std::span<std::vector<Segment>> segments, std::int64_t step) {
  check_space(folder, tensors, files.size());
  for (const std::string& file : files) make_one(folder, file, tensors, segments, step);
  if (files.size() > 1) join(folder / name, tensors, segments, step);
}

}  // namespace tessera::io
