// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the flight logs of all ranks of a node in one shared segment, readable when a peer is stopped.
// Used: the start of a run: recorder and watchdog get their logs here.
// Must not know: what is recorded.
#pragma once

#include <memory>
#include <vector>

#include "core/comm/flight_recorder.hpp"
#include "mpi/environment.hpp"
#include "mpi/node_memory.hpp"

namespace tessera::mpi {

class NodeLogs {
 public:
  /// Collective. In `memory`, or, where ranks share none, in a window of MPI. Must end before the environment does; the
  /// end is collective, too.
  explicit NodeLogs(const Environment& environment, std::shared_ptr<NodeMemory> memory = nullptr);
  ~NodeLogs();
  NodeLogs(const NodeLogs&) = delete;
  NodeLogs& operator=(const NodeLogs&) = delete;

  FlightLog& own();

  /// Of all ranks of this node, in order of local ranks.
  const std::vector<const FlightLog*>& all() const;

 private:
  struct Segment;

  void take_memory(const RankFacts& facts);
  void take_window(const Environment& environment);

  std::unique_ptr<Segment> segment_;
};

}  // namespace tessera::mpi
