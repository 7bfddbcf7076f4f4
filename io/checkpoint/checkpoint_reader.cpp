// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_reader.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>
#include <map>

#include "io/checkpoint/blocks.hpp"
#include "io/checkpoint/box_reader.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/checkpoint/together.hpp"
#include "io/file.hpp"
#include "io/hash.hpp"

namespace tessera::io {
namespace {

constexpr std::int64_t k_max_text_bytes = std::int64_t{1} << 30;

std::string describe(const LogicalTensor& tensor) {
  return fmt::format("{} {}", name_of(tensor.dtype), to_string(tensor.shape));
}

/// Whether an older checkpoint may do better; else the error is one of the ranks or the program. One that may not be
/// read is most likely whole: to train its steps once more, and then to be refused its place, would be worse.
bool is_about_files(ErrorKind kind) {
  return kind == ErrorKind::data || kind == ErrorKind::not_found || kind == ErrorKind::io;
}

/// Sentences, at most a screenful of them.
class Complaints {
 public:
  void add(std::string sentence) {
    if (++count_ <= k_most) text_ += "\n  " + std::move(sentence);
  }

  void throw_if_any(const std::filesystem::path& folder, const std::string& hint) const {
    if (count_ == 0) return;
    const std::string more = count_ > k_most ? fmt::format("\n  and {} more", count_ - k_most) : "";
    throw Error(ErrorKind::data, fmt::format("{} does not fit:{}{}", folder.native(), text_, more), hint);
  }

 private:
  static constexpr int k_most = 20;
  int count_ = 0;
  std::string text_;
};

}  // namespace

struct CheckpointReader::State {
  void load(Communicator& ranks, Verify verify);
  void open_files(Verify verify);
  const File& file(const std::string& name) const;
  void check_blocks(Communicator& ranks) const;

  std::filesystem::path folder;
  Manifest manifest;
  std::string state;
  std::map<std::string, File> files;
};

void CheckpointReader::State::load(Communicator& ranks, Verify verify) {
  std::int64_t hash = 0;
  together(ranks, [&] {
    const std::filesystem::path path = folder / k_manifest_file;
    if (!std::filesystem::exists(folder)) throw system_error("cannot open", folder, ENOENT);
    if (!std::filesystem::exists(path)) {
      throw Error(ErrorKind::data,
                  fmt::format("{} has no {}: it was never completed", folder.native(), k_manifest_file),
                  "Use another checkpoint.");
    }
    const std::string text = read_text(path, k_max_text_bytes);
    hash = static_cast<std::int64_t>(hash_bytes(text));
    manifest = parse_manifest(text, path);
  });
  const std::vector<std::int64_t> hashes = gather(ranks, {&hash, 1});
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0]) {
      throw Error(ErrorKind::disagreement,
                  fmt::format("ranks 0 and {} see different files in {}", rank, folder.native()),
                  "Wait until all nodes see the same content of the shared file system, or copy the checkpoint.");
    }
  }
  together(ranks, [&] { open_files(verify); });
}

void CheckpointReader::State::open_files(Verify verify) {
  for (const ManifestFile& entry : manifest.files) {
    if (verify == Verify::present && !std::filesystem::exists(folder / entry.name)) continue;
    const auto opened = files.emplace(entry.name, File(folder / entry.name, Access::read)).first;
    const std::int64_t bytes = opened->second.size();
    if (bytes != entry.bytes) {
      throw Error(ErrorKind::data,
                  fmt::format("{} has {} of {} bytes", (folder / entry.name).native(), bytes, entry.bytes),
                  "Use another checkpoint, or copy this one again.");
    }
    if (entry.name != k_state_file) continue;
    state = read_text(folder / entry.name, k_max_text_bytes);
    for (std::size_t block = 0; block < entry.blocks.size(); ++block)
      if (hash_bytes(std::string_view(state).substr(block * k_hash_block, k_hash_block)) != entry.blocks[block])
        throw Error(ErrorKind::data, fmt::format("{} is damaged: the checksum differs", (folder / entry.name).native()),
                    "Use another checkpoint, or copy this one again.");
  }
}

const File& CheckpointReader::State::file(const std::string& name) const {
  const auto found = files.find(name);
  if (found == files.end()) throw system_error("cannot open", folder / name, ENOENT);
  return found->second;
}

void CheckpointReader::State::check_blocks(Communicator& ranks) const {
  const FileContents contents = read_contents(folder, manifest.files, {}, ranks);
  for (std::size_t file = 0; file < manifest.files.size(); ++file) {
    const ManifestFile& entry = manifest.files[file];
    for (std::size_t block = 0; block < entry.blocks.size(); ++block) {
      if (contents.blocks[file][block] == entry.blocks[block]) continue;
      const std::int64_t from = static_cast<std::int64_t>(block) * k_hash_block;
      throw Error(ErrorKind::data,
                  fmt::format("{} is damaged between bytes {} and {}: the checksum differs",
                              (folder / entry.name).native(), from, std::min(from + k_hash_block, entry.bytes)),
                  "Use another checkpoint, or copy this one again.");
    }
  }
}

