// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/kernel_tables.hpp"

#include <filesystem>

#include "apps/run_state.hpp"
#include "core/base/error.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/file.hpp"

namespace tessera::apps {
namespace {

constexpr std::int64_t k_most_bytes = 16 << 20;

/// The checkpoint that a run with these options would go on from; empty: none.
std::filesystem::path next_checkpoint(const Settings& settings) {
  const std::string resume = settings.get<std::string>("checkpoint.resume");
  if (resume == "none") return {};
  const std::filesystem::path path = resume == "auto" ? settings.get<std::string>("checkpoint.dir") : resume;
  if (path.empty()) return {};
  const std::vector<io::CheckpointFolder> found = io::list_checkpoints(path);
  return found.empty() ? path : found.front().path;
}

KernelChoices kernels_of_checkpoint(const Settings& settings) {
  try {
    const std::filesystem::path folder = next_checkpoint(settings);
    const std::filesystem::path file = folder / io::k_state_file;
    if (folder.empty() || !std::filesystem::exists(file)) return {};
    const RunState state = read_state(io::read_text(file, k_most_bytes), file.native());
    return KernelChoices::parse(state.kernels, file.native());
  } catch (const std::exception&) {  // who loads it will say what is wrong with it
    return {};
  }
}

}  // namespace

KernelChoices chosen_kernels(const Settings& settings) {
  const std::string given = settings.get<std::string>("train.kernels");
  if (given == "none") return {};
  if (given == "auto") return kernels_of_checkpoint(settings);
  return KernelChoices::parse(io::read_text(given, k_most_bytes), given);
}

}  // namespace tessera::apps
