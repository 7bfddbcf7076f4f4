// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  telling which rank the others wait for, step after step.
// Used: programs that train on several ranks; they measure and speak.
// Must not know: how times are measured, what a rank runs on.
#pragma once

#include <optional>
#include <set>
#include <span>

namespace tessera {

struct SlowRank {
  int rank = 0;
  double seconds = 0;  ///< of work in a step, without waits for others
  double others = 0;   ///< that of the median rank
};

class SlowRanks {
 public:
  static constexpr double k_ratio = 2;     ///< to the median rank, from which on a rank is slow
  static constexpr double k_least = 1e-3;  ///< seconds in a step that the difference must make
  static constexpr int k_rounds = 3;       ///< in a row, by the same rank: once is chance

  /// Seconds of work in a step of each rank, for one round. Gives the slowest rank when it has been slow for k_rounds;
  /// each rank once.
  std::optional<SlowRank> add(std::span<const double> seconds);

 private:
  int rank_ = -1;
  int rounds_ = 0;
  std::set<int> told_;
};

}  // namespace tessera
