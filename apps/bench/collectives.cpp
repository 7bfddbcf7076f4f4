// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/collectives.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "apps/arguments.hpp"
#include "apps/bench/collective_calls.hpp"
#include "apps/bench/machine.hpp"
#include "apps/bench/options.hpp"
#include "apps/bench/samples.hpp"
#include "apps/ranks.hpp"
#include "apps/verb.hpp"
#include "core/base/log.hpp"
#include "mpi/native.hpp"

namespace tessera::apps {
namespace {

constexpr std::int64_t k_kib = 1024, k_mib = 1024 * k_kib;
constexpr std::array k_sizes{4 * k_kib, 64 * k_kib, 256 * k_kib, k_mib, 16 * k_mib, 64 * k_mib};
constexpr std::array k_makers{Maker::ours, Maker::mpi, Maker::copy};

constexpr int k_least_calls = 3;
constexpr int k_warm_up = 10;
constexpr double k_sample_seconds = 0.1;

/// Calls of one sample: about as many bytes for every size.
int calls_of_sample(std::int64_t bytes) {
  return static_cast<int>(std::clamp<std::int64_t>(64 * k_mib / bytes, k_least_calls, 100));
}

constexpr std::size_t index_of(Maker maker) {
  return static_cast<std::size_t>(maker);
}

/// Seconds of one repetition, by maker.
struct Times {
  std::array<double, k_makers.size()> call{};   ///< from when all have come until the last one has its result
  std::array<double, k_makers.size()> cycle{};  ///< and of writing the input before and reading the result after it

  double call_of(Maker maker) const { return call[index_of(maker)]; }
  double cycle_of(Maker maker) const { return cycle[index_of(maker)]; }
};

class Measurement {
 public:
  Measurement(Communicator& ranks, CollectiveCalls& calls) : ranks_(ranks), calls_(calls) {}

  /// Collective.
  std::vector<Times> measure(int repetitions) {
    Times times;
    std::array<int, k_makers.size()> calls{};
    for (const Maker maker : k_makers) calls[index_of(maker)] = warm_up(maker);
    std::vector<Times> all;
    for (int repetition = 0; repetition < repetitions; ++repetition) {
      auto makers = k_makers;
      if (repetition % 2 == 1) std::reverse(makers.begin(), makers.end());
      for (const Maker maker : makers) measure(maker, calls[index_of(maker)], times);
      all.push_back(times);
    }
    return all;
  }

 private:
  void meet() { mpi::check(MPI_Barrier(mpi::native_handle(ranks_)), "MPI_Barrier"); }

  /// How many calls one sample takes: fewer on a busy machine, where ranks wait long for each other.
  int warm_up(Maker maker) {
    const int usual = calls_of_sample(calls_.bytes());
    const int first = std::min(usual, k_warm_up);
    Times unused;
    std::vector<double> seconds{now_seconds()};
    measure(maker, first, unused);
    seconds.front() = (now_seconds() - seconds.front()) / first;
    const double of_call = median_of_slowest(seconds);
    return of_call * usual <= k_sample_seconds ? usual
                                               : std::max(k_least_calls, static_cast<int>(k_sample_seconds / of_call));
  }

  /// Medians of some calls, each as long as its slowest rank takes: on a busy machine some are interrupted. What a call
  /// leaves in whose cache shows in the writing and reading around it, so these are measured too.
  void measure(Maker maker, int n, Times& times) {
    for (auto& seconds : seconds_) seconds.clear();
    for (int i = 0; i < n; ++i) {
      const double begin = now_seconds();
      calls_.write();
      const double written = now_seconds();
      meet();
      const double met = now_seconds();
      calls_.call(maker);
      const double done = now_seconds();
      calls_.read(maker);
      const double taken[] = {done - met, written - begin, now_seconds() - done};
      for (std::size_t part = 0; part < seconds_.size(); ++part) seconds_[part].push_back(taken[part]);
    }
    calls_.check(maker);
    const std::size_t index = index_of(maker);
    times.call[index] = median_of_slowest(seconds_[0]);
    times.cycle[index] = times.call[index] + median_of_slowest(seconds_[1]) + median_of_slowest(seconds_[2]);
  }

  double median_of_slowest(std::vector<double>& seconds) {
    mpi::check(MPI_Allreduce(MPI_IN_PLACE, seconds.data(), static_cast<int>(seconds.size()), MPI_DOUBLE, MPI_MAX,
                             mpi::native_handle(ranks_)),
               "MPI_Allreduce");
    return spread_of(seconds).median;
  }

