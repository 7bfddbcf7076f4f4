// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>

#include "apps/arguments.hpp"
#include "apps/bench/collectives.hpp"
#include "apps/bench/experts.hpp"
#include "apps/bench/gemm.hpp"
#include "apps/bench/kernels.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/pipeline.hpp"
#include "apps/bench/step.hpp"
#include "apps/verb.hpp"
#include "core/config/nearest.hpp"

namespace tessera::apps {
namespace {

struct Benchmark {
  std::string_view name;
  int (*run)(std::span<const std::string> arguments);
  const std::vector<Option>& (*options)();
};
constexpr std::array k_benchmarks{Benchmark{"gemm", bench_gemm, gemm_options},
                                  Benchmark{"experts", bench_experts, experts_options},
                                  Benchmark{"kernels", bench_kernels, kernels_options},
                                  Benchmark{"ops", bench_ops, ops_options},
                                  Benchmark{"step", bench_step, step_options},
                                  Benchmark{"pipeline", bench_pipeline, pipeline_options},
                                  Benchmark{"collectives", bench_collectives, collectives_options}};

/// Those of all benchmarks, each once.
std::vector<Option> all_options() {
  std::vector<Option> all;
  for (const Benchmark& benchmark : k_benchmarks)
    for (const Option& option : benchmark.options())
      if (std::none_of(all.begin(), all.end(), [&](const Option& known) { return known.name == option.name; }))
        all.push_back(option);
  return all;
}

std::string help() {
  return flags_help(
      "  gemm  fp32 matrix products of GPT-2 124M (or one of --m --n --k), beside a measured peak of multiply-adds\n"
      "  experts  fp32 products of 8 and of 64 experts, beside one product of as many rows\n"
      "  kernels  kernels of a run that have variants, all of them on its shapes; writes the table for train.kernels\n"
      "  ops   every op of a training step with its shapes, in one layer of GPT-2 124M and of a llama of that size\n"
      "  step  a training step on random tokens: tokens/s, time by op, ratio to its matrix products alone\n"
      "  pipeline  steps of stages that sleep, one per rank, beside the closed formula of each schedule\n"
      "  collectives  calls between ranks (two or more, by mpirun) beside MPI's own and beside copying\n"
      "\n`step`, `ops` and `kernels` take the options of a run (`tessera train --help`), as flags or in a run file; "
      "without\n"
      "train.global_batch a step is one micro-batch. `mpirun -n 2 tessera bench step …` measures two ranks.\n"
      "The last line is the figure of merit: FOM name=value ….\n",
      all_options());
}

int run(std::span<const std::string> arguments) {
  if (arguments.empty())
    throw usage_error("bench", "what to measure is missing",
                      "gemm, experts, kernels, ops, step, pipeline or collectives");
  std::vector<std::string> names;
  for (const Benchmark& benchmark : k_benchmarks) {
    if (benchmark.name == arguments.front()) return benchmark.run(arguments.subspan(1));
    names.emplace_back(benchmark.name);
  }
  throw usage_error("bench", "there is no benchmark " + arguments.front(), did_you_mean(arguments.front(), names));
}

}  // namespace

const Verb k_bench{"bench",
                   "bench gemm | experts | kernels | ops | step | pipeline | collectives [RUN.INI] [flags]",
                   "Measures kernels and training steps on this machine.",
                   run,
                   help,
                   Processes::ranks};

}  // namespace tessera::apps
