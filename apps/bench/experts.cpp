// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/experts.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>
#include <memory>

#include "apps/arguments.hpp"
#include "apps/bench/kernel_case.hpp"
#include "apps/bench/machine.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/samples.hpp"
#include "apps/least_memory.hpp"
#include "apps/memory_check.hpp"
#include "apps/verb.hpp"

namespace tessera::apps {
namespace {

/// What each expert gets, in how many parts that lie apart.
struct Load {
  std::int64_t experts, rows, parts;
};
constexpr std::array k_loads{Load{8, 256, 1}, Load{8, 256, 4}, Load{8, 16, 1}, Load{64, 16, 1}, Load{64, 16, 4}};

struct Pass {
  std::string_view grouped, dense;
  bool accumulates;
};
constexpr std::array k_passes{Pass{"grouped_linear", "linear", false}, Pass{"grouped_linear_dx", "linear_dx", false},
                              Pass{"grouped_linear_dw", "linear_dw", true}};

/// The usual fp32 kernel of an op.
std::unique_ptr<KernelCase> make_case(HostDevice& device, std::string_view op, std::span<const Shape> in,
                                      const Shape& out, std::uint32_t accumulate) {
  std::vector<Type> types;
  for (const Shape& shape : in) types.push_back({shape, DType::f32});
  const Type result{out, DType::f32};
  return std::make_unique<KernelCase>(device, std::vector{device.find(op, DType::f32)}, types, std::span(&result, 1),
                                      Attributes(), accumulate);
}

/// Inputs and output of a pass over rows whose shapes end in their width.
struct PassShapes {
  std::vector<Shape> in;
  Shape out;
};
PassShapes shapes_of(const Pass& pass, Shape x, Shape y, const Shape& weight) {
  if (pass.accumulates) return {{y, x}, weight};
  if (pass.dense == "linear") return {{x, weight}, y};
  return {{y, weight}, x};
}

/// A pass of the experts, and of one matrix on as many rows.
struct Contest {
  Load load;
  const Pass* pass;
  std::vector<std::int32_t> counts;
  std::unique_ptr<KernelCase> grouped, dense;

  Contest(HostDevice& device, const Load& l, const Pass& p, std::int64_t hidden, std::int64_t ffn) : load(l), pass(&p) {
    // Parts keep room for twice as many rows as are there, so that they lie apart.
    const std::int64_t live = load.rows / load.parts, capacity = load.parts == 1 ? live : 2 * live;
    const auto rows = [&](std::int64_t width) { return Shape{load.experts, load.parts, capacity, width}; };
    const auto flat = [&](std::int64_t width) { return Shape{load.experts * load.rows, 1, width}; };
    const std::uint32_t accumulate = p.accumulates ? 1 : 0;
    PassShapes shapes = shapes_of(p, rows(hidden), rows(ffn), {load.experts, ffn, hidden});
    shapes.in.push_back({load.experts, load.parts});
    grouped = make_case(device, p.grouped, shapes.in, shapes.out, accumulate);
    counts.assign(static_cast<std::size_t>(load.experts * load.parts), static_cast<std::int32_t>(live));
    grouped->input(2) = {counts.data(), {load.experts, load.parts}, {}, DType::i32};
    shapes = shapes_of(p, flat(hidden), flat(ffn), {ffn, hidden});
    dense = make_case(device, p.dense, shapes.in, shapes.out, accumulate);
  }
};

Table make_table(int threads) {
  return {fmt::format("threads_{}", threads),
          fmt::format("fp32, {} thread{}", threads, threads == 1 ? "" : "s"),
          {{"op", "op"},
           {"experts", "experts"},
           {"rows", "rows"},
           {"parts", "parts"},
           {"milliseconds", "ms"},
           {"gflops", "GFLOP/s"},
           {"dense_milliseconds", "dense ms"},
           {"ratio", "dense ÷ grouped"},
           {"ratio_least", "least"},
           {"ratio_most", "most"}}};
}

/// The contests on so many threads; returns the least median ratio.
double measure(const Settings& settings, int threads, Document& document) {
  const std::int64_t hidden = settings.get<std::int64_t>("hidden"), ffn = settings.get<std::int64_t>("ffn");
  HostDevice device(threads);
  Table table = make_table(threads);
  double worst = 1e9;
  for (const Load& load : k_loads) {
    std::vector<std::unique_ptr<Contest>> contests;
    std::vector<std::function<void()>> cases;
    for (const Pass& pass : k_passes) {
      contests.push_back(std::make_unique<Contest>(device, load, pass, hidden, ffn));
      cases.emplace_back([c = contests.back().get()] { c->grouped->run(); });
      cases.emplace_back([c = contests.back().get()] { c->dense->run(); });
    }
    const auto seconds = measure_in_turn(cases, settings.get<int>("repetitions"));
    for (std::size_t p = 0; p < contests.size(); ++p) {
      const std::vector<double>&grouped = seconds[2 * p], &dense = seconds[2 * p + 1];
      std::vector<double> ratios;
      for (std::size_t i = 0; i < grouped.size(); ++i) ratios.push_back(dense[i] / grouped[i]);
      const Spread ratio = spread_of(ratios);
      const double median = spread_of(grouped).median;
      const double flops = 2.0 * static_cast<double>(load.experts * load.rows) * static_cast<double>(hidden * ffn);
      table.add({k_passes[p].grouped, load.experts, load.rows, load.parts, Cell::real(1e3 * median, 3),
                 Cell::real(flops / median / 1e9, 1), Cell::real(1e3 * spread_of(dense).median, 3),
                 Cell::real(ratio.median, 2), Cell::real(ratio.least, 2), Cell::real(ratio.most, 2)});
      worst = std::min(worst, ratio.median);
    }
  }
  document.add(std::move(table));
  return worst;
}

}  // namespace

int bench_experts(std::span<const std::string> arguments) {
  check_alone("bench experts");
  const Settings settings = read_benchmark("experts", arguments, experts_options());
  const auto hidden = static_cast<double>(settings.get<std::int64_t>("hidden"));
  const auto ffn = static_cast<double>(settings.get<std::int64_t>("ffn"));
  double bytes = 0;  // of the three passes of a load, which are there together
  for (const Load& load : k_loads)
    bytes = std::max(bytes, 3.0 * sizeof(float) *
                                (static_cast<double>(load.experts) * hidden * ffn +
                                 3.0 * static_cast<double>(load.experts * load.rows) * (hidden + ffn)));
  check_needs({{"matrices", bytes, "Use smaller --hidden or --ffn."}}, resident_bytes() + free_bytes());
  Document document("products of experts");
  add_machine(document);
  document.add("repetitions", "repetitions", settings.get<int>("repetitions"));
  std::string figure;
  for (const int threads : thread_counts(settings))
    figure = fmt::format("FOM expert_ratio={:.3f} threads={}", measure(settings, threads, document), threads);
  publish(document, settings, figure);
  return k_done;
}

}  // namespace tessera::apps
