// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  training and evaluating one model on one mesh: plans, memory and executors of a rank behind a few calls. The
//       entry for programs that bring a loop of their own.
// Used: the trainer, text generation, tests.
// Must not know: files, options, schedules of the learning rate.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/model/model.hpp"
#include "core/scheduler/executor.hpp"
#include "core/train/batch_source.hpp"
#include "core/train/expert_outcome.hpp"
#include "core/train/step_plans.hpp"
#include "core/train/tensor_part.hpp"

namespace tessera {

struct EngineArgs {
  ModelConfig model;
  DType dtype = DType::f32;  ///< f32, or f64 for checking
  const Mesh& mesh;
  Communicator& world;
  Device& device;
  const KernelTable& kernels;
  std::vector<const Strategy*> strategies;
  const Optimizer& optimizer;
  double clip = 0;
  std::int64_t global_batch = 1;  ///< samples per step
  std::int64_t micro_batch = 1;   ///< samples per micro-batch and data-parallel rank
  std::int64_t head_pieces = 0;   ///< pieces of the sequence in the head; 0: chosen by size
  std::uint64_t seed = 1;
  CollectiveWorkspace collective_workspace;
  ExecutorOptions executor;
  PipelineArgs pipeline = {};
};

/// What a training step is told.
struct StepSettings {
  std::int64_t update = 1;  ///< number of this update among those that were made, from 1; skipped ones do not count
  double learning_rate = 0;
  double loss_scale = 1;
};

/// What a training step did; equal on all ranks.
struct StepOutcome {
  double loss = 0;           ///< Σ token loss ÷ Σ valid tokens over the global batch
  std::int64_t tokens = 0;   ///< valid ones
  double gradient_norm = 0;  ///< before clipping
  bool skipped = false;      ///< the gradient was not finite: weights and states are as before
  ExpertOutcome experts = {};  ///< all 0 without experts
  friend bool operator==(const StepOutcome&, const StepOutcome&) = default;
};

struct EvaluationOutcome {
  double loss = 0;  ///< Σ token loss ÷ Σ valid tokens; 0 without tokens
  std::int64_t tokens = 0;
  friend bool operator==(const EvaluationOutcome&, const EvaluationOutcome&) = default;
};

class Engine {
 public:
  /// Compiles all plans. Allocates nothing large, communicates nothing. Throws Error{configuration} when the layout is
  /// impossible.
  explicit Engine(const EngineArgs& args);
  ~Engine();

  /// What allocate() will allocate.
  MemoryPlan memory() const;

  const Compiled& training() const { return training_; }
  std::int64_t micro_batches() const { return micro_batches_; }

  /// Compares plans across ranks and makes the communicators. Collective.
  void connect();

  /// Allocates, and sets the weights to their start. After connect().
  void allocate();

  /// One update with the samples [first_sample, first_sample + global_batch) of the source. Collective.
  StepOutcome step(BatchSource& source, std::int64_t first_sample, const StepSettings& settings);

  /// What the last step did in each layer with experts; equal on all ranks.
  std::vector<ExpertLayerOutcome> expert_layers() const;

  /// The mean token loss of `samples` samples, each once. Changes nothing of training. Collective. `give_up` is asked
  /// between micro-batches, with the same answer on all ranks: yes ends the evaluation without an outcome.
  EvaluationOutcome evaluate(BatchSource& source, std::int64_t first_sample, std::int64_t samples);
  std::optional<EvaluationOutcome> evaluate(BatchSource& source, std::int64_t first_sample, std::int64_t samples,
                                            const std::function<bool()>& give_up);

  /// Weights, then optimizer states, the same list on all ranks: those that hold the same part all list it, and what
  /// only other stages hold is there without elements.
  std::vector<TensorPart> tensors() const;

  /// The reduced gradients of the last step, of the loss without a loss scale; valid until the next step.
  std::vector<TensorPart> gradients() const;

  const Arena& arena() const { return *arena_; }

 private:
  BatchView bind_inputs(const Plan& plan) const;
  void fill(const Plan& plan, BatchView view, BatchSource& source, std::int64_t first_sample, std::int64_t samples,
            std::int64_t micro_batch);
  double scalar(const Operand& operand, std::int64_t index = 0) const;
  ExpertStepReport expert_report() const;
  void set_initial_weights();

  EngineArgs args_;
  std::int64_t columns_ = 0;  ///< samples of one micro-batch over all data-parallel ranks
  std::int64_t micro_batches_ = 0;
  std::vector<Range> order_;  ///< of the tokens of a sequence; empty: as the source gives them
  Target target_;
  Compiled training_, evaluation_;
  std::optional<AxisCommunicators> communicators_;
  std::optional<Arena> arena_;
  std::optional<Executor> training_executor_, evaluation_executor_;
  BatchView training_inputs_, evaluation_inputs_;  ///< of micro-batch 0
};

}  // namespace tessera