CheckpointReader::CheckpointReader(const std::filesystem::path& folder, Communicator& ranks, Verify verify)
    : state_(std::make_unique<State>()) {
  state_->folder = folder;
  state_->load(ranks, verify);
  if (verify == Verify::full) state_->check_blocks(ranks);
}

CheckpointReader::~CheckpointReader() = default;
CheckpointReader::CheckpointReader(CheckpointReader&&) noexcept = default;
CheckpointReader& CheckpointReader::operator=(CheckpointReader&&) noexcept = default;

std::optional<CheckpointReader> CheckpointReader::newest(const std::filesystem::path& directory, Communicator& ranks,
                                                         Verify verify, std::vector<std::string>& passed_over) {
  std::vector<std::int64_t> steps;
  on_root(ranks, [&] {
    for (const CheckpointFolder& folder : list_checkpoints(directory)) steps.push_back(folder.step);
  });
  for (const std::int64_t step : gather(ranks, steps)) {  // only rank 0 has any
    const std::filesystem::path folder = directory / folder_name(step);
    try {
      CheckpointReader reader(folder, ranks, verify);
      if (reader.manifest().step == step) return reader;
      passed_over.push_back(
          fmt::format("{} was passed over: it holds step {}", folder.native(), reader.manifest().step));
    } catch (const Error& error) {
      if (!is_about_files(error.kind())) throw;
      passed_over.push_back(fmt::format("{} was passed over: {}", folder.native(), error.what()));
    }
  }
  return std::nullopt;
}

const std::filesystem::path& CheckpointReader::folder() const {
  return state_->folder;
}
const Manifest& CheckpointReader::manifest() const {
  return state_->manifest;
}
const std::string& CheckpointReader::state() const {
  return state_->state;
}

void CheckpointReader::expect(std::span<const LogicalTensor> wanted) const {
  Complaints complaints;
  for (const LogicalTensor& tensor : wanted) {
    const ManifestTensor* stored = state_->manifest.find(tensor.path);
    if (stored == nullptr) {
      complaints.add(fmt::format("{} ({}) is missing", tensor.path, describe(tensor)));
    } else if (describe(stored->tensor) != describe(tensor)) {
      complaints.add(
          fmt::format("{} is {}, the model needs {}", tensor.path, describe(stored->tensor), describe(tensor)));
    } else if (stored->tensor.stack != tensor.stack) {
      complaints.add(fmt::format("{} stacks other layers than the model has", tensor.path));
    }
  }
  for (const ManifestTensor& stored : state_->manifest.tensors) {
    const bool known = std::any_of(wanted.begin(), wanted.end(),
                                   [&](const LogicalTensor& tensor) { return tensor.path == stored.tensor.path; });
    if (!known) complaints.add(fmt::format("{} ({}) is left over", stored.tensor.path, describe(stored.tensor)));
  }
  complaints.throw_if_any(state_->folder, "Compare the model section of the run file with that of the saved run.");
}

int CheckpointReader::find(std::string_view path) const {
  const ManifestTensor* found = state_->manifest.find(path);
  if (found == nullptr) throw Error(ErrorKind::data, fmt::format("{} has no {}", state_->folder.native(), path));
  return static_cast<int>(found - state_->manifest.tensors.data());
}

void CheckpointReader::read(int tensor, const Box& box, void* data, const Strides& strides) const {
  const auto index = static_cast<std::size_t>(tensor);
  TESSERA_CHECK(tensor >= 0 && index < state_->manifest.tensors.size(), fmt::format("tensor {}", tensor));
  const ManifestTensor& entry = state_->manifest.tensors[index];
  TESSERA_CHECK(fits(box, entry.tensor.shape),
                fmt::format("{} of {} {}", to_string(box), entry.tensor.path, to_string(entry.tensor.shape)));
  for_each_segment(box, strides, entry.segments, [&](std::size_t i, const Box& inside, std::int64_t offset) {
    const Segment& segment = entry.segments[i];
    const Shape shape = with_rows(entry.tensor.shape, segment.rows);
    read_box({state_->file(segment.file), segment.offset, shape, size_of(entry.tensor.dtype)}, inside,
             static_cast<std::byte*>(data) + offset * size_of(entry.tensor.dtype), strides);
  });
}

void CheckpointReader::check_digests(std::span<const Digest> mine, Communicator& ranks) const {
  TESSERA_CHECK(mine.size() == state_->manifest.tensors.size(),
                fmt::format("{} digests of {} tensors", mine.size(), state_->manifest.tensors.size()));
  const std::vector<Digest> sums = sum_digests(mine, ranks);
  Complaints complaints;
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const ManifestTensor& stored = state_->manifest.tensors[i];
    if (sums[i] != stored.digest) {
      complaints.add(fmt::format("{} has digest {} in memory, {} when it was saved", stored.tensor.path,
                                 to_string(sums[i]), to_string(stored.digest)));
    }
  }
  complaints.throw_if_any(state_->folder, "Memory or disk of a node is faulty, or a part was loaded to a wrong place.");
}

}  // namespace tessera::io
