// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <climits>
#include <numeric>
#include <thread>
#include <utility>

#include "core/base/error.hpp"
#include "core/comm/slot_pool.hpp"
#include "mpi/native.hpp"
#include "mpi/posted_call.hpp"
#include "mpi/progress.hpp"
#include "mpi/world.hpp"

namespace tessera::mpi {
namespace {

// MPI guarantees tags up to 32767. Collective calls take turns, so that those outstanding have different ones; messages
// between pairs share one, since their order is what counts.
constexpr std::uint64_t k_collective_tags = 8192;
constexpr int k_message_tag = static_cast<int>(k_collective_tags);

int rank_in(MPI_Comm comm) {
  int rank = 0;
  check(MPI_Comm_rank(comm, &rank), "MPI_Comm_rank");
  return rank;
}

std::vector<int> world_ranks_of(MPI_Comm comm) {
  int size = 0;
  check(MPI_Comm_size(comm, &size), "MPI_Comm_size");
  MPI_Group group = MPI_GROUP_NULL;
  MPI_Group world = MPI_GROUP_NULL;
  check(MPI_Comm_group(comm, &group), "MPI_Comm_group");
  check(MPI_Comm_group(MPI_COMM_WORLD, &world), "MPI_Comm_group");
  std::vector<int> own(static_cast<std::size_t>(size));
  std::vector<int> ranks(own.size());
  std::iota(own.begin(), own.end(), 0);
  const int code = MPI_Group_translate_ranks(group, size, own.data(), world, ranks.data());
  MPI_Group_free(&group);
  MPI_Group_free(&world);
  check(code, "MPI_Group_translate_ranks");
  return ranks;
}

bool is_on_node(std::span<const int> ranks, const std::vector<int>& ranks_of_node) {
  return std::all_of(ranks.begin(), ranks.end(),
                     [&](int rank) { return std::binary_search(ranks_of_node.begin(), ranks_of_node.end(), rank); });
}

/// Whether the ranks of this node can each have a core.
Patience::Cores cores_of(const CommunicatorOptions& options) {
  const std::size_t ranks = options.memory == nullptr ? 0 : options.memory->world_ranks().size();
  return ranks > 0 && ranks <= std::thread::hardware_concurrency() ? Patience::Cores::own : Patience::Cores::shared;
}

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(UniqueComm comm, std::shared_ptr<Progress> progress, const CommunicatorOptions& options)
      : Communicator(rank_in(comm.get()), world_ranks_of(comm.get())),
        comm_(std::move(comm)),
        progress_(std::move(progress)),
        options_(options),
        cores_(cores_of(options)),
        sent_(world_ranks().size()),
        received_(world_ranks().size()) {
    if (size() > 1 && options_.memory != nullptr && is_on_node(world_ranks(), options_.memory->world_ranks())) {
      group_ = std::make_unique<NodeGroup>(options_.memory, comm_.get(), rank(), world_ranks());
    }
    progress_->reserve(calls_.size());
    for (PostedCall& call : calls_) {
      call.reserve(size());
    }
  }

  ~MpiCommunicator() override {
    for (const PostedCall& call : calls_) {
      progress_->forget(call);
    }
  }

  MPI_Comm handle() const { return comm_.get(); }

  std::int64_t workspace_bytes(CallKind kind, std::int64_t count, DType dtype) const override {
    return mpi::workspace_bytes(kind, count, dtype, size());
  }

 private:
  Work do_all_reduce(View inout, ReduceOp op, const CallContext& context) override {
    return collective(
        {.kind = CallKind::all_reduce, .op = op, .in = inout, .out = inout, .workspace = context.workspace});
  }
  Work do_reduce_scatter(ConstView in, View out, std::span<const std::int64_t> counts, ReduceOp op,
                         const CallContext& context) override {
    return collective({.kind = CallKind::reduce_scatter,
                       .op = op,
                       .in = in,
                       .out = out,
                       .receive_counts = counts,
                       .workspace = context.workspace});
  }
  Work do_all_gather(ConstView in, View out, std::span<const std::int64_t> counts, const CallContext&) override {
    return collective({.kind = CallKind::all_gather, .in = in, .out = out, .receive_counts = counts});
  }
  Work do_all_to_all(ConstView in, std::span<const std::int64_t> send_counts, View out,
                     std::span<const std::int64_t> receive_counts, const CallContext&) override {
    return collective({.kind = CallKind::all_to_all,
                       .in = in,
                       .out = out,
                       .send_counts = send_counts,
                       .receive_counts = receive_counts});
  }
  Work do_broadcast(View inout, int root, const CallContext&) override {
    return collective({.kind = CallKind::broadcast, .in = inout, .out = inout, .peer = root});
  }
  Work do_send(ConstView in, int to, const CallContext&) override {
    return message({.kind = CallKind::send, .in = in, .peer = to}, sent_);
  }
  Work do_receive(View out, int from, const CallContext&) override {
    return message({.kind = CallKind::receive, .in = out, .out = out, .peer = from}, received_);
  }

