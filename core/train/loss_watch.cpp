// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/loss_watch.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

namespace tessera {
namespace {

constexpr double k_normal = 1.4826;  // standard deviation of a normal distribution, in median absolute deviations

double median_of(std::vector<double> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

}  // namespace

std::optional<double> LossWatch::add(double loss) {
  if (!std::isfinite(loss)) return std::nullopt;
  quiet_ -= quiet_ > 0 ? 1 : 0;
  std::optional<double> jumped;
  if (losses_.size() >= k_least && quiet_ == 0) {
    const double median = median_of({losses_.begin(), losses_.end()});
    std::vector<double> distances;
    for (const double before : losses_) distances.push_back(std::abs(before - median));
    const double deviation = k_normal * median_of(std::move(distances));
    if (loss > median + k_deviations * deviation && loss > k_ratio * median) jumped = median;
  }
  if (jumped) quiet_ = k_window;
  losses_.push_back(loss);
  if (losses_.size() > k_window) losses_.pop_front();
  return jumped;
}

}  // namespace tessera
