// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/step.hpp"

#include <fmt/core.h>

#include "apps/bench/cost_table.hpp"
#include "apps/bench/limits.hpp"
#include "apps/bench/machine.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/samples.hpp"
#include "apps/bench/steps.hpp"
#include "apps/bench/turns.hpp"
#include "apps/verb.hpp"
#include "core/scheduler/describe.hpp"
#include "core/train/flops.hpp"

namespace tessera::apps {
namespace {

constexpr std::size_t k_all = 1000;
constexpr std::size_t k_costliest = 12;

/// Of the kernels' precision: a register holds half as many fp64 numbers.
double measure_peak(const StepBench& bench) {
  return measure_fma_peak(bench.setup().device().threads()) * (bench.dtype() == DType::f64 ? 0.5 : 1);
}

struct Result {
  StepTimes times;
  Spread step, products;
  Yardstick yardstick;
  double peak = 0;    ///< FLOP/s of this rank
  double memory = 0;  ///< bytes per second that it moves at most: copying, or changing in place

  double over_products() const { return step.median / products.median; }
};

/// Collective: all ranks measure at the same time, so that each has its share of caches and memory.
Result measure(StepBench& bench, int repetitions) {
  Result result;
  const int threads = bench.setup().device().threads();
  result.peak = measure_peak(bench);
  result.yardstick.bytes = measure_copy_bandwidth(threads);
  result.memory = std::max(result.yardstick.bytes, measure_stream_bandwidth(threads));
  result.times = bench.measure(repetitions);
  result.step = spread_of(result.times.step);
  result.products = spread_of(result.times.products);
  result.yardstick.flops = result.times.product_flops / result.products.median;
  return result;
}

void add_spread(Document& document, const std::string& key, const std::string& title, const Spread& spread) {
  Cell cell = Cell::real(1e3 * spread.median, 3);
  cell.text += fmt::format("  ({:.3f} to {:.3f})", 1e3 * spread.least, 1e3 * spread.most);
  document.add(key, title, std::move(cell));
  document.add(key + "_least", {}, Cell::real(1e3 * spread.least, 3), Place::hidden);
  document.add(key + "_most", {}, Cell::real(1e3 * spread.most, 3), Place::hidden);
}

void add_place(Document& document, const Ranks& ranks) {
  add_machine(document);
  document.add("ranks", "ranks", ranks.environment().size());
  document.add("threads", "threads per rank", ranks.threads().threads);
}

void add_facts(Document& document, const StepBench& bench) {
  document.add("mesh", "mesh", bench.setup().mesh().describe());
  document.add("precision", "precision", name_of(bench.dtype()));
  document.add("parameters", "parameters", bench.model().parameters());
  document.add("tokens_per_step", "tokens of a step", bench.tokens_per_step());
  document.add("micro_batches", "micro-batches", bench.setup().engine().micro_batches());
  document.add("planned_bytes", "planned memory of rank 0", Cell::bytes(bench.setup().engine().memory().total()));
}

void add_rates(Document& document, const Result& result) {
  document.add("cpu_share", "share of the CPU time", Cell::real(result.times.cpu_share, 2));
  document.add("peak_gflops", "peak of a rank, GFLOP/s", Cell::real(result.peak / 1e9, 1));
  document.add("product_gflops", "products alone, GFLOP/s", Cell::real(result.yardstick.flops / 1e9, 1));
  document.add("copy_gigabytes", "copying, GB/s", Cell::real(result.yardstick.bytes / 1e9, 1));
  add_spread(document, "step_milliseconds", "step, ms", result.step);
  add_spread(document, "product_milliseconds", "its products alone, ms", result.products);
  document.add("step_over_products", "step / its products", Cell::real(result.over_products(), 3));
}

/// Adds the ratio to the facts; returns its part of the figure of merit.
std::string add_ratio(Document& document, const std::string& key, const std::string& title,
                      const std::optional<Spread>& ratio) {
  if (!ratio) return {};
  Cell cell = Cell::real(ratio->median, 3);
  cell.text += fmt::format("  ({:.3f} to {:.3f})", ratio->least, ratio->most);
  document.add(key, title, std::move(cell));
  return fmt::format("{}={:.3f} ", key, ratio->median);
}

void use_asked_threads(Ranks& ranks, const Settings& settings) {
  const int threads = settings.get<int>("threads");
  if (threads > 0) ranks.use_threads({threads, fmt::format("{}, as --threads says", mpi::threads_per_rank(threads))});
}

int run_turns(Ranks& ranks, const Settings& settings, StepBench& bench) {
  const std::vector<double> seconds = take_turns(ranks, bench);
  if (!ranks.root() || seconds.empty()) return k_done;
  const Spread step = spread_of(seconds);
  const double rate = static_cast<double>(bench.tokens_per_step()) / step.median;
  Document document("training steps in turns");
  add_place(document, ranks);
  add_facts(document, bench);
  add_spread(document, "step_milliseconds", "step, ms", step);
  document.add("tokens_per_second", "tokens/s", Cell::real(rate, 1));
  publish(document, settings,
          fmt::format("FOM tokens_per_second={:.1f} repetitions={} world={}", rate, seconds.size(),
                      ranks.environment().size()));
  return k_done;
}

int run_step(Ranks& ranks, std::span<const std::string> arguments) {
  const Run run(ranks, arguments, step_options());
  use_asked_threads(ranks, run.settings());
  StepBench bench(ranks, run);
  if (run.settings().get<bool>("turns")) return run_turns(ranks, run.settings(), bench);
  ranks.watch(run.settings().get<double>("train.watchdog"));
  const Result result = measure(bench, run.settings().get<int>("repetitions"));
  if (!ranks.root()) return k_done;

  const int world = ranks.environment().size();
  const TokenFlops flops = token_flops(bench.model());
  const Throughput rates =
      throughput(flops, flops.model(), {bench.tokens_per_step(), result.step.median, world, result.peak});
  Document document("training step on random tokens");
  add_place(document, ranks);
  add_facts(document, bench);
  add_rates(document, result);
  double in_ops = 0;
  for (const OpCost& cost : result.times.ops) in_ops += spread_of(cost.seconds).median;
  document.add("outside_ops_milliseconds", "outside of ops, ms", Cell::real(1e3 * (result.step.median - in_ops), 3));
  document.add("loss", "loss of the last step", Cell::real(result.times.loss, 4));
  document.add("tokens_per_second", "tokens/s", Cell::real(rates.tokens_per_second, 1));
  document.add("model_tflops", "model TFLOP/s per rank", Cell::real(rates.model_tflops, 4));
  document.add("mfu", fmt::format("MFU ({})", k_flops_convention), Cell::real(rates.mfu, 3));
  std::string limits = add_ratio(document, "attention_over_products", "attention / products, FLOP/s",
                                 attention_over_products(result.times, bench.model().sequence));
  limits +=
      add_ratio(document, "update_over_memory", "update of weights / moving memory, bytes/s",
                update_over_memory(result.times, run.settings().get<std::string>("optimizer.name"), result.memory));
  document.add(cost_table("ops", "time by op", by_op(result.times.ops), result.yardstick, result.step.median, k_all));
  document.add(cost_table("costliest", "what would save most, at the rates of products and of copying",
                          by_excess(result.times.ops, result.yardstick), result.yardstick, result.step.median,
                          k_costliest));
  publish(document, run.settings(),
          fmt::format("FOM tokens_per_second={:.1f} tokens_per_second_per_rank={:.1f} mfu={:.3f} step_over_gemm={:.3f} "
                      "{}repetitions={} world={}",
                      rates.tokens_per_second, rates.tokens_per_second / world, rates.mfu, result.over_products(),
                      limits, result.times.step.size(), world));
  return k_done;
}

struct Model {
  std::string name;
  std::vector<std::string> flags;
};

/// One layer has every op of twelve.
std::vector<Model> models_of(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments)
    if (!argument.starts_with("--") || argument.starts_with("--model.")) return {{"given", {}}};
  const std::string layers = "--model.layers=1", vocabulary = "--model.vocab=50257";
  return {{"gpt", {"--model.preset=gpt2_124m", layers}}, {"llama", {layers, vocabulary}}};
}

Table models_table() {
  return {"models",
          "models",
          {{"name", "model"},
           {"parameters", "parameters"},
           {"tokens_per_step", "tokens"},
           {"step_milliseconds", "step ms"},
           {"step_milliseconds_least", "least"},
           {"step_milliseconds_most", "most"},
           {"product_milliseconds", "GEMM ms"},
           {"step_over_products", "ratio"},
           {"peak_gflops", "peak GFLOP/s"},
           {"product_gflops", "GEMM GFLOP/s"},
           {"copy_gigabytes", "copy GB/s"},
           {"cpu_share", "CPU share"}},
          {}};
}

int run_ops(Ranks& ranks, std::span<const std::string> arguments) {
  Document document("ops of a training step");
  std::string figure = "FOM";
  Table models = models_table();
  std::vector<Table> tables;
  std::unique_ptr<Run> run;
  for (const Model& model : models_of(arguments)) {
    std::vector<std::string> all(arguments.begin(), arguments.end());
    all.insert(all.end(), model.flags.begin(), model.flags.end());
    run = std::make_unique<Run>(ranks, all, ops_options());
    use_asked_threads(ranks, run->settings());
    StepBench bench(ranks, *run);
    const Result result = measure(bench, run->settings().get<int>("repetitions"));
    models.add({model.name, bench.model().parameters(), bench.tokens_per_step(),
                Cell::real(1e3 * result.step.median, 3), Cell::real(1e3 * result.step.least, 3),
                Cell::real(1e3 * result.step.most, 3), Cell::real(1e3 * result.products.median, 3),
                Cell::real(result.over_products(), 3), Cell::real(result.peak / 1e9, 1),
                Cell::real(result.yardstick.flops / 1e9, 1), Cell::real(result.yardstick.bytes / 1e9, 1),
                Cell::real(result.times.cpu_share, 2)});
    tables.push_back(
        cost_table(model.name, "model " + model.name, result.times.ops, result.yardstick, result.step.median, k_all));
    figure += fmt::format(" {}_step_over_gemm={:.3f}", model.name, result.over_products());
  }
  add_place(document, ranks);
  document.add(std::move(models));
  for (Table& table : tables) document.add(std::move(table));
  if (ranks.root()) publish(document, run->settings(), figure);
  return k_done;
}

}  // namespace

int bench_step(std::span<const std::string> arguments) {
  return run_on_ranks("bench step", arguments, [&](Ranks& ranks) { return run_step(ranks, arguments); });
}

int bench_ops(std::span<const std::string> arguments) {
  return run_on_ranks("bench ops", arguments, [&](Ranks& ranks) { return run_ops(ranks, arguments); });
}

}  // namespace tessera::apps
