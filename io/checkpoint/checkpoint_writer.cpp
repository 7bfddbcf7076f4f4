// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_writer.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "io/checkpoint/blocks.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/checkpoint/together.hpp"
#include "io/file.hpp"
#include "io/hash.hpp"
#include "io/hdf5/layout_file.hpp"

namespace tessera::io {
namespace {

// What comes on top of the tensors: metadata and manifest, and up to a step of alignment for each large tensor.
constexpr std::int64_t k_spare_bytes = 1 << 20;
constexpr std::int64_t k_alignment = 1 << 20;

hdf5::FileLayout layout_of(std::span<const LogicalTensor> tensors, std::int64_t step) {
  hdf5::FileLayout layout;
  for (const LogicalTensor& tensor : tensors) {
    hdf5::Extent dataset{tensor.path, hdf5::element_of(tensor.dtype), {tensor.shape.begin(), tensor.shape.end()}, {}};
    dataset.attributes.push_back({"dtype", std::string(name_of(tensor.dtype))});
    if (!tensor.stack.empty()) dataset.attributes.push_back({"stack", tensor.stack});
    layout.datasets.push_back(std::move(dataset));
  }
  layout.attributes = {{"format", std::string("tessera-checkpoint")}, {"step", step}};
  return layout;
}

std::string description_of(const std::string& file, std::span<const LogicalTensor> tensors) {
  std::string text = file;
  for (const LogicalTensor& tensor : tensors) {
    text += fmt::format("\n{} {} {}", tensor.path, to_string(tensor.shape), name_of(tensor.dtype));
    for (const std::string& name : tensor.stack) text += " " + name;
  }
  return text;
}

void check_space(const std::filesystem::path& folder, std::span<const LogicalTensor> tensors) {
  std::int64_t needed = k_spare_bytes;
  for (const LogicalTensor& tensor : tensors) needed += tensor.bytes() + std::min(tensor.bytes(), k_alignment);
  const std::int64_t available = free_bytes(folder);
  if (available >= needed) return;
  throw Error(
      ErrorKind::io,
      fmt::format("saving to {} needs {}, {} are free", folder.native(), human_bytes(needed), human_bytes(available)),
      "Free space, lower checkpoint.keep, or set checkpoint.dir to another file system.");
}

}  // namespace

struct CheckpointWriter::State {
  State(SaveOptions save_options, Communicator& communicator)
      : options(std::move(save_options)),
        ranks(communicator),
        final(options.directory / folder_name(options.step)),
        temporary(final) {
    temporary += ".tmp";
  }

  void enter(std::string_view step) const {
    if (options.observer) options.observer(step);
  }

  void open();
  void make_file(const std::string& name, std::span<const LogicalTensor> declared, std::vector<std::int64_t>& offsets);
  void note(const Piece& piece);
  void check_coverage();
  void write_state();
  void read_back();
  void write_manifest();
  SaveReport publish();
  void remove_temporary() noexcept;

