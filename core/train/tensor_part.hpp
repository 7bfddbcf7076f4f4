// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a rank's part of a parameter or of its optimizer state, as those see it who load, save or compare.
// Used: engine and generator (list them), checkpoints, tests.
// Must not know: buckets, arenas, files.
#pragma once

#include <string>
#include <vector>

#include "core/scheduler/arena.hpp"
#include "core/scheduler/plan.hpp"

namespace tessera {

struct TensorPart {
  std::string group;  ///< "model", "gradient", or the optimizer's state: "moment1"
  const Parameter* parameter = nullptr;
  Shape shape;  ///< global
  Slab slab;
  DType dtype = DType::f32;
  void* data = nullptr;  ///< dense, row-major
  AxisGroup held;        ///< ranks that all hold this same part
};

/// The parts that a plan's buckets hold at `base` of each bucket; buckets without that address are left out.
std::vector<TensorPart> tensor_parts(const std::string& group, const Mesh& mesh, const Plan& plan, const Graph& graph,
                                     const Arena& arena, Address (*base)(const Bucket&, std::size_t),
                                     std::size_t index = 0);

}  // namespace tessera
