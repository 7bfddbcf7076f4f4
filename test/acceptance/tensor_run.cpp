// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "tensor_run.hpp"

namespace tessera::acceptance {

std::string name_of(const TensorLayout& layout) {
  return "tp" + std::to_string(layout.tensor) + (layout.residual == Residual::split ? "_sequence" : "") +
         (layout.data > 1 ? "_dp" + std::to_string(layout.data) : "");
}

std::ostream& operator<<(std::ostream& out, const TensorLayout& layout) {
  return out << name_of(layout);
}

TensorRun::TensorRun(const ModelConfig& model, DType dtype, const TensorLayout& layout, const Optimizer& optimizer)
    : tensor_(model.heads, model.key_heads(), layout.residual) {
  training.model = model;
  training.dtype = dtype;
  training.axes = {{"tp", "tp", layout.tensor}, {"cp", "cp", 1}, {"dp", "dp", layout.data}, {"pp", "pp", 1}};
  tensor_.factor(training.axes);
  training.strategies = {&data_, &tensor_};
  training.optimizer = &optimizer;
  training.global_batch = 8;
  training.micro_batch = 2;
}

}  // namespace tessera::acceptance
