// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/checkpoint_folder.hpp"

#include <fmt/core.h>

#include "core/base/log.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/checkpoint/together.hpp"

namespace tessera::apps {

std::optional<io::CheckpointReader> newest_checkpoint(const std::filesystem::path& directory, Communicator& ranks,
                                                      io::Verify verify) {
  std::vector<std::string> passed_over;
  auto reader = io::CheckpointReader::newest(directory, ranks, verify, passed_over);
  if (!reader && !passed_over.empty()) {
    std::string message = fmt::format("no checkpoint in {} is whole:", directory.native());
    for (const std::string& reason : passed_over) message += "\n  " + reason;
    throw Error(ErrorKind::data, message, "Copy one of them here again, or start anew with another checkpoint.dir.");
  }
  if (ranks.rank() == 0)
    for (const std::string& reason : passed_over) log_warning("checkpoint", reason);
  return reader;
}

io::CheckpointReader open_checkpoint(std::filesystem::path path, Communicator& ranks, io::Verify verify) {
  if (!path.has_filename()) path = path.parent_path();  // "step-00000010/"
  if (auto newest = newest_checkpoint(path, ranks, verify)) return std::move(*newest);
  return {path, ranks, verify};
}

void check_no_later(const std::filesystem::path& directory, std::optional<std::int64_t> step, Communicator& ranks) {
  io::on_root(ranks, [&] {
    const std::vector<io::CheckpointFolder> found = io::list_checkpoints(directory);
    if (found.empty() || (step && found.front().step <= *step)) return;
    throw Error(ErrorKind::configuration,
                fmt::format("{} holds {} of another run, and this one {}: the next start would take it for its own",
                            directory.native(), found.front().path.filename().native(),
                            step ? fmt::format("begins behind step {}", *step) : std::string("starts anew")),
                "Choose another checkpoint.dir, or move the checkpoints away that are not to be continued.");
  });
}

}  // namespace tessera::apps
