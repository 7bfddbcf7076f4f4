// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/hash.hpp"
#include "test/fuzz/refused.hpp"

namespace {

constexpr std::string_view k_seal = ",\n\"manifest_hash\":\"";

/// What is read is what was written.
void parse(const std::string& text) {
  try {
    const tessera::io::Manifest manifest = tessera::io::parse_manifest(text, "manifest.json");
    const std::string again = serialize(manifest);
    if (serialize(tessera::io::parse_manifest(again, "again")) != again) __builtin_trap();
  } catch (const tessera::Error& error) {
    refused(error);
  }
}

}  // namespace

/// As it stands, and with the right checksum put to its end, without which little would be read.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  parse(text);
  const std::string body = text.substr(0, text.rfind(k_seal));
  parse(body + std::string(k_seal) + tessera::io::to_hex(tessera::io::hash_bytes(body)) + "\"}\n");
  return 0;
}
