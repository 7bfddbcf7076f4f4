// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the factor that keeps fp16 gradients in range, and the count of skipped steps, as a state machine.
// Used: the trainer (one call per step), checkpoints (the state).
// Must not know: how an overflow is found, or which rank found it.
#pragma once

#include <cstdint>

namespace tessera {

class Settings;

/// Dynamic loss scaling (Micikevicius and others 2018). All factors are powers of two, so scaling rounds nothing.
struct LossScaleConfig {
  double start = 65536;
  double growth = 2;             ///< after `window` good steps in a row
  double backoff = 0.5;          ///< on overflow
  std::int64_t window = 1000;    ///< good steps
  double floor = 1;              ///< the scale never goes below
  double ceiling = 16777216;     ///< nor above: 2^24, far from overflow of fp32 itself
  std::int64_t hysteresis = 1;   ///< after a growth, this many overflows are needed until the scale backs off
  std::int64_t skip_limit = 16;  ///< skips in a row at the floor that end a run (`train.skip_limit`); 0: no limit
};

/// For precisions that need no scaling: the scale stays `scale`, skips are counted all the same.
LossScaleConfig fixed_loss_scale(double scale, std::int64_t skip_limit);

/// Dynamic for `train.precision` fp16, else fixed at 1, with `train.skip_limit`.
LossScaleConfig loss_scale_config(const Settings& settings);

/// Everything that a resumed run needs to go on as if it had never stopped.
struct LossScaleState {
  double scale = 1;
  std::int64_t good_steps = 0;        ///< since the last change of scale or overflow
  std::int64_t hysteresis_left = 1;   ///< overflows until the scale backs off
  std::int64_t skipped = 0;           ///< of the whole run
  std::int64_t skipped_at_floor = 0;  ///< in a row, while the scale could not fall any more

  friend bool operator==(const LossScaleState&, const LossScaleState&) = default;
};

/// What was found in the gradients of a step, on all ranks together.
enum class GradientRange : std::uint8_t { finite, overflow };

LossScaleState first_loss_scale(const LossScaleConfig& config);

/// The state after a step. An overflow is a skipped step.
LossScaleState next_loss_scale(const LossScaleConfig& config, const LossScaleState& state, GradientRange gradients);

/// Throws Error{numerics} when skip_limit steps in a row were skipped at the floor: training has stopped although it
/// looks alive. Called after each step.
void check_skips(const LossScaleConfig& config, const LossScaleState& state);

}  // namespace tessera
