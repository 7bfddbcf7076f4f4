// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <cstdio>

#include <fmt/core.h>

#include "apps/checkpoints.hpp"
#include "apps/memory_check.hpp"
#include "apps/run.hpp"
#include "apps/stop_requests.hpp"
#include "apps/trace_files.hpp"
#include "apps/training_setup.hpp"
#include "apps/verb.hpp"
#include "core/base/log.hpp"
#include "core/scheduler/describe.hpp"
#include "core/train/flops.hpp"
#include "io/log/step_metrics.hpp"

namespace tessera::apps {
namespace {

/// Console lines, metrics, traces, saves and stops of a run.
class Hooks final : public TrainerHooks {
 public:
  Hooks(Ranks& ranks, const CheckpointContext& checkpoints, Engine& engine, StopRequests& stops, TraceFile& trace)
      : ranks_(ranks), checkpoints_(checkpoints), engine_(engine), stops_(stops), trace_(trace) {
    const Settings& settings = checkpoints.settings;
    interval_ = settings.get<std::int64_t>("log.interval");
    console_.total_steps = settings.get<std::int64_t>("train.steps");
    console_.global_batch = settings.get<std::int64_t>("train.global_batch");
    console_.devices = ranks.world().size();
  }

  /// Opens metrics.jsonl in log.dir; lines of steps from `first_step` on are dropped. Collective.
  void open_metrics(std::int64_t first_step) {
    const std::string folder = checkpoints_.settings.get<std::string>("log.dir");
    if (folder.empty()) return;
    ranks_.agreed([&] {
      if (!ranks_.root()) return;
      std::filesystem::create_directories(folder);
      metrics_.emplace(std::filesystem::path(folder) / "metrics.jsonl", first_step);
    });
  }

  void stepped(const StepRecord& record) override {
    trace_.write_step(engine_.training(), record.step);
    console_.skipped_steps += record.skipped ? 1 : 0;
    if (!ranks_.root()) return;
    if (metrics_) io::write_step(*metrics_, record);
    if (record.step % interval_ != 0 && record.step != console_.total_steps) return;
    print(console_line(record, console_));
    console_.skipped_steps = 0;
  }

  void evaluated(std::int64_t step, const EvaluationOutcome& outcome) override {
    if (ranks_.root()) print(evaluation_line(step, outcome.loss));
  }

  void save(const Progress& progress) override { save_checkpoint(checkpoints_, engine_, progress); }

  bool stop_asked() override { return stops_.asked(); }

 private:
  static void print(const std::string& line) {
    fmt::print("{}\n", line);
    std::fflush(stdout);
  }

  Ranks& ranks_;
  const CheckpointContext& checkpoints_;
  Engine& engine_;
  StopRequests& stops_;
  TraceFile& trace_;
  std::optional<io::MetricsWriter> metrics_;
  ConsoleContext console_;
  std::int64_t interval_ = 1;
};

void describe_run(const TrainingSetup& setup, const Ranks& ranks) {
  log_info("run", fmt::format("{} parameters, mesh {}, {} threads per rank ({})", setup.model().parameters(),
                              setup.mesh().describe(), setup.device().threads(), ranks.threads().reason));
  log_info("run", describe_flops(token_flops(setup.model()), 0));
  log_info("memory",
           "planned peak of rank 0, before anything is allocated:\n" + describe_memory(setup.engine().memory()));
}

std::filesystem::path stop_file(const Settings& settings) {
  const std::string folder = settings.get<std::string>("log.dir");
  return folder.empty() ? std::filesystem::path() : std::filesystem::path(folder) / "STOP";
}

int train_run(Ranks& ranks, std::span<const std::string> arguments) {
  Run run(ranks, arguments);
  const Settings& settings = run.settings();
  StopRequests stops(ranks, stop_file(settings), settings.get<double>("train.stop_after"));
  TraceFile trace(settings.get<std::string>("train.trace"), ranks);
  TrainingSetup setup(ranks, run, trace.executor_options());
  const CheckpointContext checkpoints{ranks, settings, setup.mesh(), setup.model(), setup.data_identity()};
  TrainerArgs args = setup.trainer_args();
  ranks.agreed([&] {
    for (const char* option :
         {"checkpoint.resume", "checkpoint.keep", "checkpoint.interval", "log.interval", "train.memory_limit"})
      static_cast<void>(settings.text(option)), settings.mark_used(option);
    run.check_used();
  });
  describe_run(setup, ranks);
  ranks.watch(settings.get<double>("train.watchdog"));
  setup.engine().connect();
  const std::int64_t runtime = resident_bytes();
  log_info("memory", fmt::format("runtime (libraries, communicators): {}", describe_bytes(runtime)));
  ranks.agreed([&] { check_memory(setup.engine().memory().total(), runtime, memory_limit(settings, ranks)); });
  setup.engine().allocate();
  trace.reserve(setup.engine().training());

  Progress progress =
      resume_checkpoint(checkpoints, setup.engine()).value_or(Progress{{}, {}, {}, first_loss_scale(args.loss_scale)});
  Hooks hooks(ranks, checkpoints, setup.engine(), stops, trace);
  hooks.open_metrics(progress.step + 1);
  const Ending ending = train(args, progress, hooks);
  trace.close();
  if (ending == Ending::finished) return k_done;
  if (!args.save_interval) log_warning("checkpoint", "nothing was saved: checkpoint.dir is not set");
  log_info("run", fmt::format("stopped after step {}{}", progress.step,
                              stops.reason().empty() ? "" : " by " + stops.reason()));
  return static_cast<int>(ErrorKind::stopped);
}

int train_verb(std::span<const std::string> arguments) {
  return run_on_ranks([&](Ranks& ranks) { return train_run(ranks, arguments); });
}

}  // namespace

const Verb k_train{"train", "train [RUN.INI] [--section.key=value ...]",
                   "Trains a model, alone or on the ranks that mpirun or srun started.", train_verb, run_help};

}  // namespace tessera::apps
