// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  tensor-parallel runs beside data parallelism, with the strategies that they need.
// Used: acceptance and parity tests.
// Must not know: which case is tested.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::acceptance {

using Residual = TensorParallel::Residual;

/// Ranks that share matrices, what they do with the sequence, and how many such groups share the batch.
struct TensorLayout {
  int tensor = 1;
  Residual residual = Residual::replicated;
  int data = 1;
};

/// "tp4_sequence_dp2"
std::string name_of(const TensorLayout& layout);
std::ostream& operator<<(std::ostream& out, const TensorLayout& layout);

/// Owns the strategies that its case points to.
class TensorRun {
 public:
  /// Eight samples per step, two per micro-batch.
  TensorRun(const ModelConfig& model, DType dtype, const TensorLayout& layout, const Optimizer& optimizer);
  TensorRun(const TensorRun&) = delete;
  TensorRun& operator=(const TensorRun&) = delete;

  testing_support::TrainingCase training;

 private:
  DataParallel data_{1 << 14};
  TensorParallel tensor_;
};

}  // namespace tessera::acceptance
