// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/agenda.hpp"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "core/scheduler/schedule_run.hpp"

namespace tessera {
namespace {

constexpr int k_sends_under_way = 2;

std::size_t at(Copies kind) {
  return static_cast<std::size_t>(kind);
}

/// The items between which a micro-batch of a chunk needs memory of one kind, and the copy that it gets.
struct Life {
  std::size_t begin = 0, end = 0;
  std::int32_t copy = 0;
};

class AgendaMaker {
 public:
  AgendaMaker(const std::vector<std::vector<Turn>>& turns, const std::vector<int>& placement, int stage)
      : turns_(turns), placement_(placement), stage_(stage), run_(run_schedule(turns, placement, {})) {}

  Agenda make() {
    add_turns_and_messages();
    add_sent();
    agenda_.end = 2 * run_.end;
    for (int kind = 0; kind < k_copies; ++kind)
      if (static_cast<Copies>(kind) != Copies::inputs) assign(static_cast<Copies>(kind));
    return std::move(agenda_);
  }

 private:
  using Item = AgendaItem;

  int chunks() const { return static_cast<int>(placement_.size()); }
  bool is_here(int chunk) const { return placement_[static_cast<std::size_t>(chunk)] == stage_; }

  /// The chunk that reads what a pass of `chunk` makes; -1: none.
  int reader(Pass pass, int chunk) const {
    if (pass == Pass::weight) return -1;
    const int next = pass == Pass::forward ? chunk + 1 : chunk - 1;
    return next < chunks() ? next : -1;
  }

  void add_turns_and_messages() {
    for (std::size_t stage = 0; stage < turns_.size(); ++stage)
      for (std::size_t t = 0; t < turns_[stage].size(); ++t) {
        const Turn& turn = turns_[stage][t];
        const std::int64_t slot = 2 * run_.starts[stage][t];
        const bool here = static_cast<int>(stage) == stage_;
        if (here) add(Item::Kind::turn, turn, turn.chunk, slot);
        const int to = reader(turn.pass, turn.chunk);
        if (to < 0) continue;
        if (here) add(Item::Kind::send, turn, turn.chunk, slot + 1);
        if (is_here(to)) add(Item::Kind::receive, {turn.pass, to, turn.micro_batch}, turn.chunk, slot + 1);
      }
    std::stable_sort(agenda_.items.begin(), agenda_.items.end(), [](const Item& a, const Item& b) {
      return std::tuple(a.slot, a.source, a.turn.pass) < std::tuple(b.slot, b.source, b.turn.pass);
    });
  }

  void add(Item::Kind kind, const Turn& turn, int source, std::int64_t slot) {
    agenda_.items.push_back({kind, turn, source, slot, {}});
    agenda_.items.back().copies[at(Copies::inputs)] = turn.micro_batch;
  }

  void add_sent() {
    std::vector<Item> items, open;
    auto finish = [&](const Item& send) {
      items.push_back({Item::Kind::sent, send.turn, send.source, items.empty() ? 0 : items.back().slot, {}});
    };
    for (const Item& item : agenda_.items) {
      if (item.kind == Item::Kind::turn) {
        auto same = [&](const Item& send) {
          return send.turn.pass == item.turn.pass && send.turn.chunk == item.turn.chunk;
        };
        if (std::count_if(open.begin(), open.end(), same) == k_sends_under_way) {
          const auto oldest = std::find_if(open.begin(), open.end(), same);
          finish(*oldest);
          open.erase(oldest);
        }
      }
      items.push_back(item);
      if (item.kind == Item::Kind::send) open.push_back(item);
    }
    for (const Item& send : open) finish(send);
    agenda_.items = std::move(items);
  }

  /// Whether an item touches the memory of a kind: it lives from the first such item to the last.
  static bool touches(const Item& item, Copies kind) {
    const bool is_turn = item.kind == Item::Kind::turn, forward = item.turn.pass == Pass::forward;
    switch (kind) {
      case Copies::saved:
        return is_turn && item.turn.pass != Pass::weight;
      case Copies::kept:
        return is_turn;
      case Copies::deferred:
        return is_turn && !forward;
      case Copies::forward_in:
        return is_turn || (item.kind == Item::Kind::receive && forward);
      case Copies::backward_in:
        return (is_turn && !forward) || (item.kind == Item::Kind::receive && !forward);
      case Copies::forward_out:
        return forward && item.kind != Item::Kind::receive;
      case Copies::backward_out:
        return item.turn.pass == Pass::backward && item.kind != Item::Kind::receive;
      case Copies::inputs:
        return false;
    }
    return false;
  }

  void assign(Copies kind) {
    std::map<std::pair<int, int>, Life> lives;  // of (chunk, micro-batch)
    for (std::size_t i = 0; i < agenda_.items.size(); ++i) {
      const Item& item = agenda_.items[i];
      if (touches(item, kind))
        lives.try_emplace({item.turn.chunk, item.turn.micro_batch}, Life{i, i, 0}).first->second.end = i;
    }
    agenda_.counts[at(kind)] = colour(lives);
    for (Item& item : agenda_.items)
      if (const auto found = lives.find({item.turn.chunk, item.turn.micro_batch}); found != lives.end())
        item.copies[at(kind)] = found->second.copy;
  }

  /// Gives every life the lowest copy that is free during it; how many copies there are.
  static int colour(std::map<std::pair<int, int>, Life>& lives) {
    std::vector<Life*> by_begin;
    for (auto& [owner, life] : lives) by_begin.push_back(&life);
    std::sort(by_begin.begin(), by_begin.end(), [](const Life* a, const Life* b) { return a->begin < b->begin; });
    std::vector<std::size_t> busy_until;
    for (Life* life : by_begin) {
      const auto free =
          std::find_if(busy_until.begin(), busy_until.end(), [&](std::size_t end) { return end < life->begin; });
      life->copy = static_cast<std::int32_t>(free - busy_until.begin());
      if (free == busy_until.end())
        busy_until.push_back(life->end);
      else
        *free = life->end;
    }
    return static_cast<int>(busy_until.size());
  }

  const std::vector<std::vector<Turn>>& turns_;
  const std::vector<int>& placement_;
  int stage_;
  ScheduleRun run_;
  Agenda agenda_;
};

}  // namespace

Agenda make_agenda(const std::vector<std::vector<Turn>>& turns, const std::vector<int>& placement, int stage) {
  return AgendaMaker(turns, placement, stage).make();
}

std::vector<std::vector<Turn>> forward_turns(const std::vector<int>& placement, int stages, int micro_batches) {
  std::vector<std::vector<Turn>> turns(static_cast<std::size_t>(stages));
  for (int m = 0; m < micro_batches; ++m)
    for (std::size_t chunk = 0; chunk < placement.size(); ++chunk)
      turns[static_cast<std::size_t>(placement[chunk])].push_back({Pass::forward, static_cast<int>(chunk), m});
  return turns;
}

}  // namespace tessera
