// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a verb that runs on several ranks: MPI, the world's communicator, the watchdog, and how ranks leave.
// Used: train, bench.
// Must not know: what the ranks do.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>

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

class Ranks {
 public:
  Ranks();

  Communicator& world() { return *world_; }
  const mpi::Environment& environment() const { return environment_; }
  bool root() const { return environment_.rank() == 0; }

  /// Memory that the ranks of this node share, for the device of this rank: their sums then read it in place. Null
  /// where there is none.
  HostMemory* memory() const { return memory_.get(); }

  /// Threads that a kernel of this rank may use, and why.
  const mpi::ThreadChoice& threads() const { return threads_; }

  /// Runs `action` on every rank; when any throws, all throw the first Error as AgreedError. Collective.
  void agreed(const std::function<void()>& action);

  /// `action` on rank 0 only, with the same agreement. Its text is returned on all ranks. Collective.
  std::string from_root(const std::function<std::string()>& action);

  /// From now on a wait that lasts longer ends the job with ErrorKind::stalled and names the silent rank. 0: never.
  void watch(double seconds);

 private:
  int argc_ = 0;
  char** argv_ = nullptr;
  mpi::Environment environment_;
  std::string no_memory_;                    ///< why the ranks of this node share none
  std::shared_ptr<mpi::NodeMemory> memory_;  ///< null: messages only
  mpi::NodeLogs logs_;
  FlightRecorder recorder_;
  std::unique_ptr<Communicator> world_;
  mpi::ThreadChoice threads_;
  std::unique_ptr<Watchdog> watchdog_;
};

/// Runs `body` on this rank, after all ranks have found that they were given the same verb and arguments. An
/// AgreedError is shown by rank 0 and returned as exit code by all; any other exception is this rank's alone: it is
/// shown with the rank, and the whole job is ended with its code, since others may wait.
int run_on_ranks(std::string_view verb, std::span<const std::string> arguments, const std::function<int(Ranks&)>& body);

}  // namespace tessera::apps
