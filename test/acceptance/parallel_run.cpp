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
         (layout.expert > 1 ? "_ep" + std::to_string(layout.expert) : "") +
         (layout.chunks > 1 ? "_v" + std::to_string(layout.chunks) : "");
}

std::ostream& operator<<(std::ostream& out, const ParallelLayout& layout) {
  return out << name_of(layout);
}

std::vector<ParallelLayout> expert_layouts() {
  std::vector<ParallelLayout> layouts;
  const ParallelLayout of_four[]{{.data = 4},
                                 {.tensor = 2, .data = 2},
                                 {.tensor = 2, .residual = Residual::split, .data = 2},
                                 {.tensor = 4},
                                 {.tensor = 4, .residual = Residual::split},
                                 {.data = 2, .context = 2}};
  for (ParallelLayout layout : of_four)
    for (const int expert : {1, 2, 4}) {
      layout.expert = expert;
      layouts.push_back(layout);
    }
  layouts.push_back({.data = 2, .stages = 2, .expert = 2});
  layouts.push_back({.data = 2, .stages = 2, .schedule = "zero_bubble", .expert = 2});
  layouts.push_back({.tensor = 2, .residual = Residual::split, .data = 2, .stages = 2, .expert = 4});
  layouts.push_back({.tensor = 2, .residual = Residual::split, .data = 2, .context = 2, .expert = 4});
  return layouts;
}

ParallelRun::ParallelRun(const ModelConfig& model, DType dtype, const ParallelLayout& layout,
                         const Optimizer& optimizer)
    : tensor_(model.heads, model.key_heads(), layout.residual),
      context_(test::context_strategy(layout.attention, layout.zigzag)),
      expert_(layout.expert) {
  training.model = model;
  training.dtype = dtype;
  training.axes = {{"tp", "tp", layout.tensor},
                   {"cp", "cp", layout.context},
                   {"dp", "dp", layout.data},
                   {"pp", "pp", layout.stages}};
  training.strategies = {&data_, &tensor_, context_.get()};
  if (layout.expert > 1) training.strategies.push_back(&expert_);
  for (const Strategy* strategy : training.strategies) strategy->factor(training.axes);
  training.optimizer = &optimizer;
  training.global_batch = 8;
  training.micro_batch = 2;
  if (layout.stages > 1) training.pipeline = {&testing_support::schedule_of(layout.schedule), layout.chunks, {}};
}

}  // namespace tessera::acceptance
