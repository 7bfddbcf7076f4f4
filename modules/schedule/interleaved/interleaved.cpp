// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/schedule/interleaved/interleaved.hpp"

#include <algorithm>

namespace tessera {
namespace {

/// What the pipeline does from start to end, with a forward of one unit and a backward of two. A stage goes through its
/// chunks in groups of as many micro-batches as there are stages, and whenever it is free it runs its next forward, if
/// the input is there and a frame is free, else its next backward, if that can run. The bound on frames makes this
/// 1F1B. It never gets stuck: backwards need no frame, and frames suffice to take one micro-batch to the last chunk.
class Interleaving {
 public:
  explicit Interleaving(const PipelineShape& shape)
      : shape_(shape), stages_(static_cast<std::size_t>(shape.stages)), turns_(stages_.size()) {
    const std::size_t cells = static_cast<std::size_t>(shape.stages) * static_cast<std::size_t>(shape.chunks) *
                              static_cast<std::size_t>(shape.micro_batches);
    forward_end_.assign(cells, k_never);
    backward_end_.assign(cells, k_never);
  }

  std::vector<std::vector<Turn>> run() {
    const int work = 2 * shape_.stages * shape_.chunks * shape_.micro_batches;
    for (int done = 0; done < work; ++now_)
      for (int stage = 0; stage < shape_.stages; ++stage)
        if (stages_[static_cast<std::size_t>(stage)].busy_until <= now_ && take_turn(stage)) ++done;
    return std::move(turns_);
  }

 private:
  static constexpr std::int64_t k_never = INT64_MAX, k_forward_units = 1, k_backward_units = 2;

  struct Stage {
    int forwards = 0, backwards = 0;
    std::int64_t busy_until = 0;
  };

  bool take_turn(int stage) {
    Stage& state = stages_[static_cast<std::size_t>(stage)];
    const int all = shape_.chunks * shape_.micro_batches;
    if (state.forwards < all && state.forwards - state.backwards < frames(stage)) {
      const Turn turn = nth(Pass::forward, state.forwards, stage);
      if (turn.chunk == 0 || end(forward_end_, turn.chunk - 1, turn.micro_batch) <= now_) {
        ++state.forwards;
        take(stage, turn, forward_end_, k_forward_units);
        return true;
      }
    }
    if (state.backwards == state.forwards) return false;
    const Turn turn = nth(Pass::backward, state.backwards, stage);
    const bool last = turn.chunk + 1 == shape_.stages * shape_.chunks;
    if (end(forward_end_, turn.chunk, turn.micro_batch) > now_) return false;
    if (!last && end(backward_end_, turn.chunk + 1, turn.micro_batch) > now_) return false;
    ++state.backwards;
    take(stage, turn, backward_end_, k_backward_units);
    return true;
  }

  void take(int stage, const Turn& turn, std::vector<std::int64_t>& ends, std::int64_t units) {
    stages_[static_cast<std::size_t>(stage)].busy_until = end(ends, turn.chunk, turn.micro_batch) = now_ + units;
    turns_[static_cast<std::size_t>(stage)].push_back(turn);
  }

  /// The stage's n-th forward or backward: group by group, in a group chunk by chunk, backwards from the last chunk.
  Turn nth(Pass pass, int n, int stage) const {
    const int group = n / (shape_.stages * shape_.chunks), first = group * shape_.stages;
    const int size = std::min(shape_.stages, shape_.micro_batches - first);
    const int within = n - first * shape_.chunks;
    const int run = within / size, local = pass == Pass::forward ? run : shape_.chunks - 1 - run;
    return {pass, local * shape_.stages + stage, first + within % size};
  }

  int frames(int stage) const {
    const int behind = shape_.stages - stage - 1;
    return shape_.chunks == 1 ? behind + 1 : 2 * behind + (shape_.chunks - 1) * shape_.stages + 1;
  }

  std::int64_t& end(std::vector<std::int64_t>& ends, int chunk, int micro_batch) const {
    return ends[static_cast<std::size_t>(chunk) * static_cast<std::size_t>(shape_.micro_batches) +
                static_cast<std::size_t>(micro_batch)];
  }

  const PipelineShape& shape_;
  std::int64_t now_ = 0;
  std::vector<Stage> stages_;
  std::vector<std::int64_t> forward_end_, backward_end_;
  std::vector<std::vector<Turn>> turns_;
};

}  // namespace

std::vector<int> Interleaved::placement(int stages, int chunks) const {
  std::vector<int> stage_of;
  for (int chunk = 0; chunk < stages * chunks; ++chunk) stage_of.push_back(chunk % stages);
  return stage_of;
}

std::vector<std::vector<Turn>> Interleaved::turns(const PipelineShape& shape) const {
  return Interleaving(shape).run();
}

}  // namespace tessera
