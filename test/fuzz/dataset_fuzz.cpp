// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "io/dataset/dataset.hpp"

namespace {

constexpr std::int64_t k_most_tokens = 4096;

/// A file in memory with these bytes.
int file_of(const std::uint8_t* data, std::size_t size) {
  const int file = memfd_create("dataset", 0);
  if (file < 0 || write(file, data, size) != static_cast<ssize_t>(size)) __builtin_trap();
  return file;
}

}  // namespace

/// A file is refused, or all of its documents and tokens can be asked for and lie inside the vocabulary.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const int file = file_of(data, size);
  try {
    const io::Dataset dataset("/proc/self/fd/" + std::to_string(file));
    (void)dataset.fingerprint();
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(dataset.tokens(), k_most_tokens)));
    dataset.read(dataset.tokens() - static_cast<std::int64_t>(ids.size()), ids);
    for (const std::int32_t id : ids)
      if (id < 0 || id >= dataset.vocabulary().size) __builtin_trap();
    if (dataset.document_start(dataset.document_of(dataset.tokens() - 1)) >= dataset.tokens()) __builtin_trap();
    dataset.verify();
  } catch (const Error&) {
  }
  close(file);
  return 0;
}
