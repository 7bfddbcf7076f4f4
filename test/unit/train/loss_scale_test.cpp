// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Acceptance cases B14 (the sequence of scales) and B36 (a saved state goes on as if nothing had happened).
#include "core/train/loss_scale.hpp"

#include <gmock/gmock.h>

#include <limits>
#include <string_view>

#include "core/base/error.hpp"
#include "core/config/resolve.hpp"

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

/// The scale after each step; 'g' is a good one, 'b' a bad one.
std::vector<double> scales(const LossScaleConfig& config, LossScaleState& state, std::string_view steps) {
  std::vector<double> scales;
  for (const char step : steps) {
    state = next_loss_scale(config, state, step == 'g' ? GradientRange::finite : GradientRange::overflow);
    scales.push_back(state.scale);
  }
  return scales;
}

constexpr std::string_view k_steps = "ggbgggbbbbbbbgg";

LossScaleConfig small(std::int64_t hysteresis) {
  return {.start = 16, .window = 2, .floor = 1, .hysteresis = hysteresis, .skip_limit = 3};
}

TEST(LossScale, FollowsTheKnownSequence) {
  LossScaleState state = first_loss_scale(small(1));
  EXPECT_EQ(state.scale, 16);
  EXPECT_THAT(scales(small(1), state, k_steps), ElementsAre(16, 32, 16, 16, 32, 32, 16, 8, 4, 2, 1, 1, 1, 1, 2));
  EXPECT_EQ(state.skipped, 8);
}

TEST(LossScale, HysteresisIsSpentFirst) {
  LossScaleState state = first_loss_scale(small(2));
  EXPECT_THAT(scales(small(2), state, k_steps), ElementsAre(16, 32, 32, 32, 64, 64, 64, 32, 16, 8, 4, 2, 1, 1, 2));
}

TEST(LossScale, EndsWhenTheFloorDoesNotHelp) {
  const LossScaleConfig config = small(1);
  LossScaleState state = first_loss_scale(config);
  (void)scales(config, state, "bbbb");  // falls to the floor
  EXPECT_EQ(state.scale, 1);
  EXPECT_EQ(state.skipped_at_floor, 0);
  (void)scales(config, state, "bb");
  EXPECT_NO_THROW(check_skips(config, state));
  (void)scales(config, state, "gbb");
  EXPECT_NO_THROW(check_skips(config, state));
  (void)scales(config, state, "b");
  try {
    check_skips(config, state);
    FAIL() << "goes on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::numerics);
    EXPECT_THAT(error.what(), HasSubstr("3 steps in a row"));
  }
}

TEST(LossScale, WithoutALimitItGoesOn) {
  LossScaleConfig config = small(1);
  config.skip_limit = 0;
  LossScaleState state = first_loss_scale(config);
  (void)scales(config, state, std::string(100, 'b'));
  EXPECT_NO_THROW(check_skips(config, state));
}

TEST(LossScale, StaysAtItsCeiling) {
  LossScaleState state = first_loss_scale({.start = 1 << 23, .window = 1});
  EXPECT_THAT(scales({.start = 1 << 23, .window = 1}, state, "ggg"), ElementsAre(1 << 24, 1 << 24, 1 << 24));
}

TEST(LossScale, AFixedOneCountsSkipsAndNeverChanges) {
  const LossScaleConfig config = fixed_loss_scale(1, 4);
  LossScaleState state = first_loss_scale(config);
  (void)scales(config, state, std::string(2000, 'g'));
  EXPECT_EQ(state.scale, 1);
  (void)scales(config, state, "bbb");
  EXPECT_EQ(state.scale, 1);
  EXPECT_EQ(state.skipped, 3);
  EXPECT_NO_THROW(check_skips(config, state));
  (void)scales(config, state, "b");
  EXPECT_THROW(check_skips(config, state), Error);
}

TEST(LossScale, OnlyHalfPrecisionIsScaled) {
  const auto first = [](std::string_view precision) {
    return first_loss_scale(loss_scale_config(settings_of({{"train.precision", precision}}))).scale;
  };
  EXPECT_EQ(first("fp16"), 65536);
  EXPECT_EQ(first("bf16"), 1);
  EXPECT_EQ(first("fp32"), 1);
  const LossScaleConfig config =
      loss_scale_config(settings_of({{"train.precision", "fp16"}, {"train.skip_limit", "7"}}));
  EXPECT_EQ(config.skip_limit, 7);
  EXPECT_EQ(config.window, 1000);
}

TEST(LossScale, ASavedStateGoesOnAsIfNothingHadHappened) {
  for (const std::int64_t hysteresis : {1, 2, 3}) {
    const LossScaleConfig config{.start = 4096, .window = 3, .hysteresis = hysteresis};
    const std::string steps = "ggggbggbgbbgggggggbgggggbbbgg";
    LossScaleState whole = first_loss_scale(config);
    const std::vector<double> expected = scales(config, whole, steps);
    for (std::size_t cut = 0; cut <= steps.size(); ++cut) {
      LossScaleState before = first_loss_scale(config);
      std::vector<double> got = scales(config, before, std::string_view(steps).substr(0, cut));
      LossScaleState after{before.scale, before.good_steps, before.hysteresis_left, before.skipped,
                           before.skipped_at_floor};
      const std::vector<double> rest = scales(config, after, std::string_view(steps).substr(cut));
      got.insert(got.end(), rest.begin(), rest.end());
      EXPECT_EQ(got, expected) << "hysteresis " << hysteresis << ", saved after step " << cut;
      EXPECT_EQ(after, whole);
    }
  }
}

}  // namespace
}  // namespace tessera
