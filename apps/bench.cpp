// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <array>

#include "apps/arguments.hpp"
#include "apps/bench/gemm.hpp"
#include "apps/bench/options.hpp"
#include "apps/verb.hpp"
#include "core/config/nearest.hpp"

namespace tessera::apps {
namespace {

std::string help() {
  return flags_help(
      "  gemm  the matrix products of GPT-2 124M (or one of --m --n --k), beside a measured peak of multiply-adds\n"
      "\nThe last line is the figure of merit: FOM name=value ….\n",
      bench_options());
}

struct Benchmark {
  std::string_view name;
  int (*run)(const Settings& settings);
};
constexpr std::array k_benchmarks{Benchmark{"gemm", bench_gemm}};

int run(std::span<const std::string> arguments) {
  const Arguments given = read_arguments("bench", arguments, bench_options());
  if (given.positionals.size() != 1) throw usage_error("bench", "what to measure is missing", "gemm");
  std::vector<std::string> names;
  for (const Benchmark& benchmark : k_benchmarks) {
    if (benchmark.name == given.positionals.front()) return benchmark.run(given.settings);
    names.emplace_back(benchmark.name);
  }
  throw usage_error("bench", "there is no benchmark " + given.positionals.front(),
                    did_you_mean(given.positionals.front(), names));
}

}  // namespace

const Verb k_bench{"bench", "bench WHAT [flags]", "Measures kernels and training steps on this machine.", run, help};

}  // namespace tessera::apps
