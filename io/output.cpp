// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/output.hpp"

#include <fmt/core.h>
#include <unistd.h>

#include <cerrno>
#include <vector>

#include "io/file.hpp"

namespace tessera::io {

void check_output(const std::filesystem::path& output, std::span<const std::filesystem::path> inputs) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(output, error);
  if (std::filesystem::is_directory(status))
    throw Error(ErrorKind::cannot_create, fmt::format("{} is a folder", output.native()),
                "Give the name of a file in it.");
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status))
    throw Error(ErrorKind::cannot_create,
                fmt::format("{} is a device, a pipe or a socket, not a file", output.native()),
                "Choose another output path.");
  for (const std::filesystem::path& input : inputs)
    if (std::filesystem::equivalent(output, input, error))
      throw Error(ErrorKind::cannot_create,
                  fmt::format("{} is an input{}", output.native(), output == input ? "" : ": " + input.native()),
                  "Choose another output path.");
  const std::filesystem::path folder = output.has_parent_path() ? output.parent_path() : ".";
  if (::access(folder.c_str(), W_OK | X_OK) != 0) throw output_error("cannot write in", folder, errno);
}

void make_folder(const std::filesystem::path& folder) {
  std::error_code error;
  std::vector<std::filesystem::path> to_sync;  // where an entry is new
  for (std::filesystem::path at = std::filesystem::absolute(folder).lexically_normal();
       !std::filesystem::exists(at, error) && at.has_relative_path(); at = at.parent_path())
    to_sync.push_back(at.parent_path());
  std::filesystem::create_directories(folder, error);
  if (error) throw output_error("cannot make the folder", folder, error.value());
  if (!std::filesystem::is_directory(folder, error)) throw output_error("cannot make the folder", folder, EEXIST);
  for (const std::filesystem::path& parent : to_sync) sync_folder(parent);
}

}  // namespace tessera::io
