// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/fuzz/changed_dataset.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <iterator>
#include <limits>
#include <map>
#include <string>

#include "core/base/error.hpp"
#include "io/dataset/format.hpp"
#include "io/hash.hpp"
#include "io/hdf5/layout_file.hpp"
#include "test/fuzz/input_file.hpp"

extern "C" std::size_t LLVMFuzzerMutate(std::uint8_t* data, std::size_t size, std::size_t most);

namespace {

using namespace tessera::io;
using Random = std::minstd_rand;
using Bytes = std::vector<std::uint8_t>;
namespace format = dataset_format;

constexpr std::size_t k_most_bytes = 4096;  // of an array
constexpr std::array<const char*, 5> k_paths{format::k_tokens, format::k_documents, format::k_tokens_hash,
                                             format::k_documents_hash, "/more/of/it"};
constexpr std::array<std::int64_t, 12> k_odd{0,
                                             1,
                                             -1,
                                             2,
                                             256,
                                             257,
                                             65535,
                                             65536,
                                             65537,
                                             std::numeric_limits<std::int32_t>::max(),
                                             std::numeric_limits<std::int64_t>::max(),
                                             std::numeric_limits<std::int64_t>::min()};

/// An HDF5 file apart: its description, and the bytes of each array.
struct Parts {
  hdf5::FileLayout layout;
  std::vector<Bytes> contents;
};

Bytes mutated(Bytes bytes, std::size_t most) {
  const std::size_t size = bytes.size();
  bytes.resize(std::max(most, size));
  bytes.resize(LLVMFuzzerMutate(bytes.data(), size, bytes.size()));
  return bytes;
}

template <class List>
auto& one_of(List& list, Random& random) {
  return list[random() % std::size(list)];
}

void change_attribute(std::vector<hdf5::Attribute>& attributes, Random& random) {
  if (attributes.empty()) return;
  const std::size_t chosen = random() % attributes.size();
  auto& value = attributes[chosen].value;
  if (random() % 12 == 0) {
    attributes.erase(attributes.begin() + static_cast<std::ptrdiff_t>(chosen));
  } else if (random() % 8 == 0) {
    value = std::vector<std::string>(random() % 3 + 1, "one of some");
  } else if (auto* text = std::get_if<std::string>(&value); text != nullptr && random() % 8 != 0) {
    const Bytes changed = mutated(Bytes(text->begin(), text->end()), text->size() + 8);
    text->assign(changed.begin(), changed.end());
  } else {
    value = one_of(k_odd, random);
  }
}

void change_content(Bytes& bytes, Random& random) {
  if (bytes.size() >= 8 && random() % 2 == 0) {
    const std::int64_t number = one_of(k_odd, random);
    std::memcpy(bytes.data() + random() % (bytes.size() / 8) * 8, &number, sizeof number);
    return;
  }
  const std::size_t size = bytes.size();
  if (size > 0) bytes = mutated(std::move(bytes), size);
  bytes.resize(size);
}

void change_array(Parts& parts, std::size_t chosen, Random& random) {
  hdf5::Extent& array = parts.layout.datasets[chosen];
  Bytes& bytes = parts.contents[chosen];
  switch (random() % 6) {
    case 0:
      array.path = one_of(k_paths, random);
      break;
    case 1:
      array.element = static_cast<hdf5::Element>(random() % 10);
      break;
    case 2:
      array.extents.assign(random() % 3, 1 + static_cast<std::int64_t>(random() % 8));
      break;
    case 3:
      if (!array.extents.empty()) array.extents[0] = static_cast<std::int64_t>(random() % 64);
      break;
    default:
      change_content(bytes, random);
  }
  if (array.bytes() > static_cast<std::int64_t>(k_most_bytes)) array.extents.assign(1, 1);
  bytes.resize(static_cast<std::size_t>(array.bytes()));
}

void seal(Parts& parts, const char* data, const char* hashes) {
  std::map<std::string, std::size_t> places;
  for (std::size_t i = 0; i < parts.contents.size(); ++i) places.emplace(parts.layout.datasets[i].path, i);
  if (!places.contains(data) || !places.contains(hashes)) return;
  const Bytes& sealed = parts.contents[places[data]];
  Bytes& sums = parts.contents[places[hashes]];
  const std::uint64_t sum = hash_bytes(sealed.data(), static_cast<std::int64_t>(sealed.size()));
  if (sums.size() >= sizeof sum) std::memcpy(sums.data(), &sum, sizeof sum);
}

Parts take_apart(std::span<const std::uint8_t> file) {
  Parts parts{hdf5::describe_file(InputFile(file).path()), {}};
  for (const hdf5::Extent& array : parts.layout.datasets) {
    const auto begin = file.begin() + std::max<std::int64_t>(array.offset, 0);
    parts.contents.emplace_back(begin, begin + array.bytes());
  }
  return parts;
}

Bytes put_together(Parts parts) {
  const InputFile file({});
  hdf5::create_file(file.path(), parts.layout);
  std::ifstream stream(file.path(), std::ios::binary);
  Bytes bytes((std::istreambuf_iterator<char>(stream)), {});
  for (std::size_t i = 0; i < parts.contents.size(); ++i)
    if (!parts.contents[i].empty())
      std::copy(parts.contents[i].begin(), parts.contents[i].end(), bytes.begin() + parts.layout.datasets[i].offset);
  return bytes;
}

}  // namespace

std::optional<Bytes> changed_dataset(std::span<const std::uint8_t> file, Random& random) {
  try {
    Parts parts = take_apart(file);
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      if (random() % 3 == 0 || parts.contents.empty()) {
        change_attribute(parts.layout.attributes, random);
      } else {
        change_array(parts, random() % parts.contents.size(), random);
      }
    }
    if (random() % 16 != 0) {
      seal(parts, format::k_tokens, format::k_tokens_hash);
      seal(parts, format::k_documents, format::k_documents_hash);
    }
    return put_together(std::move(parts));
  } catch (const tessera::Error&) {  // no HDF5 file, or one that cannot be made: two arrays of one name
    return std::nullopt;
  }
}
