// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include "io/file.hpp"
#include "io/hdf5/layout_file.hpp"
#include "io/hdf5/new_file.hpp"
#include "io/hdf5/types.hpp"

namespace tessera::io::hdf5 {
namespace {

Object open_new_dataset(Id file, const Extent& dataset, const Place& place) {
  const Object creation = own(H5Pcreate(H5P_DATASET_CREATE), ErrorKind::internal, place);
  check(H5Pset_layout(creation.get(), H5D_CONTIGUOUS), ErrorKind::internal, place);
  check(H5Pset_alloc_time(creation.get(), H5D_ALLOC_TIME_EARLY), ErrorKind::internal, place);
  check(H5Pset_fill_time(creation.get(), H5D_FILL_TIME_NEVER), ErrorKind::internal, place);
  check(H5Pset_obj_track_times(creation.get(), false), ErrorKind::internal, place);  // equal content, equal bytes
  const Object links = links_with_groups(place);
  const Object space = space_of(dataset, place);
  const Object type = type_of(dataset.element);
  return own(H5Dcreate2(file, dataset.path.c_str(), type.get(), space.get(), links.get(), creation.get(), H5P_DEFAULT),
             ErrorKind::io, place);
}

void create_dataset(Id file, Extent& dataset, std::string_view file_name) {
  const Place place{"create", file_name, dataset.path};
  Object object = open_new_dataset(file, dataset, place);
  write_attributes(object.get(), dataset.attributes, place);
  const haddr_t offset = H5Dget_offset(object.get());
  dataset.offset = offset == HADDR_UNDEF ? -1 : static_cast<std::int64_t>(offset);
  H5Eclear2(H5E_DEFAULT);
  if (dataset.offset < 0 && dataset.count() > 0)
    fail(ErrorKind::internal, {"find the place of", file_name, dataset.path});
  object.close();
}

}  // namespace

void create_file(const std::filesystem::path& path, FileLayout& layout) {
  const Turn turn;
  const Place place{"create", path.native()};
  Object file = new_file(path, layout.attributes, place);
  for (Extent& dataset : layout.datasets) create_dataset(file.get(), dataset, path.native());
  check(H5Fflush(file.get(), H5F_SCOPE_GLOBAL), ErrorKind::io, place);
  file.close();
  layout.file_bytes = File(path, Access::read).size();
}

}  // namespace tessera::io::hdf5
