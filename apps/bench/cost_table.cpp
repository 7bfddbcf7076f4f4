// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/cost_table.hpp"

#include <algorithm>

#include "apps/bench/samples.hpp"

namespace tessera::apps {
namespace {

/// `amount` per second, in 10⁹; nothing where there is no amount.
Cell rate_cell(double amount, double seconds, int decimals) {
  return amount > 0 && seconds > 0 ? Cell::real(amount / seconds * 1e-9, decimals) : Cell::nothing();
}

Cell share_cell(double part, double whole) {
  return part > 0 && whole > 0 ? Cell::real(part / whole, 3) : Cell::nothing();
}

}  // namespace

double least_seconds(const OpCost& cost, const Yardstick& yardstick) {
  const double compute = yardstick.flops > 0 ? cost.flops / yardstick.flops : 0;
  const double move = yardstick.bytes > 0 ? cost.bytes / yardstick.bytes : 0;
  return std::max(compute, move);
}

std::vector<OpCost> by_excess(std::span<const OpCost> costs, const Yardstick& yardstick) {
  const auto excess = [&](const OpCost& cost) {
    return spread_of(cost.seconds).median - least_seconds(cost, yardstick);
  };
  std::vector<OpCost> sorted(costs.begin(), costs.end());
  std::erase_if(sorted, [&](const OpCost& cost) { return excess(cost) <= 0; });
  std::stable_sort(sorted.begin(), sorted.end(),
                   [&](const OpCost& a, const OpCost& b) { return excess(a) > excess(b); });
  return sorted;
}

Table cost_table(std::string key, std::string title, std::span<const OpCost> costs, const Yardstick& yardstick,
                 double step_seconds, std::size_t rows) {
  Table table{std::move(key), std::move(title), {{"op", "op"}}};
  const bool has_shapes = !costs.empty() && !costs.front().shapes.empty();
  table.columns.insert(table.columns.end(), {{"calls", "calls"},
                                             {"milliseconds", "ms"},
                                             {"milliseconds_least", "least"},
                                             {"milliseconds_most", "most"},
                                             {"share", "of step"},
                                             {"gflops", "GFLOP/s"},
                                             {"share_of_products", "of GEMM"},
                                             {"gigabytes", "GB/s"},
                                             {"share_of_copy", "of copy"},
                                             {"excess", "excess ms"},
                                             {"shapes", "shapes", has_shapes ? Place::column : Place::hidden}});
  for (const OpCost& cost : costs.first(std::min(rows, costs.size()))) {
    const Spread spread = spread_of(cost.seconds);
    const double excess = spread.median - least_seconds(cost, yardstick);
    table.add({cost.op, cost.calls, Cell::real(1e3 * spread.median, 3), Cell::real(1e3 * spread.least, 3),
               Cell::real(1e3 * spread.most, 3), share_cell(spread.median, step_seconds),
               rate_cell(cost.flops, spread.median, 1), share_cell(cost.flops / spread.median, yardstick.flops),
               rate_cell(cost.bytes, spread.median, 1), share_cell(cost.bytes / spread.median, yardstick.bytes),
               Cell::real(1e3 * std::max(0.0, excess), 3), cost.shapes});
  }
  return table;
}

}  // namespace tessera::apps
