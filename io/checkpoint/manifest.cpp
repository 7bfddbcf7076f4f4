// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/manifest.hpp"

#include <fmt/core.h>

#include <limits>
#include <nlohmann/json.hpp>
#include <optional>

#include "io/hash.hpp"

namespace tessera::io {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::string_view k_format = "tessera-checkpoint";
constexpr std::int64_t k_version = 1;
constexpr std::string_view k_seal = ",\n\"manifest_hash\":\"";
constexpr std::string_view k_end = "\"}\n";

Json to_json(const ManifestFile& file) {
  Json blocks = Json::array();
  for (std::uint64_t hash : file.blocks) blocks.push_back(to_hex(hash));
  return {{"name", file.name}, {"bytes", file.bytes}, {"blocks", std::move(blocks)}};
}

Json to_json(const ManifestTensor& entry) {
  Json shape = Json::array();
  for (std::int64_t extent : entry.tensor.shape) shape.push_back(extent);
  Json segments = Json::array();
  for (const Segment& segment : entry.segments) {
    segments.push_back(
        {{"file", segment.file}, {"first_row", segment.first_row}, {"rows", segment.rows}, {"offset", segment.offset}});
  }
  return {{"file", entry.file},
          {"path", entry.tensor.path},
          {"dtype", name_of(entry.tensor.dtype)},
          {"shape", shape},
          {"stack", entry.tensor.stack},
          {"segments", std::move(segments)},
          {"digest", to_string(entry.digest)}};
}

/// What is wrong with a manifest; the path is added where it is caught.
[[noreturn]] void refuse(const std::string& reason) {
  throw std::invalid_argument(reason);
}

std::string plain_name(std::string name) {
  const bool plain = !name.empty() && name.front() != '.' && name.find('/') == std::string::npos;
  if (!plain) refuse(fmt::format("'{}' is not the name of a file in the folder", name));
  return name;
}

DType dtype_from(const std::string& name) {
  for (int i = 0; i <= static_cast<int>(DType::u8); ++i)
    if (name_of(static_cast<DType>(i)) == name) return static_cast<DType>(i);
  refuse(fmt::format("'{}' is not an element type", name));
}

Shape shape_from(const Json& json, std::int64_t element_bytes) {
  if (json.size() > Shape::k_max_rank) refuse("a tensor has too many dims");
  Shape shape;
  std::int64_t room = std::numeric_limits<std::int64_t>::max() / element_bytes;
  for (const Json& entry : json) {
    const auto extent = entry.get<std::int64_t>();
    if (extent < 0 || extent > room) refuse(fmt::format("an extent is {}", extent));
    if (extent > 0) room /= extent;
    shape.append(extent);
  }
  return shape;
}

ManifestFile file_from(const Json& json) {
  ManifestFile file{plain_name(json.at("name")), json.at("bytes"), {}};
  for (const Json& entry : json.at("blocks")) {
    const std::optional<std::uint64_t> hash = from_hex(entry.get<std::string>());
    if (!hash) refuse(fmt::format("a checksum of {} is not one", file.name));
    file.blocks.push_back(*hash);
  }
  const auto blocks = static_cast<std::int64_t>(file.blocks.size());
  if (file.bytes < 0 || blocks != file.bytes / k_hash_block + (file.bytes % k_hash_block != 0))
    refuse(fmt::format("{} has {} bytes and {} checksums", file.name, file.bytes, blocks));
  return file;
}

const ManifestFile& file_named(const std::string& name, const std::vector<ManifestFile>& files) {
  for (const ManifestFile& file : files)
    if (file.name == name) return file;
  refuse(fmt::format("'{}' is not among the files", name));
}

Segment segment_from(const Json& json, const LogicalTensor& tensor, const std::vector<ManifestFile>& files) {
  const Segment segment{json.at("file"), json.at("first_row"), json.at("rows"), json.at("offset")};
  const ManifestFile& file = file_named(segment.file, files);
  const std::int64_t rows = rows_of(tensor.shape);
  if (segment.rows < 0 || segment.rows > rows || segment.first_row < 0 || segment.first_row > rows - segment.rows)
    refuse(fmt::format("{} has no rows {} + {}", tensor.path, segment.first_row, segment.rows));
  const std::int64_t bytes = with_rows(tensor.shape, segment.rows).count() * size_of(tensor.dtype);
  const bool inside = segment.offset >= 0 && bytes <= file.bytes - segment.offset;
  if (bytes > 0 && !inside) refuse(fmt::format("{} is not inside {}", tensor.path, file.name));
  return segment;
}

ManifestTensor tensor_from(const Json& json, const std::vector<ManifestFile>& files) {
  ManifestTensor entry;
  entry.file = file_named(json.at("file"), files).name;
  entry.tensor.path = json.at("path");
  entry.tensor.dtype = dtype_from(json.at("dtype"));
  entry.tensor.shape = shape_from(json.at("shape"), size_of(entry.tensor.dtype));
  entry.tensor.stack = json.at("stack").get<std::vector<std::string>>();
  const std::optional<Digest> digest = digest_from(json.at("digest").get<std::string>());
  if (!digest) refuse(fmt::format("the digest of {} is not one", entry.tensor.path));
  entry.digest = *digest;
  std::int64_t next_row = 0;
  for (const Json& segment : json.at("segments")) {
    entry.segments.push_back(segment_from(segment, entry.tensor, files));
    if (entry.segments.back().first_row != next_row)
      refuse(fmt::format("{} lacks row {}", entry.tensor.path, next_row));
    next_row += entry.segments.back().rows;
  }
  if (next_row != rows_of(entry.tensor.shape)) refuse(fmt::format("{} lacks row {}", entry.tensor.path, next_row));
  return entry;
}

/// All numbers of a manifest are whole, and none is as large as to become another one in 64 bits with a sign.
bool take_whole(int, Json::parse_event_t event, Json& value) {
  if (event != Json::parse_event_t::value || !value.is_number()) return true;
  const bool large =
      value.is_number_unsigned() && value.get<std::uint64_t>() > std::numeric_limits<std::int64_t>::max();
  if (!value.is_number_integer() || large) refuse(fmt::format("{} is not a number of anything", value.dump()));
  return true;
}

Manifest manifest_from(const Json& json) {
  if (json.at("format").get<std::string>() != k_format) refuse("it has another format");
  const std::int64_t version = json.at("version");
  if (version != k_version) refuse(fmt::format("its version is {}, this program reads {}", version, k_version));
  if (json.at("hash").get<std::string>() != k_hash_name || json.at("block_bytes").get<std::int64_t>() != k_hash_block)
    refuse("its checksums are of another kind");
  Manifest manifest{json.at("step"), json.at("program"), {}, {}};
  for (const Json& file : json.at("files")) manifest.files.push_back(file_from(file));
  for (const Json& entry : json.at("tensors")) manifest.tensors.push_back(tensor_from(entry, manifest.files));
  return manifest;
}

/// The text before the seal, if the seal is right.
std::optional<std::string_view> sealed_text(std::string_view text) {
  const std::size_t tail = k_seal.size() + 16 + k_end.size();
  if (text.size() < tail || !text.ends_with(k_end)) return std::nullopt;
  const std::string_view body = text.substr(0, text.size() - tail);
  if (text.substr(body.size(), k_seal.size()) != k_seal) return std::nullopt;
  if (from_hex(text.substr(body.size() + k_seal.size(), 16)) != hash_bytes(body)) return std::nullopt;
  return body;
}

[[noreturn]] void damaged(const std::filesystem::path& path, std::string_view reason) {
  throw Error(ErrorKind::data, fmt::format("{} is damaged: {}", path.native(), reason),
              "Use another checkpoint, or copy this one again.");
}

}  // namespace

