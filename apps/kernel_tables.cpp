// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/kernel_tables.hpp"

#include <filesystem>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include "apps/run_state.hpp"
#include "core/comm/self_communicator.hpp"
#include "io/checkpoint/checkpoint_reader.hpp"
#include "io/checkpoint/manifest.hpp"
#include "io/file.hpp"

namespace tessera::apps {
namespace {

constexpr std::int64_t k_most_bytes = 16 << 20;

/// The checkpoint that a run with these options would go on from, as far as it can be told without reading weights.
std::optional<io::CheckpointReader> next_checkpoint(const Settings& settings) {
  const std::string resume = settings.get<std::string>("checkpoint.resume");
  const std::filesystem::path path = resume == "auto" ? settings.get<std::string>("checkpoint.dir") : resume;
  if (resume == "none" || path.empty()) return std::nullopt;
  const std::unique_ptr<Communicator> alone = make_self_communicator();
  std::vector<std::string> passed_over;  // told when it is loaded
  auto newest = io::CheckpointReader::newest(path, *alone, io::Verify::sizes, passed_over);
  if (newest || resume == "auto") return newest;
  return io::CheckpointReader(path, *alone, io::Verify::sizes);
}

KernelChoices kernels_of_checkpoint(const Settings& settings) {
  std::optional<io::CheckpointReader> checkpoint;
  try {
    checkpoint = next_checkpoint(settings);
  } catch (const std::exception&) {  // who loads it will say what is wrong with it
  }
  if (!checkpoint) return {};
  const std::string where = (checkpoint->folder() / io::k_state_file).native();
  return KernelChoices::parse(read_state(checkpoint->state(), where).kernels, where);
}

}  // namespace

KernelChoices chosen_kernels(const Settings& settings) {
  const std::string given = settings.get<std::string>("train.kernels");
  if (given == "none") return {};
  if (given.empty()) throw Error(ErrorKind::configuration, "train.kernels is empty", "Give a file, auto or none.");
  if (given == "auto") return kernels_of_checkpoint(settings);
  return KernelChoices::parse(io::read_text(given, k_most_bytes), given);
}

void each_kernel(const Plan& plan, const KernelVisitor& visit) {
  for (std::size_t i = 0; i < plan.code.size(); ++i) {
    const Instruction& instruction = plan.code[i];
    if (instruction.kind != Instruction::Kind::kernel) continue;
    std::vector<Tensor> in, out;
    for (int o = 0; o < instruction.inputs + instruction.outputs; ++o)
      (o < instruction.inputs ? in : out)
          .push_back(plan.operands[static_cast<std::size_t>(instruction.first_operand + o)].tensor);
    visit(i, plan.names[static_cast<std::size_t>(instruction.name)], in, out);
  }
}

std::int64_t choices_used(const KernelChoices& choices, const Plan& plan, int threads) {
  std::set<std::string> used;
  each_kernel(plan, [&](std::size_t, const std::string& op, std::span<const Tensor> in, std::span<const Tensor> out) {
    std::string key = choice_key(op, principal_dtype(in, out), threads, in);
    if (!choices.find(key).empty()) used.insert(std::move(key));
  });
  return static_cast<std::int64_t>(used.size());
}

}  // namespace tessera::apps
