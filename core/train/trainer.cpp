// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/trainer.hpp"

#include <chrono>
#include <cmath>

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/train/flops.hpp"

namespace tessera {
namespace {

class Loop {
 public:
  Loop(const TrainerArgs& args, Progress& progress, TrainerHooks& hooks)
      : args_(args),
        progress_(progress),
        hooks_(hooks),
        saved_step_(args.saved_step),
        flops_(token_flops(args.model)) {}

  Ending run() {
    while (progress_.step < args_.steps) {
      step();
      const bool last = progress_.step == args_.steps;
      const bool evaluated = evaluate(last);
      const bool stop = (!evaluated || hooks_.stop_asked()) && !last;
      if (stop || due(args_.save_interval.value_or(0))) save();
      if (stop) return Ending::stopped;
    }
    if (!std::isfinite(loss_))
      throw Error(ErrorKind::numerics, fmt::format("the loss of the last step, {}, is not finite", progress_.step),
                  "Resume from a checkpoint before that, with a lower optimizer.lr or other data.");
    save();
    return Ending::finished;
  }

 private:
  bool due(std::int64_t interval) const { return interval > 0 && progress_.step % interval == 0; }

  void save() {
    if (!args_.save_interval || saved_step_ == progress_.step) return;
    if (!std::isfinite(loss_)) return hooks_.not_saved(progress_.step);
    hooks_.save(progress_);
    saved_step_ = progress_.step;
  }

  void step() {
    const auto begin = std::chrono::steady_clock::now();
    StepRecord record;
    record.step = progress_.step + 1;
    record.learning_rate = learning_rate(args_.learning_rate, record.step);
    record.loss_scale = progress_.loss_scale.scale;
    const StepOutcome outcome =
        args_.engine.step(args_.source, progress_.consumed_samples,
                          {record.step - progress_.loss_scale.skipped, record.learning_rate, record.loss_scale});
    record.sample_digest = args_.source.digest(progress_.consumed_samples, args_.global_batch);
    progress_.step = record.step;
    progress_.consumed_samples += args_.global_batch;
    progress_.consumed_tokens += args_.global_batch * args_.model.sequence;
    progress_.loss_scale = next_loss_scale(args_.loss_scale, progress_.loss_scale,
                                           outcome.skipped ? GradientRange::overflow : GradientRange::finite);

    record.loss = loss_ = outcome.loss;
    record.valid_tokens = outcome.tokens;
    record.grad_norm = outcome.gradient_norm;
    record.skipped = outcome.skipped;
    record.experts = outcome.experts;
    record.expert_layers = args_.engine.expert_layers();
    record.consumed_samples = progress_.consumed_samples;
    record.consumed_tokens = progress_.consumed_tokens;
    record.peak_bytes = args_.engine.memory().total();
    add_speed(record, std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count());
    hooks_.stepped(record);
    check_skips(args_.loss_scale, progress_.loss_scale);
  }

  void add_speed(StepRecord& record, double seconds) const {
    const Throughput speed = throughput(flops_, hardware_flops(flops_, Recompute::none),
                                        {args_.global_batch * args_.model.sequence, seconds, args_.devices, 0});
    record.step_seconds = seconds;
    record.tokens_per_second = speed.tokens_per_second;
    record.model_tflops = speed.model_tflops;
    record.mfu = speed.mfu;
    record.hfu = speed.hfu;
  }

  /// False: asked to stop meanwhile.
  bool evaluate(bool last) {
    const bool wanted = due(args_.eval_interval) || (last && args_.eval_interval > 0);
    if (!wanted || args_.validation.source == nullptr) return true;
    const std::optional<EvaluationOutcome> outcome = args_.engine.evaluate(
        *args_.validation.source, 0, args_.validation.samples, [this] { return hooks_.stop_asked(); });
    if (outcome) hooks_.evaluated(progress_.step, *outcome);
    return outcome.has_value();
  }

  const TrainerArgs& args_;
  Progress& progress_;
  TrainerHooks& hooks_;
  std::optional<std::int64_t> saved_step_;
  double loss_ = 0;  ///< of the last step
  TokenFlops flops_;
};

}  // namespace

Ending train(const TrainerArgs& args, Progress& progress, TrainerHooks& hooks) {
  return Loop(args, progress, hooks).run();
}

}  // namespace tessera
