// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/kernels.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <functional>
#include <map>

#include "apps/arguments.hpp"
#include "apps/bench/bench_model.hpp"
#include "apps/bench/kernel_case.hpp"
#include "apps/bench/machine.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/samples.hpp"
#include "apps/engine_parts.hpp"
#include "apps/kernel_tables.hpp"
#include "apps/least_memory.hpp"
#include "apps/memory_check.hpp"
#include "apps/plan/world_plans.hpp"
#include "apps/run.hpp"
#include "apps/verb.hpp"
#include "core/base/log.hpp"
#include "io/file.hpp"

namespace tessera::apps {
namespace {

/// A variant must be this much faster to be chosen, and faster in every repetition: less is within what one measurement
/// differs from the next.
constexpr double k_least_gain = 1.03;

/// Of the CPU time: below it somebody is told.
constexpr double k_least_share = 0.9;

/// All calls of a plan of one op on the same shapes.
struct Site {
  std::vector<const KernelEntry*> variants;
  std::vector<Type> in, out;
  Attributes attributes;
  std::uint32_t accumulate = 0;
  std::int64_t calls = 0;  ///< in a step, of the stage that has most of them
};
using Sites = std::map<std::string, Site>;

/// How often an instruction runs in a step.
std::vector<std::int64_t> runs_of(const Plan& plan) {
  std::vector<std::int64_t> runs(plan.code.size());
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    for (std::int32_t i = program.first; i < program.first + program.count; ++i) ++runs[static_cast<std::size_t>(i)];
  }
  return runs;
}

void add_sites(const Plan& plan, const KernelTable& kernels, int threads, Sites& sites) {
  const std::vector<std::int64_t> runs = runs_of(plan);
  std::map<std::string, std::int64_t> calls;
  each_kernel(plan, [&](std::size_t i, const std::string& op, std::span<const Tensor> in, std::span<const Tensor> out) {
    if (runs[i] == 0) return;
    const Instruction& instruction = plan.code[i];
    const DType dtype = principal_dtype(in, out);
    Site site;
    site.variants = kernels.variants(op, dtype);
    if (site.variants.size() < 2) return;
    for (const Tensor& tensor : in) site.in.push_back({tensor.shape, tensor.dtype});
    for (const Tensor& tensor : out) site.out.push_back({tensor.shape, tensor.dtype});
    site.attributes = plan.attributes[static_cast<std::size_t>(instruction.attributes)];
    site.accumulate = instruction.accumulate | instruction.accumulate_after_first;
    const std::string key = choice_key(op, dtype, threads, in);
    sites.emplace(key, site);
    calls[key] += runs[i];
  });
  for (const auto& [key, count] : calls) sites.at(key).calls = std::max(sites.at(key).calls, count);
}

double bytes_of(const Site& site) {
  double bytes = 0;
  for (const std::vector<Type>* types : {&site.in, &site.out})
    for (const Type& type : *types) bytes += static_cast<double>(type.shape.count() * size_of(type.dtype));
  return bytes;
}

std::string count_of_threads(int threads) {
  return fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
}

Table make_table(int threads) {
  return {fmt::format("threads_{}", threads),
          count_of_threads(threads),
          {{"key", "op, dtype, threads, inputs"},
           {"calls", "calls"},
           {"usual_milliseconds", "usual ms"},
           {"variant", "best variant"},
           {"milliseconds", "ms"},
           {"gain", "usual ÷ variant"},
           {"gain_least", "least"},
           {"gain_most", "most"},
           {"chosen", "chosen"}}};
}

/// Milliseconds of a step in kernels that have variants.
struct StepCost {
  double usual = 0, chosen = 0;
};

/// All variants in turn; adds a row, and the choice if there is one.
void measure(HostDevice& device, const std::string& key, const Site& site, int repetitions, Table& table,
             KernelChoices& choices, StepCost& cost) {
  const KernelCase kernel(device, site.variants, site.in, site.out, site.attributes, site.accumulate);
  std::vector<std::function<void()>> cases;
  for (std::size_t v = 0; v < site.variants.size(); ++v) cases.emplace_back([&kernel, v] { kernel.run(v); });
  const auto seconds = measure_in_turn(cases, repetitions);
  const double usual = spread_of(seconds[0]).median;
  std::size_t best = 1;
  for (std::size_t v = 2; v < seconds.size(); ++v)
    if (spread_of(seconds[v]).median < spread_of(seconds[best]).median) best = v;
  std::vector<double> gains;
  for (std::size_t i = 0; i < seconds[0].size(); ++i) gains.push_back(seconds[0][i] / seconds[best][i]);
  const Spread gain = spread_of(gains);
  const double variant = spread_of(seconds[best]).median;
  const bool chosen = gain.median >= k_least_gain && gain.least > 1;
  if (chosen) choices.choose(key, site.variants[best]->variant);
  table.add({key, site.calls, Cell::real(1e3 * usual, 3), site.variants[best]->variant, Cell::real(1e3 * variant, 3),
             Cell::real(gain.median, 2), Cell::real(gain.least, 2), Cell::real(gain.most, 2), Cell::yes_no(chosen)});
  cost.usual += 1e3 * usual * static_cast<double>(site.calls);
  cost.chosen += 1e3 * (chosen ? variant : usual) * static_cast<double>(site.calls);
}

void check_memory_of(const Sites& sites) {
  double bytes = 0;
  for (const auto& [key, site] : sites) bytes = std::max(bytes, bytes_of(site));
  check_needs({{"operands", bytes, "Use a smaller model, micro-batch or sequence."}}, resident_bytes() + free_bytes());
}

}  // namespace

