// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Acceptance case B20: the rate of each update by its formula, and degenerate schedules.
#include "core/train/learning_rate.hpp"

#include <gmock/gmock.h>

#include <cmath>

#include "core/base/error.hpp"
#include "core/config/resolve.hpp"

namespace tessera {
namespace {

using testing::HasSubstr;
using testing::SizeIs;

constexpr std::array k_schedules{LrSchedule::constant, LrSchedule::cosine, LrSchedule::linear, LrSchedule::wsd,
                                 LrSchedule::inverse_sqrt};

LearningRateConfig config_of(LrSchedule schedule, std::int64_t warmup, std::int64_t decay, std::int64_t wsd = 0) {
  return {.schedule = schedule, .max = 1, .min = 0.1, .warmup_steps = warmup, .decay_steps = decay, .wsd_steps = wsd};
}

struct Point {
  std::int64_t step;
  double rate;
};

void expect_points(const LearningRateConfig& config, std::initializer_list<Point> points) {
  for (const Point& point : points)
    EXPECT_NEAR(learning_rate(config, point.step), point.rate, 1e-6) << "step " << point.step;
}

TEST(LearningRate, CosineTakesTheValuesOfItsFormula) {
  const LearningRateConfig config = config_of(LrSchedule::cosine, 4, 20);
  expect_points(
      config, {{0, 0}, {1, 0.25}, {2, 0.5}, {4, 1.0}, {8, 0.868198}, {12, 0.55}, {16, 0.231802}, {20, 0.1}, {22, 0.1}});
}

TEST(LearningRate, LinearFallsEvenly) {
  const LearningRateConfig config = config_of(LrSchedule::linear, 4, 20);
  expect_points(config, {{1, 0.25}, {4, 1.0}, {5, 0.94375}, {12, 0.55}, {19, 0.15625}, {20, 0.1}, {21, 0.1}});
}

TEST(LearningRate, WarmupStableDecayFallsLast) {
  const LearningRateConfig config = config_of(LrSchedule::wsd, 4, 14, 4);
  expect_points(config, {{1, 0.25}, {4, 1.0}, {5, 1.0}, {10, 1.0}, {11, 0.775}, {12, 0.55}, {14, 0.1}, {15, 0.1}});
}

TEST(LearningRate, InverseRootIsFlooredAndCountsNoWarmupAsOneStep) {
  expect_points(config_of(LrSchedule::inverse_sqrt, 4, 1000),
                {{1, 0.25}, {4, 1.0}, {16, 0.5}, {100, 0.2}, {400, 0.1}, {900, 0.1}, {1001, 0.1}});
  expect_points(config_of(LrSchedule::inverse_sqrt, 0, 1000), {{1, 1.0}, {4, 0.5}, {25, 0.2}});
}

TEST(LearningRate, ConstantNeverEnds) {
  expect_points(config_of(LrSchedule::constant, 4, 0), {{1, 0.25}, {3, 0.75}, {4, 1}, {1'000'000'000'000, 1}});
}

TEST(LearningRate, NeverRisesAfterTheWarmupAndStaysInBounds) {
  for (const LrSchedule schedule : k_schedules) {
    for (const std::int64_t warmup : {0, 1, 7, 100}) {
      const LearningRateConfig config = config_of(schedule, warmup, 1000, 300);
      double before = 1;
      for (std::int64_t n = warmup; n <= 1100; ++n) {
        const double rate = learning_rate(config, n);
        EXPECT_LE(rate, before) << "schedule " << int(schedule) << " warm-up " << warmup << " step " << n;
        EXPECT_GE(rate, 0.1);
        before = rate;
      }
    }
  }
}

TEST(LearningRate, IsExactlyMaxAtTheEndOfTheWarmupAndFirstExactlyMinAtTheEnd) {
  for (const LrSchedule schedule : {LrSchedule::cosine, LrSchedule::linear, LrSchedule::wsd}) {
    for (const std::int64_t warmup : {0, 1, 3, 49}) {
      LearningRateConfig config = config_of(schedule, warmup, 107, 13);
      config.max = 3e-4;
      config.min = 1.7e-5;
      EXPECT_EQ(learning_rate(config, warmup), config.max) << int(schedule);
      EXPECT_GT(learning_rate(config, 106), config.min) << int(schedule);
      EXPECT_EQ(learning_rate(config, 107), config.min) << int(schedule);
      EXPECT_EQ(learning_rate(config, 1'000'000), config.min) << int(schedule);
    }
  }
}

TEST(LearningRate, DegenerateSchedulesAreFinite) {
  for (const LrSchedule schedule : k_schedules) {
    for (const std::int64_t steps : {0, 1, 5}) {  // the warm-up takes everything
      const LearningRateConfig config = config_of(schedule, steps, steps, 0);
      EXPECT_THAT(problems(config), SizeIs(0));
      for (std::int64_t n = 1; n <= steps; ++n)
        EXPECT_EQ(learning_rate(config, n), static_cast<double>(n) / static_cast<double>(steps));
      EXPECT_EQ(learning_rate(config, steps + 1), schedule == LrSchedule::constant ? 1 : 0.1) << int(schedule);
    }
    const LearningRateConfig one_step = config_of(schedule, 0, 1, 1);
    EXPECT_TRUE(std::isfinite(learning_rate(one_step, 1)));
    EXPECT_TRUE(std::isfinite(learning_rate(one_step, 0)));
  }
}

TEST(LearningRate, ImpossibleCombinationsAreSentences) {
  EXPECT_THAT(problems(config_of(LrSchedule::cosine, 4, 20)), SizeIs(0));
  const auto long_warmup = problems(config_of(LrSchedule::cosine, 21, 20));
  ASSERT_THAT(long_warmup, SizeIs(1));
  EXPECT_EQ(long_warmup[0].what, "lr.warmup_steps = 21 is more than lr.decay_steps = 20");
  EXPECT_THAT(problems(config_of(LrSchedule::constant, 21, 20)), SizeIs(0));
  EXPECT_THAT(problems(config_of(LrSchedule::wsd, 4, 14, 10)), SizeIs(0));
  EXPECT_THAT(problems(config_of(LrSchedule::wsd, 4, 14, 11)), SizeIs(1));

  LearningRateConfig upside_down = config_of(LrSchedule::linear, 4, 20);
  upside_down.min = 2;
  EXPECT_THAT(problems(upside_down), SizeIs(1));
  upside_down.max = NAN;
  upside_down.warmup_steps = 30;
  EXPECT_THAT(problems(upside_down), SizeIs(3));
}

TEST(LearningRate, ComesFromSettings) {
  EXPECT_EQ(learning_rate_config(settings_of({{"train.steps", "500"}, {"optimizer.lr", "0.01"}})),
            (LearningRateConfig{.schedule = LrSchedule::cosine, .max = 0.01, .decay_steps = 500}));
  EXPECT_EQ(learning_rate_config(settings_of(
                {{"lr.schedule", "linear"}, {"lr.decay_steps", "300"}, {"lr.warmup_steps", "20"}, {"lr.min", "1e-5"}})),
            (LearningRateConfig{
                .schedule = LrSchedule::linear, .max = 3e-4, .min = 1e-5, .warmup_steps = 20, .decay_steps = 300}));
  const Settings flat = settings_of({{"lr.schedule", "constant"}, {"lr.warmup_steps", "7"}, {"train.steps", "3"}});
  EXPECT_EQ(learning_rate_config(flat).schedule, LrSchedule::constant);
  EXPECT_EQ(learning_rate_config(flat).warmup_steps, 7);
  EXPECT_EQ(learning_rate_config(settings_of({{"lr.schedule", "inverse_sqrt"}})).schedule, LrSchedule::inverse_sqrt);
}

TEST(LearningRate, TheFallOfWsdIsATenthUnlessGiven) {
  const auto wsd_steps = [](std::string_view steps, std::string_view warmup, std::string_view wsd) {
    return learning_rate_config(settings_of({{"lr.schedule", "wsd"},
                                             {"train.steps", steps},
                                             {"lr.warmup_steps", warmup},
                                             {"lr.wsd_steps", wsd}}))
        .wsd_steps;
  };
  EXPECT_EQ(wsd_steps("1000", "10", "250"), 250);
  EXPECT_EQ(wsd_steps("1000", "10", "0"), 100);
  EXPECT_EQ(wsd_steps("1000", "950", "0"), 50);
  EXPECT_EQ(wsd_steps("5", "0", "0"), 1);
  EXPECT_EQ(wsd_steps("5", "5", "0"), 0);
}

TEST(LearningRate, ImpossibleSettingsAreRefusedWithTheirPlace) {
  try {
    learning_rate_config(settings_of({{"train.steps", "5"}, {"lr.warmup_steps", "10"}, {"lr.min", "1"}}));
    FAIL() << "accepted";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(error.what(), HasSubstr("lr.warmup_steps = 10: lr.warmup_steps = 10 is more than lr.decay_steps = 5"));
    EXPECT_THAT(error.what(), HasSubstr("lr.min = 1 is not between 0 and optimizer.lr = 0.0003"));
  }
}

}  // namespace
}  // namespace tessera
