// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/machine.hpp"

#include <fmt/core.h>
#include <sched.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <fstream>

#include "apps/bench/samples.hpp"
#include "core/host/host_pages.hpp"
#include "core/host/parallel.hpp"
#include "core/host/vector.hpp"

namespace tessera::apps {
namespace {

using Lanes = host::Vector<float>;

/// Enough chains to hide the latency of two units (4 or 5 cycles each), few enough for 16 registers.
constexpr int k_chains = 12;
/// Many short rounds: on a busy machine one of them is likely to run undisturbed.
constexpr int k_rounds = 25;

/// `steps` multiply-adds on each chain. The result must be used, else nothing is computed.
float multiply_add(std::int64_t steps, float factor, float summand) {
  Lanes chains[k_chains];
  for (int c = 0; c < k_chains; ++c) chains[c] = Lanes{} + static_cast<float>(c);
  const Lanes factors = Lanes{} + factor, summands = Lanes{} + summand;
  for (std::int64_t step = 0; step < steps; ++step)
    for (Lanes& chain : chains) chain = chain * factors + summands;
  Lanes sum{};
  for (const Lanes& chain : chains) sum += chain;
  return sum[0];
}

/// The least seconds of some rounds: what disturbs can only add.
template <class Action>
double least_seconds(const Action& action) {
  action();
  double least = 1e30;
  for (int round = 0; round < k_rounds; ++round) {
    const double begin = now_seconds();
    action();
    least = std::min(least, now_seconds() - begin);
  }
  return least;
}

}  // namespace

std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

int processor_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  return sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : 1;
}

double measure_clock() {
  constexpr std::int64_t cycles = 4'000'000;
  const double seconds = least_seconds([] {
    std::uint64_t sum = 1, summand = 3;
    asm volatile("" : "+r"(summand));
    for (std::int64_t i = 0; i < cycles; ++i) {
      sum += summand;
      asm volatile("" : "+r"(sum));  // each addition needs the one before
    }
  });
  return static_cast<double>(cycles) / seconds;
}

double measure_fma_peak(int threads) {
  constexpr std::int64_t steps = 500'000;
  volatile float factor = 0.999F, summand = 0.001F, result = 0;
  const double seconds = least_seconds([&] {
    host::parallel_parts(threads, threads, [&](std::int64_t, int) { result = multiply_add(steps, factor, summand); });
  });
  return 2.0 * host::k_lanes<float> * k_chains * static_cast<double>(steps) * threads / seconds;
}

double measure_copy_bandwidth(int threads) {
  constexpr std::int64_t bytes = std::int64_t{128} << 20;
  HostPages pages;
  auto *const from = static_cast<std::byte*>(pages.allocate(bytes)), *const to =
                                                                         static_cast<std::byte*>(pages.allocate(bytes));
  std::memset(from, 1, bytes);  // pages that nobody wrote are all the same one
  const double seconds = least_seconds([&] {
    host::parallel_parts(threads, threads, [&](std::int64_t part, int) {
      const std::int64_t begin = bytes * part / threads, end = bytes * (part + 1) / threads;
      std::memcpy(to + begin, from + begin, static_cast<std::size_t>(end - begin));
    });
  });
  return 2.0 * static_cast<double>(bytes) / seconds;
}

double measure_stream_bandwidth(int threads) {
  constexpr std::int64_t count = std::int64_t{32} << 20;
  HostPages pages;
  auto* const values = static_cast<float*>(pages.allocate(count * std::int64_t(sizeof(float))));
  std::fill_n(values, count, 1.0F);
  volatile float factor = 1.0F;
  const double seconds = least_seconds([&] {
    host::parallel_parts(threads, threads, [&](std::int64_t part, int) {
      const float times = factor;
      for (std::int64_t i = count * part / threads; i < count * (part + 1) / threads; ++i) values[i] *= times;
    });
  });
  return 2.0 * sizeof(float) * static_cast<double>(count) / seconds;
}

void add_machine(Document& document) {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  gmtime_r(&now, &utc);
  char stamp[32];
  std::strftime(stamp, sizeof stamp, "%Y-%m-%dT%H:%M:%SZ", &utc);
  document.add("version", "program", TESSERA_VERSION);
  document.add("time", "time", stamp);
  document.add("processor", "processor", processor_name());
  document.add("cores", "cores", processor_count());
}

}  // namespace tessera::apps
