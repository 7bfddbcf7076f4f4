// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what one stage does in a step, in order: its turns, the messages between them, and which copy of memory each
//       uses. A pure function of a schedule.
// Used: the pass that makes the step.
// Must not know: graphs, programs, bytes.
#pragma once

#include <vector>

#include "core/scheduler/plan.hpp"
#include "core/scheduler/schedule.hpp"

namespace tessera {

struct AgendaItem {
  enum class Kind : std::uint8_t {
    turn,
    receive,  ///< what `turn` needs from another stage
    send,     ///< what `turn` made for another stage
    sent,     ///< that send is done: its memory may be used again
  };
  Kind kind = Kind::turn;
  Turn turn;
  int source = 0;         ///< chunk that made what is moved; of a turn its own
  std::int64_t slot = 0;  ///< twice the start of the turn in a run where all turns take one; messages follow in the gap
  CopyIndices copies{};
};

struct Agenda {
  std::vector<AgendaItem> items;
  std::array<int, k_copies> counts{};  ///< copies of each kind; the stage's chunks share them
  std::int64_t end = 0;                ///< slot behind everything, the same on all stages
};

/// Both ends of a message place it by the turn that makes it, so that along every stage's list (slot, source) never
/// falls and no two stages wait for each other. At most two sends of a kind are under way; the third waits.
Agenda make_agenda(const std::vector<std::vector<Turn>>& turns, const std::vector<int>& placement, int stage);

/// The turns of a plan that only evaluates: every chunk forward, for each micro-batch.
std::vector<std::vector<Turn>> forward_turns(const std::vector<int>& placement, int stages, int micro_batches);

}  // namespace tessera
