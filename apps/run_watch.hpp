// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  warnings about a run that goes on, and badly: a rank that all others wait for, a loss that jumps, saves that take longer than the
//       training between them.
// Used: the hooks of a training run.
// Must not know: what is trained or saved.
#pragma once

#include <chrono>
#include <cstdint>

#include "apps/ranks.hpp"
#include "core/train/loss_watch.hpp"
#include "core/train/slow_ranks.hpp"

namespace tessera::apps {

class RunWatch {
 public:
  explicit RunWatch(Ranks& ranks) : ranks_(ranks) { begin(); }

  /// What follows is the next step, once more is done between steps. Waits so far are not those of a step.
  void begin() { waited_before_ = ranks_.waited(); }

  /// A step has taken so long here, and had this loss. Collective.
  void stepped(std::int64_t step, double seconds, double loss);

  /// A save has begun then and ends now.
  void saved(std::chrono::steady_clock::time_point begin);

 private:
  void look_at_loss(std::int64_t step, double loss);

  Ranks& ranks_;
  SlowRanks slow_ranks_;
  LossWatch losses_;
  double busy_ = 0;  ///< seconds of work in this round
  int steps_ = 0;
  std::chrono::nanoseconds waited_before_{0};
  std::chrono::steady_clock::time_point trained_since_ = std::chrono::steady_clock::now();
  bool slow_saves_told_ = false;
};

}  // namespace tessera::apps
