// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the loop of a training run: steps, learning rates, records, evaluations, saves, and when to stop.
// Used: the verb `train`, tests.
// Must not know: files, signals, consoles: those are hooks.
#pragma once

#include <cstdint>
#include <optional>

#include "core/train/engine.hpp"
#include "core/train/learning_rate.hpp"
#include "core/train/loss_scale.hpp"
#include "core/train/step_record.hpp"

namespace tessera {

/// Where a run stands: what a checkpoint must hold beside weights and states.
struct Progress {
  std::int64_t step = 0;  ///< updates made
  std::int64_t consumed_samples = 0;
  std::int64_t consumed_tokens = 0;
  LossScaleState loss_scale;
  friend bool operator==(const Progress&, const Progress&) = default;
};

/// What the loop tells and asks. All ranks get the same calls in the same order.
class TrainerHooks {
 public:
  virtual ~TrainerHooks() = default;
  virtual void stepped(const StepRecord& record) = 0;
  virtual void evaluated(std::int64_t step, const EvaluationOutcome& outcome) = 0;
  virtual void save(const Progress& progress) = 0;
  /// A checkpoint was due after a step whose loss is not finite: it would only take the place of a sound one.
  virtual void not_saved(std::int64_t step) = 0;
  /// Whether any rank was asked to stop; asked once a step and between the parts of an evaluation. Collective.
  virtual bool stop_asked() = 0;
};

/// A validation set; none when `source` is null.
struct Validation {
  BatchSource* source = nullptr;
  std::int64_t samples = 0;
};

struct TrainerArgs {
  Engine& engine;
  BatchSource& source;
  Validation validation;
  LearningRateConfig learning_rate;
  std::int64_t steps = 0;
  std::int64_t eval_interval = 0;  ///< 0: never
  /// None: nothing is ever saved. 0: at the end, and when the run is asked to stop. n: every n steps, too.
  std::optional<std::int64_t> save_interval;
  LossScaleConfig loss_scale;
  const ModelConfig& model;
  std::int64_t global_batch = 1;
  int devices = 1;
  /// The step that the run resumed from, where its checkpoint lies among those of this run.
  std::optional<std::int64_t> saved_step = std::nullopt;
};

enum class Ending : std::uint8_t {
  finished,  ///< all steps are done
  stopped,   ///< asked to stop, saved
};

/// Trains from `progress` on and saves as save_interval says, no step twice; when asked to stop, saves (if anything is
/// ever saved) and returns. A model whose loss is not finite is not saved. Throws Error{numerics} as check_skips does, and when the run ends
/// with such a loss.
Ending train(const TrainerArgs& args, Progress& progress, TrainerHooks& hooks);

}  // namespace tessera
