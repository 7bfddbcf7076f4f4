// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/run_watch.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstdint>
#include <vector>

#include "core/base/log.hpp"
#include "io/checkpoint/together.hpp"

namespace tessera::apps {
namespace {

constexpr int k_round_steps = 10;
constexpr double k_save_seconds = 1;  // a shorter save is no trouble

}  // namespace

void RunWatch::look_at_loss(std::int64_t step, double loss) {
  const auto before = losses_.add(loss);
  if (!before || !ranks_.root()) return;
  log_warning("loss",
              fmt::format("step {} has a loss of {:.4g}, the median of the steps before is {:.4g}. If it does not "
                          "come back, resume from an older checkpoint with a lower optimizer.lr",
                          step, loss, *before));
}

void RunWatch::stepped(std::int64_t step, double seconds, double loss) {
  look_at_loss(step, loss);
  const std::chrono::duration<double> waited = ranks_.waited() - waited_before_;
  busy_ += std::max(seconds - waited.count(), 0.0);
  if (++steps_ < k_round_steps || ranks_.environment().size() == 1) return;
  const std::int64_t mine[] = {static_cast<std::int64_t>(busy_ / steps_ * 1e9)};
  std::vector<double> all;
  for (const std::int64_t one : io::gather(ranks_.world(), mine)) all.push_back(static_cast<double>(one) * 1e-9);
  steps_ = 0;
  busy_ = 0;
  const auto slow = slow_ranks_.add(all);
  if (!slow || !ranks_.root()) return;
  log_warning("speed",
              fmt::format("the others wait for rank {}: it works {:.3g} s in a step, the median rank {:.3g} s. "
                          "Its machine is slower or busy, its data comes late, or the layout is uneven",
                          slow->rank, slow->seconds, slow->others));
}

void RunWatch::saved(std::chrono::steady_clock::time_point begin) {
  const auto end = std::chrono::steady_clock::now();
  const std::chrono::duration<double> trained = begin - trained_since_, took = end - begin;
  trained_since_ = end;
  if (took < trained || took.count() < k_save_seconds || slow_saves_told_ || !ranks_.root()) return;
  slow_saves_told_ = true;
  log_warning("checkpoint", fmt::format("a save took {:.1f} s, the training before it {:.1f} s: raise "
                                        "checkpoint.interval, or save to a faster file system",
                                        took.count(), trained.count()));
}

}  // namespace tessera::apps
