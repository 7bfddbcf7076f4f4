// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/checkpoints.hpp"

#include <fmt/core.h>

#include "apps/run_state.hpp"
#include "apps/tensor_files.hpp"
#include "core/base/log.hpp"
#include "core/config/settings_text.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"

namespace tessera::apps {
namespace {

constexpr const char* k_model_file = "model.h5";
constexpr const char* k_optimizer_file = "optimizer.h5";

std::vector<io::Piece> pieces_of(const std::vector<FilePart>& parts, const std::vector<io::LogicalTensor>& tensors,
                                 int first, const Mesh& mesh, int rank) {
  std::vector<io::Piece> pieces;
  for (const FilePart& part : parts)
    for (std::size_t t = 0; t < tensors.size(); ++t) {
      if (tensors[t].path != part.path) continue;
      const Share share = share_of(part, mesh, rank);
      if (share.box.extent.count() > 0)
        pieces.push_back({first + static_cast<int>(t), share.box, share.data, io::dense_strides(share.box.extent)});
    }
  return pieces;
}

/// What must be equal for the rest of the run to be what it would have been.
void compare(const RunState& saved, const CheckpointContext& context, const std::string& where) {
  std::string differences;
  auto rule = [&](bool equal, const std::string& text) {
    if (!equal) differences += (differences.empty() ? "" : "\n") + text;
  };
  const Settings& settings = context.settings;
  const std::string optimizer = settings.get<std::string>("optimizer.name");
  const std::string precision = settings.get<std::string>("train.precision");
  const auto seed = static_cast<std::uint64_t>(settings.get<std::int64_t>("train.seed"));
  rule(saved.optimizer == optimizer,
       fmt::format("optimizer.name is {}, the checkpoint has {}", optimizer, saved.optimizer));
  rule(saved.precision == precision,
       fmt::format("train.precision is {}, the checkpoint has {}", precision, saved.precision));
  rule(saved.seed == seed, fmt::format("train.seed is {}, the checkpoint has {}", seed, saved.seed));
  rule(saved.data == context.data, "data.train is not the dataset that the run has consumed so far");
  if (!differences.empty())
    throw Error(
        ErrorKind::configuration, fmt::format("this run cannot go on from {}:\n{}", where, differences),
        "resume with the options of the run that saved it, or start anew with checkpoint.resume = none and another "
        "checkpoint.dir");
}

std::optional<io::CheckpointReader> open_checkpoint(const CheckpointContext& context) {
  const std::string resume = context.settings.get<std::string>("checkpoint.resume");
  const std::string directory = context.settings.get<std::string>("checkpoint.dir");
  if (resume == "none" || (resume == "auto" && directory.empty())) return std::nullopt;
  if (resume != "auto") return io::CheckpointReader(resume, context.ranks.world(), io::Verify::full);
  std::vector<std::string> passed_over;
  auto reader = io::CheckpointReader::newest(directory, context.ranks.world(), io::Verify::full, passed_over);
  for (const std::string& reason : passed_over) log_warning("checkpoint", reason);
  return reader;
}

void load(const CheckpointContext& context, const io::CheckpointReader& reader, Engine& engine) {
  Communicator& world = context.ranks.world();
  const std::vector<FilePart> parts = file_parts(engine.tensors());
  std::vector<io::LogicalTensor> wanted = logical_tensors(parts, TensorFile::model);
  const std::vector<io::LogicalTensor> states = logical_tensors(parts, TensorFile::optimizer);
  wanted.insert(wanted.end(), states.begin(), states.end());
  std::vector<io::Digest> digests(reader.manifest().tensors.size());
  context.ranks.agreed([&] {
    reader.expect(wanted);
    for (const FilePart& part : parts) {
      const int tensor = reader.find(part.path);
      reader.read(tensor, part.box, part.part.data, io::dense_strides(part.box.extent));
      const Share share = share_of(part, context.mesh, world.rank());
      digests[static_cast<std::size_t>(tensor)] +=
          io::digest_box(reader.manifest().tensors[static_cast<std::size_t>(tensor)].tensor, share.box, share.data,
                         io::dense_strides(share.box.extent));
    }
  });
  reader.check_digests(digests, world);
}

}  // namespace

void save_checkpoint(const CheckpointContext& context, Engine& engine, const Progress& progress) {
  const Settings& settings = context.settings;
  Communicator& world = context.ranks.world();
  const std::vector<FilePart> parts = file_parts(engine.tensors());
  RunState state{progress,
                 context.model,
                 context.data,
                 settings.get<std::string>("optimizer.name"),
                 settings.get<std::string>("train.precision"),
                 static_cast<std::uint64_t>(settings.get<std::int64_t>("train.seed")),
                 to_json(settings)};
  try {
    io::CheckpointWriter writer({settings.get<std::string>("checkpoint.dir"),
                                 progress.step,
                                 io::Transport::direct,
                                 settings.get<int>("checkpoint.keep"),
                                 {}},
                                world);
    for (const auto& [file, kind] :
         {std::pair(k_model_file, TensorFile::model), std::pair(k_optimizer_file, TensorFile::optimizer)}) {
      const std::vector<io::LogicalTensor> tensors = logical_tensors(parts, kind);
      if (tensors.empty()) continue;
      const int first = writer.declare(file, tensors);
      writer.write(pieces_of(parts, tensors, first, context.mesh, world.rank()));
    }
    writer.set_state(write_state(state));
    const io::SaveReport report = writer.commit();
    log_info("checkpoint",
             fmt::format("saved step {} in {} ({} bytes)", progress.step, report.folder.string(), report.bytes));
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    throw AgreedError(error);
  }
}

std::optional<Progress> resume_checkpoint(const CheckpointContext& context, Engine& engine) {
  try {
    const std::optional<io::CheckpointReader> reader = open_checkpoint(context);
    if (!reader) return std::nullopt;
    const std::string where = reader->folder().string();
    RunState state;
    context.ranks.agreed([&] {
      state = read_state(reader->state(), where + "/state.json");
      compare(state, context, where);
    });
    load(context, *reader, engine);
    log_info("checkpoint", fmt::format("resumed from {}: step {}", where, state.progress.step));
    return state.progress;
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    throw AgreedError(error);
  }
}

}  // namespace tessera::apps
