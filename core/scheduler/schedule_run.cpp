// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/schedule_run.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <string_view>

#include "core/base/error.hpp"

namespace tessera {
namespace {

using Turns = std::vector<std::vector<Turn>>;

constexpr int k_passes = 3;
constexpr std::int64_t k_not_yet = -1;

constexpr std::size_t index_of(Pass pass) {
  return static_cast<std::size_t>(pass);
}

std::string_view name_of(Pass pass) {
  constexpr std::string_view names[] = {"forward", "backward", "weight"};
  return names[index_of(pass)];
}

/// Where in the schedule something is wrong.
struct Place {
  std::size_t stage, turn;
};

[[noreturn]] void refuse(const Turns& turns, Place place, std::string_view why) {
  const Turn& turn = turns[place.stage][place.turn];
  throw Error(ErrorKind::internal,
              fmt::format("schedule: stage {}, turn {} ({} of chunk {}, micro-batch {}): {}", place.stage, place.turn,
                          name_of(turn.pass), turn.chunk, turn.micro_batch, why));
}

/// Turns that each pass of each chunk has had: [chunk][pass].
using Counts = std::vector<std::array<int, k_passes>>;

/// Checks that turns stand on the stage of their chunk, micro-batches in order.
Counts count_turns(const Turns& turns, const std::vector<int>& placement) {
  Counts counts(placement.size());
  for (std::size_t stage = 0; stage < turns.size(); ++stage)
    for (std::size_t i = 0; i < turns[stage].size(); ++i) {
      const Turn& turn = turns[stage][i];
      if (turn.chunk < 0 || turn.chunk >= std::ssize(placement)) refuse(turns, {stage, i}, "there is no such chunk");
      const auto chunk = static_cast<std::size_t>(turn.chunk);
      if (placement[chunk] != static_cast<int>(stage))
        refuse(turns, {stage, i}, fmt::format("the chunk is on stage {}", placement[chunk]));
      int& next = counts[chunk][index_of(turn.pass)];
      if (turn.micro_batch != next) refuse(turns, {stage, i}, fmt::format("micro-batch {} is next", next));
      ++next;
    }
  return counts;
}

/// Checks that nothing is missing; says how many micro-batches there are.
int check_complete(const Counts& counts) {
  const int micro_batches = counts.empty() ? 0 : counts.front()[0];
  auto all_or_none = [&](Pass pass) {
    return counts.empty() || counts.front()[index_of(pass)] == 0 ? 0 : micro_batches;
  };
  const std::array<int, k_passes> wanted{micro_batches, all_or_none(Pass::backward), all_or_none(Pass::weight)};
  for (std::size_t chunk = 0; chunk < counts.size(); ++chunk)
    for (std::size_t pass = 0; pass < k_passes; ++pass)
      if (counts[chunk][pass] != wanted[pass])
        throw Error(ErrorKind::internal,
                    fmt::format("schedule: chunk {} has {} {} turns, not {}", chunk, counts[chunk][pass],
                                name_of(static_cast<Pass>(pass)), wanted[pass]));
  return micro_batches;
}

/// The ends of passes, as far as they are known.
class Ends {
 public:
  Ends(const std::vector<int>& placement, int micro_batches, const TurnCosts& costs)
      : placement_(placement), micro_batches_(static_cast<std::size_t>(micro_batches)), costs_(costs) {
    for (auto& ends : ends_) ends.assign(placement.size() * micro_batches_, k_not_yet);
  }

  /// When everything that `turn` needs is on its stage; k_not_yet if that cannot be said.
  std::int64_t ready(const Turn& turn) const {
    switch (turn.pass) {
      case Pass::forward:
        return turn.chunk == 0 ? 0 : arrival(Pass::forward, turn.chunk - 1, turn);
      case Pass::backward: {
        const std::int64_t own = arrival(Pass::forward, turn.chunk, turn);
        if (turn.chunk + 1 == std::ssize(placement_) || own == k_not_yet) return own;
        const std::int64_t behind = arrival(Pass::backward, turn.chunk + 1, turn);
        return behind == k_not_yet ? k_not_yet : std::max(own, behind);
      }
      case Pass::weight:
        return arrival(Pass::backward, turn.chunk, turn);
    }
    return k_not_yet;
  }

  std::int64_t finish(const Turn& turn, std::int64_t start) {
    const std::int64_t costs[] = {costs_.forward, costs_.backward, costs_.weight};
    return ends_[index_of(turn.pass)][slot(turn.chunk, turn.micro_batch)] = start + costs[index_of(turn.pass)];
  }

 private:
  std::size_t slot(int chunk, int micro_batch) const {
    return static_cast<std::size_t>(chunk) * micro_batches_ + static_cast<std::size_t>(micro_batch);
  }

  std::int64_t arrival(Pass pass, int from, const Turn& turn) const {
    const std::int64_t end = ends_[index_of(pass)][slot(from, turn.micro_batch)];
    const bool travels = placement_[static_cast<std::size_t>(from)] != placement_[static_cast<std::size_t>(turn.chunk)];
    return end == k_not_yet || !travels ? end : end + costs_.message;
  }

  const std::vector<int>& placement_;
  std::size_t micro_batches_;
  const TurnCosts& costs_;
  std::array<std::vector<std::int64_t>, k_passes> ends_;
};

}  // namespace

ScheduleRun run_schedule(const Turns& turns, const std::vector<int>& placement, const TurnCosts& costs) {
  Ends ends(placement, check_complete(count_turns(turns, placement)), costs);
  ScheduleRun run{.starts = std::vector<std::vector<std::int64_t>>(turns.size())};
  std::vector<std::int64_t> clocks(turns.size(), 0);
  for (bool moved = true; moved;) {
    moved = false;
    for (std::size_t stage = 0; stage < turns.size(); ++stage)
      for (std::size_t i = run.starts[stage].size(); i < turns[stage].size(); ++i) {
        const std::int64_t ready = ends.ready(turns[stage][i]);
        if (ready == k_not_yet) break;
        run.starts[stage].push_back(std::max(clocks[stage], ready));
        clocks[stage] = ends.finish(turns[stage][i], run.starts[stage].back());
        moved = true;
      }
  }
  for (std::size_t stage = 0; stage < turns.size(); ++stage)
    if (run.starts[stage].size() < turns[stage].size())
      refuse(turns, {stage, run.starts[stage].size()}, "what it needs never comes");
  for (const std::int64_t clock : clocks) run.end = std::max(run.end, clock);
  return run;
}

std::vector<int> peak_frames(const Turns& turns) {
  std::vector<int> peaks;
  for (const std::vector<Turn>& stage : turns) {
    const bool splits = std::any_of(stage.begin(), stage.end(), [](const Turn& t) { return t.pass == Pass::weight; });
    const Pass last = splits ? Pass::weight : Pass::backward;
    int alive = 0, peak = 0;
    for (const Turn& turn : stage) {
      if (turn.pass == Pass::forward) peak = std::max(peak, ++alive);
      if (turn.pass == last) --alive;
    }
    peaks.push_back(peak);
  }
  return peaks;
}

}  // namespace tessera
