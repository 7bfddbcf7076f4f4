// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/dataset/dataset.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <limits>
#include <vector>

#include "io/dataset/format.hpp"
#include "io/file.hpp"
#include "io/mapped_region.hpp"

namespace tessera::io {
namespace {

namespace format = dataset_format;

[[noreturn]] void refuse(const std::filesystem::path& path, const std::string& reason) {
  throw Error(ErrorKind::data, fmt::format("{} is not a sound dataset: {}", path.native(), reason),
              "Make it with `tessera prepare`, or copy it again.");
}

template <class T>
T attribute(const hdf5::FileLayout& layout, const std::filesystem::path& path, std::string_view name) {
  const hdf5::Attribute* found = layout.attribute(name);
  if (found == nullptr) refuse(path, fmt::format("attribute {} is missing", name));
  const T* value = std::get_if<T>(&found->value);
  if (value == nullptr) refuse(path, fmt::format("attribute {} has another type", name));
  return *value;
}

const hdf5::Extent& extent(const hdf5::FileLayout& layout, const std::filesystem::path& path, const char* name,
                           std::initializer_list<hdf5::Element> types) {
  const hdf5::Extent* found = layout.find(name);
  if (found == nullptr) refuse(path, fmt::format("{} is missing, or not a contiguous array of numbers", name));
  if (std::find(types.begin(), types.end(), found->element) == types.end())
    refuse(path, fmt::format("{} has elements of type {}", name, name_of(found->element)));
  if (found->extents.size() != 1 || found->count() == 0)
    refuse(path, fmt::format("{} is not a list with one dim, or empty", name));
  return *found;
}

std::vector<std::uint64_t> read_hashes(const File& file, const hdf5::FileLayout& layout, const char* name,
                                       std::int64_t hashed_bytes) {
  const hdf5::Extent& hashes = extent(layout, file.path(), name, {hdf5::Element::u64});
  const std::int64_t blocks = (hashed_bytes + k_hash_block - 1) / k_hash_block;
  if (hashes.count() != blocks)
    refuse(file.path(), fmt::format("{} has {} entries instead of {}", name, hashes.count(), blocks));
  std::vector<std::uint64_t> values(static_cast<std::size_t>(blocks));
  file.read(hashes.offset, values.data(), blocks * 8);
  return values;
}

}  // namespace

struct Dataset::State {
  explicit State(std::filesystem::path path) : file(std::move(path), Access::read) {}

  void load();
  void load_attributes(const hdf5::FileLayout& layout);
  void load_documents(const hdf5::FileLayout& layout);
  void check_offsets() const;
  std::int64_t start(std::int64_t document) const { return offsets.at<std::int64_t>(document); }

  template <class Narrow>
  void read(const Dataset& dataset, std::int64_t first, std::span<std::int32_t> out) const;

