// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "thread_checkpoint.hpp"

#include "apps/run_state.hpp"
#include "apps/tensor_files.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::acceptance {
namespace {

using apps::FilePart;
using apps::TensorFile;

void write_file(io::CheckpointWriter& writer, const std::string& file, TensorFile kind,
                const std::vector<FilePart>& parts, const Mesh& mesh, int rank) {
  const std::vector<io::LogicalTensor> tensors = apps::logical_tensors(parts, kind);
  if (tensors.empty()) return;
  const int first = writer.declare(file, tensors);
  std::vector<io::Piece> pieces;
  for (const FilePart& part : parts)
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t].path != part.path) continue;
      const apps::Share share = apps::share_of(part, mesh, rank);
      pieces.push_back({first + static_cast<int>(t), share.box, share.data, io::dense_strides(share.box.extent)});
    }
  writer.write(pieces);
}

}  // namespace

void save_engine(const std::filesystem::path& directory, const Engine& engine, const Mesh& mesh, Communicator& world,
                 const Progress& progress) {
  io::CheckpointWriter writer({directory, progress.step, io::Transport::direct, 0, {}}, world);
  const std::vector<FilePart> parts = apps::file_parts(engine.tensors());
  write_file(writer, "model.h5", TensorFile::model, parts, mesh, world.rank());
  write_file(writer, "optimizer.h5", TensorFile::optimizer, parts, mesh, world.rank());
  apps::RunState state;
  state.model = testing_support::tiny_dense();  // any that there could be: load_engine() does not look at it
  state.progress = progress;
  state.settings = "{}";
  writer.set_state(apps::write_state(state));
  writer.commit();
}

std::optional<Progress> load_engine(const std::filesystem::path& directory, Engine& engine, const Mesh& mesh,
                                    Communicator& world) {
  std::vector<std::string> passed_over;
  const auto reader = io::CheckpointReader::newest(directory, world, io::Verify::full, passed_over);
  if (!reader) return std::nullopt;
  std::vector<io::Digest> digests(reader->manifest().tensors.size());
  for (const FilePart& part : apps::file_parts(engine.tensors())) {
    const int tensor = reader->find(part.path);
    const auto t = static_cast<std::size_t>(tensor);
    reader->read(tensor, part.box, part.part.data, io::dense_strides(part.box.extent));
    const apps::Share share = apps::share_of(part, mesh, world.rank());
    digests[t] += io::digest_box(reader->manifest().tensors[t].tensor, share.box, share.data,
                                 io::dense_strides(share.box.extent));
  }
  reader->check_digests(digests, world);
  return apps::read_state(reader->state(), "state.json").progress;
}

}  // namespace tessera::acceptance
