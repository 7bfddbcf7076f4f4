// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/thread_communicator.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <exception>
#include <map>
#include <numeric>
#include <thread>

#include "core/comm/slot_pool.hpp"
#include "core/comm/thread_collectives.hpp"
#include "core/comm/thread_mailbox.hpp"
#include "core/comm/thread_world.hpp"

namespace tessera {
namespace {

struct ThreadGroup {
  ThreadGroup(std::shared_ptr<ThreadWorld> all, std::vector<int> members)
      : world(std::move(all)),
        world_ranks(std::move(members)),
        collectives(world, world_ranks),
        mailbox(world, world_ranks) {}

  std::shared_ptr<ThreadWorld> world;
  std::vector<int> world_ranks;
  ThreadCollectives collectives;
  ThreadMailbox mailbox;
};

class ThreadCommunicator final : public Communicator {
 public:
  ThreadCommunicator(std::shared_ptr<ThreadGroup> group, int rank)
      : Communicator(rank, group->world_ranks), group_(std::move(group)) {}

  std::int64_t workspace_bytes(CallKind, std::int64_t, DType) const override { return 0; }

  ThreadWorld& world() { return *group_->world; }

 private:
  /// A posted call, and on whom it waits.
  struct Slot {
    std::atomic<bool> done{false};
    CallKind kind = CallKind::barrier;
    int peer = -1;
    std::uint64_t sequence = 0;
  };

  Work do_all_reduce(View inout, ReduceOp op, const CallContext&) override {
    return collective({.kind = CallKind::all_reduce, .op = op, .in = inout, .out = inout.data});
  }
  Work do_reduce_scatter(ConstView in, View out, std::span<const std::int64_t> counts, ReduceOp op,
                         const CallContext&) override {
    return collective(
        {.kind = CallKind::reduce_scatter, .op = op, .in = in, .out = out.data, .receive_counts = counts.data()});
  }
  Work do_all_gather(ConstView in, View out, std::span<const std::int64_t> counts, const CallContext&) override {
    return collective({.kind = CallKind::all_gather, .in = in, .out = out.data, .receive_counts = counts.data()});
  }
  Work do_all_to_all(ConstView in, std::span<const std::int64_t> send_counts, View out,
                     std::span<const std::int64_t> receive_counts, const CallContext&) override {
    return collective({.kind = CallKind::all_to_all,
                       .in = in,
                       .out = out.data,
                       .send_counts = send_counts.data(),
                       .receive_counts = receive_counts.data()});
  }
  Work do_broadcast(View inout, int root, const CallContext&) override {
    return collective({.kind = CallKind::broadcast, .in = inout, .out = inout.data, .root = root});
  }
  Work do_send(ConstView in, int to, const CallContext&) override {
    world().throw_if_aborted();
    const int slot = open(CallKind::send, to);
    return posted_in(slot, group_->mailbox.send(rank(), to, in, completion(slot)));
  }
  Work do_receive(View out, int from, const CallContext&) override {
    world().throw_if_aborted();
    const int slot = open(CallKind::receive, from);
    return posted_in(slot, group_->mailbox.receive(rank(), from, out, completion(slot)));
  }

  void do_barrier() override { wait_for({.kind = CallKind::barrier}); }

  bool do_agree(bool ok) override {
    std::uint8_t refused = ok ? 0 : 1;
    wait_for({.kind = CallKind::agree, .op = ReduceOp::max, .in = {&refused, 1, DType::u8}, .out = &refused});
    return refused == 0;
  }

  std::unique_ptr<Communicator> do_split(int color, int key) override {
    SplitRequest request{color, key, nullptr};
    wait_for({.kind = CallKind::split, .out = &request});
    return std::move(request.part);
  }

  bool do_test(int slot) override {
    if (!is_done(slot)) {
      world().throw_if_aborted();
      return false;
    }
    slots_.release(slot);
    return true;
  }

  void do_wait(int slot) override {
    world().wait(world_ranks()[static_cast<std::size_t>(rank())], [&] { return is_done(slot); });
    slots_.release(slot);
  }

  Work collective(const CollectiveCall& call) {
    const int slot = open(call.kind, -1);
    return posted_in(slot, post(slot, call));
  }

  void wait_for(const CollectiveCall& call) {
    const int slot = open(call.kind, -1);
    if (post(slot, call)) {
      slots_.release(slot);
    } else {
      do_wait(slot);
    }
  }

  bool post(int slot, const CollectiveCall& call) {
    at(slot).sequence = group_->collectives.posted(rank());
    return group_->collectives.post(rank(), call, completion(slot));
  }

  int open(CallKind kind, int peer) {
    const int slot = slots_.acquire();
    at(slot).done.store(false, std::memory_order_relaxed);
    at(slot).kind = kind;
    at(slot).peer = peer;
    return slot;
  }

