// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/samples.hpp"

#include <algorithm>
#include <chrono>
#include <ctime>

#include "core/base/error.hpp"

namespace tessera::apps {

Spread spread_of(std::vector<double> values) {
  TESSERA_CHECK(!values.empty(), std::string("no samples"));
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  const double median = values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
  return {median, values.front(), values.back()};
}

double now_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

CpuShare::CpuShare() : wall_(now_seconds()), cpu_(cpu_seconds()) {}

double CpuShare::of(int threads) const {
  return (cpu_seconds() - cpu_) / (now_seconds() - wall_) / threads;
}

std::vector<std::vector<double>> measure_in_turn(std::span<const std::function<void()>> cases, int repetitions) {
  for (const auto& run : cases) run();
  std::vector<std::vector<double>> seconds(cases.size());
  for (int repetition = 0; repetition < repetitions; ++repetition) {
    for (std::size_t c = 0; c < cases.size(); ++c) {
      const double begin = now_seconds();
      cases[c]();
      seconds[c].push_back(now_seconds() - begin);
    }
  }
  return seconds;
}

}  // namespace tessera::apps
