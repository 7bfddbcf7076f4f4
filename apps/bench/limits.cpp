// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/limits.hpp"

#include <algorithm>
#include <initializer_list>
#include <vector>

namespace tessera::apps {
namespace {

/// Work and seconds, by step, of all shapes of some ops.
struct Total {
  double flops = 0, bytes = 0;
  std::vector<double> seconds;
};

Total total_of(const StepTimes& times, std::initializer_list<std::string_view> ops) {
  Total total;
  total.seconds.resize(times.step.size());
  for (const OpCost& cost : times.ops) {
    if (std::find(ops.begin(), ops.end(), cost.op) == ops.end()) continue;
    total.flops += cost.flops;
    total.bytes += cost.bytes;
    for (std::size_t i = 0; i < total.seconds.size(); ++i) total.seconds[i] += cost.seconds[i];
  }
  return total;
}

}  // namespace

std::optional<Spread> attention_over_products(const StepTimes& times, std::int64_t sequence) {
  const Total attention = total_of(times, {"attention", "attention_grad"});
  if (attention.flops == 0 || times.product_flops == 0) return std::nullopt;
  const double seen = static_cast<double>(sequence + 1) / static_cast<double>(2 * sequence);
  std::vector<double> ratios;
  for (std::size_t i = 0; i < attention.seconds.size(); ++i)
    ratios.push_back(seen * attention.flops / attention.seconds[i] / (times.product_flops / times.products[i]));
  return spread_of(std::move(ratios));
}

std::optional<Spread> update_over_memory(const StepTimes& times, std::string_view update, double bandwidth) {
  const Total total = total_of(times, {update});
  if (total.bytes == 0) return std::nullopt;
  std::vector<double> ratios;
  for (const double seconds : total.seconds) ratios.push_back(total.bytes / seconds / bandwidth);
  return spread_of(std::move(ratios));
}

}  // namespace tessera::apps
