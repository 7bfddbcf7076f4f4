// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/new_file.hpp"

#include <hdf5.h>

#include <algorithm>

namespace tessera::io::hdf5 {
namespace {

constexpr hsize_t k_alignment = 1 << 20;
constexpr hsize_t k_aligned_from = 64 << 10;

Object string_type(std::size_t bytes, const Place& place) {
  Object type = own(H5Tcopy(H5T_C_S1), ErrorKind::internal, place);
  check(H5Tset_size(type.get(), std::max<std::size_t>(bytes, 1)), ErrorKind::internal, place);
  check(H5Tset_strpad(type.get(), H5T_STR_NULLPAD), ErrorKind::internal, place);
  check(H5Tset_cset(type.get(), H5T_CSET_UTF8), ErrorKind::internal, place);
  return type;
}

void write_attribute(Id object, const std::string& name, Id type, Id space, const void* data, const Place& place) {
  const Object attribute =
      own(H5Acreate2(object, name.c_str(), type, space, H5P_DEFAULT, H5P_DEFAULT), ErrorKind::io, place);
  check(H5Awrite(attribute.get(), type, data), ErrorKind::io, place);
}

struct AttributeWriter {
  Id object;
  const std::string& name;
  const Place& place;

  void operator()(std::int64_t value) const {
    const Object space = own(H5Screate(H5S_SCALAR), ErrorKind::io, place);
    write_attribute(object, name, H5T_NATIVE_INT64, space.get(), &value, place);
  }

  void operator()(const std::string& value) const {
    const Object space = own(H5Screate(H5S_SCALAR), ErrorKind::io, place);
    const Object type = string_type(value.size(), place);
    write_attribute(object, name, type.get(), space.get(), value.c_str(), place);
  }

  void operator()(const std::vector<std::string>& values) const {
    std::size_t width = 1;
    for (const std::string& value : values) width = std::max(width, value.size());
    std::string flat;
    for (const std::string& value : values) flat.append(value).append(width - value.size(), '\0');
    const hsize_t count = values.size();
    const Object space = own(H5Screate_simple(1, &count, nullptr), ErrorKind::io, place);
    const Object type = string_type(width, place);
    write_attribute(object, name, type.get(), space.get(), flat.c_str(), place);
  }
};

Object open_new_file(const std::filesystem::path& path, const Place& place) {
  const Object access = own(H5Pcreate(H5P_FILE_ACCESS), ErrorKind::internal, place);
  check(H5Pset_libver_bounds(access.get(), H5F_LIBVER_V110, H5F_LIBVER_V110), ErrorKind::internal, place);
  check(H5Pset_alignment(access.get(), k_aligned_from, k_alignment), ErrorKind::internal, place);
  check(H5Pset_file_locking(access.get(), 0, 1), ErrorKind::internal, place);
  const Object creation = own(H5Pcreate(H5P_FILE_CREATE), ErrorKind::internal, place);
  check(H5Pset_obj_track_times(creation.get(), false), ErrorKind::internal, place);  // of the root group
  return own(H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation.get(), access.get()), ErrorKind::io, place);
}

}  // namespace

void write_attributes(Id object, const std::vector<Attribute>& attributes, const Place& place) {
  for (const Attribute& attribute : attributes)
    std::visit(AttributeWriter{object, attribute.name, place}, attribute.value);
}

Object new_file(const std::filesystem::path& path, const std::vector<Attribute>& attributes, const Place& place) {
  Object file = open_new_file(path, place);
  const Object root = own(H5Gopen2(file.get(), "/", H5P_DEFAULT), ErrorKind::io, place);
  write_attributes(root.get(), attributes, place);
  return file;
}

Object links_with_groups(const Place& place) {
  Object links = own(H5Pcreate(H5P_LINK_CREATE), ErrorKind::internal, place);
  check(H5Pset_create_intermediate_group(links.get(), 1), ErrorKind::internal, place);
  return links;
}

Object space_of(const Extent& dataset, const Place& place) {
  if (dataset.extents.empty()) return own(H5Screate(H5S_SCALAR), ErrorKind::io, place);
  const std::vector<hsize_t> extents(dataset.extents.begin(), dataset.extents.end());
  return own(H5Screate_simple(static_cast<int>(extents.size()), extents.data(), nullptr), ErrorKind::io, place);
}

}  // namespace tessera::io::hdf5
