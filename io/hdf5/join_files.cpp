// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/join_files.hpp"

#include <hdf5.h>

#include "io/hdf5/new_file.hpp"
#include "io/hdf5/types.hpp"

namespace tessera::io::hdf5 {
namespace {

void add_link(Id file, const JoinedDataset& dataset, const Place& place) {
  const Object links = links_with_groups(place);
  const char* path = dataset.whole.path.c_str();
  check(H5Lcreate_external(dataset.parts.front().file.c_str(), path, file, path, links.get(), H5P_DEFAULT),
        ErrorKind::io, place);
}

/// Tells where some rows of the whole come from.
void map_part(Id creation, Id whole, const Extent& dataset, const JoinedPart& part, const Place& place) {
  Extent source = dataset;
  source.extents[0] = part.rows;
  const Object space = space_of(source, place);
  std::vector<hsize_t> start(dataset.extents.size());
  start[0] = static_cast<hsize_t>(part.first_row);
  const std::vector<hsize_t> extent(source.extents.begin(), source.extents.end());
  check(H5Sselect_hyperslab(whole, H5S_SELECT_SET, start.data(), nullptr, extent.data(), nullptr), ErrorKind::io,
        place);
  check(H5Pset_virtual(creation, whole, part.file.c_str(), dataset.path.c_str(), space.get()), ErrorKind::io, place);
}

void add_virtual(Id file, const JoinedDataset& dataset, const Place& place) {
  const Object creation = own(H5Pcreate(H5P_DATASET_CREATE), ErrorKind::internal, place);
  const Object space = space_of(dataset.whole, place);
  for (const JoinedPart& part : dataset.parts) map_part(creation.get(), space.get(), dataset.whole, part, place);
  check(H5Sselect_all(space.get()), ErrorKind::io, place);
  const Object type = type_of(dataset.whole.element);
  const Object links = links_with_groups(place);
  const Object object = own(
      H5Dcreate2(file, dataset.whole.path.c_str(), type.get(), space.get(), links.get(), creation.get(), H5P_DEFAULT),
      ErrorKind::io, place);
  write_attributes(object.get(), dataset.whole.attributes, place);
}

}  // namespace

void join_files(const std::filesystem::path& path, const std::vector<JoinedDataset>& datasets,
                const std::vector<Attribute>& attributes) {
  const Turn turn;
  Object file = new_file(path, attributes, {"create", path.native()});
  for (const JoinedDataset& dataset : datasets) {
    const Place place{"create", path.native(), dataset.whole.path};
    if (dataset.parts.size() == 1) {
      add_link(file.get(), dataset, place);
    } else {
      add_virtual(file.get(), dataset, place);
    }
  }
  check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), ErrorKind::io, {"create", path.native()});
  file.close();
}

}  // namespace tessera::io::hdf5
