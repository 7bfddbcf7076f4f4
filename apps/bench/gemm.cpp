// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/gemm.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <functional>

#include "apps/arguments.hpp"
#include "apps/bench/machine.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/products.hpp"
#include "apps/bench/samples.hpp"
#include "apps/least_memory.hpp"
#include "apps/memory_check.hpp"
#include "apps/verb.hpp"

namespace tessera::apps {
namespace {

/// A linear layer y = x wᵀ.
struct Layer {
  std::string_view name;
  std::int64_t out, in;
};

/// GPT-2 124M: hidden 768, feed-forward 3072, vocabulary 50257.
constexpr std::array k_layers{Layer{"qkv", 2304, 768}, Layer{"projection", 768, 768}, Layer{"up", 3072, 768},
                              Layer{"down", 768, 3072}, Layer{"head", 50257, 768}};

/// Forward and both gradients of every layer, as a step computes them.
std::vector<Product> products_of_model(std::int64_t tokens) {
  std::vector<Product> products;
  for (const Layer& layer : k_layers) {
    const std::string name(layer.name);
    products.push_back({name, ProductRole::forward, tokens, layer.out, layer.in});
    products.push_back({name + " dx", ProductRole::input_gradient, tokens, layer.in, layer.out});
    products.push_back({name + " dw", ProductRole::weight_gradient, layer.out, layer.in, tokens});
  }
  return products;
}

std::vector<Product> products_asked_for(const Settings& settings) {
  const std::int64_t m = settings.get<std::int64_t>("m"), n = settings.get<std::int64_t>("n"),
                     k = settings.get<std::int64_t>("k");
  if (m == 0 && n == 0 && k == 0) return products_of_model(settings.get<std::int64_t>("tokens"));
  if (m == 0 || n == 0 || k == 0) throw usage_error("bench", "--m, --n and --k go together");
  return {{"given", ProductRole::forward, m, n, k}};
}

/// Operands and results of the largest product of each kind are there at once.
void check_memory_of(std::span<const Product> products) {
  double a = 0, b = 0, c = 0;
  for (const Product& p : products) {
    const auto m = static_cast<double>(p.m), n = static_cast<double>(p.n), k = static_cast<double>(p.k);
    a = std::max(a, m * k), b = std::max(b, k * n), c = std::max(c, m * n);
  }
  check_needs({{"matrices", sizeof(float) * (a + b + c), "Use smaller --m, --n, --k or --tokens."}},
              resident_bytes() + free_bytes());
}

struct Outcome {
  Table table;
  double rate = 0;     ///< FLOP/s of all products together, by their medians
  double fastest = 0;  ///< FLOP/s of the fastest single product
  double peak = 0;
  double cpu_share = 0;  ///< see CpuShare
};

Outcome measure(std::span<const Product> products, int threads, int repetitions) {
  ProductBench bench(products, DType::f32, threads);
  std::vector<std::function<void()>> cases;
  for (const Product& product : products) cases.emplace_back([&] { bench.run(product); });
  const double peak_before = measure_fma_peak(threads);
  const CpuShare share;
  const auto seconds = measure_in_turn(cases, repetitions);
  Outcome outcome{{fmt::format("threads_{}", threads),
                   fmt::format("fp32, {} thread{}", threads, threads == 1 ? "" : "s"),
                   {{"name", "product"},
                    {"m", "m"},
                    {"n", "n"},
                    {"k", "k"},
                    {"milliseconds", "ms"},
                    {"gflops", "GFLOP/s"},
                    {"gflops_least", "least"},
                    {"gflops_most", "most"},
                    {"share_of_peak", "of peak"}}}};
  outcome.cpu_share = share.of(threads);
  outcome.peak = std::max(peak_before, measure_fma_peak(threads));
  double flops = 0, total = 0;
  for (std::size_t p = 0; p < products.size(); ++p) {
    const Product& product = products[p];
    const Spread spread = spread_of(seconds[p]);
    const double rate = product.flops() / spread.median;
    outcome.table.add({product.name, product.m, product.n, product.k, Cell::real(1e3 * spread.median, 3),
                       Cell::real(rate / 1e9, 1), Cell::real(product.flops() / spread.most / 1e9, 1),
                       Cell::real(product.flops() / spread.least / 1e9, 1), Cell::real(rate / outcome.peak, 2)});
    outcome.fastest = std::max(outcome.fastest, product.flops() / spread.least);
    flops += product.flops();
    total += spread.median;
  }
  outcome.rate = flops / total;
  return outcome;
}

/// Why the numbers cannot be true; empty if they can.
std::string contradiction(const Outcome& outcome, double clock, int threads) {
  const double limit = k_most_flops_per_cycle * clock * threads;
  if (outcome.peak > limit)
    return fmt::format("a peak of {:.1f} GFLOP/s is above {} FLOP a cycle at {:.2f} GHz on {} threads",
                       outcome.peak / 1e9, k_most_flops_per_cycle, clock / 1e9, threads);
  if (outcome.fastest > outcome.peak)
    return fmt::format("a product of {:.1f} GFLOP/s is above the peak of {:.1f}", outcome.fastest / 1e9,
                       outcome.peak / 1e9);
  return {};
}

}  // namespace

int bench_gemm(std::span<const std::string> arguments) {
  check_alone("bench gemm");
  const Settings settings = read_benchmark("gemm", arguments, gemm_options());
  const std::vector<Product> products = products_asked_for(settings);
  check_memory_of(products);
  const int repetitions = settings.get<int>("repetitions");
  const double clock = measure_clock();
  Document document("matrix products");
  add_machine(document);
  document.add("clock_ghz", "clock, GHz", Cell::real(clock / 1e9, 2));
  document.add("repetitions", "repetitions", repetitions);
  std::vector<Table> tables;
  std::string figure, complaint;
  for (const int threads : thread_counts(settings)) {
    Outcome outcome = measure(products, threads, repetitions);
    const auto add = [&](const char* key, const char* title, const Cell& value) {
      document.add(fmt::format("{}_{}", key, threads), fmt::format("{}, threads {}", title, threads), value);
    };
    add("peak_gflops", "peak, GFLOP/s", Cell::real(outcome.peak / 1e9, 1));
    add("cpu_share", "share of the CPU time", Cell::real(outcome.cpu_share, 2));
    figure = fmt::format("FOM gemm_gflops={:.1f} peak_gflops={:.1f} share={:.3f} threads={}", outcome.rate / 1e9,
                         outcome.peak / 1e9, outcome.rate / outcome.peak, threads);
    if (complaint.empty()) complaint = contradiction(outcome, clock, threads);
    tables.push_back(std::move(outcome.table));
  }
  document.add("credible", "credible", Cell::yes_no(complaint.empty()));
  for (Table& table : tables) document.add(std::move(table));
  publish(document, settings, figure);
  if (!complaint.empty())
    throw Error(ErrorKind::different, "the measurements contradict each other: " + complaint,
                "Something else ran on this machine. Try again when it is quiet.");
  return k_done;
}

}  // namespace tessera::apps
