// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/hdf5/handle.hpp"

#include <fmt/core.h>
#include <hdf5.h>

#include <atomic>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace tessera::io::hdf5 {

static_assert(std::is_same_v<hid_t, Id> || sizeof(hid_t) == sizeof(Id));

namespace {

std::recursive_mutex& turn_mutex() {
  static std::recursive_mutex mutex;
  return mutex;
}

herr_t collect(unsigned, const H5E_error2_t* entry, void* lines) {
  if (entry->desc != nullptr) static_cast<std::vector<std::string>*>(lines)->emplace_back(entry->desc);
  return 0;
}

constexpr std::string_view k_system_reason = "error message = '";

/// Of a failed call of the operating system only what that says; the rest is addresses and a date with a line break.
std::string reason_of(const std::string& line) {
  const std::size_t begin = line.find(k_system_reason);
  if (begin == std::string::npos) return line;
  const std::size_t text = begin + k_system_reason.size();
  return line.substr(text, line.find('\'', text) - text);
}

std::atomic<bool> file_left_open{false};

struct Reason {
  std::string text;
  bool of_the_system = false;  ///< a call of the operating system failed
};

/// The innermost reason and the outermost one; what lies between repeats them.
Reason take_reason() {
  std::vector<std::string> lines;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, collect, &lines);
  H5Eclear2(H5E_DEFAULT);
  if (lines.empty()) return {"no reason given"};
  const bool of_the_system = lines.front().find(k_system_reason) != std::string::npos;
  const std::string reason = reason_of(lines.front());
  return {lines.size() == 1 ? reason : fmt::format("{} ({})", reason, lines.back()), of_the_system};
}

herr_t close_object(Id object) {
  switch (H5Iget_type(object)) {
    case H5I_FILE:
      return H5Fclose(object);
    case H5I_GROUP:
      return H5Gclose(object);
    case H5I_DATASET:
      return H5Dclose(object);
    case H5I_DATASPACE:
      return H5Sclose(object);
    case H5I_DATATYPE:
      return H5Tclose(object);
    case H5I_ATTR:
      return H5Aclose(object);
    default:
      return H5Pclose(object);
  }
}

}  // namespace

void ObjectTraits::close(Id object) {
  const Turn turn;
  const bool is_file = H5Iget_type(object) == H5I_FILE;
  if (close_object(object) >= 0) return;
  if (is_file) file_left_open = true;
  fail(ErrorKind::io, {"close", "an HDF5 object"});
}

bool must_not_be_ended() {
  return file_left_open;
}

Turn::Turn() : lock_(turn_mutex()) {
  [[maybe_unused]] static const herr_t never_by_itself = H5dont_atexit();
  [[maybe_unused]] static const herr_t silent = H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
}

void fail(ErrorKind kind, const Place& place) {
  const std::string object = place.object.empty() ? std::string() : fmt::format("{} in ", place.object);
  const Reason reason = take_reason();
  if (kind == ErrorKind::data && reason.of_the_system) kind = ErrorKind::io;
  throw Error(kind, fmt::format("cannot {} {}{}: HDF5: {}", place.action, object, place.file, reason.text),
              kind == ErrorKind::data ? "The file is damaged or was made by something else: copy or make it again."
                                      : "Check the file system and the free space.");
}

Object own(Id returned, ErrorKind kind, const Place& place) {
  if (returned < 0) fail(kind, place);
  return Object(returned);
}

void check(int returned, ErrorKind kind, const Place& place) {
  if (returned < 0) fail(kind, place);
}

}  // namespace tessera::io::hdf5