  SaveOptions options;
  Communicator& ranks;
  std::filesystem::path final;
  std::filesystem::path temporary;
  std::unique_ptr<PieceTransport> transport;
  std::vector<std::string> files;
  std::vector<Target> targets;
  std::vector<std::int64_t> written;  ///< elements that this rank wrote, per tensor
  std::vector<Digest> digests;        ///< of what this rank wrote, per tensor; after check_coverage: of all ranks
  std::string state = "{}";
  std::exception_ptr failure;
  Manifest manifest;
  bool open_folder = false;
};

void CheckpointWriter::State::open() {
  on_root(ranks, [&] {
    enter("open");
    std::error_code error;
    if (std::filesystem::create_directories(options.directory, error) && options.directory.has_parent_path())
      sync_folder(options.directory.parent_path());
    if (error) throw system_error("cannot make the folder", options.directory, error.value());
    remove_leftovers(options.directory);
    if (!std::filesystem::create_directory(temporary, error))
      throw system_error("cannot make", temporary, error.value());
  });
  open_folder = true;
  together(ranks, [&] { transport = make_transport(options.transport, ranks); });
}

void CheckpointWriter::State::make_file(const std::string& name, std::span<const LogicalTensor> declared,
                                        std::vector<std::int64_t>& offsets) {
  enter("declare");
  check_space(temporary, declared);
  hdf5::FileLayout layout = layout_of(declared, options.step);
  hdf5::create_file(temporary / name, layout);
  File(temporary / name, Access::overwrite).reserve(layout.file_bytes);
  for (std::size_t i = 0; i < declared.size(); ++i) offsets[i] = layout.datasets[i].offset;
}

/// Remembers what was written for the check of coverage and the digest.
void CheckpointWriter::State::note(const Piece& piece) {
  const auto index = static_cast<std::size_t>(piece.tensor);
  TESSERA_CHECK(piece.tensor >= 0 && index < targets.size(),
                fmt::format("tensor {} of {}", piece.tensor, targets.size()));
  const LogicalTensor& tensor = targets[index].tensor;
  TESSERA_CHECK(fits(piece.box, tensor.shape),
                fmt::format("{} of {} {}", to_string(piece.box), tensor.path, to_string(tensor.shape)));
  written[index] += piece.box.extent.count();
  digests[index] += digest_box(tensor, piece.box, piece.data, piece.strides);
}

void CheckpointWriter::State::check_coverage() {
  const std::vector<std::int64_t> all = gather(ranks, written);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    std::int64_t total = 0;
    for (std::size_t at = i; at < all.size(); at += targets.size()) total += all[at];
    const LogicalTensor& tensor = targets[i].tensor;
    if (total != tensor.shape.count()) {
      throw Error(ErrorKind::internal, fmt::format("{} {} has {} elements, the ranks wrote {}", tensor.path,
                                                   to_string(tensor.shape), tensor.shape.count(), total));
    }
  }
  digests = sum_digests(digests, ranks);
}

void CheckpointWriter::State::write_state() {
  File file(temporary / k_state_file, Access::create);
  file.append(state);
  file.sync();
  file.close();
}

/// Fills the manifest from what is on the disk, and compares that with what memory had.
void CheckpointWriter::State::read_back() {
  manifest.step = options.step;
  manifest.program = TESSERA_VERSION;
  std::vector<std::int64_t> sizes(files.size() + 1);
  on_root(ranks, [&] {
    enter("verify");
    for (std::size_t i = 0; i < files.size(); ++i) sizes[i] = File(temporary / files[i], Access::read).size();
    sizes.back() = static_cast<std::int64_t>(state.size());
  });
  const std::vector<std::int64_t> all_sizes = gather(ranks, sizes);  // rank 0's come first
  for (std::size_t i = 0; i < files.size(); ++i) manifest.files.push_back({files[i], all_sizes[i], {}});
  manifest.files.push_back({k_state_file, all_sizes[files.size()], {}});
  for (const Target& target : targets)
    manifest.tensors.push_back({files[static_cast<std::size_t>(target.file)], target.tensor, target.offset, {}});
  FileContents contents = read_contents(temporary, manifest.files, manifest.tensors, ranks);
  for (std::size_t i = 0; i < targets.size(); ++i) {
    if (contents.digests[i] != digests[i]) {
      throw Error(
          ErrorKind::io,
          fmt::format("{} was read back from {} other than it was written", targets[i].tensor.path, temporary.native()),
          "The disk, its driver or the memory of a node is faulty, or two ranks wrote one element.");
    }
    manifest.tensors[i].digest = contents.digests[i];
  }
  for (std::size_t i = 0; i < manifest.files.size(); ++i) manifest.files[i].blocks = std::move(contents.blocks[i]);
}

