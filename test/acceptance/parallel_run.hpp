// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  runs of tensor, context, data, pipeline and expert parallelism and their products, with the modules that they
//       need.
// Used: acceptance and parity tests.
// Must not know: which case is tested.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/expert_parallel/expert_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::acceptance {

using Residual = TensorParallel::Residual;

/// Ranks that share matrices, what they do with the sequence, how many such groups share the batch, how many stages
/// there are of all that, and how many groups share the tokens of a sequence.
struct ParallelLayout {
  int tensor = 1;
  Residual residual = Residual::replicated;
  int data = 1;
  int stages = 1;
  std::string schedule = "one_f_one_b";
  int chunks = 1;  ///< per stage
  int context = 1;
  std::string attention = "ring";  ///< of context-parallel ranks: X of the module context_X
  Zigzag zigzag = Zigzag::where_possible;
  int expert = 1;  ///< ranks that share the experts
};

/// "tp4_sequence_dp2_pp2_gpipe", "tp1_cp2_ring_zigzag"
std::string name_of(const ParallelLayout& layout);
std::ostream& operator<<(std::ostream& out, const ParallelLayout& layout);

/// Experts on 1, 2 and 4 of four ranks of each kind, and on eight ranks of several.
std::vector<ParallelLayout> expert_layouts();

/// Owns the strategies that its case points to.
class ParallelRun {
 public:
  /// Eight samples per step, two per micro-batch.
  ParallelRun(const ModelConfig& model, DType dtype, const ParallelLayout& layout, const Optimizer& optimizer);
  ParallelRun(const ParallelRun&) = delete;
  ParallelRun& operator=(const ParallelRun&) = delete;

  testing_support::TrainingCase training;

 private:
  DataParallel data_{1 << 14};
  TensorParallel tensor_;
  std::unique_ptr<Strategy> context_;
  ExpertParallel expert_;
};

}  // namespace tessera::acceptance
