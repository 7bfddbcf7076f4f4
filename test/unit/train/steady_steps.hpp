// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what the ranks of this process allocate in steady steps and evaluations.
// Used: tests of the engine, on thread ranks and on MPI ranks.
// Must not know: how ranks are started.
#pragma once

#include <optional>
#include <vector>

#include "test/support/allocation_watch.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::test {

/// Is one of the ranks that share a process the one that watches it?
enum class Watcher : std::uint8_t { yes, no };

/// A small run in which everything happens: several buckets, micro-batches and pieces of the head, dropout, clipping.
inline testing_support::TrainingCase busy_case(Architecture architecture, DType dtype) {
  testing_support::TrainingCase run;
  run.model.architecture = architecture;
  run.model.layers = 2;
  run.model.hidden = 32;
  run.model.heads = 4;
  run.model.ffn = 48;
  run.model.vocab = 131;
  run.model.sequence = 32;
  run.model.dropout = 0.1;
  run.model.biases = run.model.qk_norm = true;
  run.dtype = dtype;
  run.clip = 1;
  run.global_batch = 12;
  run.micro_batch = 2;
  run.head_pieces = 2;
  return run;
}

/// Allocations of this process in steps 3 to 5 of a busy case and the evaluations between them. Empty for those who do
/// not watch. Collective.
inline std::vector<AllocationSite> allocations_of_steps(Engine& engine, Communicator& world, BatchSource& source,
                                                        Watcher watcher) {
  std::optional<AllocationWatch> watch;
  for (std::int64_t step = 1; step <= 5; ++step) {
    world.barrier();
    if (step == 3 && watcher == Watcher::yes) watch.emplace();
    if (step == 3) world.barrier();
    engine.step(source, (step - 1) * 12, {step, 1e-3});
    if (step != 2) engine.evaluate(source, 0, 13);
  }
  world.barrier();
  std::vector<AllocationSite> sites;
  if (watch) sites = watch->sites();
  world.barrier();
  return sites;
}

}  // namespace tessera::test