void CheckpointWriter::State::write_manifest() {
  const std::string text = serialize(manifest);
  File file(temporary / k_manifest_file, Access::create);
  file.append(text);
  file.sync();
  file.close();
  if (read_text(temporary / k_manifest_file, static_cast<std::int64_t>(text.size())) != text)
    throw Error(ErrorKind::io, fmt::format("{} was read back other than it was written", k_manifest_file));
  sync_folder(temporary);
}

SaveReport CheckpointWriter::State::publish() {
  SaveReport report{final, 0, {}};
  for (const ManifestFile& file : manifest.files) report.bytes += file.bytes;
  on_root(ranks, [&] {
    enter("rename");
    publish_folder(temporary, final);
    open_folder = false;
  });
  on_root(ranks, [&] {
    enter("latest");
    replace_file(options.directory / k_latest_file, final.filename().native() + "\n");
  });
  on_root(ranks, [&] {
    enter("prune");
    report.removed = prune(options.directory, options.step, options.keep);
  });
  return report;
}

void CheckpointWriter::State::remove_temporary() noexcept {
  transport.reset();
  if (ranks.rank() != 0 || !open_folder) return;
  std::error_code ignored;  // the error that led here matters more; the next save tries again
  std::filesystem::remove_all(temporary, ignored);
  open_folder = false;
}

CheckpointWriter::CheckpointWriter(SaveOptions options, Communicator& ranks)
    : state_(std::make_unique<State>(std::move(options), ranks)) {
  try {
    state_->open();
  } catch (...) {
    state_->remove_temporary();
    throw;
  }
}

CheckpointWriter::~CheckpointWriter() {
  state_->remove_temporary();
}

int CheckpointWriter::declare(const std::string& file, std::span<const LogicalTensor> tensors) {
  State& state = *state_;
  const auto hash = static_cast<std::int64_t>(hash_bytes(description_of(file, tensors)));
  const std::vector<std::int64_t> hashes = gather(state.ranks, {&hash, 1});
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0])
      throw Error(ErrorKind::disagreement, fmt::format("ranks 0 and {} declare other tensors for {}", rank, file));
  }
  std::vector<std::int64_t> offsets(tensors.size());
  on_root(state.ranks, [&] { state.make_file(file, tensors, offsets); });
  const std::vector<std::int64_t> all = gather(state.ranks, offsets);  // rank 0's come first
  together(state.ranks, [&] { state.transport->open(state.temporary / file); });
  const auto first = static_cast<int>(state.targets.size());
  for (std::size_t i = 0; i < tensors.size(); ++i)
    state.targets.push_back({static_cast<int>(state.files.size()), tensors[i], all[i]});
  state.files.push_back(file);
  state.written.resize(state.targets.size());
  state.digests.resize(state.targets.size());
  return first;
}

void CheckpointWriter::write(std::span<const Piece> pieces) {
  State& state = *state_;
  try {
    state.enter("write");
    for (const Piece& piece : pieces) state.note(piece);
  } catch (...) {
    if (!state.failure) state.failure = std::current_exception();
    pieces = {};  // others may wait for this rank's part in a collective write
  }
  try {
    state.transport->write(pieces, state.targets);
  } catch (...) {
    if (!state.failure) state.failure = std::current_exception();
  }
}

void CheckpointWriter::set_state(std::string json) {
  state_->state = std::move(json);
}

SaveReport CheckpointWriter::commit() {
  State& state = *state_;
  try {
    together(state.ranks, [&] {
      state.enter("agree");
      if (state.failure) std::rethrow_exception(state.failure);
    });
    state.check_coverage();
    together(state.ranks, [&] { state.enter("sync"); });
    together(state.ranks, [&] {
      state.transport->finish();
      if (state.ranks.rank() == 0) state.write_state();
    });
    on_root(state.ranks, [&] { sync_folder(state.temporary); });
    state.read_back();
    on_root(state.ranks, [&] {
      state.enter("manifest");
      state.write_manifest();
    });
    return state.publish();
  } catch (...) {
    state.remove_temporary();
    throw;
  }
}

}  // namespace tessera::io
