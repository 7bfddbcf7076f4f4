// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/learning_rate.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <string_view>

#include "core/base/error.hpp"
#include "core/config/settings.hpp"

namespace tessera {
namespace {

double ratio(std::int64_t part, std::int64_t whole) {
  return static_cast<double>(part) / static_cast<double>(whole);
}

/// Between min and max; exact at both ends.
double at_share(const LearningRateConfig& c, double share) {
  return std::lerp(c.min, c.max, share);
}

/// For W < n ≤ T, so no divisor is 0.
double after_warmup(const LearningRateConfig& c, std::int64_t n) {
  const std::int64_t fall = c.decay_steps - c.warmup_steps;
  switch (c.schedule) {
    case LrSchedule::constant:
      return c.max;
    case LrSchedule::cosine:
      return at_share(c, 0.5 * (1 + std::cos(std::numbers::pi * ratio(n - c.warmup_steps, fall))));
    case LrSchedule::linear:
      return at_share(c, ratio(c.decay_steps - n, fall));
    case LrSchedule::wsd:
      return n <= c.decay_steps - c.wsd_steps ? c.max : at_share(c, ratio(c.decay_steps - n, c.wsd_steps));
    case LrSchedule::inverse_sqrt:
      return std::max(c.min, c.max * std::sqrt(ratio(std::max<std::int64_t>(c.warmup_steps, 1), n)));
  }
  return c.max;
}

/// In the order of the enum, as in the run file.
constexpr std::array<std::string_view, 5> k_names{"constant", "cosine", "linear", "wsd", "inverse_sqrt"};

LrSchedule schedule_named(std::string_view name) {
  const auto found = std::find(k_names.begin(), k_names.end(), name);
  TESSERA_CHECK(found != k_names.end(), std::string(name));
  return static_cast<LrSchedule>(found - k_names.begin());
}

}  // namespace

double learning_rate(const LearningRateConfig& config, std::int64_t step) {
  TESSERA_CHECK(step >= 0, fmt::format("step {}", step));
  if (config.warmup_steps > 0 && step <= config.warmup_steps) return config.max * ratio(step, config.warmup_steps);
  if (config.schedule == LrSchedule::constant) return config.max;
  if (step > config.decay_steps) return config.min;
  return step <= config.warmup_steps ? config.max : after_warmup(config, step);
}

std::vector<Problem> problems(const LearningRateConfig& c) {
  std::vector<Problem> found;
  const auto rule = [&](bool holds, std::string what, std::string where, std::string hint) {
    if (!holds) found.push_back({std::move(what), std::move(where), std::move(hint)});
  };
  rule(std::isfinite(c.max) && c.max >= 0, fmt::format("optimizer.lr = {} is no learning rate", c.max), "optimizer.lr",
       "Give a number of at least 0.");
  rule(c.warmup_steps >= 0, fmt::format("lr.warmup_steps = {} is negative", c.warmup_steps), "lr.warmup_steps", "");
  if (c.schedule == LrSchedule::constant) return found;
  rule(c.min >= 0 && c.min <= c.max, fmt::format("lr.min = {} is not between 0 and optimizer.lr = {}", c.min, c.max),
       "lr.min", "The rate falls from optimizer.lr to lr.min.");
  rule(c.warmup_steps <= c.decay_steps,
       fmt::format("lr.warmup_steps = {} is more than lr.decay_steps = {}", c.warmup_steps, c.decay_steps),
       "lr.warmup_steps", "Set lr.decay_steps (it is train.steps when not given), or warm up in fewer steps.");
  if (c.schedule != LrSchedule::wsd || c.warmup_steps > c.decay_steps) return found;
  rule(c.wsd_steps >= 0 && c.wsd_steps <= c.decay_steps - c.warmup_steps,
       fmt::format("lr.wsd_steps = {} does not fit into the {} steps between lr.warmup_steps and lr.decay_steps",
                   c.wsd_steps, c.decay_steps - c.warmup_steps),
       "lr.wsd_steps", "Let the fall begin after the warm-up.");
  return found;
}

LearningRateConfig learning_rate_config(const Settings& settings) {
  LearningRateConfig config;
  config.schedule = schedule_named(settings.get<std::string>("lr.schedule"));
  config.max = settings.get<double>("optimizer.lr");
  config.warmup_steps = settings.get<std::int64_t>("lr.warmup_steps");
  if (config.schedule != LrSchedule::constant) {
    config.decay_steps = settings.get<std::int64_t>("lr.decay_steps");
    config.min = settings.get<double>("lr.min");
  }
  if (config.schedule == LrSchedule::wsd) {
    config.wsd_steps = settings.get<std::int64_t>("lr.wsd_steps");
    const std::int64_t room = std::max<std::int64_t>(config.decay_steps - config.warmup_steps, 0);
    if (config.wsd_steps == 0) config.wsd_steps = std::min(std::max<std::int64_t>(config.decay_steps / 10, 1), room);
  }
  std::vector<Problem> found = problems(config);
  for (Problem& problem : found) problem.where = to_string(settings.origin(problem.where));
  if (!found.empty()) throw run_error(found);
  return config;
}

}  // namespace tessera
