// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/tiny_plans.hpp"

#include "core/host/host_device.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::testing_support {

StepPlans plans_of(const PlanCase& run, int rank) {
  ModelConfig model;
  model.layers = run.layers;
  model.hidden = 16;
  model.heads = 4;
  model.kv_heads = run.kv_heads;
  model.ffn = 24;
  model.vocab = run.vocab;
  model.sequence = 8;
  const adamw::AdamW optimizer({});
  HostDevice device(1);
  const KernelTable kernels = all_kernels(device);
  const Target target{kernels, 1, [](CallKind, std::int64_t, DType, int) { return std::int64_t{256}; }};
  const AxisId data = run.mesh.find("dp");
  return compile_plans({.model = model,
                        .dtype = DType::f32,
                        .mesh = run.mesh,
                        .strategies = run.strategies,
                        .target = target,
                        .optimizer = optimizer,
                        .clip = 1,
                        .global_batch = run.micro_batches * run.mesh.axis(data).size,
                        .micro_batch = 1,
                        .head_pieces = 1,
                        .pipeline = run.pipeline},
                       rank);
}

}  // namespace tessera::testing_support
