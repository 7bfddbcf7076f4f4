// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  everything that a training run is made of, built from a resolved run.
// Used: the verb `train`.
// Must not know: the loop, checkpoints, consoles.
#pragma once

#include <memory>

#include "apps/checkpoints.hpp"
#include "apps/engine_setup.hpp"
#include "apps/run.hpp"
#include "apps/training_data.hpp"
#include "core/train/trainer.hpp"

namespace tessera::apps {

class TrainingSetup {
 public:
  /// Opens data, makes strategies, optimizer and engine; compiles, allocates nothing large. Collective; throws
  /// AgreedError.
  TrainingSetup(Ranks& ranks, const Run& run, const ExecutorOptions& executor);

  const Mesh& mesh() const { return parts_->mesh(); }
  const ModelConfig& model() const { return model_; }
  const HostDevice& device() const { return parts_->device(); }
  Engine& engine() const { return parts_->engine(); }
  DataIdentity data_identity() const;
  TrainerArgs trainer_args() const;

  /// From now on samples come to the points "data" (of training) and "evaluation".
  void disturb_sources(FaultPoints& faults);

 private:
  void open_data();

  const Settings& settings_;
  int devices_;
  std::unique_ptr<EngineSetup> parts_;
  std::unique_ptr<TrainingData> data_;
  std::unique_ptr<BatchSource> source_, validation_source_;
  std::vector<std::unique_ptr<BatchSource>> undisturbed_;
  ModelConfig model_;
};

}  // namespace tessera::apps
