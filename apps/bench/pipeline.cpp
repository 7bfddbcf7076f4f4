// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/pipeline.hpp"

#include <fmt/core.h>

#include <chrono>
#include <thread>

#include "apps/arguments.hpp"
#include "apps/bench/machine.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/random_source.hpp"
#include "apps/bench/samples.hpp"
#include "apps/ranks.hpp"
#include "apps/run.hpp"
#include "apps/verb.hpp"
#include "core/host/host_device.hpp"
#include "core/scheduler/schedule_run.hpp"
#include "core/train/engine.hpp"
#include "mpi/world.hpp"

namespace tessera::apps {
namespace {

constexpr std::int64_t k_vocabulary = 31;
constexpr int k_matrices = 7;  ///< of a llama layer: their gradients share a turn

/// Kernels get no argument of their own; set before a plan runs.
std::chrono::duration<double> turn_length{};

void do_nothing(const KernelCall&) {}

void sleep_one_turn(const KernelCall&) {
  std::this_thread::sleep_for(turn_length);
}

/// The gradient of the head's matrix belongs to no layer and costs nothing.
void sleep_part_of_a_turn(const KernelCall& call) {
  if (call.out[0].shape[0] != k_vocabulary) std::this_thread::sleep_for(turn_length / k_matrices);
}

Kernel sleeping(std::string_view op) {
  if (op == "attention" || op == "attention_grad") return sleep_one_turn;  // once in a layer's forward and backward
  return op == "linear_dw" ? sleep_part_of_a_turn : do_nothing;
}

void add_sleeping(KernelTable& table, std::span<const KernelEntry> entries) {
  std::vector<KernelEntry> all(entries.begin(), entries.end());
  for (KernelEntry& entry : all) {
    entry.launch = sleeping(entry.op);
    entry.workspace = nullptr;
  }
  table.add(all);
}

struct Case {
  std::string_view schedule;
  int chunks = 1;
};
constexpr Case k_cases[] = {{"gpipe"}, {"one_f_one_b"}, {"zero_bubble"}, {"interleaved", 2}};

/// Length of a step in turns, F = B = W = one: the bubbles of GPipe, 1F1B and the interleaved schedule are (p - 1) /
/// (v m + p - 1), that of ZB-H1 (p - 1) / (3 m + p - 1), for m a multiple of p.
int turns_of_step(const PipelineShape& shape, bool splits_backward) {
  const int p = shape.stages, m = shape.micro_batches, v = shape.chunks;
  return splits_backward ? 3 * m + p - 1 : 3 * (m * v + p - 1);
}

std::vector<std::string> with_flags(std::span<const std::string> arguments, const Case& c, int stages) {
  std::vector<std::string> all(arguments.begin(), arguments.end());
  all.push_back(fmt::format("--parallel.pipeline={}", stages));
  all.push_back(fmt::format("--parallel.chunks={}", c.chunks));
  all.push_back(fmt::format("--strategy.pipeline={}", c.schedule));
  all.push_back(fmt::format("--model.layers={}", stages * c.chunks));
  return all;
}

ModelConfig model_of(const PipelineShape& shape) {
  return {.layers = shape.stages * shape.chunks,
          .hidden = 16,
          .heads = 2,
          .kv_heads = 2,
          .ffn = 16,
          .vocab = k_vocabulary,
          .sequence = 8};
}

struct Timing {
  PipelineShape shape;
  int turns = 0;  ///< by the formula
  Spread seconds;

