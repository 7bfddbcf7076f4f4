// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a collective call, or a message, whose ranks read each other's memory: every byte moves once.
// Used: the MPI communicator, for groups on one node with NodeMemory.
// Must not know: MPI's messages.
#pragma once

#include <cstdint>
#include <vector>

#include "core/comm/collective_share.hpp"
#include "mpi/node_group.hpp"
#include "mpi/request.hpp"

namespace tessera::mpi {

/// A state machine. Throws Error{disagreement} when what others show is not what this rank was asked for.
class DirectCall {
 public:
  enum class Outcome : std::uint8_t {
    waiting,
    done,
    refused  ///< data that others need are not in shared memory: all concerned see this, and use messages
  };

  void reserve(int members);

  /// `number`: of the collective call in the group, or of the message between its pair.
  void start(NodeGroup& group, const Request& request, std::uint64_t number);
  Outcome advance();

 private:
  enum class Step : std::uint8_t { show, meet, finish };

  Outcome advance_collective();
  Outcome advance_send();
  Outcome advance_receive();
  void meet();
  bool is_refused() const;
  bool others_need_mine() const;
  CollectiveCall own() const;
  NodeParcel::Place own_place() const { return group_->place(group_->rank(), number_); }

  NodeGroup* group_ = nullptr;
  Request request_;
  std::uint64_t number_ = 0;
  Step step_ = Step::show;
  std::vector<CollectiveCall> calls_;  // of all members
  CollectiveShare share_;
};

}  // namespace tessera::mpi
