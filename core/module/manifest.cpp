// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/module/manifest.hpp"

#include <fmt/core.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "core/base/error.hpp"
#include "core/base/json_depth.hpp"
#include "core/config/core_options.hpp"
#include "core/module/build_tag.h"

namespace tessera {

namespace {

constexpr std::uintmax_t k_largest_manifest = 1 << 20;
constexpr int k_most_depth = 32;

}  // namespace

std::string_view engine_build_tag() {
  return TESSERA_BUILD_TAG;
}

std::string build_fault(int abi_major, int abi_minor, std::string_view build_tag) {
  if (abi_major != TESSERA_ABI_MAJOR || abi_minor > TESSERA_ABI_MINOR)
    return fmt::format("it speaks module ABI {}.{}, this engine {}.{}", abi_major, abi_minor, TESSERA_ABI_MAJOR,
                       TESSERA_ABI_MINOR);
  if (build_tag != engine_build_tag())
    return fmt::format("it comes from another build: its tag is '{}', this engine's '{}'", build_tag,
                       engine_build_tag());
  return {};
}

Manifest parse_manifest(std::string_view json, const std::filesystem::path& file) {
  try {
    if (json_depth(json) > k_most_depth)
      throw Error(ErrorKind::configuration, "its brackets lie too deep in each other");
    const auto document = nlohmann::ordered_json::parse(json);
    for (const char* version : {"abi_major", "abi_minor"})
      if (!document.at(version).is_number_integer())
        throw Error(ErrorKind::configuration, fmt::format("\"{}\" must be a whole number", version));
    Manifest manifest;
    manifest.kind = document.at("kind");
    manifest.name = document.at("name");
    manifest.version = document.at("version");
    manifest.summary = document.at("summary");
    manifest.abi_major = document.at("abi_major");
    manifest.abi_minor = document.at("abi_minor");
    manifest.build_tag = document.at("build_tag");
    manifest.options = parse_options(document.at("options").dump(), manifest.full_name());
    manifest.file = file;
    const std::filesystem::path library = document.at("library").get<std::string>();
    if (library.empty() || library.has_parent_path())
      throw Error(ErrorKind::configuration, "\"library\" must be the name of a file beside the manifest");
    manifest.library = file.parent_path() / library;
    return manifest;
  } catch (const nlohmann::ordered_json::exception& error) {
    throw Error(ErrorKind::configuration,
                fmt::format("{}: the manifest cannot be read: {}", file.string(), error.what()),
                "It is written when the module is built; build the module again.");
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("{}: {}", file.string(), error.what()),
                "It is written when the module is built; build the module again.");
  }
}

Manifest read_manifest(const std::filesystem::path& file) {
  std::error_code code;
  if (!std::filesystem::exists(file, code))
    throw Error(ErrorKind::not_found, fmt::format("{}: the manifest is missing", file.string()),
                "A module is a library and a .json file of the same name beside it; both are written by the build.");
  if (!std::filesystem::is_regular_file(file, code))
    throw Error(ErrorKind::configuration, fmt::format("{}: the manifest is not a regular file", file.string()));
  if (std::filesystem::file_size(file, code) > k_largest_manifest)
    throw Error(ErrorKind::configuration, fmt::format("{}: the manifest is larger than 1 MiB", file.string()));
  std::ifstream stream(file, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream || !text) throw Error(ErrorKind::io, fmt::format("{}: the manifest cannot be read", file.string()));
  return parse_manifest(text.str(), file);
}

Manifest manifest_of(const tessera_module_descriptor& descriptor) {
  Manifest manifest;
  manifest.kind = descriptor.kind;
  manifest.name = descriptor.name;
  manifest.version = descriptor.version;
  manifest.summary = descriptor.summary;
  manifest.abi_major = descriptor.abi_major;
  manifest.abi_minor = descriptor.abi_minor;
  manifest.build_tag = descriptor.build_tag;
  manifest.options = parse_options(descriptor.options, manifest.full_name());
  return manifest;
}

}  // namespace tessera
