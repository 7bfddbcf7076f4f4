// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/slow_ranks.hpp"

#include <algorithm>
#include <vector>

namespace tessera {

std::optional<SlowRank> SlowRanks::add(std::span<const double> seconds) {
  if (seconds.size() < 2) return std::nullopt;
  std::vector<double> sorted(seconds.begin(), seconds.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>((sorted.size() - 1) / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  const auto slowest = std::max_element(seconds.begin(), seconds.end());
  const int rank = static_cast<int>(slowest - seconds.begin());
  if (*slowest < k_ratio * *middle || *slowest - *middle < k_least) {
    rounds_ = 0;
    return std::nullopt;
  }
  rounds_ = rank == rank_ ? rounds_ + 1 : 1;
  rank_ = rank;
  if (rounds_ < k_rounds || !told_.insert(rank).second) return std::nullopt;
  return SlowRank{rank, *slowest, *middle};
}

}  // namespace tessera
