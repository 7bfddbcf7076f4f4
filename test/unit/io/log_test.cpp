// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <limits>
#include <nlohmann/json.hpp>

#include "error_matchers.hpp"
#include "io/log/metrics_writer.hpp"
#include "io/log/step_metrics.hpp"
#include "io/log/trace_writer.hpp"
#include "temporary_folder.hpp"

namespace tessera::io {
namespace {

using Json = nlohmann::json;

void write_steps(const std::filesystem::path& path, std::int64_t first, std::int64_t last, double loss) {
  MetricsWriter writer(path, first);
  for (std::int64_t step = first; step <= last; ++step) {
    writer.begin(step).field("loss", loss).end();
  }
}

std::vector<std::pair<std::int64_t, double>> steps_in(const std::filesystem::path& path) {
  std::vector<std::pair<std::int64_t, double>> steps;
  std::istringstream text(slurp(path));
  for (std::string line; std::getline(text, line);) {
    const Json json = Json::parse(line);
    steps.emplace_back(json.at("step"), json.at("loss"));
  }
  return steps;
}

TEST(MetricsWriterTest, NumbersReadBackExactly) {
  const TemporaryFolder folder;
  const double loss = 0.1 + 0.2;
  {
    MetricsWriter writer(folder / "metrics.jsonl", 1);
    writer.begin(1)
        .field("loss", loss)
        .field("tiny", 5e-324)
        .field("consumed_tokens", std::int64_t{1} << 60)
        .field("grad_norm", std::numeric_limits<double>::infinity())
        .field("sample_digest", "ab\"\\\n")
        .flag("skipped", true)
        .end();
  }
  const Json json = Json::parse(slurp(folder / "metrics.jsonl"));
  EXPECT_EQ(json.at("loss").get<double>(), loss);
  EXPECT_EQ(json.at("tiny").get<double>(), 5e-324);
  EXPECT_EQ(json.at("consumed_tokens").get<std::int64_t>(), std::int64_t{1} << 60);
  EXPECT_TRUE(json.at("grad_norm").is_null());
  EXPECT_EQ(json.at("sample_digest"), "ab\"\\\n");
  EXPECT_EQ(json.at("skipped"), true);
}

TEST(MetricsWriterTest, ALineHasAllFieldsOfAStep) {
  const TemporaryFolder folder;
  StepRecord record;
  record.step = 3;
  record.loss = 0.1 + 0.2;
  record.learning_rate = 0.25;
  record.skipped = true;
  record.grad_norm = std::numeric_limits<double>::infinity();
  record.mfu = std::numeric_limits<double>::quiet_NaN();
  record.sample_digest = 0x0fedcba987654321;
  record.consumed_tokens = std::int64_t{1} << 60;
  MetricsWriter writer(folder / "metrics.jsonl", 1);
  write_step(writer, record);
  EXPECT_EQ(slurp(folder / "metrics.jsonl"),
            "{\"step\": 3, \"loss\": 0.30000000000000004, \"valid_tokens\": 0, \"grad_norm\": null, \"lr\": 0.25, "
            "\"loss_scale\": 1, \"skipped\": true, \"consumed_samples\": 0, \"consumed_tokens\": 1152921504606846976, "
            "\"sample_digest\": \"0fedcba987654321\", \"step_seconds\": 0, \"tokens_per_second\": 0, "
            "\"model_tflops\": 0, \"mfu\": null, \"hfu\": 0, \"peak_bytes\": 0}\n");
}

TEST(MetricsWriterTest, ALineTellsOfExperts) {
  const TemporaryFolder folder;
  StepRecord record;
  record.step = 1;
  record.experts = {0.02, 0.5, 1.5, 0.25};
  record.expert_layers = {{1, {3, 1}, 1, 1.25, 0.5}, {3, {2, 2}}};
  MetricsWriter writer(folder / "metrics.jsonl", 1);
  write_step(writer, record);
  const auto json = nlohmann::json::parse(slurp(folder / "metrics.jsonl"));
  EXPECT_EQ(json.at("aux_loss"), 0.02);
  EXPECT_EQ(json.at("z_loss"), 0.5);
  EXPECT_EQ(json.at("imbalance"), 1.5);
  EXPECT_EQ(json.at("dropped_share"), 0.25);
  EXPECT_EQ(json.at("experts"),
            nlohmann::json::parse(R"([{"layer": 1, "load": [3, 1], "imbalance": 1.5, "dropped_share": 0.25,
                                       "unscaled_aux_loss": 1.25, "unscaled_z_loss": 0.5},
                                      {"layer": 3, "load": [2, 2], "imbalance": 1, "dropped_share": 0,
                                       "unscaled_aux_loss": 0, "unscaled_z_loss": 0}])"));
}

TEST(MetricsWriterTest, AResumedRunReplacesTheLaterSteps) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "metrics.jsonl";
  write_steps(path, 1, 10, 1.0);
  spill(path, slurp(path) + "{\"step\": 11, \"lo");
  {
    MetricsWriter writer(path, 7);
    EXPECT_EQ(writer.dropped(), 5);
  }
  write_steps(path, 7, 8, 2.0);
  std::vector<std::pair<std::int64_t, double>> expected;
  for (std::int64_t step = 1; step <= 8; ++step) expected.emplace_back(step, step < 7 ? 1.0 : 2.0);
  EXPECT_EQ(steps_in(path), expected);
  EXPECT_FALSE(std::filesystem::exists(folder / "metrics.jsonl.tmp"));
  write_steps(path, 1, 1, 3.0);
  EXPECT_EQ(steps_in(path).size(), 1U);
}

