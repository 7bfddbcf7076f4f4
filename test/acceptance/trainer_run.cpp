// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "trainer_run.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <mutex>
#include <set>

#include "thread_checkpoint.hpp"

namespace tessera::acceptance {
namespace {

/// Records everything that one rank is told.
class Recorder final : public TrainerHooks {
 public:
  Recorder(const TrainerRun& run, Engine& engine, const Mesh& mesh, Communicator& world)
      : run_(run), engine_(engine), mesh_(mesh), world_(world) {}

  void stepped(const StepRecord& record) override { log.records.push_back(record); }
  void evaluated(std::int64_t step, const EvaluationOutcome& outcome) override {
    log.evaluations.emplace_back(step, outcome);
  }
  void save(const Progress& progress) override { save_engine(run_.checkpoints, engine_, mesh_, world_, progress); }
  void not_saved(std::int64_t step) override { ADD_FAILURE() << "step " << step << " was not saved"; }
  bool stop_asked() override { return run_.stop_after > 0 && log.records.back().step == run_.stop_after; }

  TrainerLog log;

 private:
  const TrainerRun& run_;
  Engine& engine_;
  const Mesh& mesh_;
  Communicator& world_;
};

TrainerLog run_rank(const TrainerRun& run, Engine& engine, const Mesh& mesh, Communicator& world) {
  TokenSource source(run.data), validation(run.validation);
  Recorder recorder(run, engine, mesh, world);
  TrainerArgs args{engine,
                   source,
                   {},
                   run.learning_rate,
                   run.steps,
                   run.eval_interval,
                   {},
                   fixed_loss_scale(1, 0),
                   run.training.model,
                   run.training.global_batch,
                   world.size()};
  if (run.validation_samples > 0) args.validation = {&validation, run.validation_samples};
  Progress progress{{}, {}, {}, first_loss_scale(args.loss_scale)};
  if (!run.checkpoints.empty()) {
    progress = load_engine(run.checkpoints, engine, mesh, world).value_or(progress);
    args.save_interval = run.steps;
  }
  recorder.log.first_step = progress.step + 1;
  recorder.log.ending = train(args, progress, recorder);
  recorder.log.progress = progress;
  return std::move(recorder.log);
}

std::uint64_t bits(double value) {
  return std::bit_cast<std::uint64_t>(value);
}
std::uint64_t bits(std::uint64_t value) {
  return value;
}
std::uint64_t bits(std::int64_t value) {
  return static_cast<std::uint64_t>(value);
}
std::uint64_t bits(bool value) {
  return value ? 1 : 0;
}
std::uint64_t bits(const std::vector<ExpertLayerOutcome>& layers) {
  std::uint64_t sum = 0;
  for (const ExpertLayerOutcome& layer : layers)
    for (const std::int64_t load : layer.load) sum = sum * 31 + bits(load);
  return sum;
}

Line line_of(const StepRecord& record) {
  static const std::set<std::string> times{"step_seconds", "tokens_per_second", "model_tflops", "mfu", "hfu"};
  Line line{{"step", static_cast<std::uint64_t>(record.step)}};
  for_each_metric(record, [&](const std::string& name, auto value) {
    if (!times.contains(name)) line[name] = bits(value);
  });
  return line;
}

/// What is equal on all ranks: the parts that they hold need not be.
std::vector<Line> common_lines(const TrainerLog& log) {
  std::vector<Line> lines = log.lines();
  for (Line& line : lines) line.erase("peak_bytes");
  return lines;
}

}  // namespace

std::vector<Line> TrainerLog::lines() const {
  std::vector<Line> result;
  for (const StepRecord& record : records) result.push_back(line_of(record));
  return result;
}

TrainerLog run_trainer(const TrainerRun& run) {
  const Mesh mesh(run.training.axes);
  std::vector<TrainerLog> logs(static_cast<std::size_t>(mesh.size()));
  std::map<std::string, testing_support::Gathered> tensors;
  std::mutex mutex;
  testing_support::run_training(run.training, [&](Engine& engine, Communicator& world) {
    logs[static_cast<std::size_t>(world.rank())] = run_rank(run, engine, mesh, world);
    const std::lock_guard lock(mutex);
    for (const TensorPart& part : engine.tensors()) tensors[part.group].add({part}, part.group);
  });
  for (const TrainerLog& log : logs) {
    EXPECT_EQ(common_lines(log), common_lines(logs[0]));
    EXPECT_EQ(log.evaluations, logs[0].evaluations);
    EXPECT_EQ(log.progress, logs[0].progress);
  }
  for (const auto& [group, gathered] : tensors) EXPECT_TRUE(gathered.replicas_equal) << group;
  logs[0].tensors = std::move(tensors);
  return std::move(logs[0]);
}

void expect_same_tensors(const TrainerLog& actual, const TrainerLog& expected) {
  ASSERT_EQ(actual.tensors.size(), expected.tensors.size());
  for (const auto& [group, gathered] : expected.tensors) {
    ASSERT_TRUE(actual.tensors.contains(group)) << group;
    for (const auto& [name, values] : gathered.tensors)
      EXPECT_TRUE(actual.tensors.at(group).tensors.at(name) == values) << group << " of " << name;
  }
}

}  // namespace tessera::acceptance
