// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/turns.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <iostream>
#include <numeric>

#include "apps/bench/machine.hpp"
#include "apps/bench/samples.hpp"
#include "core/base/error.hpp"

namespace tessera::apps {
namespace {

constexpr std::int64_t k_most_steps = 1'000'000;

/// The next line; empty at the end of the input.
std::string next_line() {
  std::string line;
  return std::getline(std::cin, line) ? line : std::string();
}

std::int64_t steps_of(const std::string& line) {
  std::int64_t steps = 0;
  const auto [end, code] = std::from_chars(line.data(), line.data() + line.size(), steps);
  if (code != std::errc() || end != line.data() + line.size() || steps < 1 || steps > k_most_steps)
    throw Error(ErrorKind::usage, fmt::format("'{}' is no number of steps from 1 to {}", line, k_most_steps),
                "With --turns each line of standard input is the number of steps of a turn.");
  return steps;
}

void print_line(const std::string& line) {
  fmt::print("{}\n", line);
  std::fflush(stdout);
}

std::string answer(const StepTimes& times, double cpu_seconds, double stream) {
  std::string seconds, ops;
  for (const double s : times.step) seconds += fmt::format("{}{:.9f}", seconds.empty() ? "" : ", ", s);
  for (const OpCost& op : by_op(times.ops))
    ops += fmt::format("{}\"{}\": {:.9f}", ops.empty() ? "" : ", ", op.op,
                       std::accumulate(op.seconds.begin(), op.seconds.end(), 0.0));
  return fmt::format(R"({{"seconds": [{}], "cpu_seconds": {:.6f}, "ops": {{{}}}, "stream_bytes_per_second": {:.0f}}})",
                     seconds, cpu_seconds, ops, stream);
}

}  // namespace

std::vector<double> take_turns(Ranks& ranks, StepBench& bench) {
  ranks.watch(0);  // whoever asks may be slow
  bench.warm_up();
  const int threads = bench.setup().device().threads();
  if (ranks.root())
    print_line(fmt::format(R"({{"parameters": {}, "tokens_per_step": {}, "ranks": {}, "threads": {}}})",
                           bench.model().parameters(), bench.tokens_per_step(), ranks.environment().size(), threads));
  std::vector<double> all;
  for (;;) {
    const std::string line = ranks.from_root(next_line);
    if (line.empty()) return all;
    std::int64_t steps = 0;
    ranks.agreed([&] { steps = steps_of(line); });
    const double begin = now_seconds();
    const CpuShare share;
    const StepTimes times = bench.measure_steps(steps);
    const double cpu_seconds = share.of(1) * (now_seconds() - begin);
    const double stream = measure_stream_bandwidth(threads);
    all.insert(all.end(), times.step.begin(), times.step.end());
    if (ranks.root()) print_line(answer(times, cpu_seconds, stream));
  }
}

}  // namespace tessera::apps
