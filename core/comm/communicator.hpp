// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  communication among the ranks of one axis set. The public part checks, counts and records every call; the
//       private virtual part moves the data.
// Used: the executor, the trainer, writers of files.
// Must not know: what the bytes mean, which axes the ranks came from, how they were started.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/dtype.hpp"
#include "core/device/stream.hpp"

namespace tessera {

enum class ReduceOp : std::uint8_t { sum, max };

constexpr std::string_view name_of(ReduceOp op) {
  return op == ReduceOp::sum ? "sum" : "max";
}

enum class CallKind : std::uint8_t {
  all_reduce,
  reduce_scatter,
  all_gather,
  all_to_all,
  broadcast,
  send,
  receive,
  barrier,
  agree,
  split
};

constexpr std::string_view name_of(CallKind kind) {
  constexpr std::string_view names[] = {"all_reduce", "reduce_scatter", "all_gather", "all_to_all", "broadcast",
                                        "send",       "receive",        "barrier",    "agree",      "split"};
  return names[static_cast<int>(kind)];
}

constexpr bool is_collective(CallKind kind) {
  return kind != CallKind::send && kind != CallKind::receive;
}

/// Elements that a call reads or writes; borrowed until the call's work is done.
struct ConstView {
  const void* data = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
};
struct View {
  void* data = nullptr;
  std::int64_t count = 0;
  DType dtype = DType::f32;
  operator ConstView() const { return {data, count, dtype}; }
};

/// Where a call is ordered, and the scratch that the plan grants it (see Communicator::workspace_bytes), aligned to 64
/// bytes and, like the views, borrowed until the call's work is done.
struct CallContext {
  Stream& stream;
  std::span<std::byte> workspace;
};

class Communicator;

/// A posted call. Small, copyable, owns nothing; a default one is already done. Every posted call must be waited for
/// (or tested until done) exactly once before its communicator posts `k_slots` more.
class Work {
 public:
  Work() = default;
  Work(Communicator* communicator, int slot) : communicator_(communicator), slot_(slot) {}

  /// Advances the call; true when it is done.
  bool test();
  /// Returns when the call is done. Throws Error{stalled|peer_lost} when it cannot be.
  void wait();

 private:
  friend class Communicator;

  Communicator* communicator_ = nullptr;
  int slot_ = -1;
};

class FlightRecorder;

/// A group of ranks that communicate. Owns its group for itself; neither copied nor shared between threads.
///
/// All members must make the same collective calls in the same order. Counts are in elements, 64-bit; a member may
/// have zero. `counts[i]` belongs to member i; spans of counts are borrowed until the work is done. Sums are formed in
/// the order of ranks, in fp32 for bf16 and fp16 (rounded once) and in the element type otherwise, so all members
/// receive the same bits, whatever the sizes and the placement.
class Communicator {
 public:
  static constexpr int k_slots = 64;

  virtual ~Communicator();
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return static_cast<int>(world_ranks_.size()); }

  /// For each member its rank among all ranks of the run.
  std::span<const int> world_ranks() const { return world_ranks_; }

  /// Scratch that a call of this kind on `count` elements (of the whole in-buffer) needs; 0 for most.
  virtual std::int64_t workspace_bytes(CallKind kind, std::int64_t count, DType dtype) const = 0;

  /// In place: every member ends with the sum (max) over members.
  Work all_reduce(View inout, ReduceOp op, const CallContext& context);

  /// Member i ends with part i (counts[i] elements) of the sum of all members' `in`. `in.count` = sum of counts. `out`
  /// may be its own place inside `in`.
  Work reduce_scatter(ConstView in, View out, std::span<const std::int64_t> counts, ReduceOp op,
                      const CallContext& context);

  /// Every member ends with the parts of all, in the order of ranks. `in.count` = counts[rank()]. `in` may be its own
  /// place inside `out`.
  Work all_gather(ConstView in, View out, std::span<const std::int64_t> counts, const CallContext& context);

  /// Member j receives from member i the i-th part of j's `out`; parts lie one behind the other on both sides.
  Work all_to_all(ConstView in, std::span<const std::int64_t> send_counts, View out,
                  std::span<const std::int64_t> receive_counts, const CallContext& context);

  Work broadcast(View inout, int root, const CallContext& context);

  /// Between one pair of ranks messages arrive in the order in which they were sent. A rank does not send to itself.
  Work send(ConstView in, int to, const CallContext& context);
  Work receive(View out, int from, const CallContext& context);

  /// Blocking; for control, not for steps.
  void barrier();

  /// True on all members when `ok` was true on all. The way to fail together: agree, then throw.
  [[nodiscard]] bool agree(bool ok);

  /// Members of equal `color` become a group, ordered by `key`, then rank; a member with a negative colour gets null.
  /// Collective, and for the start of a run: no member may have calls outstanding.
  std::unique_ptr<Communicator> split(int color, int key, std::string_view name = {});

  /// Calls made and bytes handed over since the start (what this rank passed in).
  std::int64_t calls() const { return calls_; }
  std::int64_t bytes() const { return bytes_; }

  /// Where calls are recorded, and under which name; null (the default) records nothing. Communicators split from this
  /// one inherit it, and the name with their colour; one for another thread needs another recorder, or none.
  void set_recorder(FlightRecorder* recorder, std::string_view name);

 protected:
  Communicator(int rank, std::vector<int> world_ranks);

 private:
  friend class Work;
  struct Call;

  virtual Work do_all_reduce(View inout, ReduceOp op, const CallContext& context) = 0;
  virtual Work do_reduce_scatter(ConstView in, View out, std::span<const std::int64_t> counts, ReduceOp op,
                                 const CallContext& context) = 0;
  virtual Work do_all_gather(ConstView in, View out, std::span<const std::int64_t> counts,
                             const CallContext& context) = 0;
  virtual Work do_all_to_all(ConstView in, std::span<const std::int64_t> send_counts, View out,
                             std::span<const std::int64_t> receive_counts, const CallContext& context) = 0;
  virtual Work do_broadcast(View inout, int root, const CallContext& context) = 0;
  virtual Work do_send(ConstView in, int to, const CallContext& context) = 0;
  virtual Work do_receive(View out, int from, const CallContext& context) = 0;
  virtual void do_barrier() = 0;
  virtual bool do_agree(bool ok) = 0;
  virtual std::unique_ptr<Communicator> do_split(int color, int key) = 0;
  virtual bool do_test(int slot) = 0;
  virtual void do_wait(int slot) = 0;

  std::uint64_t begin(const Call& call);
  Work posted(std::uint64_t record, Work work);
  void end(std::uint64_t record);
  bool test(int slot);
  void wait(int slot);
  void check_workspace(CallKind kind, ConstView in, const CallContext& context) const;
  void check_counts(CallKind kind, std::span<const std::int64_t> counts, std::int64_t total) const;
  void check_member(CallKind kind, int member) const;

  int rank_;
  std::vector<int> world_ranks_;
  std::int64_t calls_ = 0;
  std::int64_t bytes_ = 0;
  // Sequence numbers are kept apart for collectives and for each direction of each pair: only these are equal on all
  // who take part, so only these can tell who is behind.
  std::uint64_t collectives_ = 0;
  std::vector<std::uint64_t> sent_;
  std::vector<std::uint64_t> received_;
  FlightRecorder* recorder_ = nullptr;
  std::string recorder_name_;
  std::uint16_t recorder_channel_ = 0;
  std::array<std::uint64_t, k_slots> record_of_slot_{};
};

}  // namespace tessera
