// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a collective call whose members read each other's memory: every byte moves once.
// Used: the MPI communicator, for groups on one node with NodeMemory.
// Must not know: messages.
#pragma once

#include <cstdint>
#include <vector>

#include "mpi/node_group.hpp"
#include "mpi/request.hpp"

namespace tessera::mpi {

/// A state machine. Members show their buffers; when all have, each does its share, and leaves when nobody reads its
/// memory any more. Sums are formed in the order of ranks, with the same bits as by messages.
class DirectCall {
 public:
  enum class Outcome : std::uint8_t {
    waiting,
    done,
    refused  ///< a member's buffer is not in shared memory: all members see this, and use messages
  };

  static bool serves(CallKind kind) {
    return kind == CallKind::all_reduce || kind == CallKind::reduce_scatter || kind == CallKind::all_gather ||
           kind == CallKind::all_to_all;
  }

  void reserve(int members);
  void start(NodeGroup& group, const Request& request, std::uint64_t call);
  Outcome advance();

 private:
  enum class Step : std::uint8_t { show, meet, share, finish };

  bool show();
  bool meet();
  void share();
  void share_all_reduce();
  void share_reduce_scatter();
  void share_all_gather();
  void share_all_to_all();
  void gather_sums();
  void copy_from(int member, std::int64_t first_there, std::int64_t first_here, std::int64_t count);
  bool is_short() const;
  std::int64_t element_bytes() const;
  std::int64_t part() const;  // of an all-reduce: elements of all members' parts but the last ones'

  NodeGroup* group_ = nullptr;
  Request request_;
  std::uint64_t call_ = 0;
  Step step_ = Step::show;
  std::vector<const void*> inputs_;   // every member's `in`, here
  std::vector<std::int64_t> places_;  // all_to_all: where each member's part begins in the own `in`
};

}  // namespace tessera::mpi