  File file;
  Vocabulary vocabulary;
  hdf5::Element element = hdf5::Element::u16;
  std::int64_t tokens = 0;
  std::int64_t documents = 0;
  std::int64_t max_id = 0;
  std::int64_t token_offset = 0;
  MappedRegion offsets;
  std::vector<std::uint64_t> token_hashes;
  std::vector<std::uint64_t> document_hashes;
};

void Dataset::State::load() {
  const hdf5::FileLayout layout = hdf5::describe_file(file.path());
  load_attributes(layout);
  const hdf5::Extent& ids = extent(layout, file.path(), format::k_tokens, {hdf5::Element::u16, hdf5::Element::u32});
  element = ids.element;
  tokens = ids.count();
  token_offset = ids.offset;
  if (size_of(element) < size_of(format::element_for(vocabulary.size)))
    refuse(file.path(), fmt::format("{} ids do not fit elements of type {}", vocabulary.size, name_of(element)));
  token_hashes = read_hashes(file, layout, format::k_tokens_hash, ids.bytes());
  load_documents(layout);
}

void Dataset::State::load_attributes(const hdf5::FileLayout& layout) {
  const std::filesystem::path& path = file.path();
  if (attribute<std::string>(layout, path, "format") != format::k_name) refuse(path, "attribute format is another one");
  const auto version = attribute<std::int64_t>(layout, path, "version");
  if (version != format::k_version)
    refuse(path, fmt::format("its version is {}, this program reads {}", version, format::k_version));
  if (attribute<std::string>(layout, path, "hash") != k_hash_name) refuse(path, "its checksums are of another kind");
  vocabulary.tokenizer = attribute<std::string>(layout, path, "tokenizer");
  vocabulary.tokenizer_digest = attribute<std::string>(layout, path, "tokenizer_digest");
  vocabulary.size = attribute<std::int64_t>(layout, path, "vocab_size");
  vocabulary.eod = attribute<std::int64_t>(layout, path, "eod");
  max_id = attribute<std::int64_t>(layout, path, "max_id");
  const auto inside = [&](std::int64_t id) { return id >= 0 && id < vocabulary.size; };
  if (vocabulary.size > std::numeric_limits<std::int32_t>::max() || !inside(vocabulary.eod) || !inside(max_id)) {
    refuse(path, fmt::format("vocab_size {}, eod {} and max_id {} do not fit each other", vocabulary.size,
                             vocabulary.eod, max_id));
  }
}

void Dataset::State::load_documents(const hdf5::FileLayout& layout) {
  const hdf5::Extent& stored = extent(layout, file.path(), format::k_documents, {hdf5::Element::i64});
  document_hashes = read_hashes(file, layout, format::k_documents_hash, stored.bytes());
  offsets = MappedRegion(file.path(), stored.offset, stored.bytes());
  documents = stored.count() - 1;
  for (std::size_t block = 0; block < document_hashes.size(); ++block) {
    const std::int64_t at = static_cast<std::int64_t>(block) * k_hash_block;
    if (hash_bytes(offsets.data() + at, std::min(k_hash_block, stored.bytes() - at)) != document_hashes[block])
      refuse(file.path(),
             fmt::format("the checksum of {} differs at byte {}", format::k_documents, stored.offset + at));
  }
  check_offsets();
}

void Dataset::State::check_offsets() const {
  if (start(0) != 0) refuse(file.path(), fmt::format("the first document starts at token {}", start(0)));
  for (std::int64_t document = 0; document < documents; ++document)
    if (start(document + 1) <= start(document))
      refuse(file.path(),
             fmt::format("document {} ends at token {} before it has begun", document, start(document + 1)));
  if (start(documents) != tokens)
    refuse(file.path(), fmt::format("the documents end at token {}, there are {} tokens", start(documents), tokens));
}

template <class Narrow>
void Dataset::State::read(const Dataset& dataset, std::int64_t first, std::span<std::int32_t> out) const {
  std::array<Narrow, 16384> buffer;
  for (std::size_t at = 0; at < out.size(); at += buffer.size()) {
    const std::size_t count = std::min(buffer.size(), out.size() - at);
    const std::int64_t token = first + static_cast<std::int64_t>(at);
    file.read(token_offset + token * static_cast<std::int64_t>(sizeof(Narrow)), buffer.data(),
              static_cast<std::int64_t>(count * sizeof(Narrow)));
    Narrow high = 0;
    for (std::size_t i = 0; i < count; ++i) high = std::max(high, buffer[i]);
    if (high >= vocabulary.size) {
      const auto bad = static_cast<std::int64_t>(std::find(buffer.begin(), buffer.end(), high) - buffer.begin());
      const std::int64_t document = dataset.document_of(token + bad);
      refuse(file.path(), fmt::format("document {} has id {} as its token {}, the vocabulary has {}", document, high,
                                      token + bad - start(document), vocabulary.size));
    }
    for (std::size_t i = 0; i < count; ++i) out[at + i] = static_cast<std::int32_t>(buffer[i]);
  }
}

Dataset::Dataset(std::filesystem::path path) : state_(std::make_unique<State>(std::move(path))) {
  state_->load();
}
Dataset::~Dataset() = default;
Dataset::Dataset(Dataset&&) noexcept = default;
Dataset& Dataset::operator=(Dataset&&) noexcept = default;

const std::filesystem::path& Dataset::path() const {
  return state_->file.path();
}
const Vocabulary& Dataset::vocabulary() const {
  return state_->vocabulary;
}
std::int64_t Dataset::tokens() const {
  return state_->tokens;
}
std::int64_t Dataset::documents() const {
  return state_->documents;
}
std::int64_t Dataset::max_id() const {
  return state_->max_id;
}

void Dataset::read(std::int64_t first, std::span<std::int32_t> out) const {
  TESSERA_CHECK(first >= 0 && static_cast<std::int64_t>(out.size()) <= tokens() - first,
                fmt::format("tokens {} + {} of {}", first, out.size(), tokens()));
  if (state_->element == hdf5::Element::u16) {
    state_->read<std::uint16_t>(*this, first, out);
  } else {
    state_->read<std::uint32_t>(*this, first, out);
  }
}

std::int64_t Dataset::document_of(std::int64_t token) const {
  std::int64_t low = 0;
  for (std::int64_t high = documents(); high - low > 1;) {
    const std::int64_t middle = low + (high - low) / 2;
    (state_->start(middle) <= token ? low : high) = middle;
  }
  return low;
}

std::int64_t Dataset::document_start(std::int64_t document) const {
  return state_->start(document);
}

void Dataset::verify(int part, int parts) const {
  const std::int64_t bytes = tokens() * size_of(state_->element);
  std::vector<std::byte> block(k_hash_block);
  const auto step = static_cast<std::size_t>(parts);
  for (auto i = static_cast<std::size_t>(part); i < state_->token_hashes.size(); i += step) {
    const std::int64_t at = static_cast<std::int64_t>(i) * k_hash_block;
    const std::int64_t size = std::min(k_hash_block, bytes - at);
    state_->file.read(state_->token_offset + at, block.data(), size);
    if (hash_bytes(block.data(), size) != state_->token_hashes[i]) {
      refuse(path(), fmt::format("the checksum of the tokens differs between bytes {} and {}",
                                 state_->token_offset + at, state_->token_offset + at + size));
    }
  }
}

std::uint64_t Dataset::fingerprint() const {
  const auto bytes_of = [](const std::vector<std::uint64_t>& hashes) {
    return hash_bytes(hashes.data(), static_cast<std::int64_t>(hashes.size() * 8));
  };
  return hash_bytes(fmt::format("{} {} {} {} {} {} {} {:x} {:x}", state_->vocabulary.tokenizer,
                                state_->vocabulary.tokenizer_digest, state_->vocabulary.size, state_->vocabulary.eod,
                                name_of(state_->element), tokens(), documents(), bytes_of(state_->token_hashes),
                                bytes_of(state_->document_hashes)));
}

}  // namespace tessera::io
