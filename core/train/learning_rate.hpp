// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the learning rate of an update, as a pure function of its number.
// Used: the trainer, `tessera plan`.
// Must not know: ranks, micro-batches, samples, earlier steps.
#pragma once

#include <cstdint>
#include <vector>

#include "core/config/origin.hpp"

namespace tessera {

class Settings;

/// How the rate falls from `max` after the warm-up. W, T, D are warmup_steps, decay_steps, wsd_steps; n > W.
enum class LrSchedule : std::uint8_t {
  constant,      ///< max, without end
  cosine,        ///< min + (max − min) / 2 · (1 + cos(π (n − W) / (T − W))) (Loshchilov, Hutter 2017)
  linear,        ///< min + (max − min) · (T − n) / (T − W)
  wsd,           ///< max up to T − D, then linear to min at T: warm-up, stable, decay (Hu and others 2024)
  inverse_sqrt,  ///< max · √(W / n), at least min; W = 0 counts as 1 (Vaswani and others 2017)
};

struct LearningRateConfig {
  LrSchedule schedule = LrSchedule::cosine;
  double max = 3e-4;
  double min = 0;                 ///< from step `decay_steps` on; ignored by constant
  std::int64_t warmup_steps = 0;  ///< the rate rises linearly and is `max` at this step
  std::int64_t decay_steps = 0;   ///< the step at which `min` is first reached; ignored by constant
  std::int64_t wsd_steps = 0;     ///< length of the fall of wsd

  friend bool operator==(const LearningRateConfig&, const LearningRateConfig&) = default;
};

/// The rate of update `step`; the first one is 1. max · n / W for n ≤ W, so the first update never has rate 0; beyond T
/// it is min for every schedule but constant, inverse_sqrt included. Where W = T the rate rises to max and then is min.
/// `config` has no problems().
double learning_rate(const LearningRateConfig& config, std::int64_t step);

/// What makes no sense, each with what to do.
std::vector<Problem> problems(const LearningRateConfig& config);

/// From `optimizer.lr` and the section `lr`. Reads only what the schedule uses, so that the rest is reported as unused.
/// wsd_steps = 0 becomes a tenth of decay_steps (at least one step), or what the warm-up leaves if that is less.
/// Throws run_error when there are problems().
LearningRateConfig learning_rate_config(const Settings& settings);

}  // namespace tessera
