// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "io/dataset/dataset.hpp"
#include "test/fuzz/changed_dataset.hpp"
#include "test/fuzz/input_file.hpp"
#include "test/fuzz/refused.hpp"

constexpr std::int64_t k_most_tokens = 4096;

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

extern "C" std::size_t LLVMFuzzerCustomMutator(std::uint8_t* data, std::size_t size, std::size_t most, unsigned seed) {
  std::minstd_rand random(seed);
  if (random() % 4 != 0) {
    const auto changed = changed_dataset({data, size}, random);
    if (changed && changed->size() <= most) {
      std::copy(changed->begin(), changed->end(), data);
      return changed->size();
    }
  }
  return LLVMFuzzerMutate(data, size, most);
}

/// A file is refused, or all of its documents and tokens can be asked for and lie inside the vocabulary.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  const InputFile file({data, size});
  try {
    const io::Dataset dataset(file.path());
    (void)dataset.fingerprint();
    std::vector<std::int32_t> ids(static_cast<std::size_t>(std::min(dataset.tokens(), k_most_tokens)));
    dataset.read(dataset.tokens() - static_cast<std::int64_t>(ids.size()), ids);
    for (const std::int32_t id : ids)
      if (id < 0 || id >= dataset.vocabulary().size) __builtin_trap();
    if (dataset.document_start(dataset.document_of(dataset.tokens() - 1)) >= dataset.tokens()) __builtin_trap();
    dataset.verify();
  } catch (const Error& error) {
    refused(error);
  }
  return 0;
}
