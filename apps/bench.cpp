// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
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

struct Benchmark {
  std::string_view name;
  int (*run)(std::span<const std::string> arguments);
};
constexpr std::array k_benchmarks{Benchmark{"gemm", bench_gemm},
                                  Benchmark{"experts", bench_experts},
                                  Benchmark{"kernels", bench_kernels},
                                  Benchmark{"ops", bench_ops},
                                  Benchmark{"step", bench_step},
                                  Benchmark{"pipeline", bench_pipeline},
                                  Benchmark{"collectives", bench_collectives}};

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