  void do_barrier() override {
    if (group_ != nullptr) return call_and_wait({.kind = CallKind::barrier});
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Ibarrier(comm_.get(), &request), "MPI_Ibarrier");
    wait_for(request, "MPI_Ibarrier");
  }

  bool do_agree(bool ok) override {
    if (group_ != nullptr) {
      std::uint8_t refused = ok ? 0 : 1;
      const View view{&refused, 1, DType::u8};
      call_and_wait({.kind = CallKind::agree, .op = ReduceOp::max, .in = view, .out = view});
      return refused == 0;
    }
    const int mine = ok ? 1 : 0;
    int all = 0;
    MPI_Request request = MPI_REQUEST_NULL;
    check(MPI_Iallreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm_.get(), &request), "MPI_Iallreduce");
    wait_for(request, "MPI_Iallreduce");
    return all != 0;
  }

  std::unique_ptr<Communicator> do_split(int color, int key) override {
    TESSERA_CHECK(slots_.empty(), "split while calls are outstanding");
    MPI_Comm part = MPI_COMM_NULL;
    check(MPI_Comm_split(comm_.get(), color < 0 ? MPI_UNDEFINED : color, key, &part), "MPI_Comm_split");
    if (part == MPI_COMM_NULL) {
      return nullptr;
    }
    return std::make_unique<MpiCommunicator>(UniqueComm(part), progress_, options_);
  }

  bool do_test(int slot) override {
    PostedCall& call = calls_[static_cast<std::size_t>(slot)];
    if (!progress_->advance(call)) {
      return false;
    }
    slots_.release(slot);
    call.throw_if_failed();
    return true;
  }

  void do_wait(int slot) override {
    const PostedCall& call = calls_[static_cast<std::size_t>(slot)];
    Patience patience(cores_);
    while (!do_test(slot)) {
      if (!patience.pause()) progress_->sleep(call);
    }
  }

  Work collective(const Request& request) { return work_of(post_collective(request)); }

  Work message(const Request& request, std::vector<std::uint64_t>& messages) {
    return work_of(post(request, k_message_tag, messages[static_cast<std::size_t>(request.peer)]++));
  }

  Work work_of(int slot) { return slot == k_done ? Work() : Work(this, slot); }

  /// A control call of a group on one node.
  void call_and_wait(const Request& request) {
    const int slot = post_collective(request);
    if (slot != k_done) do_wait(slot);
  }

  int post_collective(const Request& request) {
    const std::uint64_t number = collectives_++;
    return post(request, static_cast<int>(number % k_collective_tags), number);
  }

  /// The slot of the call, or k_done.
  int post(const Request& request, int tag, std::uint64_t number) {
    const Members members{rank(), size(), {comm_.get(), tag, options_.piece_bytes}};
    const int slot = slots_.acquire();
    PostedCall& call = calls_[static_cast<std::size_t>(slot)];
    if (!progress_->post(call, [&] { call.start(members, request, group_.get(), number); })) return slot;
    slots_.release(slot);
    call.throw_if_failed();
    return k_done;
  }

  /// For control calls: MPI's own, while ours advance.
  void wait_for(MPI_Request& request, std::string_view call) {
    Patience patience(cores_);
    while (true) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
      if (done != 0) {
        return;
      }
      progress_->advance_all();
      if (!patience.pause()) Progress::nap();
    }
  }

  UniqueComm comm_;
  std::shared_ptr<Progress> progress_;
  CommunicatorOptions options_;
  Patience::Cores cores_;
  static constexpr int k_done = -1;

  std::unique_ptr<NodeGroup> group_;  // of members that read each other's memory; else null
  SlotPool slots_;
  std::array<PostedCall, k_slots> calls_;
  std::uint64_t collectives_ = 0;
  std::vector<std::uint64_t> sent_, received_;  // messages, by peer
};

}  // namespace

std::int64_t workspace_bytes(CallKind kind, std::int64_t count, DType dtype, int members) {
  if (kind != CallKind::all_reduce && kind != CallKind::reduce_scatter) {
    return 0;
  }
  return (members - 1) * reduction_segment(kind, count, dtype, members) * size_of(dtype);
}

std::unique_ptr<Communicator> make_world(const Environment&, const CommunicatorOptions& options) {
  TESSERA_CHECK(options.piece_bytes > 0 && options.piece_bytes <= INT_MAX,
                fmt::format("pieces of {} bytes", options.piece_bytes));
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  NodeBell* bell = options.memory == nullptr ? nullptr : &options.memory->own_bell();
  return std::make_unique<MpiCommunicator>(UniqueComm(comm), std::make_shared<Progress>(bell), options);
}

MPI_Comm native_handle(const Communicator& communicator) {
  const auto* mpi = dynamic_cast<const MpiCommunicator*>(&communicator);
  TESSERA_CHECK(mpi != nullptr, "this communicator is not one of MPI");
  return mpi->handle();
}

}  // namespace tessera::mpi
