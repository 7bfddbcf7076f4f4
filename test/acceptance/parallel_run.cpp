// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "parallel_run.hpp"

#include "test/support/schedules.hpp"

namespace tessera::acceptance {

std::string name_of(const ParallelLayout& layout) {
  return "tp" + std::to_string(layout.tensor) + (layout.residual == Residual::split ? "_sequence" : "") +
         (layout.data > 1 ? "_dp" + std::to_string(layout.data) : "") +
         (layout.stages > 1 ? "_pp" + std::to_string(layout.stages) + "_" + layout.schedule : "") +
         (layout.chunks > 1 ? "_v" + std::to_string(layout.chunks) : "");
}

std::ostream& operator<<(std::ostream& out, const ParallelLayout& layout) {
  return out << name_of(layout);
}

ParallelRun::ParallelRun(const ModelConfig& model, DType dtype, const ParallelLayout& layout,
                         const Optimizer& optimizer)
    : tensor_(model.heads, model.key_heads(), layout.residual) {
  training.model = model;
  training.dtype = dtype;
  training.axes = {
      {"tp", "tp", layout.tensor}, {"cp", "cp", 1}, {"dp", "dp", layout.data}, {"pp", "pp", layout.stages}};
  tensor_.factor(training.axes);
  training.strategies = {&data_, &tensor_};
  training.optimizer = &optimizer;
  training.global_batch = 8;
  training.micro_batch = 2;
  if (layout.stages > 1) training.pipeline = {&testing_support::schedule_of(layout.schedule), layout.chunks, {}};
}

}  // namespace tessera::acceptance
