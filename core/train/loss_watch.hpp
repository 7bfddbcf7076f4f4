// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  telling that a loss is far above those before it.
// Used: programs that train.
// Must not know: why it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace tessera {

class LossWatch {
 public:
  static constexpr std::size_t k_window = 64;  ///< losses that are looked at, of the last steps
  static constexpr std::size_t k_least = 16;   ///< before there are so many, nothing is told
  static constexpr double k_deviations = 10;   ///< from the median, of a normal distribution with these deviations
  static constexpr double k_ratio = 1.2;       ///< to the median: a very even run may also have a bad step

  /// Gives the median of the losses before when `loss` has jumped; then not again for k_window steps. Losses that are
  /// not finite are told elsewhere, and left out.
  std::optional<double> add(double loss);

 private:
  std::deque<double> losses_;
  std::size_t quiet_ = 0;  ///< steps for which nothing is told
};

}  // namespace tessera
