// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <hdf5.h>

#include <limits>

#include "io/file.hpp"
#include "io/hdf5/layout_file.hpp"
#include "io/hdf5/types.hpp"

namespace tessera::io::hdf5 {
namespace {

// An attribute of ours is a few names; anything larger is not read.
constexpr std::size_t k_max_attribute_bytes = 16 << 20;

struct Walk {
  Id file;
  std::string file_name;
  FileLayout layout;
  std::vector<std::string> left_out;
  std::exception_ptr error;
};

std::string trimmed(const char* data, std::size_t width) {
  std::string text(data, width);
  const std::size_t end = text.find('\0');
  if (end != std::string::npos) text.resize(end);
  return text;
}

/// Reads fixed-length strings: one for a scalar, else a list.
std::optional<Attribute> read_strings(Id attribute, std::string name, Id type, Id space, const Place& place) {
  if (H5Tis_variable_str(type) != 0) return std::nullopt;
  const std::size_t width = H5Tget_size(type);
  const hssize_t points = H5Sget_simple_extent_npoints(space);
  if (points < 0 || width == 0 || static_cast<std::size_t>(points) > k_max_attribute_bytes / width) return std::nullopt;
  const auto count = static_cast<std::size_t>(points);
  std::vector<char> flat(count * width + 1);
  check(H5Aread(attribute, type, flat.data()), ErrorKind::data, place);
  if (H5Sget_simple_extent_type(space) == H5S_SCALAR) return Attribute{std::move(name), trimmed(flat.data(), width)};
  std::vector<std::string> values;
  for (std::size_t i = 0; i < count; ++i) values.push_back(trimmed(flat.data() + i * width, width));
  return Attribute{std::move(name), std::move(values)};
}

std::optional<Attribute> read_attribute(Id object, const char* name, const Place& place) {
  const Object attribute = own(H5Aopen(object, name, H5P_DEFAULT), ErrorKind::data, place);
  const Object type = own(H5Aget_type(attribute.get()), ErrorKind::data, place);
  const Object space = own(H5Aget_space(attribute.get()), ErrorKind::data, place);
  const H5T_class_t kind = H5Tget_class(type.get());
  if (kind == H5T_STRING) return read_strings(attribute.get(), name, type.get(), space.get(), place);
  if (kind != H5T_INTEGER || H5Sget_simple_extent_npoints(space.get()) != 1) return std::nullopt;
  std::int64_t value = 0;
  check(H5Aread(attribute.get(), H5T_NATIVE_INT64, &value), ErrorKind::data, place);
  return Attribute{name, value};
}

struct AttributeWalk {
  std::vector<Attribute>* attributes;
  const Place* place;
  std::exception_ptr error;
};

herr_t visit_attribute(hid_t object, const char* name, const H5A_info_t*, void* data) {
  auto& walk = *static_cast<AttributeWalk*>(data);
  try {
    if (std::optional<Attribute> attribute = read_attribute(object, name, *walk.place))
      walk.attributes->push_back(std::move(*attribute));
    return 0;
  } catch (...) {  // may not pass through C
    walk.error = std::current_exception();
    return -1;
  }
}

std::vector<Attribute> read_attributes(Id object, const Place& place) {
  std::vector<Attribute> attributes;
  AttributeWalk walk{&attributes, &place, nullptr};
  const herr_t status = H5Aiterate2(object, H5_INDEX_NAME, H5_ITER_INC, nullptr, visit_attribute, &walk);
  if (walk.error) std::rethrow_exception(walk.error);
  check(status, ErrorKind::data, place);
  return attributes;
}

/// The extents, if their product and its bytes fit in 64 bits.
std::optional<std::vector<std::int64_t>> read_extents(Id space, std::int64_t element_bytes) {
  if (H5Sget_simple_extent_type(space) == H5S_SCALAR) return std::vector<std::int64_t>{};
  const int rank = H5Sget_simple_extent_ndims(space);
  if (rank < 1) return std::nullopt;
  std::vector<hsize_t> extents(static_cast<std::size_t>(rank));
  if (H5Sget_simple_extent_dims(space, extents.data(), nullptr) != rank) return std::nullopt;
  std::vector<std::int64_t> result;
  hsize_t room = static_cast<hsize_t>(std::numeric_limits<std::int64_t>::max() / element_bytes);
  for (hsize_t extent : extents) {
    if (extent > room) return std::nullopt;
    if (extent > 0) room /= extent;
    result.push_back(static_cast<std::int64_t>(extent));
  }
  return result;
}

std::optional<Extent> read_dataset(Id object, std::string path, const Place& place) {
  const Object creation = own(H5Dget_create_plist(object), ErrorKind::data, place);
  if (H5Pget_layout(creation.get()) != H5D_CONTIGUOUS || H5Pget_external_count(creation.get()) != 0)
    return std::nullopt;
  const Object type = own(H5Dget_type(object), ErrorKind::data, place);
  const std::optional<Element> element = element_of_type(type.get());
  if (!element) return std::nullopt;
  const Object space = own(H5Dget_space(object), ErrorKind::data, place);
  const std::optional<std::vector<std::int64_t>> extents = read_extents(space.get(), size_of(*element));
  if (!extents) return std::nullopt;
  Extent dataset{std::move(path), *element, *extents, read_attributes(object, place), -1};
  const haddr_t offset = H5Dget_offset(object);
  if (offset != HADDR_UNDEF) dataset.offset = static_cast<std::int64_t>(offset);
  H5Eclear2(H5E_DEFAULT);
  if (dataset.offset < 0 && dataset.count() > 0) return std::nullopt;
  return dataset;
}

void visit(Walk& walk, const char* name) {
  std::string path("/");
  path.append(name);
  const Place place{"read", walk.file_name, path};
  const Object object = own(H5Dopen2(walk.file, path.c_str(), H5P_DEFAULT), ErrorKind::data, place);
  std::optional<Extent> dataset = read_dataset(object.get(), path, place);
  if (!dataset) {
    walk.left_out.push_back(path);
  } else if (dataset->count() > 0 && dataset->bytes() > walk.layout.file_bytes - dataset->offset) {
    throw Error(ErrorKind::data, path + " in " + walk.file_name + " reaches beyond the end of the file",
                "The file is truncated: copy or make it again.");
  } else {
    walk.layout.datasets.push_back(std::move(*dataset));
  }
}

herr_t visit_object(hid_t, const char* name, const H5O_info_t* info, void* data) {
  if (info->type != H5O_TYPE_DATASET) return 0;
  auto& walk = *static_cast<Walk*>(data);
  try {
    visit(walk, name);
    return 0;
  } catch (...) {  // may not pass through C
    walk.error = std::current_exception();
    return -1;
  }
}

Object open_file(const std::filesystem::path& path, const Place& place) {
  const Object access = own(H5Pcreate(H5P_FILE_ACCESS), ErrorKind::internal, place);
  check(H5Pset_file_locking(access.get(), 0, 1), ErrorKind::internal, place);
  return own(H5Fopen(path.c_str(), H5F_ACC_RDONLY, access.get()), ErrorKind::data, place);
}

}  // namespace

FileLayout describe_file(const std::filesystem::path& path, std::vector<std::string>* left_out) {
  Walk walk;
  walk.file_name = path.native();
  walk.layout.file_bytes = File(path, Access::read).size();  // a missing file is told apart from a damaged one here
  const Turn turn;
  const Place place{"read", walk.file_name};
  const Object file = open_file(path, place);
  walk.file = file.get();
  const Object root = own(H5Gopen2(file.get(), "/", H5P_DEFAULT), ErrorKind::data, place);
  walk.layout.attributes = read_attributes(root.get(), place);
  const herr_t status = H5Ovisit2(root.get(), H5_INDEX_NAME, H5_ITER_NATIVE, visit_object, &walk, H5O_INFO_BASIC);
  if (walk.error) std::rethrow_exception(walk.error);
  check(status, ErrorKind::data, place);
  if (left_out != nullptr) *left_out = std::move(walk.left_out);
  return std::move(walk.layout);
}

}  // namespace tessera::io::hdf5