  Communicator& ranks_;
  CollectiveCalls& calls_;
  std::array<std::vector<double>, 3> seconds_;  // of calls, of writing, of reading
};

/// Of what `of` says about each repetition.
template <class Of>
Spread spread(const std::vector<Times>& all, const Of& of) {
  std::vector<double> values;
  for (const Times& times : all) values.push_back(of(times));
  return spread_of(values);
}

struct Result {
  Spread ours, mpi, copy;              ///< seconds of a call
  Spread over_mpi, over_copy, cycles;  ///< how many times as fast as MPI; as copying; whole cycles as MPI's
};

Result result_of(const std::vector<Times>& all) {
  const auto seconds = [&](Maker maker) { return spread(all, [&](const Times& t) { return t.call_of(maker); }); };
  const auto ratio = [&](Maker maker) {
    return spread(all, [&](const Times& t) { return t.call_of(maker) / t.call_of(Maker::ours); });
  };
  return {seconds(Maker::ours),
          seconds(Maker::mpi),
          seconds(Maker::copy),
          ratio(Maker::mpi),
          ratio(Maker::copy),
          spread(all, [](const Times& t) { return t.cycle_of(Maker::mpi) / t.cycle_of(Maker::ours); })};
}

Table empty_table() {
  return {"calls",
          "calls on fp32 of every rank, inputs rewritten before each",
          {{"call", "call"},
           {"bytes", "bytes"},
           {"milliseconds", "ms"},
           {"milliseconds_least", "least"},
           {"milliseconds_most", "most"},
           {"mpi_milliseconds", "MPI ms"},
           {"copy_milliseconds", "copy ms"},
           {"over_mpi", "MPI / ours"},
           {"over_mpi_least", "least"},
           {"over_mpi_most", "most"},
           {"over_copy", "copy / ours"},
           {"over_copy_least", "least"},
           {"over_copy_most", "most"},
           {"cycles_over_mpi", "cycle, MPI / ours"},
           {"cycles_over_mpi_least", "least"},
           {"cycles_over_mpi_most", "most"}},
          {}};
}

void add(Table& table, CallKind kind, std::int64_t bytes, const Result& result) {
  std::vector<Cell> row{name_of(kind), Cell::bytes(bytes)};
  const auto add_spread = [&](const Spread& s, double factor, int decimals) {
    for (const double value : {s.median, s.least, s.most}) row.push_back(Cell::real(factor * value, decimals));
  };
  add_spread(result.ours, 1e3, 4);
  row.push_back(Cell::real(1e3 * result.mpi.median, 4));
  row.push_back(Cell::real(1e3 * result.copy.median, 4));
  for (const Spread* s : {&result.over_mpi, &result.over_copy, &result.cycles}) add_spread(*s, 1, 2);
  table.add(std::move(row));
}

std::vector<std::int64_t> sizes_asked_for(const Settings& settings) {
  const auto bytes = settings.get<std::int64_t>("bytes");
  return bytes > 0 ? std::vector<std::int64_t>{bytes} : std::vector<std::int64_t>(k_sizes.begin(), k_sizes.end());
}

bool is_asked_for(CallKind kind, const Settings& settings) {
  const auto asked = settings.get<std::string>("call");
  return asked == "all" || asked == name_of(kind);
}

int run_collectives(Ranks& ranks, std::span<const std::string> arguments) {
  Settings settings;
  ranks.agreed([&] {
    settings = read_benchmark("collectives", arguments, collectives_options());
    if (ranks.environment().size() < 2)
      throw usage_error("bench", "collectives needs two ranks or more", "mpirun -n 2 tessera bench collectives");
  });
  const std::vector<std::int64_t> sizes = sizes_asked_for(settings);
  CollectiveCalls calls(ranks.world(), ranks.memory(), *std::max_element(sizes.begin(), sizes.end()));
  Measurement measurement(ranks.world(), calls);
  Table table = empty_table();
  std::string figure = "FOM";
  const CpuShare share;
  for (const CallKind kind : k_benched_calls) {
    if (!is_asked_for(kind, settings)) continue;
    if (ranks.root()) log_info("bench", fmt::format("measuring {}", name_of(kind)));
    for (const std::int64_t bytes : sizes) {
      calls.choose(kind, bytes);
      const Result result = result_of(measurement.measure(settings.get<int>("repetitions")));
      add(table, kind, calls.bytes(), result);
      if (kind == CallKind::all_reduce || settings.get<std::string>("call") == name_of(kind))
        figure += fmt::format(" over_mpi_{0}k={1:.2f} over_copy_{0}k={2:.2f}", bytes / k_kib, result.over_mpi.median,
                              result.over_copy.median);
    }
  }
  if (!ranks.root()) return k_done;
  Document document("calls between ranks");
  add_machine(document);
  document.add("ranks", "ranks", ranks.environment().size());
  document.add("shared_memory", "ranks read each other's memory", Cell::yes_no(ranks.memory() != nullptr));
  document.add("cpu_share", "share of the CPU time", Cell::real(share.of(1), 2));
  document.add(std::move(table));
  publish(document, settings, fmt::format("{} ranks={}", figure, ranks.environment().size()));
  return k_done;
}

}  // namespace

const std::vector<Option>& collectives_options() {
  static const std::vector<Option> rows = [] {
    std::vector<Option> all = common_options();
    all.push_back({.name = "bytes",
                   .type = OptionType::bytes,
                   .fallback = "0",
                   .text = "collectives: size of a call. 0: 4 KiB to 64 MiB.",
                   .min = 0,
                   .max = 1U << 30});
    Option call{.name = "call",
                .type = OptionType::choice,
                .fallback = "all",
                .text = "collectives: one kind of call only.",
                .choices = {"all"}};
    for (const CallKind kind : k_benched_calls) call.choices.emplace_back(name_of(kind));
    all.push_back(std::move(call));
    return all;
  }();
  return rows;
}

int bench_collectives(std::span<const std::string> arguments) {
  return run_on_ranks("bench collectives", arguments, [&](Ranks& ranks) { return run_collectives(ranks, arguments); });
}

}  // namespace tessera::apps