  Work posted_in(int slot, bool done) {
    if (done) {
      slots_.release(slot);
      return {};
    }
    return {this, slot};
  }

  Slot& at(int slot) { return calls_[static_cast<std::size_t>(slot)]; }
  Completion completion(int slot) { return {&at(slot).done, world_ranks()[static_cast<std::size_t>(rank())]}; }

  /// Throws when a rank has left that the call still needs.
  bool is_done(int slot) {
    const Slot& call = at(slot);
    const auto done = [&] { return call.done.load(std::memory_order_acquire); };
    if (done()) {
      return true;
    }
    for (int member = 0; member < size(); ++member) {
      const int world_rank = world_ranks()[static_cast<std::size_t>(member)];
      const bool needed = call.peer < 0 || call.peer == member;
      // The flags are read again after `left`: what the rank did before it left counts.
      if (needed && world().has_left(world_rank) &&
          (call.peer < 0 ? group_->collectives.posted(member) <= call.sequence : !done())) {
        throw Error(ErrorKind::peer_lost,
                    fmt::format("rank {} returned while rank {} waits for it in {}", world_rank,
                                world_ranks()[static_cast<std::size_t>(rank())], name_of(call.kind)));
      }
    }
    return done();
  }

  std::shared_ptr<ThreadGroup> group_;
  SlotPool slots_;
  std::array<Slot, k_slots> calls_;
};

/// What the ranks of one run_ranks leave behind.
class FirstError {
 public:
  void keep(std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (!error_) {
      error_ = std::move(error);
    }
  }
  void rethrow() const {
    if (error_) {
      std::rethrow_exception(error_);
    }
  }

 private:
  std::mutex mutex_;
  std::exception_ptr error_;
};

void run_rank(ThreadCommunicator& communicator, const std::function<void(Communicator&)>& rank, FirstError& first) {
  const auto abort = [&](const char* what) {
    first.keep(std::current_exception());
    communicator.world().abort(ErrorKind::peer_lost,
                               fmt::format("rank {} of {} failed: {}", communicator.rank(), communicator.size(), what));
  };
  try {
    rank(communicator);
    communicator.world().leave(communicator.rank());
  } catch (const std::exception& error) {
    abort(error.what());
  } catch (...) {
    abort("unknown exception");
  }
}

std::vector<std::unique_ptr<ThreadCommunicator>> make_world(int n) {
  TESSERA_CHECK(n > 0, fmt::format("{} thread ranks", n));
  std::vector<int> world_ranks(static_cast<std::size_t>(n));
  std::iota(world_ranks.begin(), world_ranks.end(), 0);
  const auto group = std::make_shared<ThreadGroup>(std::make_shared<ThreadWorld>(n), std::move(world_ranks));
  std::vector<std::unique_ptr<ThreadCommunicator>> ranks;
  for (int rank = 0; rank < n; ++rank) {
    ranks.push_back(std::make_unique<ThreadCommunicator>(group, rank));
  }
  return ranks;
}

}  // namespace

void ThreadCollectives::split(const std::vector<CollectiveCall>& calls) {
  std::map<int, std::vector<int>> members_of_color;
  const auto request = [&](int member) {
    return static_cast<SplitRequest*>(calls[static_cast<std::size_t>(member)].out);
  };
  for (int member = 0; member < static_cast<int>(calls.size()); ++member) {
    if (request(member)->color >= 0) {
      members_of_color[request(member)->color].push_back(member);
    }
  }
  for (auto& [color, members] : members_of_color) {
    std::stable_sort(members.begin(), members.end(), [&](int a, int b) { return request(a)->key < request(b)->key; });
    std::vector<int> world_ranks;
    for (const int member : members) {
      world_ranks.push_back(world_ranks_[static_cast<std::size_t>(member)]);
    }
    const auto group = std::make_shared<ThreadGroup>(world_, std::move(world_ranks));
    for (int rank = 0; rank < static_cast<int>(members.size()); ++rank) {
      request(members[static_cast<std::size_t>(rank)])->part = std::make_unique<ThreadCommunicator>(group, rank);
    }
  }
}

std::vector<std::unique_ptr<Communicator>> make_thread_communicators(int n) {
  std::vector<std::unique_ptr<Communicator>> communicators;
  for (auto& rank : make_world(n)) {
    communicators.push_back(std::move(rank));
  }
  return communicators;
}

void run_ranks(int n, const std::function<void(Communicator&)>& rank) {
  const auto ranks = make_world(n);
  FirstError first;
  {
    std::vector<std::jthread> threads;
    for (const auto& communicator : ranks) {
      threads.emplace_back([&] { run_rank(*communicator, rank, first); });
    }
  }
  first.rethrow();
}

}  // namespace tessera
