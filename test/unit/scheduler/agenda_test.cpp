// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Agendas of stages: both ends of a message agree on its place, memory is not used twice, frames equal the formulas.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "core/scheduler/agenda.hpp"
#include "modules/schedule/gpipe/gpipe.hpp"
#include "modules/schedule/interleaved/interleaved.hpp"
#include "modules/schedule/one_f_one_b/one_f_one_b.hpp"
#include "modules/schedule/zero_bubble/zero_bubble.hpp"

namespace tessera {
namespace {

using Kind = AgendaItem::Kind;

std::vector<Agenda> agendas_of(const Schedule& schedule, const PipelineShape& shape) {
  const auto turns = schedule.turns(shape);
  const auto placement = schedule.placement(shape.stages, shape.chunks);
  std::vector<Agenda> agendas;
  for (int stage = 0; stage < shape.stages; ++stage) agendas.push_back(make_agenda(turns, placement, stage));
  return agendas;
}

/// Calls visit(schedule, shape) for every schedule and many shapes.
template <class Visit>
void for_each_shape(Visit visit) {
  for (int stages : {2, 3, 4, 8})
    for (int micro_batches : {1, 2, 3, 4, 8, 13, 16}) {
      visit(GPipe(), PipelineShape{stages, 1, micro_batches});
      visit(OneFOneB(), PipelineShape{stages, 1, micro_batches});
      visit(ZeroBubble(), PipelineShape{stages, 1, micro_batches});
      for (int chunks : {2, 3}) {
        try {
          Interleaved().turns({stages, chunks, micro_batches});
        } catch (const Error&) {
          continue;
        }
        visit(Interleaved(), PipelineShape{stages, chunks, micro_batches});
      }
    }
}

TEST(Agenda, BothEndsOfAMessageGiveItTheSamePlace) {
  for_each_shape([](const Schedule& schedule, const PipelineShape& shape) {
    std::map<std::tuple<std::int64_t, int, Pass, int>, int> ends;  // of (slot, source, pass, micro-batch)
    for (const Agenda& agenda : agendas_of(schedule, shape))
      for (const AgendaItem& item : agenda.items)
        if (item.kind == Kind::send || item.kind == Kind::receive)
          ++ends[{item.slot, item.source, item.turn.pass, item.turn.micro_batch}];
    for (const auto& [message, count] : ends) EXPECT_EQ(count, 2);
    const int neighbours = shape.stages * shape.chunks - 1;
    EXPECT_EQ(std::ssize(ends), 2 * neighbours * shape.micro_batches);
  });
}

TEST(Agenda, NeverGoesBackInTheOrderOfAllStages) {
  for_each_shape([](const Schedule& schedule, const PipelineShape& shape) {
    for (const Agenda& agenda : agendas_of(schedule, shape)) {
      std::pair<std::int64_t, int> last{-1, 0};
      for (const AgendaItem& item : agenda.items) {
        if (item.kind == Kind::sent) continue;  // a wait, no call
        EXPECT_LE(last, std::pair(item.slot, item.source));
        last = {item.slot, item.source};
      }
    }
  });
}

TEST(Agenda, ReceivesBeforeTheTurnThatReads) {
  for_each_shape([](const Schedule& schedule, const PipelineShape& shape) {
    for (const Agenda& agenda : agendas_of(schedule, shape))
      for (auto item = agenda.items.begin(); item != agenda.items.end(); ++item)
        if (item->kind == Kind::receive) {
          EXPECT_TRUE(std::any_of(item, agenda.items.end(), [&](const AgendaItem& later) {
            return later.kind == Kind::turn && later.turn == item->turn;
          }));
        }
  });
}

/// A copy that a forward has filled is given to nobody else until its backward is done.
TEST(Agenda, NobodyWritesAFrameThatIsStillRead) {
  for_each_shape([](const Schedule& schedule, const PipelineShape& shape) {
    for (const Agenda& agenda : agendas_of(schedule, shape)) {
      std::map<std::int32_t, std::pair<int, int>> owner;  // of a copy: (chunk, micro-batch)
      for (const AgendaItem& item : agenda.items) {
        if (item.kind != Kind::turn || item.turn.pass == Pass::weight) continue;
        const std::int32_t copy = item.copies[static_cast<std::size_t>(Copies::saved)];
        ASSERT_LT(copy, agenda.counts[static_cast<std::size_t>(Copies::saved)]);
        const std::pair self{item.turn.chunk, item.turn.micro_batch};
        if (item.turn.pass == Pass::forward) {
          EXPECT_TRUE(owner.emplace(copy, self).second);
          continue;
        }
        EXPECT_EQ(owner[copy], self);
        owner.erase(copy);
      }
    }
  });
}

TEST(Agenda, AtMostTwoSendsOfAKindAreUnderWay) {
  for_each_shape([](const Schedule& schedule, const PipelineShape& shape) {
    for (const Agenda& agenda : agendas_of(schedule, shape)) {
      std::map<std::pair<Pass, int>, int> open;  // of (pass, chunk)
      for (const AgendaItem& item : agenda.items) {
        int& sends = open[{item.turn.pass, item.turn.chunk}];
        EXPECT_TRUE(item.kind != Kind::turn || sends < 2);
        sends += item.kind == Kind::send ? 1 : item.kind == Kind::sent ? -1 : 0;
      }
      for (const auto& [kind, sends] : open) EXPECT_EQ(sends, 0);
    }
  });
}

int frames(const Agenda& agenda) {
  return agenda.counts[static_cast<std::size_t>(Copies::saved)];
}

TEST(Agenda, FramesEqualTheFormulas) {
  for (int p : {2, 4, 8})
    for (int m : {1, 3, 4, 8, 16, 32})
      for (int s = 0; s < p; ++s) {
        const auto stage = static_cast<std::size_t>(s);
        EXPECT_EQ(frames(agendas_of(GPipe(), {p, 1, m})[stage]), m);
        EXPECT_EQ(frames(agendas_of(OneFOneB(), {p, 1, m})[stage]), std::min(m, p - s));
        EXPECT_EQ(frames(agendas_of(ZeroBubble(), {p, 1, m})[stage]), std::min(m, p - s));
        for (int v : {2, 3, 4})
          if (m % p == 0) {
            EXPECT_EQ(frames(agendas_of(Interleaved(), {p, v, m})[stage]),
                      std::min(v * m, 2 * (p - s - 1) + (v - 1) * p + 1))
                << "p " << p << " v " << v << " m " << m << " s " << s;
          }
      }
}

TEST(Agenda, AnEvaluationHasForwardTurnsAlone) {
  const std::vector<int> placement{0, 1, 0, 1};
  const Agenda agenda = make_agenda(forward_turns(placement, 2, 1), placement, 1);
  EXPECT_TRUE(std::all_of(agenda.items.begin(), agenda.items.end(),
                          [](const AgendaItem& item) { return item.turn.pass == Pass::forward; }));
  EXPECT_EQ(frames(agenda), 1);
}

}  // namespace
}  // namespace tessera
