// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include "apps/arguments.hpp"
#include "apps/document.hpp"
#include "apps/least_memory.hpp"
#include "apps/plan/experts_table.hpp"
#include "apps/plan/simulated_step.hpp"
#include "apps/plan/tables.hpp"
#include "apps/plan/world_plans.hpp"
#include "apps/run.hpp"
#include "apps/verb.hpp"
#include "core/model/model_settings.hpp"
#include "core/scheduler/describe.hpp"
#include "core/scheduler/schedule_run.hpp"
#include "core/train/flops.hpp"
#include "io/dataset/dataset.hpp"

namespace tessera::apps {
namespace {

const std::vector<Option>& options() {
  static const std::vector<Option> rows{
      {.name = "world",
       .type = OptionType::integer,
       .fallback = "0",
       .text = "How many ranks to plan for; must be given.",
       .min = 0,
       .max = 1e6},
      {.name = "rank",
       .type = OptionType::integer,
       .fallback = "0",
       .text = "Whose plan is shown, beside those that differ from it in the stage only.",
       .min = 0,
       .max = 1e6},
      {.name = "explain",
       .type = OptionType::boolean,
       .fallback = "off",
       .text = "The whole step of the rank, instruction by instruction."},
      {.name = "machine",
       .fallback = "host_2core",
       .text = "What the step is simulated on: a file, or a name of those in share/machines."},
      {.name = "timeline", .type = OptionType::path, .text = "Writes the simulated step there, for Perfetto."},
      {.name = "threads",
       .type = OptionType::integer,
       .fallback = "1",
       .text = "Of each rank's kernels.",
       .min = 1,
       .max = k_most_threads},
      {.name = "json", .type = OptionType::boolean, .fallback = "off", .text = "JSON instead of text."}};
  return rows;
}

std::string help() {
  return flags_help(
      "Compiles a training step for a world of any size in one process, without MPI, data or memory for it: mesh,\n"
      "memory, programs, calls with their bytes, and how long the step would take on a machine. What all ranks would\n"
      "call is compared, as before the first step of a run. Takes the options of a run, see `tessera train --help`.\n",
      options());
}

/// The vocabulary is the model's, or that of the data where the run file leaves it to them.
ModelConfig model_of(const Settings& settings) {
  if (settings.get<std::int64_t>("model.vocab") > 0) return model_config(settings, 0);
  const std::string path = settings.get<std::string>("data.train");
  if (path.empty())
    throw Error(ErrorKind::configuration, "the vocabulary is not known",
                "set model.vocab, or name the data in data.train");
  return model_config(settings, io::Dataset(path).vocabulary().size);
}

struct Planned {
  const Settings& settings;
  const EngineParts& parts;
  const ModelConfig& model;
  const WorldPlans& world;

