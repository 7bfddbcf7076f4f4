// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/plan/simulated_step.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <fstream>
#include <sstream>

#include "apps/event_names.hpp"
#include "core/base/install_tree.hpp"
#include "core/config/nearest.hpp"
#include "io/log/trace_writer.hpp"

namespace tessera::apps {
namespace {

class MachineCosts final : public SimulationCosts {
 public:
  MachineCosts(const Machine& machine, const Mesh& mesh) : machine_(machine), mesh_(mesh) {}

  double kernel(const Plan& plan, std::int32_t instruction) const override {
    return kernel_seconds(machine_, plan, plan.code[static_cast<std::size_t>(instruction)]);
  }
  double call(const Plan& plan, std::int32_t instruction) const override {
    return call_seconds(machine_, mesh_, plan, plan.code[static_cast<std::size_t>(instruction)]);
  }

 private:
  const Machine& machine_;
  const Mesh& mesh_;
};

/// Where the machine's file is.
std::filesystem::path machine_path(const std::string& name) {
  if (std::filesystem::is_regular_file(name)) return name;
  const std::filesystem::path folder = share_folder() / "machines";
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(folder))
    if (entry.path().extension() == ".ini") names.push_back(entry.path().stem().string());
  if (std::find(names.begin(), names.end(), name) != names.end()) return folder / (name + ".ini");
  std::sort(names.begin(), names.end());
  std::string hint = did_you_mean(name, names);
  if (hint.empty()) {
    hint = "There are:";
    for (const std::string& known : names) hint.append(" ").append(known);
  }
  throw Error(ErrorKind::not_found,
              fmt::format("there is no machine '{}', neither a file nor in {}", name, folder.string()), hint);
}

constexpr double k_microseconds = 1e6;

Cell milliseconds(double seconds) {
  return Cell::real(1e3 * seconds, 3);
}

}  // namespace

Machine read_machine(const std::string& name) {
  const std::filesystem::path path = machine_path(name);
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  if (!file || !text) throw Error(ErrorKind::io, fmt::format("{}: the file cannot be read", path.string()));
  return parse_machine(text.str(), path.string());
}

Simulation simulate_step(const Machine& machine, const Mesh& mesh, std::span<const StepPlans> stages,
                         SimulationArgs::Record record) {
  std::vector<const Plan*> plans;
  for (const StepPlans& stage : stages) plans.push_back(&stage.training.plan);
  const auto calls = machine.overlaps ? SimulationArgs::Calls::beside : SimulationArgs::Calls::instead;
  return simulate({plans, mesh, MachineCosts(machine, mesh), calls, record});
}

Table times_table(const Simulation& simulation, std::span<const StepPlans> stages) {
  Table table{"times",
              "where the time goes, ms",
              {{"stage", "stage"},
               {"rank", "rank"},
               {"kernels", "kernels"},
               {"collectives", "collectives"},
               {"messages", "messages"},
               {"end", "end"},
               {"idle_share", "idle share"}}};
  for (std::size_t s = 0; s < simulation.ranks.size(); ++s) {
    const SimulatedRank& rank = simulation.ranks[s];
    table.add({static_cast<std::int64_t>(s), stages[s].training.plan.rank, milliseconds(rank.kernels),
               milliseconds(rank.collectives), milliseconds(rank.messages), milliseconds(rank.end),
               Cell::real(rank.idle_share(simulation.step), 3)});
  }
  return table;
}

void write_timeline(const std::filesystem::path& path, const Simulation& simulation,
                    std::span<const StepPlans> stages) {
  io::TraceWriter writer(path);
  for (std::size_t s = 0; s < stages.size(); ++s) {
    const Plan& plan = stages[s].training.plan;
    writer.name_rank(plan.rank, fmt::format("rank {}", plan.rank));
    for (StreamRole role : {StreamRole::compute, StreamRole::collective, StreamRole::pipeline})
      writer.name_stream(plan.rank, static_cast<int>(role), name_of(role));
    for (const SimulatedEvent& event : simulation.ranks[s].events)
      writer.event(event_name(plan, plan.code[static_cast<std::size_t>(event.instruction)]),
                   event_category(plan, plan.actions[static_cast<std::size_t>(event.action)], 1),
                   k_microseconds * event.begin, k_microseconds * (event.end - event.begin), plan.rank,
                   static_cast<int>(event.stream));
  }
  writer.close();
}

}  // namespace tessera::apps
