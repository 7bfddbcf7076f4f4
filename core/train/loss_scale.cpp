// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/loss_scale.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/base/error.hpp"
#include "core/config/settings.hpp"

namespace tessera {
namespace {

LossScaleState after_good(const LossScaleConfig& config, LossScaleState state) {
  state.skipped_at_floor = 0;
  if (++state.good_steps < config.window) return state;
  state.good_steps = 0;
  state.hysteresis_left = config.hysteresis;
  state.scale = std::min(state.scale * config.growth, config.ceiling);
  return state;
}

LossScaleState after_overflow(const LossScaleConfig& config, LossScaleState state) {
  ++state.skipped;
  state.skipped_at_floor = state.scale <= config.floor ? state.skipped_at_floor + 1 : 0;
  state.good_steps = 0;
  state.hysteresis_left = std::max<std::int64_t>(state.hysteresis_left - 1, 0);
  if (state.hysteresis_left == 0) state.scale = std::max(state.scale * config.backoff, config.floor);
  return state;
}

}  // namespace

LossScaleConfig fixed_loss_scale(double scale, std::int64_t skip_limit) {
  LossScaleConfig config;
  config.start = config.floor = config.ceiling = scale;
  config.growth = config.backoff = 1;
  config.skip_limit = skip_limit;
  return config;
}

LossScaleConfig loss_scale_config(const Settings& settings) {
  const auto skip_limit = settings.get<std::int64_t>("train.skip_limit");
  if (settings.get<std::string>("train.precision") != "fp16") return fixed_loss_scale(1, skip_limit);
  LossScaleConfig config;
  config.skip_limit = skip_limit;
  return config;
}

LossScaleState first_loss_scale(const LossScaleConfig& config) {
  return {.scale = config.start, .hysteresis_left = config.hysteresis};
}

LossScaleState next_loss_scale(const LossScaleConfig& config, const LossScaleState& state, GradientRange gradients) {
  return gradients == GradientRange::finite ? after_good(config, state) : after_overflow(config, state);
}

void check_skips(const LossScaleConfig& config, const LossScaleState& state) {
  if (config.skip_limit == 0 || state.skipped_at_floor < config.skip_limit) return;
  throw Error(
      ErrorKind::numerics,
      fmt::format("{} steps in a row had gradients that are not finite and were skipped, with the loss scale at "
                  "its smallest value, {}",
                  state.skipped_at_floor, config.floor),
      "The weights no longer change. Resume from a checkpoint before the first of these steps with a lower "
      "optimizer.lr or other data.");
}

}  // namespace tessera
