// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a verb that runs on several ranks: MPI, the world's communicator, the watchdog, and how ranks leave.
// Used: train, bench.
// Must not know: what the ranks do.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "apps/deadline.hpp"
#include "apps/fault_points.hpp"
#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"
#include "core/comm/flight_recorder.hpp"
#include "core/comm/watchdog.hpp"
#include "mpi/environment.hpp"
#include "mpi/node_logs.hpp"
#include "mpi/node_memory.hpp"
#include "mpi/world.hpp"

namespace tessera::apps {

/// An error that all ranks have together: they leave in order, and rank 0 speaks.
class AgreedError : public Error {
 public:
  explicit AgreedError(const Error& error) : Error(error) {}
};

/// Until a run has said another time: how long ranks wait for each other.
inline constexpr double k_first_watchdog = 600;

class Ranks {
 public:
  /// Starts MPI. `watchdog`: seconds, as of watch(), which is called with it.
  explicit Ranks(double watchdog = k_first_watchdog);
  ~Ranks();
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;

  Communicator& world() { return *world_; }
  const mpi::Environment& environment() const { return environment_; }
  bool root() const { return environment_.rank() == 0; }

  /// Memory that the ranks of this node share, for the device of this rank: their sums then read it in place. Null
  /// where there is none.
  HostMemory* memory() const { return memory_.get(); }

  /// Threads that a kernel of this rank may use, and why.
  const mpi::ThreadChoice& threads() const { return threads_; }

  /// Other threads than the environment says, for what is built from now on.
  void use_threads(mpi::ThreadChoice choice) { threads_ = std::move(choice); }

  /// Runs `action` on every rank; when any throws, all throw the first Error as AgreedError. Collective.
  void agreed(const std::function<void()>& action);

  /// `action` on rank 0 only, with the same agreement. Its text is returned on all ranks. Collective.
  std::string from_root(const std::function<std::string()>& action);

  /// How long this rank has waited for others so far.
  std::chrono::nanoseconds waited() const { return std::chrono::nanoseconds(recorder_.waited()); }

  /// Faults on purpose, for tests.
  FaultPoints& faults() { return faults_; }

  /// From now on a wait that lasts longer ends the job with ErrorKind::stalled and names the silent rank. 0: never.
  void watch(double seconds);

 private:
  int argc_ = 0;
  char** argv_ = nullptr;
  double limit_;       ///< of the watchdog and the deadline, in seconds
  Deadline deadline_;  ///< while MPI starts or ends, when no watchdog can look
  mpi::Environment environment_;
  std::string no_memory_;                    ///< why the ranks of this node share none
  std::shared_ptr<mpi::NodeMemory> memory_;  ///< null: messages only
  mpi::NodeLogs logs_;
  FlightRecorder recorder_;
  std::unique_ptr<Communicator> world_;
  mpi::ThreadChoice threads_;
  FaultPoints faults_;
  std::unique_ptr<Watchdog> watchdog_;
};

/// Runs `body` on this rank, after all ranks have found that they were given the same verb and arguments. An
/// AgreedError is shown by rank 0 and returned as exit code by all; any other exception is this rank's alone: it is
/// shown with the rank, and the whole job is ended with its code, since others may wait. `watchdog`: see Ranks.
int run_on_ranks(std::string_view verb, std::span<const std::string> arguments, const std::function<int(Ranks&)>& body,
                 double watchdog = k_first_watchdog);

}  // namespace tessera::apps
