// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  training on thread ranks in a test: builds engines, gathers what they hold.
// Used: parity and engine tests.
// Must not know: what is compared with what.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "core/comm/thread_communicator.hpp"
#include "core/train/engine.hpp"

namespace tessera::testing_support {

/// A run on a mesh of thread ranks.
struct TrainingCase {
  ModelConfig model;
  DType dtype = DType::f64;
  std::vector<Axis> axes{{"dp", "dp", 1}};
  std::vector<const Strategy*> strategies;
  const Optimizer* optimizer = nullptr;
  double clip = 0;
  std::int64_t global_batch = 24;
  std::int64_t micro_batch = 1;
  std::int64_t head_pieces = 1;
  std::uint64_t seed = 1;
  ExecutorOptions executor = {};
  int threads = 1;  ///< of each rank
  PipelineArgs pipeline = {};
};

/// Kernels of the host and of the optimizer modules.
KernelTable all_kernels(Device& device);

/// Runs `body(engine, world)` on every rank of the case's mesh; engines are started.
void run_training(const TrainingCase& run, const std::function<void(Engine&, Communicator&)>& body);

/// The same with the rank alone.
void run_training(const TrainingCase& run, const std::function<void(Engine&, int)>& body);

/// Every weight by the reference formulas.
void set_reference_weights(const std::vector<TensorPart>& parts);
void set_reference_weights(Engine& engine);

/// Logical tensors by name ("layers.0.attention.q"), in fp64. Each rank adds its parts; replicas must be equal.
class Gathered {
 public:
  void add(const std::vector<TensorPart>& parts, const std::string& group);
  std::map<std::string, std::vector<double>> tensors;
  bool replicas_equal = true;

 private:
  std::map<std::string, std::vector<bool>> seen_;
};

}  // namespace tessera::testing_support
