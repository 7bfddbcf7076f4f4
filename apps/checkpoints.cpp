// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/checkpoints.hpp"

#include <map>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "apps/checkpoint_folder.hpp"
#include "apps/option_changes.hpp"
#include "apps/run_state.hpp"
#include "apps/tensor_files.hpp"
#include "core/base/log.hpp"
#include "core/config/settings_text.hpp"
#include "core/train/state_check.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/checkpoint_writer.hpp"

namespace tessera::apps {
namespace {

constexpr std::size_t k_most_problems = 5;  // that are named
constexpr const char* k_model_file = "model.h5";
constexpr const char* k_optimizer_file = "optimizer.h5";

std::vector<io::Piece> pieces_of(const std::vector<FilePart>& parts, const std::vector<io::LogicalTensor>& tensors,
                                 int first, const Mesh& mesh, int rank) {
  std::map<std::string_view, int> numbers;
  for (const io::LogicalTensor& tensor : tensors)
    numbers.emplace(tensor.path, first + static_cast<int>(numbers.size()));
  std::vector<io::Piece> pieces;
  for (const FilePart& part : parts) {
    const auto number = numbers.find(part.path);
    if (number == numbers.end()) continue;
    const Share share = share_of(part, mesh, rank);
    if (share.box.extent.count() > 0)
      pieces.push_back({number->second, share.box, share.data, io::dense_strides(share.box.extent)});
  }
  return pieces;
}

std::vector<std::string> data_differences(const DataIdentity& saved, const DataIdentity& here) {
  std::vector<std::string> lines;
  if (saved.fingerprint != here.fingerprint)
    lines.emplace_back("data.train is not the dataset that the run has consumed so far");
  else if (saved.samples != here.samples)
    lines.push_back(
        fmt::format("data.split and model.sequence leave {} samples to train on, the checkpoint's run had {}",
                    here.samples, saved.samples));
  if (saved.isolate_documents != here.isolate_documents)
    lines.push_back(fmt::format("data.isolate_documents is {}, the checkpoint has {}",
                                here.isolate_documents ? "on" : "off", saved.isolate_documents ? "on" : "off"));
  return lines;
}

/// What must be equal for the rest of the run to be what it would have been.
void compare(const RunState& saved, const CheckpointContext& context, const std::string& where) {
  std::vector<std::string> lines = model_differences(saved.model, context.model);
  const auto rule = [&](std::string_view option, const auto& here, const auto& there) {
    if (here != there) lines.push_back(fmt::format("{} is {}, the checkpoint has {}", option, here, there));
  };
  const Settings& settings = context.settings;
  rule("optimizer.name", settings.get<std::string>("optimizer.name"), saved.optimizer);
  rule("train.precision", settings.get<std::string>("train.precision"), saved.precision);
  rule("train.seed", static_cast<std::uint64_t>(settings.get<std::int64_t>("train.seed")), saved.seed);
  const std::vector<std::string> data = data_differences(saved.data, context.data);
  lines.insert(lines.end(), data.begin(), data.end());
  if (lines.empty()) return;
  std::string message = fmt::format("this run cannot go on from {}:", where);
  for (const std::string& line : lines) message += "\n" + line;
  throw Error(ErrorKind::configuration, message,
              "resume with the options of the run that saved it, or start anew with another checkpoint.dir");
}

std::optional<io::CheckpointReader> find_checkpoint(const CheckpointContext& context) {
  const std::string resume = context.settings.get<std::string>("checkpoint.resume");
  const std::string directory = context.settings.get<std::string>("checkpoint.dir");
  Communicator& world = context.ranks.world();
  if (resume == "auto") return directory.empty() ? std::nullopt : newest_checkpoint(directory, world, io::Verify::full);
  std::optional<io::CheckpointReader> reader;
  if (resume != "none") reader.emplace(open_checkpoint(resume, world, io::Verify::full));
  if (!directory.empty())
    check_no_later(directory, reader ? std::optional(reader->manifest().step) : std::nullopt, world);
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
    context.ranks.faults().reached("load");
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

/// Nothing that is not sound takes a sound checkpoint's place. Collective.
void check_state(const CheckpointContext& context, const Engine& engine, std::int64_t step) {
  const std::vector<std::string> problems = state_problems(engine.tensors(), context.ranks.world(), k_most_problems);
  if (problems.empty()) return;
  std::string message = fmt::format("step {} cannot be saved:", step);
  for (const std::string& problem : problems) message += "\n" + problem;
  throw AgreedError(Error(ErrorKind::numerics, message,
                          "Resume from the newest checkpoint. If only one rank is named, suspect its processor or "
                          "memory; else lower optimizer.lr."));
}

}  // namespace

void save_checkpoint(const CheckpointContext& context, Engine& engine, const Progress& progress) {
  const Settings& settings = context.settings;
  Communicator& world = context.ranks.world();
  check_state(context, engine, progress.step);
  const std::vector<FilePart> parts = file_parts(engine.tensors());
  RunState state{progress,
                 context.model,
                 context.data,
                 settings.get<std::string>("optimizer.name"),
                 settings.get<std::string>("train.precision"),
                 static_cast<std::uint64_t>(settings.get<std::int64_t>("train.seed")),
                 to_json(settings),
                 context.kernels};
  std::function<void(std::string_view)> disturb;
  if (context.ranks.faults().any())
    disturb = [&](std::string_view at) { context.ranks.faults().reached(fmt::format("save.{}", at), progress.step); };
  try {
    io::CheckpointWriter writer({settings.get<std::string>("checkpoint.dir"), progress.step, io::Transport::direct,
                                 settings.get<int>("checkpoint.keep"), disturb, settings.get<int>("checkpoint.files")},
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

std::optional<Resumed> resume_checkpoint(const CheckpointContext& context, Engine& engine) {
  try {
    const std::optional<io::CheckpointReader> reader = find_checkpoint(context);
    if (!reader) return std::nullopt;
    const std::string where = reader->folder().string();
    RunState state;
    context.ranks.agreed([&] {
      state = read_state(reader->state(), where + "/state.json");
      compare(state, context, where);
    });
    if (state.kernels != context.kernels && context.ranks.root())
      log_warning("checkpoint",
                  "the table of kernels is not that of the checkpoint: sums may be rounded in another way");
    load(context, *reader, engine);
    log_info("checkpoint", fmt::format("resumed from {}: step {}", where, state.progress.step));
    const std::vector<std::string> changes = option_changes(state.settings, to_json(context.settings));
    if (!changes.empty())
      log_info("checkpoint", fmt::format("options that were others when it was saved: {}", fmt::join(changes, ", ")));
    const std::string directory = context.settings.get<std::string>("checkpoint.dir");
    const std::string in_place = context.ranks.from_root([&] {
      std::error_code error;
      const std::filesystem::path beside = reader->folder() / "..";
      return std::string(std::filesystem::equivalent(beside, directory, error) ? "yes" : "");
    });
    return Resumed{state.progress, !in_place.empty()};
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    throw AgreedError(error);
  }
}

}  // namespace tessera::apps
