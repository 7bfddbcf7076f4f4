// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <chrono>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <vector>

#include <fmt/core.h>

#include "apps/checkpoints.hpp"
#include "apps/kernel_tables.hpp"
#include "apps/memory_check.hpp"
#include "apps/run.hpp"
#include "apps/run_watch.hpp"
#include "apps/stop_requests.hpp"
#include "apps/trace_files.hpp"
#include "apps/training_setup.hpp"
#include "apps/verb.hpp"
#include "core/base/line_output.hpp"
#include "core/base/log.hpp"
#include "core/scheduler/describe.hpp"
#include "core/train/flops.hpp"
#include "core/train/state_check.hpp"
#include "io/checkpoint/folders.hpp"
#include "io/log/step_metrics.hpp"
#include "io/output.hpp"
#include "io/path_lock.hpp"

namespace tessera::apps {
namespace {

/// For the run before this one to end, where it was killed.
constexpr std::chrono::seconds k_lock_patience{3};

constexpr std::size_t k_most_problems = 5;  // that are named

/// Options that are read when the run is under way.
constexpr std::array k_read_later{"checkpoint.resume", "checkpoint.keep",  "checkpoint.interval", "checkpoint.files",
                                  "log.dir",           "log.interval",     "log.level",           "modules.path",
                                  "train.watchdog",    "train.stop_after", "train.memory_limit"};

/// Does to a weight of this rank what a test wants: a number that is not finite, or another lowest bit.
void spoil_weights(const Engine& engine, FaultAction action) {
  for (const TensorPart& part : engine.tensors()) {
    if (part.slab.extent.count() == 0) continue;
    if (action == FaultAction::flip)
      *static_cast<unsigned char*>(part.data) ^= 1;
    else if (part.dtype == DType::f64)
      *static_cast<double*>(part.data) = std::numeric_limits<double>::quiet_NaN();
    else
      *static_cast<float*>(part.data) = std::numeric_limits<float>::quiet_NaN();
    return;
  }
}

/// Console lines, metrics, traces, saves and stops of a run.
class Hooks final : public TrainerHooks {
 public:
  Hooks(Ranks& ranks, const CheckpointContext& checkpoints, Engine& engine, StopRequests& stops, TraceFile& trace)
      : ranks_(ranks), checkpoints_(checkpoints), engine_(engine), stops_(stops), trace_(trace), watch_(ranks) {
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
      metrics_.emplace(std::filesystem::path(folder) / "metrics.jsonl", first_step);
    });
  }

  void stepped(const StepRecord& record) override {
    trace_.write_step(engine_.training(), record.step);
    if (const auto action = ranks_.faults().reached("step", record.step)) spoil_weights(engine_, *action);
    watch_.stepped(record.step, record.step_seconds, record.loss);
    watch_.begin();
    console_.skipped_steps += record.skipped ? 1 : 0;
    if (!ranks_.root()) return;
    if (metrics_) write_metrics(record);
    if (record.step % interval_ != 0 && record.step != console_.total_steps) return;
    standard_output().write(console_line(record, console_) + "\n");
    console_.skipped_steps = 0;
  }

  void evaluated(std::int64_t step, const EvaluationOutcome& outcome) override {
    watch_.begin();
    if (ranks_.root()) standard_output().write(evaluation_line(step, outcome.loss) + "\n");
  }

  void save(const Progress& progress) override {
    const auto begin = std::chrono::steady_clock::now();
    save_checkpoint(checkpoints_, engine_, progress);
    saved_ = true;
    watch_.saved(begin);
    watch_.begin();
  }

  void not_saved(std::int64_t step) override {
    if (ranks_.root())
      log_warning("checkpoint",
                  fmt::format("step {} is not saved: its loss is not finite; older checkpoints stay", step));
  }

  /// Whether anything was.
  bool saved() const { return saved_; }

  bool stop_asked() override {
    const bool asked = stops_.asked();
    watch_.begin();
    return asked;
  }

 private:
  /// A disk that is full, or has gone, ends no training either.
  void write_metrics(const StepRecord& record) {
    try {
      io::write_step(*metrics_, record);
      lines_lost_ = 0;
    } catch (const Error& error) {
      if (lines_lost_++ == 0)
        log_warning("metrics",
                    fmt::format("from step {} on: {}. The run goes on. {}", record.step, error.what(), error.hint()));
    }
  }

  Ranks& ranks_;
  const CheckpointContext& checkpoints_;
  Engine& engine_;
  StopRequests& stops_;
  TraceFile& trace_;
  RunWatch watch_;
  std::optional<io::MetricsWriter> metrics_;
  ConsoleContext console_;
  bool saved_ = false;
  std::int64_t interval_ = 1;
  std::int64_t lines_lost_ = 0;  // of metrics, since the last one that was written
};

/// Shapes that the table does not know have the usual kernels; where all are such, somebody took the wrong table.
void describe_kernels(const KernelChoices& choices, const TrainingSetup& setup) {
  if (choices.empty()) return;
  const std::int64_t used = choices_used(choices, setup.engine().training().plan, setup.device().threads());
  const std::string text = fmt::format("{} of {} choices of the table are for this rank", used, choices.all().size());
  if (used > 0)
    log_info("kernels", text);
  else
    log_warning("kernels", text + ": was it made for other shapes, or another number of threads?");
}

void describe_run(const TrainingSetup& setup, const Ranks& ranks) {
  log_info("run", fmt::format("{} parameters, mesh {}, {}", setup.model().parameters(), setup.mesh().describe(),
                              ranks.threads().reason));
  log_info("run", describe_flops(token_flops(setup.model()), 0));
  log_info("memory",
           "planned peak of rank 0, before anything is allocated:\n" + describe_memory(setup.engine().memory()));
}