TEST(MetricsWriterTest, ANewRunPutsTheOldOnesMetricsAside) {
  const TemporaryFolder folder;
  const std::filesystem::path path = folder / "metrics.jsonl";
  spill(path, "notes of somebody\n");
  write_steps(path, 1, 3, 1.0);
  write_steps(path, 1, 2, 2.0);
  EXPECT_EQ(slurp(folder / "metrics.jsonl.1"), "notes of somebody\n");
  EXPECT_EQ(steps_in(folder / "metrics.jsonl.2").size(), 3U);
  EXPECT_EQ(steps_in(path).size(), 2U);
  { const MetricsWriter empty(folder / "empty.jsonl", 1); }
  { const MetricsWriter empty(folder / "empty.jsonl", 1); }
  EXPECT_FALSE(std::filesystem::exists(folder / "empty.jsonl.1"));
}

TEST(MetricsWriterTest, EachLineIsThereAtOnce) {
  const TemporaryFolder folder;
  MetricsWriter writer(folder / "metrics.jsonl", 1);
  writer.begin(1).field("loss", 1.0);
  EXPECT_EQ(slurp(folder / "metrics.jsonl"), "");
  writer.end();
  EXPECT_EQ(slurp(folder / "metrics.jsonl"), "{\"step\": 1, \"loss\": 1}\n");
}

TEST(TraceWriterTest, EventsAreWhatViewersExpect) {
  const TemporaryFolder folder;
  {
    TraceWriter writer(folder / "trace.json", 4);
    writer.name_rank(3, "rank 3");
    writer.name_stream(3, 1, "collective");
    writer.event("linear \"q\"", "forward", 1.5, 2.25, 3, 0);
    writer.event("all_gather", "forward", 4, 0.125, 3, 1);
    writer.event("beyond", "forward", 5, 1, 3, 1);
    EXPECT_EQ(writer.left_out(), 1);
    writer.close();
  }
  const Json json = Json::parse(slurp(folder / "trace.json"));
  ASSERT_EQ(json.size(), 4U);
  EXPECT_EQ(json[0].at("ph"), "M");
  EXPECT_EQ(json[0].at("args").at("name"), "rank 3");
  EXPECT_EQ(json[2].at("name"), "linear \"q\"");
  EXPECT_EQ(json[2].at("ph"), "X");
  EXPECT_EQ(json[2].at("ts"), 1.5);
  EXPECT_EQ(json[2].at("dur"), 2.25);
  EXPECT_EQ(json[3].at("pid"), 3);
  EXPECT_EQ(json[3].at("tid"), 1);
  { TraceWriter(folder / "empty.json"); }
  EXPECT_EQ(Json::parse(slurp(folder / "empty.json")).size(), 0U);
}

}  // namespace
}  // namespace tessera::io
