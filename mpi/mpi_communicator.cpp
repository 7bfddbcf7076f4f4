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
#include "mpi/nodewise.hpp"
#include "mpi/posted_call.hpp"
#include "mpi/progress.hpp"
#include "mpi/world.hpp"

namespace tessera::mpi {
namespace {

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

/// What all communicators of a run share.
struct Run {
  Run(const Environment& environment, const CommunicatorOptions& given)
      : options(given),
        node_of_rank(environment.layout().node_of_rank),
        progress(given.memory == nullptr ? nullptr : &given.memory->own_bell()),
        cores(cores_of(given)) {}

  const CommunicatorOptions options;
  const std::vector<int> node_of_rank;
  Progress progress;
  const Patience::Cores cores;
};

class MpiCommunicator final : public Communicator {
 public:
  MpiCommunicator(UniqueComm comm, std::shared_ptr<Run> run, SumOrder order)
      : Communicator(rank_in(comm.get()), world_ranks_of(comm.get())),
        comm_(std::move(comm)),
        run_(std::move(run)),
        order_(order),
        sent_(world_ranks().size()),
        received_(world_ranks().size()) {
    const std::shared_ptr<NodeMemory>& memory = run_->options.memory;
    if (size() > 1 && memory != nullptr && is_on_node(world_ranks(), memory->world_ranks()))
      group_ = std::make_unique<NodeGroup>(memory, comm_.get(), rank(), world_ranks());
    else if (size() > 1 && order_ == SumOrder::nodes)
      nodewise_ = Nodewise::find(comm_.get(), rank(), world_ranks(), run_->node_of_rank, memory);
    run_->progress.reserve(calls_.size());
    for (PostedCall& call : calls_) {
      call.reserve(size());
    }
  }

  ~MpiCommunicator() override {
    for (const PostedCall& call : calls_) {
      run_->progress.forget(call);
    }
  }

  MPI_Comm handle() const { return comm_.get(); }
  void order_sums(SumOrder order) { order_ = order; }

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
    return std::make_unique<MpiCommunicator>(UniqueComm(part), run_, order_);
  }

  bool do_test(int slot) override {
    PostedCall& call = calls_[static_cast<std::size_t>(slot)];
    if (!run_->progress.advance(call)) {
      return false;
    }
    slots_.release(slot);
    call.throw_if_failed();
    return true;
  }

  void do_wait(int slot) override {
    const PostedCall& call = calls_[static_cast<std::size_t>(slot)];
    Patience patience(run_->cores);
    while (!do_test(slot)) {
      if (!patience.pause()) run_->progress.sleep(call);
    }
  }

  Work collective(const Request& request) { return work_of(post_collective(request)); }

  Work message(const Request& request, std::vector<std::uint64_t>& messages) {
    return work_of(post_one(request, k_message_tag, messages[static_cast<std::size_t>(request.peer)]++));
  }

  Work work_of(int slot) { return slot == k_done ? Work() : Work(this, slot); }

  /// A control call of a group on one node.
  void call_and_wait(const Request& request) {
    const int slot = post_collective(request);
    if (slot != k_done) do_wait(slot);
  }

  int post_collective(const Request& request) {
    if (nodewise_ != nullptr && Nodewise::serves(request)) {
      return post([&](PostedCall& call) {
        Request trimmed = request;  // equal on all members
        trimmed.workspace = request.workspace.first(
            static_cast<std::size_t>(workspace_bytes(request.kind, request.in.count, request.in.dtype)));
        call.start(nodewise_->stages(trimmed, run_->options.piece_bytes, call.parts()));
      });
    }
    const std::uint64_t number = collectives_++;
    return post_one(request, tag_of_call(number), number);
  }

  int post_one(const Request& request, int tag, std::uint64_t number) {
    const Stage stage{{rank(), size(), {comm_.get(), tag, run_->options.piece_bytes}}, request, group_.get(), number};
    return post([&](PostedCall& call) { call.start({&stage, 1}); });
  }

  /// The slot of the call, or k_done.
  template <class Start>
  int post(const Start& start) {
    const int slot = slots_.acquire();
    PostedCall& call = calls_[static_cast<std::size_t>(slot)];
    if (!run_->progress.post(call, [&] { start(call); })) return slot;
    slots_.release(slot);
    call.throw_if_failed();
    return k_done;
  }

  /// For control calls: MPI's own, while ours advance.
  void wait_for(MPI_Request& request, std::string_view call) {
    Patience patience(run_->cores);
    while (true) {
      int done = 0;
      check(MPI_Test(&request, &done, MPI_STATUS_IGNORE), call);
      if (done != 0) {
        return;
      }
      run_->progress.advance_all();
      if (!patience.pause()) Progress::nap();
    }
  }

  UniqueComm comm_;
  std::shared_ptr<Run> run_;
  SumOrder order_;
  static constexpr int k_done = -1;

  std::unique_ptr<NodeGroup> group_;  // of members that read each other's memory; else null
  SlotPool slots_;
  std::array<PostedCall, k_slots> calls_;
  std::unique_ptr<Nodewise> nodewise_;  // of members on several nodes, where sums may be regrouped
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

std::unique_ptr<Communicator> make_world(const Environment& environment, const CommunicatorOptions& options) {
  TESSERA_CHECK(options.piece_bytes > 0 && options.piece_bytes <= INT_MAX,
                fmt::format("pieces of {} bytes", options.piece_bytes));
  MPI_Comm comm = MPI_COMM_NULL;
  check(MPI_Comm_dup(MPI_COMM_WORLD, &comm), "MPI_Comm_dup");
  return std::make_unique<MpiCommunicator>(UniqueComm(comm), std::make_shared<Run>(environment, options),
                                           SumOrder::ranks);
}

void order_sums(Communicator& world, SumOrder order) {
  auto* mpi = dynamic_cast<MpiCommunicator*>(&world);
  TESSERA_CHECK(mpi != nullptr, "this communicator is not one of MPI");
  mpi->order_sums(order);
}

MPI_Comm native_handle(const Communicator& communicator) {
  const auto* mpi = dynamic_cast<const MpiCommunicator*>(&communicator);
  TESSERA_CHECK(mpi != nullptr, "this communicator is not one of MPI");
  return mpi->handle();
}

}  // namespace tessera::mpi
