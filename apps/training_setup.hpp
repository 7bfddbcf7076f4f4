// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  everything that a training run is made of, built from a resolved run.
// Used: the verbs `train` and `bench`.
// Must not know: the loop, checkpoints, consoles.
#pragma once

#include <memory>
#include <vector>

#include "apps/checkpoints.hpp"
#include "apps/run.hpp"
#include "core/host/host_device.hpp"
#include "core/train/trainer.hpp"
#include "io/dataset/dataset_source.hpp"

namespace tessera::apps {

/// The mesh of a run: tp, cp, dp, pp, fastest first; dp is what remains of the world. Throws Error{configuration} that
/// names what does not fit.
Mesh make_mesh(const Settings& settings, int world);

class TrainingSetup {
 public:
  /// Opens data, makes strategies, optimizer and engine; compiles, allocates nothing large. Collective; throws
  /// AgreedError.
  TrainingSetup(Ranks& ranks, const Run& run, const ExecutorOptions& executor);

  const Mesh& mesh() const { return mesh_; }
  const ModelConfig& model() const { return model_; }
  const HostDevice& device() const { return device_; }
  Engine& engine() const { return *engine_; }
  DataIdentity data_identity() const;
  TrainerArgs trainer_args() const;

 private:
  void open_data();
  void make_engine(Ranks& ranks, const Run& run, const ExecutorOptions& executor);

  const Settings& settings_;
  int devices_;
  Mesh mesh_;
  HostDevice device_;
  std::unique_ptr<io::Dataset> dataset_, validation_dataset_;
  std::unique_ptr<io::DatasetSource> source_, validation_source_;
  io::SampleRange training_samples_, validation_samples_;
  ModelConfig model_;
  KernelTable kernels_;
  std::vector<std::unique_ptr<Strategy>> strategies_;
  std::unique_ptr<Optimizer> optimizer_;
  std::unique_ptr<Engine> engine_;
};

}  // namespace tessera::apps
