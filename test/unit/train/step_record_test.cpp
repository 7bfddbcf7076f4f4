// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/step_record.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <regex>

namespace tessera {
namespace {

using testing::ElementsAre;
using testing::EndsWith;
using testing::HasSubstr;

StepRecord example() {
  StepRecord record;
  record.step = 42;
  record.loss = 3.25;
  record.grad_norm = 1.0625;
  record.learning_rate = 3e-4;
  record.loss_scale = 65536;
  record.consumed_samples = 1344;
  record.step_seconds = 1.2345;
  record.tokens_per_second = 26541.4;
  record.model_tflops = 341.27;
  record.mfu = 0.34512;
  return record;
}

constexpr ConsoleContext k_context{.total_steps = 1000, .global_batch = 32, .devices = 2, .skipped_steps = 1};

TEST(StepRecord, TheConsoleLineIsInTheFormThatLogReadersKnow) {
  EXPECT_EQ(
      console_line(example(), k_context),
      " iteration       42/    1000 | consumed samples:         1344 | elapsed time per iteration (ms): 1234.5 | "
      "throughput per GPU (TFLOP/s/GPU): 341.3 | learning rate: 3.000000E-04 | global batch size:    32 | "
      "lm loss: 3.250000E+00 | loss scale: 65536.0 | grad norm: 1.062 | number of skipped iterations:   1 | "
      "number of nan iterations:   1 | tokens-per-second-per-gpu: 13270.7 | MFU (6N + causal attention): 34.51% |");
}

TEST(StepRecord, ALogReaderFindsItsNumbersInOrder) {
  const std::string line = console_line(example(), k_context);
  const std::regex form(R"(iteration\s+(\d+)/\s*(\d+) \|.*elapsed time per iteration \(ms\): ([\d.]+) \|.*)"
                        R"(tokens-per-second-per-gpu: ([\d.]+) \|.*)");
  std::smatch match;
  ASSERT_TRUE(std::regex_search(line, match, form)) << line;
  EXPECT_EQ(match[1], "42");
  EXPECT_EQ(match[2], "1000");
  EXPECT_EQ(match[3], "1234.5");
  EXPECT_EQ(match[4], "13270.7");
}

TEST(StepRecord, SmallAndUnknownNumbersStayReadable) {
  StepRecord record = example();
  record.model_tflops = 0.01234;
  record.tokens_per_second = 3;
  record.mfu = NAN;
  record.loss = NAN;
  record.grad_norm = INFINITY;
  const std::string line = console_line(record, k_context);
  EXPECT_THAT(line, HasSubstr("(TFLOP/s/GPU): 0.0123 |"));
  EXPECT_THAT(line, HasSubstr("tokens-per-second-per-gpu: 1.5000 |"));
  EXPECT_THAT(line, HasSubstr("MFU (6N + causal attention): unknown |"));
  EXPECT_THAT(line, HasSubstr("lm loss: nan |"));
  EXPECT_THAT(line, HasSubstr("grad norm: inf |"));
}

TEST(StepRecord, FieldsHaveTheirNamesAndOrder) {
  std::vector<std::string> names;
  for_each_metric(example(), [&](const char* name, auto) { names.emplace_back(name); });
  EXPECT_THAT(names, ElementsAre("loss", "valid_tokens", "grad_norm", "lr", "loss_scale", "skipped", "consumed_samples",
                                 "consumed_tokens", "sample_digest", "step_seconds", "tokens_per_second",
                                 "model_tflops", "mfu", "hfu", "peak_bytes"));
}

TEST(StepRecord, ExpertsAreToldWhereThereAreSome) {
  StepRecord record = example();
  record.experts = {0.01, 0, 1.5, 0};
  record.expert_layers = {{0, {3, 1}}};
  std::vector<std::string> names;
  for_each_metric(record, [&](const char* name, const auto&) { names.emplace_back(name); });
  ASSERT_EQ(names.size(), 20U);
  EXPECT_THAT(std::vector(names.begin() + 15, names.end()),
              ElementsAre("aux_loss", "z_loss", "imbalance", "dropped_share", "experts"));
  EXPECT_THAT(console_line(record, k_context), EndsWith("34.51% | expert imbalance: 1.500 |"));
  record.experts.dropped_share = 0.125;
  EXPECT_THAT(console_line(record, k_context), EndsWith(" | expert imbalance: 1.500 | dropped: 12.500% |"));
}

TEST(StepRecord, AnEvaluationHasItsLine) {
  EXPECT_EQ(evaluation_line(100, 2),
            " validation loss at iteration 100 | lm loss value: 2.000000E+00 | lm loss PPL: 7.389056E+00 | ");
  EXPECT_THAT(evaluation_line(0, 1000), HasSubstr("PPL: 4.851652E+08 |"));
}

}  // namespace
}  // namespace tessera
