// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  repeated measurements and their order: cases take turns, so that a slow minute of the machine hits all alike.
// Used: benchmarks.
// Must not know: what is measured.
#pragma once

#include <functional>
#include <span>
#include <vector>

namespace tessera::apps {

struct Spread {
  double median = 0, least = 0, most = 0;
};

/// Of at least one value. The median of an even number is the mean of the middle two.
Spread spread_of(std::vector<double> values);

/// Seconds of the monotonic clock, from any start.
double now_seconds();

/// Which part of the time that `threads` threads could have had, this process got: 1 on a quiet machine, and when
/// threads wait without sleeping. Counts from its construction.
class CpuShare {
 public:
  CpuShare();
  double of(int threads) const;

 private:
  double wall_, cpu_;
};

/// Runs every case once to warm up, then all of them `repetitions` times in turn. Gives the seconds of each repetition
/// by case.
std::vector<std::vector<double>> measure_in_turn(std::span<const std::function<void()>> cases, int repetitions);

}  // namespace tessera::apps