  const StepPlans& asked() const {
    for (const StepPlans& stage : world.stages)
      if (stage.training.plan.rank == settings.get<int>("rank")) return stage;
    return world.stages.front();
  }
  std::int64_t tokens() const { return asked().columns * asked().micro_batches * model.sequence; }
};

/// Idle share of the schedule itself, every pass of a chunk taking one unit.
double schedule_bubble(const Planned& planned) {
  const PipelineArgs pipeline = planned.parts.pipeline();
  if (pipeline.schedule == nullptr) return 0;
  const int stages = planned.parts.mesh().stages();
  const auto micro_batches = static_cast<int>(planned.asked().micro_batches);
  const TurnCosts costs{.forward = 1, .backward = pipeline.schedule->splits_backward() ? 1 : 2, .weight = 1};
  const ScheduleRun run = run_schedule(pipeline.schedule->turns({stages, pipeline.chunks, micro_batches}),
                                       pipeline.schedule->placement(stages, pipeline.chunks), costs);
  return 1 - 3.0 * pipeline.chunks * micro_batches / static_cast<double>(run.end);
}

void add_facts(Document& document, const Planned& planned) {
  const Mesh& mesh = planned.parts.mesh();
  document.add("world", "ranks", mesh.size());
  document.add("mesh", "mesh", mesh.describe());
  document.add("parameters", "parameters", planned.model.parameters());
  document.add("precision", "precision", name_of(planned.parts.dtype()));
  document.add("micro_batches", "micro-batches", planned.asked().micro_batches);
  document.add("tokens_per_step", "tokens of a step", planned.tokens());
  if (mesh.stages() == 1) return;
  document.add("schedule", "schedule", planned.settings.get<std::string>("strategy.pipeline"));
  document.add("schedule_bubble", "its bubble, F = B = W", Cell::real(schedule_bubble(planned), 4));
}

/// The simulated step as facts; the table of its times follows those of the plan.
Table add_simulation(Document& document, const Planned& planned, const Machine& machine) {
  const std::string timeline = planned.settings.get<std::string>("timeline");
  using Record = SimulationArgs::Record;
  const Simulation simulation = simulate_step(machine, planned.parts.mesh(), planned.world.stages,
                                              timeline.empty() ? Record::times : Record::events);
  if (!timeline.empty()) write_timeline(timeline, simulation, planned.world.stages);
  const TokenFlops flops = token_flops(planned.model);
  const Throughput rates =
      throughput(flops, flops.model(),
                 {planned.tokens(), simulation.step, planned.parts.mesh().size(), machine.peak(planned.parts.dtype())});
  document.add("machine", "machine", machine.text);
  document.add("step_milliseconds", "simulated step, ms", Cell::real(1e3 * simulation.step, 3));
  document.add("tokens_per_second", "tokens/s", Cell::real(rates.tokens_per_second, 1));
  document.add("mfu", fmt::format("MFU ({})", k_flops_convention), Cell::real(rates.mfu, 3));
  return times_table(simulation, planned.world.stages);
}

void remark_on_memory(Document& document, const Planned& planned, const Machine& machine) {
  for (const StepPlans& stage : planned.world.stages)
    if (const std::int64_t bytes = planned_memory(stage).total(); machine.capacity > 0 && bytes > machine.capacity)
      document.remark(fmt::format("rank {} needs {}, the machine has {}: this run does not fit",
                                  stage.training.plan.rank, describe_bytes(bytes), describe_bytes(machine.capacity)));
}

std::string agreement_text(const Planned& planned) {
  const int ranks = planned.parts.mesh().size();
  std::string text =
      fmt::format("\nall {} ranks agree on {} calls in {} series", ranks, planned.world.calls, planned.world.series);
  if (planned.world.compiled < ranks)
    text += fmt::format("; {} of them were compiled, the others call the same with their own neighbours",
                        planned.world.compiled);
  return text;
}

void print(const Planned& planned) {
  const StepPlans& asked = planned.asked();
  const Machine machine = read_machine(planned.settings.get<std::string>("machine"));
  Document document("plan of a training step");
  add_facts(document, planned);
  Table times = add_simulation(document, planned, machine);
  document.add(stages_table(planned.world.stages, planned.model.layers));
  document.add(memory_table(planned.world.stages));
  document.add(actions_table(planned.world.stages));
  document.add(layer_calls_table(planned.world.stages));
  if (planned.model.experts.count > 0) document.add(experts_table(asked.training.plan));
  document.add(step_calls_table(asked.training.plan));
  document.add(std::move(times));
  remark_on_memory(document, planned, machine);
  document.add("compiled", {}, planned.world.compiled, Place::hidden);
  document.add("compared_calls", {}, planned.world.calls, Place::hidden);
  document.add("differences", {}, static_cast<std::int64_t>(planned.world.differences.size()), Place::hidden);
  if (planned.world.differences.empty() && planned.parts.mesh().size() > 1) document.remark(agreement_text(planned));
  if (planned.settings.get<bool>("json")) {
    fmt::print("{}", document.json());
    return;
  }
  fmt::print("{}", document.text());
  if (planned.settings.get<bool>("explain"))
    fmt::print("\n{}", describe_plan(asked.training.plan, asked.training.graph, planned.parts.mesh()));
}

void check_differences(const WorldPlans& world) {
  if (world.differences.empty()) return;
  std::string text = "the ranks would not call the same:";
  for (const std::string& difference : world.differences) text += "\n  " + difference;
  throw Error(ErrorKind::disagreement, text, "this is a bug of a strategy or a schedule; please report it");
}

int run(std::span<const std::string> arguments) {
  const Run resolved(arguments, options(), "world");
  const Settings& settings = resolved.settings();
  const int world = settings.get<int>("world"), rank = settings.get<int>("rank");
  if (world < 1) throw usage_error("plan", "the number of ranks is missing", "--world N");
  if (rank >= world) throw usage_error("plan", fmt::format("there is no rank {} among {}", rank, world));
  const ModelConfig model = model_of(settings);
  check_counts(model, settings.get<std::int64_t>("train.global_batch"), settings);
  const EngineParts parts(settings, resolved.registry(), resolved.kernels(), world, settings.get<int>("threads"),
                          nullptr);
  const WorldPlans plans = compile_world(parts, model, settings.get<std::int64_t>("train.global_batch"), rank);
  print({settings, parts, model, plans});
  check_differences(plans);
  return k_done;
}

}  // namespace

const Verb k_plan{"plan", "plan [RUN.INI] --world N [--rank R] [--explain] [--timeline FILE] [--machine NAME|FILE]",
                  "Compiles and simulates a training step for any number of ranks.", run, help};

}  // namespace tessera::apps
