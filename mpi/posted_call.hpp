// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  one posted call of the MPI communicator: which messages it sends when, and what it adds in between.
// Used: the MPI communicator only.
// Must not know: slots, other calls.
#pragma once

#include <array>
#include <cstdint>
#include <exception>
#include <span>
#include <vector>

#include "mpi/direct_call.hpp"
#include "mpi/stage.hpp"

namespace tessera::mpi {

/// Elements of a segment: the unit in which parts are exchanged and added, so that the workspace stays small.
std::int64_t reduction_segment(CallKind kind, std::int64_t count, DType dtype, int members);

/// A state machine: start() posts, advance() does what is possible without waiting.
///
/// A sum is formed where its part belongs: every member sends each other one that one's part as bytes, adds what it
/// receives to its own in the order of ranks, and, for an all-reduce, sends the result to all. Parts longer than a
/// segment go in rounds. A short all-reduce sends everything to everybody instead, in one step; the bits are the same.
class PostedCall {
 public:
  /// Takes the memory that calls of so many members need (as long as no message is cut), so that steady calls need
  /// none.
  void reserve(int members);

  /// Posts the call: its stages run one after the other, at most k_stages.
  static constexpr std::size_t k_stages = 3;
  void start(std::span<const Stage> stages);

  /// Counts that stages refer to may be kept here.
  std::vector<std::int64_t>& parts() { return parts_; }

  /// Whether MPI must be called for it to advance. Otherwise the bell of this rank rings when it may.
  bool needs_mpi() const { return step_ != Step::direct && step_ != Step::done; }

  /// True when the call is done, from then on: also when it failed.
  bool advance() noexcept;

  /// Throws what ended a done call before its time, if anything did.
  void throw_if_failed();

 private:
  enum class Step : std::uint8_t { direct, exchange, reduce, gather, receive_broadcast, done };
  /// Progress of a sum by messages.
  struct Reduction {
    std::byte* out = nullptr;  // place of the own part
    std::int64_t segment = 0;
    std::int64_t rounds = 0;
    std::int64_t round = 0;
    bool gathers = false;
  };

  void cut_evenly(std::int64_t count);
  void cut_by(std::span<const std::int64_t> counts);
  void cut_not(std::int64_t count);
  std::int64_t count_of(int member) const { return counts_[static_cast<std::size_t>(member)]; }
  std::int64_t first_of(int member) const { return firsts_[static_cast<std::size_t>(member)]; }
  std::int64_t segment_granted() const;
  std::int64_t in_round(int member) const;
  std::byte* received_from(int member) const;

  void start_stage();
  void start_messages();
  void start_all_reduce();
  void start_reduction(bool gathers, std::byte* out);
  void start_all_gather();
  void start_all_to_all();
  void start_broadcast();
  void post_round();
  void add_round();
  void post_gather(const std::byte* own, std::byte* all);
  void post_broadcast();
  bool step_is_over();
  void finish_step();
  std::int64_t element_bytes() const { return size_of(request_.in.dtype); }
  const std::byte* in() const { return static_cast<const std::byte*>(request_.in.data); }
  std::byte* out() const { return static_cast<std::byte*>(request_.out.data); }

  std::array<Stage, k_stages> stages_;
  std::size_t stage_ = 0, stage_count_ = 0;
  std::vector<std::int64_t> parts_;
  Members members_;
  Request request_;
  Step step_ = Step::done;
  DirectCall direct_;
  Messages messages_;
  std::exception_ptr error_;
  Reduction reduction_;
  // Each member's part: first element and count.
  std::vector<std::int64_t> firsts_;
  std::vector<std::int64_t> counts_;
  std::vector<const void*> inputs_;
};

}  // namespace tessera::mpi