const ManifestTensor* Manifest::find(std::string_view path) const {
  for (const ManifestTensor& entry : tensors)
    if (entry.tensor.path == path) return &entry;
  return nullptr;
}

std::string serialize(const Manifest& manifest) {
  Json files = Json::array();
  for (const ManifestFile& file : manifest.files) files.push_back(to_json(file));
  Json tensors = Json::array();
  for (const ManifestTensor& entry : manifest.tensors) tensors.push_back(to_json(entry));
  const Json json{{"format", k_format},
                  {"version", k_version},
                  {"program", manifest.program},
                  {"step", manifest.step},
                  {"hash", k_hash_name},
                  {"block_bytes", k_hash_block},
                  {"tensors", std::move(tensors)},
                  {"files", std::move(files)}};
  std::string body = json.dump(1);
  body.resize(body.find_last_of('}'));  // the seal closes the object
  while (body.back() == '\n') body.pop_back();
  return body + std::string(k_seal) + to_hex(hash_bytes(body)) + std::string(k_end);
}

Manifest parse_manifest(std::string_view text, const std::filesystem::path& path) {
  const std::optional<std::string_view> body = sealed_text(text);
  if (!body) damaged(path, "its own checksum differs");
  try {
    return manifest_from(Json::parse(std::string(*body) + "}", take_whole));
  } catch (const Json::exception& error) {
    damaged(path, error.what());
  } catch (const std::invalid_argument& error) {
    damaged(path, error.what());
  }
}

}  // namespace tessera::io
