// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/checkpoint/checkpoint_writer.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cerrno>

#include "io/checkpoint/blocks.hpp"
#include "io/checkpoint/files.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/checkpoint/segments.hpp"
#include "io/checkpoint/together.hpp"
#include "io/file.hpp"
#include "io/hash.hpp"
#include "io/output.hpp"

namespace tessera::io {
namespace {

std::string description_of(const std::string& file, std::span<const LogicalTensor> tensors) {
  std::string text = file;
  for (const LogicalTensor& tensor : tensors) {
    text += fmt::format("\n{} {} {}", tensor.path, to_string(tensor.shape), name_of(tensor.dtype));
    for (const std::string& name : tensor.stack) text += " " + name;
  }
  return text;
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
  std::vector<std::vector<Segment>> make_files(const std::string& name, std::span<const std::string> data_files,
                                               std::span<const LogicalTensor> declared);
  void add(const std::string& name, const LogicalTensor& tensor, std::vector<Segment> segments);
  void note(const Piece& piece);
  std::vector<Piece> segment_pieces(std::span<const Piece> pieces) const;
  void check_coverage();
  void write_rest();
  void read_back();
  void write_manifest();
  SaveReport publish();
  void remove_temporary() noexcept;

  SaveOptions options;
  Communicator& ranks;
  std::filesystem::path final;
  std::filesystem::path temporary;
  std::unique_ptr<PieceTransport> transport;
  std::vector<std::string> files;       ///< that have tensors, in the order in which the transport opened them
  std::vector<std::string> joins;       ///< files that only show what others have
  std::vector<ManifestTensor> tensors;  ///< as declared
  std::vector<int> first_target;        ///< per tensor
  std::vector<Target> targets;          ///< one per segment
  std::vector<std::int64_t> written;    ///< elements that this rank wrote, per tensor
  std::vector<Digest> digests;          ///< of what this rank wrote, per tensor; after check_coverage: of all ranks
  std::string state = "{}";
  std::exception_ptr failure;
  Manifest manifest;
  bool open_folder = false;
};

void CheckpointWriter::State::open() {
  on_root(ranks, [&] {
    enter("open");
    make_folder(options.directory);
    remove_leftovers(options.directory);
    std::error_code error;
    if (!std::filesystem::create_directory(temporary, error))
      throw output_error("cannot make", temporary, error ? error.value() : EEXIST);
  });
  open_folder = true;
  together(ranks, [&] { transport = make_transport(options.transport, ranks); });
}

/// Collective. The segments of the tensors, after rank 0 has made the files.
std::vector<std::vector<Segment>> CheckpointWriter::State::make_files(const std::string& name,
                                                                      std::span<const std::string> data_files,
                                                                      std::span<const LogicalTensor> declared) {
  std::vector<std::vector<Segment>> segments;
  for (const LogicalTensor& tensor : declared) segments.push_back(cut_rows(tensor.shape, data_files));
  on_root(ranks, [&] {
    enter("declare");
    make_checkpoint_files(temporary, name, data_files, declared, segments, options.step);
  });
  std::vector<std::int64_t> offsets;
  for (const std::vector<Segment>& list : segments)
    for (const Segment& segment : list) offsets.push_back(segment.offset);
  const std::vector<std::int64_t> all = gather(ranks, offsets);  // rank 0's come first, and are the true ones
  auto offset = all.begin();
  for (std::vector<Segment>& list : segments)
    for (Segment& segment : list) segment.offset = *offset++;
  return segments;
}

void CheckpointWriter::State::add(const std::string& name, const LogicalTensor& tensor, std::vector<Segment> segments) {
  first_target.push_back(static_cast<int>(targets.size()));
  for (const Segment& segment : segments) {
    const auto file = std::find(files.begin(), files.end(), segment.file) - files.begin();
    LogicalTensor part = tensor;
    part.shape = with_rows(tensor.shape, segment.rows);
    targets.push_back({static_cast<int>(file), std::move(part), segment.offset});
  }
  tensors.push_back({name, tensor, std::move(segments), {}});
  written.push_back(0);
  digests.push_back({});
}

/// Remembers what was written for the check of coverage and the digest.
void CheckpointWriter::State::note(const Piece& piece) {
  const auto index = static_cast<std::size_t>(piece.tensor);
  TESSERA_CHECK(piece.tensor >= 0 && index < tensors.size(),
                fmt::format("tensor {} of {}", piece.tensor, tensors.size()));
  const LogicalTensor& tensor = tensors[index].tensor;
  TESSERA_CHECK(fits(piece.box, tensor.shape),
                fmt::format("{} of {} {}", to_string(piece.box), tensor.path, to_string(tensor.shape)));
  written[index] += piece.box.extent.count();
  digests[index] += digest_box(tensor, piece.box, piece.data, piece.strides);
}

/// Pieces of tensors as pieces of their segments.
std::vector<Piece> CheckpointWriter::State::segment_pieces(std::span<const Piece> pieces) const {
  std::vector<Piece> parts;
  for (const Piece& piece : pieces) {
    const auto index = static_cast<std::size_t>(piece.tensor);
    const std::int64_t element = size_of(tensors[index].tensor.dtype);
    for_each_segment(piece.box, piece.strides, tensors[index].segments,
                     [&](std::size_t segment, const Box& inside, std::int64_t offset) {
                       parts.push_back({first_target[index] + static_cast<int>(segment), inside,
                                        static_cast<const std::byte*>(piece.data) + offset * element, piece.strides});
                     });
  }
  return parts;
}

void CheckpointWriter::State::check_coverage() {
  const std::vector<std::int64_t> all = gather(ranks, written);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    std::int64_t total = 0;
    for (std::size_t at = i; at < all.size(); at += tensors.size()) total += all[at];
    const LogicalTensor& tensor = tensors[i].tensor;
    if (total != tensor.shape.count()) {
      throw Error(ErrorKind::internal, fmt::format("{} {} has {} elements, the ranks wrote {}", tensor.path,
                                                   to_string(tensor.shape), tensor.shape.count(), total));
    }
  }
  digests = sum_digests(digests, ranks);
}

/// What needs one rank only.
void CheckpointWriter::State::write_rest() {
  for (const std::string& join : joins) File(temporary / join, Access::overwrite).sync();
  File file(temporary / k_state_file, Access::create);
  file.append(state);
  file.sync();
  file.close();
}

/// Fills the manifest from what is on the disk, and compares that with what memory had.
void CheckpointWriter::State::read_back() {
  manifest.step = options.step;
  manifest.program = TESSERA_VERSION;
  std::vector<std::string> names = joins;
  names.insert(names.end(), files.begin(), files.end());
  names.emplace_back(k_state_file);
  std::vector<std::int64_t> sizes(names.size());
  on_root(ranks, [&] {
    enter("verify");
    for (std::size_t i = 0; i < names.size(); ++i) sizes[i] = File(temporary / names[i], Access::read).size();
  });
  const std::vector<std::int64_t> all_sizes = gather(ranks, sizes);  // rank 0's come first
  for (std::size_t i = 0; i < names.size(); ++i) manifest.files.push_back({names[i], all_sizes[i], {}});
  manifest.tensors = tensors;
  FileContents contents = read_contents(temporary, manifest.files, manifest.tensors, ranks);
  for (std::size_t i = 0; i < tensors.size(); ++i) {
    if (contents.digests[i] != digests[i]) {
      throw Error(
          ErrorKind::io,
          fmt::format("{} was read back from {} other than it was written", tensors[i].tensor.path, temporary.native()),
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
    tried([&] { replace_file(options.directory / k_latest_file, final.filename().native() + "\n"); });
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
  for (const LogicalTensor& tensor : tensors) {
    TESSERA_CHECK(tensor.stack.empty() || static_cast<std::int64_t>(tensor.stack.size()) == rows_of(tensor.shape),
                  fmt::format("{} {} has {} names", tensor.path, to_string(tensor.shape), tensor.stack.size()));
  }
  const auto hash = static_cast<std::int64_t>(hash_bytes(description_of(file, tensors)));
  const std::vector<std::int64_t> hashes = gather(state.ranks, {&hash, 1});
  for (std::size_t rank = 1; rank < hashes.size(); ++rank) {
    if (hashes[rank] != hashes[0])
      throw Error(ErrorKind::disagreement, fmt::format("ranks 0 and {} declare other tensors for {}", rank, file));
  }
  const std::vector<std::string> data_files = segment_files(file, state.options.files);
  std::vector<std::vector<Segment>> segments = state.make_files(file, data_files, tensors);
  for (const std::string& name : data_files) {
    together(state.ranks, [&] { state.transport->open(state.temporary / name); });
    state.files.push_back(name);
  }
  if (data_files.size() > 1) state.joins.push_back(file);
  const auto first = static_cast<int>(state.tensors.size());
  for (std::size_t i = 0; i < tensors.size(); ++i) state.add(file, tensors[i], std::move(segments[i]));
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
    state.transport->write(state.segment_pieces(pieces), state.targets);
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
      if (state.ranks.rank() == 0) state.write_rest();
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
