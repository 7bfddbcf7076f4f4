// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/text/text_inputs.hpp"

#include <fmt/core.h>
#include <glob.h>

#include <algorithm>
#include <array>

#include "io/file.hpp"

namespace tessera::io {
namespace {

TextFormat format_of(const std::filesystem::path& path) {
  const std::string extension = path.extension().string();
  const bool lines = extension == ".jsonl" || extension == ".ndjson" || extension == ".json";
  return lines ? TextFormat::jsonl : TextFormat::plain;
}

bool is_text_name(const std::filesystem::path& path) {
  constexpr std::array<std::string_view, 5> known{".txt", ".text", ".md", ".jsonl", ".ndjson"};
  return std::find(known.begin(), known.end(), path.extension().string()) != known.end();
}

/// Whether a walk takes it: texts, and links with the name of a text that lead nowhere, which are then reported.
bool is_taken(const std::filesystem::directory_entry& entry) {
  std::error_code error;
  const std::filesystem::file_type type = entry.status(error).type();
  return is_text_name(entry.path()) &&
         (type == std::filesystem::file_type::regular || error || type == std::filesystem::file_type::not_found);
}

std::vector<std::filesystem::path> files_below(const std::filesystem::path& directory) {
  std::vector<std::filesystem::path> files;
  std::error_code error, ignored;
  std::filesystem::recursive_directory_iterator at(directory, error);
  for (; !error && at != std::filesystem::recursive_directory_iterator(); at.increment(error)) {
    const bool hidden = at->path().filename().string().starts_with('.');
    if (hidden && at->is_directory(ignored)) at.disable_recursion_pending();
    if (!hidden && is_taken(*at)) files.push_back(at->path());
  }
  if (error) throw system_error("cannot list", directory, error.value());
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return files;
}

std::vector<std::filesystem::path> matches_of(const std::string& pattern) {
  glob_t found{};
  std::vector<std::filesystem::path> files;
  if (::glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found) == 0)
    files.assign(found.gl_pathv, found.gl_pathv + found.gl_pathc);
  ::globfree(&found);
  std::error_code ignored;
  std::erase_if(files, [&](const auto& path) { return !std::filesystem::is_regular_file(path, ignored); });
  std::sort(files.begin(), files.end(), [](const auto& a, const auto& b) { return a.native() < b.native(); });
  return files;
}

std::vector<std::filesystem::path> files_of(const std::string& input) {
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(input, error);
  if (std::filesystem::is_directory(status)) return files_below(input);
  const bool pattern = input.find_first_of("*?[") != std::string::npos;
  if (!pattern && error) throw system_error("cannot read", input, error.value());
  return std::filesystem::exists(status) ? std::vector<std::filesystem::path>{input} : matches_of(input);
}

}  // namespace

std::vector<TextInput> expand_inputs(std::span<const std::string> inputs) {
  std::vector<TextInput> result;
  for (const std::string& input : inputs) {
    const std::vector<std::filesystem::path> files = files_of(input);
    if (files.empty()) {
      throw Error(ErrorKind::not_found, fmt::format("there is no text in {}", input),
                  "Name files, patterns, or directories with .txt, .text, .md, .jsonl or .ndjson files.");
    }
    for (const std::filesystem::path& file : files) result.push_back({file, format_of(file)});
  }
  return result;
}

}  // namespace tessera::io
