// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "parallel_run.hpp"

#include "test/support/schedules.hpp"

namespace tessera::acceptance {

std::string name_of(const ParallelLayout& layout) {
  return "tp" + std::to_string(layout.tensor) + (layout.residual == Residual::split ? "_sequence" : "") +
         (layout.context > 1 ? "_cp" + std::to_string(layout.context) + "_" + layout.attention : "") +
         (layout.context > 1 && layout.zigzag == Zigzag::always ? "_zigzag" : "") +
         (layout.data > 1 ? "_dp" + std::to_string(layout.data) : "") +
         (layout.stages > 1 ? "_pp" + std::to_string(layout.stages) + "_" + layout.schedule : "") +
         (layout.chunks > 1 ? "_v" + std::to_string(layout.chunks) : "");
}

std::ostream& operator<<(std::ostream& out, const ParallelLayout& layout) {
  return out << name_of(layout);
}

ParallelRun::ParallelRun(const ModelConfig& model, DType dtype, const ParallelLayout& layout,
                         const Optimizer& optimizer)
    : tensor_(model.heads, model.key_heads(), layout.residual),
      context_(test::context_strategy(layout.attention, layout.zigzag)) {
  training.model = model;
  training.dtype = dtype;
  training.axes = {{"tp", "tp", layout.tensor},
                   {"cp", "cp", layout.context},
                   {"dp", "dp", layout.data},
                   {"pp", "pp", layout.stages}};
  tensor_.factor(training.axes);
  training.strategies = {&data_, &tensor_, context_.get()};
  training.optimizer = &optimizer;
  training.global_batch = 8;
  training.micro_batch = 2;
  if (layout.stages > 1) training.pipeline = {&testing_support::schedule_of(layout.schedule), layout.chunks, {}};
}

}  // namespace tessera::acceptance