int bench_kernels(std::span<const std::string> arguments) {
  check_alone("bench kernels");
  const Run run(arguments, kernels_options(), "world");
  const Settings& settings = run.settings();
  const std::string path = settings.get<std::string>("table");
  const ModelConfig model = bench_model(settings);
  Document document("variants of kernels");
  add_machine(document);
  document.add("repetitions", "repetitions", settings.get<int>("repetitions"));
  KernelChoices choices;
  std::string doubts;  // comments behind the first line, for whoever finds the table
  StepCost cost;
  for (const int threads : thread_counts(settings)) {
    EngineParts parts(settings, run.registry(), {}, settings.get<int>("world"), threads, nullptr);
    const WorldPlans plans = compile_world(parts, model, bench_global_batch(settings, parts.mesh()), 0);
    Sites sites;
    for (const StepPlans& stage : plans.stages) {
      add_sites(stage.training.plan, parts.kernels(), threads, sites);
      add_sites(stage.evaluation.plan, parts.kernels(), threads, sites);
    }
    check_memory_of(sites);
    Table table = make_table(threads);
    cost = {};
    const CpuShare share;
    for (const auto& [key, site] : sites)
      measure(parts.device(), key, site, settings.get<int>("repetitions"), table, choices, cost);
    const double got = share.of(threads);
    document.add(fmt::format("cpu_share_{}", threads),
                 fmt::format("share of the CPU time, {}", count_of_threads(threads)), Cell::real(got, 2));
    if (got < k_least_share) {
      const std::string doubt =
          fmt::format("the kernels got {:.2f} of the time of {}: another program ran, and the choices may be chance",
                      got, count_of_threads(threads));
      log_warning("bench", doubt);
      doubts += fmt::format("# {}\n", doubt);
    }
    document.add(std::move(table));
  }
  if (!path.empty()) {
    std::string text = choices.text();
    text.insert(text.find('\n') + 1, doubts);
    io::replace_file(path, text);
  }
  publish(document, settings,
          fmt::format("FOM kernels_usual_over_chosen={:.3f} chosen={} threads={}",
                      cost.chosen > 0 ? cost.usual / cost.chosen : 1, choices.all().size(),
                      thread_counts(settings).back()));
  return k_done;
}

}  // namespace tessera::apps
