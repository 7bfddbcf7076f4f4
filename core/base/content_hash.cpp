// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/base/content_hash.hpp"

#include <fmt/core.h>
#include <xxhash.h>

#include <array>
#include <fstream>
#include <memory>

#include "core/base/error.hpp"

namespace tessera {

namespace {

ContentHash from_library(XXH128_hash_t hash) {
  return {.high = hash.high64, .low = hash.low64};
}

}  // namespace

ContentHash content_hash(std::string_view bytes) {
  return from_library(XXH3_128bits(bytes.data(), bytes.size()));
}

ContentHash file_content_hash(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw Error(ErrorKind::not_found, fmt::format("{}: cannot be opened for reading", path.string()));
  const std::unique_ptr<XXH3_state_t, XXH_errorcode (*)(XXH3_state_t*)> state(XXH3_createState(), &XXH3_freeState);
  XXH3_128bits_reset(state.get());
  std::array<char, 1 << 16> block{};
  while (file.read(block.data(), block.size()) || file.gcount() > 0)
    XXH3_128bits_update(state.get(), block.data(), static_cast<std::size_t>(file.gcount()));
  if (file.bad()) throw Error(ErrorKind::io, fmt::format("{}: cannot be read", path.string()));
  return from_library(XXH3_128bits_digest(state.get()));
}

std::string to_string(const ContentHash& hash) {
  return fmt::format("{:016x}{:016x}", hash.high, hash.low);
}

}  // namespace tessera
