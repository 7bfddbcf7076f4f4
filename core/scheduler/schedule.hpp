// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the interface of pipeline schedules: where chunks lie, and in which order a stage runs what for which
//       micro-batch. Pure functions.
// Used: modules/schedule/*, the scheduler, the simulator, tests of bubbles.
// Must not know: graphs, plans, ranks, how long anything takes.
#pragma once

#include <cstdint>
#include <vector>

namespace tessera {

/// A part of a chunk's work on one micro-batch.
enum class Pass : std::uint8_t {
  forward,
  backward,  ///< all gradients, or those of activations only where the schedule splits the backward
  weight,    ///< the gradients of weights, where it does
};

/// What a stage does next.
struct Turn {
  Pass pass = Pass::forward;
  int chunk = 0;  ///< of all chunks, in the order of the model's layers
  int micro_batch = 0;
  friend bool operator==(const Turn&, const Turn&) = default;
};

/// How many of what: `chunks` per stage.
struct PipelineShape {
  int stages = 1;
  int chunks = 1;
  int micro_batches = 1;
};

class Schedule {
 public:
  virtual ~Schedule() = default;

  /// The stage of each of the stages · chunks chunks, in the order of the layers. Neighbours are on different stages.
  virtual std::vector<int> placement(int stages, int chunks) const = 0;

  /// Whether `weight` turns exist.
  virtual bool splits_backward() const { return false; }

  /// The turns of each stage, in order. Every pass of every chunk and micro-batch stands once; within a pass and chunk
  /// micro-batches come in ascending order. Throws Error{configuration} with the numbers when the shape cannot work.
  virtual std::vector<std::vector<Turn>> turns(const PipelineShape& shape) const = 0;
};

}  // namespace tessera
