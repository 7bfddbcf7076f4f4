// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/manifest.hpp"

#include <gmock/gmock.h>

#include <string>

#include "io/hash.hpp"
#include "test/unit/io/error_matchers.hpp"

namespace tessera::io {
namespace {

/// A manifest whose own checksum is right, with `from` replaced by `to`.
std::string forged(const std::string& from, const std::string& to) {
  Manifest manifest;
  manifest.step = 7;
  manifest.program = "test";
  manifest.files.push_back({"state.json", 10, {1}});
  std::string body = serialize(manifest);
  body.resize(body.rfind(",\n\"manifest_hash\""));
  if (const std::size_t at = body.find(from); at != std::string::npos) body.replace(at, from.size(), to);
  return body + ",\n\"manifest_hash\":\"" + to_hex(hash_bytes(body)) + "\"}\n";
}

TEST(CheckpointManifest, NumbersAreWhole) {
  EXPECT_EQ(parse_manifest(forged("", ""), "manifest.json").step, 7);
  for (const char* number : {"7.5", "7e30", "1e300", "18446744073709551615", "9223372036854775808"})
    expect_error(ErrorKind::data, "manifest.json is damaged: ", [&] {
      (void)parse_manifest(forged("\"step\": 7", std::string("\"step\": ") + number), "manifest.json");
    });
  expect_error(ErrorKind::data, "is not a number of anything",
               [] { (void)parse_manifest(forged("\"bytes\": 10", "\"bytes\": 1e19"), "manifest.json"); });
}

TEST(CheckpointManifest, TypesAreAsked) {
  for (const char* value : {"null", "\"7\"", "[7]", "true", "{}"})
    expect_error(ErrorKind::data, "manifest.json is damaged: ", [&] {
      (void)parse_manifest(forged("\"bytes\": 10", std::string("\"bytes\": ") + value), "manifest.json");
    });
}

}  // namespace
}  // namespace tessera::io
