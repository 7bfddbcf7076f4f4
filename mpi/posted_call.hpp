// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one posted call of the MPI communicator: which messages it sends when, and what it adds in between.
// Used: the MPI communicator only.
// Must not know: slots, other calls.
#pragma once

#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "core/comm/communicator.hpp"
#include "mpi/messages.hpp"

namespace tessera::mpi {

/// The members of a call and the way to them.
struct Members {
  int rank = 0;
  int size = 1;
  Route route;
};

/// Elements of a segment: the unit in which parts are exchanged and added, so that the workspace stays small.
std::int64_t reduction_segment(CallKind kind, std::int64_t count, DType dtype, int members);

/// A state machine: start_… posts the first messages, advance() does what is possible without waiting.
///
/// A sum is formed where its part belongs: every member sends each other one that one's part as bytes, adds what it
/// receives to its own in the order of ranks, and, for an all-reduce, sends the result to all. Parts longer than a
/// segment go in rounds. A short all-reduce sends everything to everybody instead, in one step; the bits are the same.
class PostedCall {
 public:
  /// Takes the memory that calls of so many members need (as long as no message is cut), so that steady calls need
  /// none.
  void reserve(int members);

  void start_all_reduce(const Members& members, View inout, ReduceOp op, std::span<std::byte> workspace);
  void start_reduce_scatter(const Members& members, ConstView in, View out, std::span<const std::int64_t> counts,
                            ReduceOp op, std::span<std::byte> workspace);
  void start_all_gather(const Members& members, ConstView in, View out, std::span<const std::int64_t> counts);
  void start_all_to_all(const Members& members, ConstView in, std::span<const std::int64_t> send_counts, View out,
                        std::span<const std::int64_t> receive_counts);
  void start_broadcast(const Members& members, View inout, int root);
  void start_send(const Members& members, ConstView in, int to);
  void start_receive(const Members& members, View out, int from);

  /// True when the call is done, from then on: also when it failed.
  bool advance() noexcept;

  /// Throws what ended a done call before its time, if anything did.
  void throw_if_failed();

 private:
  enum class Step : std::uint8_t { exchange, reduce, gather, receive_broadcast, done };
  struct Reduction {
    const std::byte* in = nullptr;
    std::byte* out = nullptr;  // place of the own part
    ReduceOp op = ReduceOp::sum;
    DType dtype = DType::f32;
    std::int64_t segment = 0;
    std::int64_t rounds = 0;
    std::int64_t round = 0;
    bool gathers = false;
    std::span<std::byte> workspace;
  };

  void cut_evenly(std::int64_t count);
  void cut_by(std::span<const std::int64_t> counts);
  void cut_not(std::int64_t count);
  std::int64_t count_of(int member) const { return counts_[static_cast<std::size_t>(member)]; }
  std::int64_t first_of(int member) const { return firsts_[static_cast<std::size_t>(member)]; }
  std::int64_t in_round(int member) const;
  std::byte* received_from(int member) const;

  void start_reduction(const Reduction& reduction);
  void post_round();
  void add_round();
  void post_gather(const std::byte* own, std::byte* all, std::int64_t element_bytes);
  void post_broadcast();
  void finish_step();

  Members members_;
  Step step_ = Step::done;
  Messages messages_;
  std::exception_ptr error_;
  Reduction reduction_;
  View broadcast_;
  int root_ = 0;
  // Each member's part: first element and count.
  std::vector<std::int64_t> firsts_;
  std::vector<std::int64_t> counts_;
  std::vector<const void*> inputs_;
};

}  // namespace tessera::mpi
