// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  which bytes of the arena a training step and an evaluation touch, beside what the plan says.
// Used: tests of the memory pass, on thread ranks and on MPI ranks.
// Must not know: how ranks are started.
#pragma once

#include <string>

#include "core/comm/communicator.hpp"
#include "core/mesh/mesh.hpp"
#include "core/model/model.hpp"
#include "core/scheduler/lower.hpp"
#include "core/scheduler/optimizer.hpp"

namespace tessera::test {

struct MemoryCase {
  std::string name;
  ModelConfig model;
  DType dtype = DType::f32;
  const Optimizer* optimizer = nullptr;
  std::int64_t global_batch = 1;
  std::int64_t micro_batch = 1;
  std::int64_t head_pieces = 1;
  int threads = 1;
  int tensor = 1;                       ///< ranks that share matrices and the sequence
  int context = 1;                      ///< groups of those that share the tokens; the others share the batch
  std::string attention = "allgather";  ///< how attention crosses them
  int expert = 1;                       ///< ranks that share the experts, all of whose tokens choose the first ones
};

/// Runs one step and one evaluation on memory that is marked beforehand, between guards, and expects that
///  - no byte outside the planned regions is written,
///  - each tag but communication and workspace is used to its last 64 bytes (without experts),
///  - loss, norm and weights are those of a run on zeroed memory, bit by bit: nothing is read that was not written.
/// Collective.
void expect_planned_memory(const MemoryCase& c, Communicator& world, const CollectiveWorkspace& workspace);

/// Models, precisions, cuts and optimizers that one rank of several is tested with. The batch is a multiple of 6, and
/// of 12 with micro-batches of 2.
const std::vector<MemoryCase>& memory_cases();

}  // namespace tessera::test