std::filesystem::path stop_file(const Settings& settings) {
  const std::string folder = settings.get<std::string>("log.dir");
  return folder.empty() ? std::filesystem::path() : std::filesystem::path(folder) / "STOP";
}

using Locks = std::vector<std::unique_ptr<io::PathLock>>;

/// The folders of checkpoints and metrics for this run alone; rank 0 holds the locks. Collective.
Locks lock_folders(Ranks& ranks, const Settings& settings) {
  Locks locks;
  ranks.agreed([&] {
    if (!ranks.root()) return;
    std::set<std::filesystem::path> seen;
    for (const char* option : {"checkpoint.dir", "log.dir"}) {
      const std::filesystem::path folder = settings.get<std::string>(option);
      if (folder.empty()) continue;
      io::make_folder(folder);
      if (!seen.insert(std::filesystem::canonical(folder)).second) continue;
      locks.push_back(std::make_unique<io::PathLock>(folder / "lock", folder, k_lock_patience));
    }
    if (const std::filesystem::path folder = settings.get<std::string>("checkpoint.dir"); !folder.empty())
      io::check_output(folder / io::k_latest_file);
  });
  if (ranks.root() && settings.get<std::string>("checkpoint.dir").empty())
    log_warning("checkpoint", "checkpoint.dir is not set: the trained model will not be saved");
  return locks;
}

Progress first_progress(const CheckpointContext& checkpoints, Engine& engine, TrainerArgs& args) {
  const auto resumed = resume_checkpoint(checkpoints, engine);
  if (!resumed) return {{}, {}, {}, first_loss_scale(args.loss_scale)};
  if (resumed->in_place) args.saved_step = resumed->progress.step;
  if (resumed->progress.step >= args.steps && checkpoints.ranks.root())
    log_warning("run", fmt::format("the checkpoint is of step {}, train.steps is {}: there is nothing left to train",
                                   resumed->progress.step, args.steps));
  return resumed->progress;
}

/// Trains. Where the numbers end the run, which they do on all ranks, the error names the ranks and tensors that are
/// not sound. Collective.
Ending train_and_explain(const TrainerArgs& args, Progress& progress, TrainerHooks& hooks, Ranks& ranks) {
  try {
    return train(args, progress, hooks);
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::numerics) throw;
    std::string message = error.what();
    for (const std::string& problem : state_problems(args.engine.tensors(), ranks.world(), k_most_problems))
      message += "\n" + problem;
    throw AgreedError(Error(error.kind(), message, error.hint()));
  }
}

int train_run(Ranks& ranks, std::span<const std::string> arguments, StopRequests& stops) {
  stops.mpi_started();
  ranks.faults().reached("start");
  Run run(ranks, arguments, {}, DataNeed::required);
  const Settings& settings = run.settings();
  ranks.watch(settings.get<double>("train.watchdog"));
  TraceFile trace(settings.get<std::string>("train.trace"), ranks);
  ranks.faults().reached("compile");
  TrainingSetup setup(ranks, run, trace.executor_options());
  const CheckpointContext checkpoints{
      ranks, settings, setup.mesh(), setup.model(), setup.data_identity(), run.kernels().text()};
  if (ranks.faults().any()) setup.disturb_sources(ranks.faults());
  TrainerArgs args = setup.trainer_args();
  ranks.agreed([&] {
    for (const char* option : k_read_later) settings.mark_used(option);
    run.check_used();
  });
  describe_run(setup, ranks);
  if (ranks.root()) describe_kernels(run.kernels(), setup);
  setup.engine().connect();
  const std::int64_t runtime = resident_bytes();
  log_info("memory", fmt::format("runtime (libraries, communicators): {}", describe_bytes(runtime)));
  ranks.agreed([&] { check_memory(setup.engine().memory().total(), runtime, memory_limit(settings, ranks)); });
  const Locks locks = lock_folders(ranks, settings);
  setup.engine().allocate();
  trace.reserve(setup.engine().training());

  Progress progress = first_progress(checkpoints, setup.engine(), args);
  if (const auto action = ranks.faults().reached("ready")) spoil_weights(setup.engine(), *action);
  Hooks hooks(ranks, checkpoints, setup.engine(), stops, trace);
  hooks.open_metrics(progress.step + 1);
  stops.begin(ranks, stop_file(settings), settings.get<double>("train.stop_after"));
  const Ending ending = train_and_explain(args, progress, hooks, ranks);
  trace.close();
  ranks.faults().reached("end");
  if (ending == Ending::finished) return k_done;
  log_info("run", fmt::format("stopped after step {}{}", progress.step,
                              stops.reason().empty() ? "" : " by " + stops.reason()));
  stops.remove_stop_file();
  if (args.saved_step || hooks.saved()) return static_cast<int>(ErrorKind::stopped);
  if (ranks.root()) log_warning("run", "nothing was saved: the same command begins anew");
  return k_unsaved;
}

int train_verb(std::span<const std::string> arguments) {
  StopRequests stops;
  return run_on_ranks(
      "train", arguments, [&](Ranks& ranks) { return train_run(ranks, arguments, stops); }, first_watchdog(arguments));
}

}  // namespace

const Verb k_train{"train",
                   "train [RUN.INI] [--section.key=value ...]",
                   "Trains a model, alone or on the ranks that mpirun or srun started.",
                   train_verb,
                   run_help,
                   Processes::ranks};

}  // namespace tessera::apps
