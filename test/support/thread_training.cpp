// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/thread_training.hpp"

#include "core/host/host_device.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/optimizer/lion/lion.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "test/support/reference_formulas.hpp"

namespace tessera::testing_support {
namespace {

double element(const TensorPart& part, std::int64_t i) {
  return part.dtype == DType::f64 ? static_cast<const double*>(part.data)[i] : static_cast<const float*>(part.data)[i];
}

/// Calls visit(local index, global row-major index) for every element of a part.
void for_each_element(const TensorPart& part, const std::function<void(std::int64_t, std::int64_t)>& visit) {
  for_each_run(part.shape, part.slab, [&](std::int64_t local, std::int64_t global, std::int64_t length) {
    for (std::int64_t i = 0; i < length; ++i) visit(local + i, global + i);
  });
}

}  // namespace

KernelTable all_kernels(Device& device) {
  KernelTable table;
  table.add(device.kernels());
  table.add(adamw::kernels());
  table.add(sgd::kernels());
  table.add(lion::kernels());
  return table;
}

void run_training(const TrainingCase& run, const std::function<void(Engine&, Communicator&)>& body) {
  const Mesh mesh(run.axes);
  run_ranks(mesh.size(), [&](Communicator& world) {
    HostDevice device(run.threads);
    const KernelTable kernels = all_kernels(device);
    Engine engine({run.model, run.dtype, mesh, world, device, kernels, run.strategies, *run.optimizer, run.clip,
                   run.global_batch, run.micro_batch, run.head_pieces, run.seed,
                   [](CallKind, std::int64_t, DType, int) { return std::int64_t{0}; }, run.executor, run.pipeline});
    engine.connect();
    engine.allocate();
    body(engine, world);
  });
}

void run_training(const TrainingCase& run, const std::function<void(Engine&, int)>& body) {
  run_training(run, [&](Engine& engine, Communicator& world) { body(engine, world.rank()); });
}

void set_reference_weights(Engine& engine) {
  set_reference_weights(engine.tensors());
}

void set_reference_weights(const std::vector<TensorPart>& parts) {
  for (const TensorPart& part : parts) {
    if (part.group != "model") continue;
    for_each_element(part, [&](std::int64_t local, std::int64_t global) {
      const double value = reference::initial_value(part.parameter->field, part.parameter->layer, global);
      if (part.dtype == DType::f64)
        static_cast<double*>(part.data)[local] = value;
      else
        static_cast<float*>(part.data)[local] = static_cast<float>(value);
    });
  }
}

void Gathered::add(const std::vector<TensorPart>& parts, const std::string& group) {
  for (const TensorPart& part : parts) {
    if (part.group != group) continue;
    const std::string name = part.parameter->name();
    auto& values = tensors[name];
    auto& seen = seen_[name];
    values.resize(static_cast<std::size_t>(part.shape.count()));
    seen.resize(values.size());
    for_each_element(part, [&](std::int64_t local, std::int64_t global) {
      const auto g = static_cast<std::size_t>(global);
      const double value = element(part, local);
      if (seen[g] && values[g] != value) replicas_equal = false;
      values[g] = value;
      seen[g] = true;
    });
  }
}

}  // namespace tessera::testing_support