  double over_formula() const { return seconds.median / (turns * turn_length.count()); }
};

/// Collective.
Timing measure(Ranks& ranks, const Run& run, const Case& c) {
  const Settings& settings = run.settings();
  const Registry& registry = run.registry();
  const int stages = ranks.environment().size();
  const PipelineShape shape{stages, c.chunks, stages * settings.get<int>("rounds")};
  const auto schedule = registry.create<Schedule>(c.schedule, settings);
  const auto optimizer = registry.create<Optimizer>(settings.get<std::string>("optimizer.name"), settings);
  HostDevice device(1);
  KernelTable kernels;
  add_sleeping(kernels, device.kernels());
  for (const std::string& name : registry.names<KernelSet>())
    add_sleeping(kernels, registry.create<KernelSet>(name, settings)->entries);
  const Mesh mesh({{"pp", "pp", stages}});
  const std::vector<int> layers(static_cast<std::size_t>(stages * c.chunks), 1);
  Engine engine({.model = model_of(shape),
                 .mesh = mesh,
                 .world = ranks.world(),
                 .device = device,
                 .kernels = kernels,
                 .strategies = {},
                 .optimizer = *optimizer,
                 .global_batch = shape.micro_batches,
                 .head_pieces = 1,
                 .collective_workspace = mpi::workspace_bytes,
                 .executor = {},
                 .pipeline = {schedule.get(), c.chunks, layers}});
  engine.connect();
  engine.allocate();
  RandomSource source(k_vocabulary);
  Timing timing{shape, turns_of_step(shape, schedule->splits_backward()), {}};
  turn_length = std::chrono::duration<double>(settings.get<double>("turn-milliseconds") / 1e3);
  std::vector<double> seconds;
  for (int i = 0; i <= settings.get<int>("repetitions"); ++i) {
    ranks.world().barrier();
    const double begin = now_seconds();
    engine.step(source, 0, {i + 1, 0});
    if (i > 0) seconds.push_back(now_seconds() - begin);  // the first warms up
  }
  timing.seconds = spread_of(seconds);
  return timing;
}

Table empty_table() {
  return {"schedules",
          "steps of sleeping stages",
          {{"schedule", "schedule"},
           {"chunks", "chunks"},
           {"micro_batches", "micro-batches"},
           {"turns", "turns by formula"},
           {"step_milliseconds", "step ms"},
           {"step_milliseconds_least", "least"},
           {"step_milliseconds_most", "most"},
           {"over_formula", "step / formula"}},
          {}};
}

int run_pipeline(Ranks& ranks, std::span<const std::string> arguments) {
  Table table = empty_table();
  const int stages = ranks.environment().size();
  ranks.agreed([&] {
    if (stages < 2)
      throw usage_error("bench", "pipeline needs two ranks or more", "mpirun -n 2 tessera bench pipeline");
  });
  std::unique_ptr<Run> run;
  double worst = 0;
  for (const Case& c : k_cases) {
    run = std::make_unique<Run>(ranks, with_flags(arguments, c, stages), pipeline_options());
    const Timing timing = measure(ranks, *run, c);
    worst = std::max(worst, timing.over_formula());
    table.add({c.schedule, c.chunks, timing.shape.micro_batches, timing.turns,
               Cell::real(1e3 * timing.seconds.median, 2), Cell::real(1e3 * timing.seconds.least, 2),
               Cell::real(1e3 * timing.seconds.most, 2), Cell::real(timing.over_formula(), 3)});
  }
  if (!ranks.root()) return k_done;
  Document document("pipelines of sleeping stages");
  add_machine(document);
  document.add("stages", "stages", stages);
  document.add("turn_milliseconds", "turn, ms", Cell::real(1e3 * turn_length.count(), 1));
  document.add(std::move(table));
  publish(document, run->settings(), fmt::format("FOM worst_step_over_formula={:.3f} stages={}", worst, stages));
  return k_done;
}

}  // namespace

const std::vector<Option>& pipeline_options() {
  static const std::vector<Option> rows = [] {
    std::vector<Option> all = common_options();
    all.push_back({.name = "turn-milliseconds",
                   .type = OptionType::real,
                   .fallback = "20",
                   .text = "pipeline: how long a pass of a chunk sleeps.",
                   .min = 0.1,
                   .max = 1e6});
    all.push_back({.name = "rounds",
                   .type = OptionType::integer,
                   .fallback = "2",
                   .text = "pipeline: micro-batches of a step, as a multiple of the stages.",
                   .min = 1,
                   .max = 1e4});
    return all;
  }();
  return rows;
}

int bench_pipeline(std::span<const std::string> arguments) {
  return run_on_ranks("bench pipeline", arguments, [&](Ranks& ranks) { return run_pipeline(ranks, arguments); });
}

}  // namespace tessera::apps
