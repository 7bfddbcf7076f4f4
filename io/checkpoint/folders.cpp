// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/folders.hpp"

#include <fcntl.h>
#include <fmt/core.h>
#include <stdio.h>

#include <algorithm>
#include <cerrno>
#include <charconv>

#include "core/base/log.hpp"
#include "io/file.hpp"

namespace tessera::io {
namespace {

constexpr std::string_view k_prefix = "step-";
constexpr std::string_view k_temporary = ".tmp";

/// Entries of a directory; none when it does not exist.
std::vector<std::filesystem::path> entries_of(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> entries;
  std::error_code error;
  for (std::filesystem::directory_iterator at(directory, error), end; !error && at != end; at.increment(error))
    entries.push_back(at->path());
  if (error && error != std::errc::no_such_file_or_directory)
    throw system_error("cannot list", directory, error.value());
  return entries;
}

void remove_tree(const std::filesystem::path& path) {
  std::error_code error;
  std::filesystem::remove_all(path, error);
  if (error) throw system_error("cannot remove", path, error.value());
}

std::filesystem::path temporary_name(std::filesystem::path path) {
  return path += k_temporary;
}

}  // namespace

bool tried(const std::function<void()>& action) {
  try {
    action();
    return true;
  } catch (const Error& error) {
    log_warning("checkpoint", fmt::format("{}. The run goes on. {}", error.what(), error.hint()));
    return false;
  }
}

std::string folder_name(std::int64_t step) {
  return fmt::format("{}{:08}", k_prefix, step);
}

std::optional<std::int64_t> step_of(std::string_view name) {
  if (!name.starts_with(k_prefix)) return std::nullopt;
  const std::string_view digits = name.substr(k_prefix.size());
  std::int64_t step = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), step);
  if (error != std::errc() || end != digits.data() + digits.size() || folder_name(step) != name) return std::nullopt;
  return step;
}

std::vector<CheckpointFolder> list_checkpoints(const std::filesystem::path& directory) {
  std::vector<CheckpointFolder> folders;
  for (const std::filesystem::path& path : entries_of(directory))
    if (const std::optional<std::int64_t> step = step_of(path.filename().string())) folders.push_back({*step, path});
  std::sort(folders.begin(), folders.end(), [](const auto& a, const auto& b) { return a.step > b.step; });
  return folders;
}

void remove_leftovers(const std::filesystem::path& directory) {
  for (const std::filesystem::path& path : entries_of(directory)) {
    // "step-00000010.tmp", and "step-00000010.old.tmp" where names could not be exchanged
    const std::string name = path.filename().native();
    const std::string stem = name.substr(0, name.find('.'));
    if (name.ends_with(k_temporary) && step_of(stem)) tried([&] { remove_tree(path); });
  }
}

void publish_folder(const std::filesystem::path& temporary, const std::filesystem::path& final) {
  const std::filesystem::path parent = final.parent_path();
  if (!std::filesystem::exists(final)) {
    rename_path(temporary, final);
    sync_folder(parent);
    return;
  }
  if (::renameat2(AT_FDCWD, temporary.c_str(), AT_FDCWD, final.c_str(), RENAME_EXCHANGE) != 0) {
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
      throw system_error(fmt::format("cannot exchange {} with", temporary.native()), final, errno);
    std::filesystem::path aside = final;
    aside += ".old.tmp";
    rename_path(final, aside);
    rename_path(temporary, final);
    rename_path(aside, temporary);
  }
  sync_folder(parent);
  tried([&] { remove_tree(temporary); });
}

std::vector<std::filesystem::path> prune(const std::filesystem::path& directory, std::int64_t step, int keep) {
  std::vector<std::filesystem::path> removed;
  int kept = 0;
  for (const CheckpointFolder& folder : list_checkpoints(directory)) {
    if (keep == 0 || folder.step > step || kept++ < keep) continue;
    const std::filesystem::path temporary = temporary_name(folder.path);
    const bool gone = tried([&] {
      rename_path(folder.path, temporary);
      remove_tree(temporary);
    });
    if (gone) removed.push_back(folder.path);
  }
  return removed;
}

}  // namespace tessera::io
