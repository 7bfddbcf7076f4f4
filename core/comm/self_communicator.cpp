// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/self_communicator.hpp"

#include <cstring>

#include "core/base/error.hpp"

namespace tessera {
namespace {

void copy(ConstView in, View out) {
  if (in.data != out.data && in.count > 0) {
    std::memcpy(out.data, in.data, static_cast<std::size_t>(in.count * size_of(in.dtype)));
  }
}

class SelfCommunicator final : public Communicator {
 public:
  explicit SelfCommunicator(int world_rank) : Communicator(0, {world_rank}) {}

  std::int64_t workspace_bytes(CallKind, std::int64_t, DType) const override { return 0; }

 private:
  Work do_all_reduce(View, ReduceOp, const CallContext&) override { return {}; }
  Work do_reduce_scatter(ConstView in, View out, std::span<const std::int64_t>, ReduceOp, const CallContext&) override {
    copy(in, out);
    return {};
  }
  Work do_all_gather(ConstView in, View out, std::span<const std::int64_t>, const CallContext&) override {
    copy(in, out);
    return {};
  }
  Work do_all_to_all(ConstView in, std::span<const std::int64_t>, View out, std::span<const std::int64_t>,
                     const CallContext&) override {
    copy(in, out);
    return {};
  }
  Work do_broadcast(View, int, const CallContext&) override { return {}; }
  Work do_send(ConstView, int, const CallContext&) override { no_peer(); }
  Work do_receive(View, int, const CallContext&) override { no_peer(); }
  void do_barrier() override {}
  bool do_agree(bool ok) override { return ok; }
  std::unique_ptr<Communicator> do_split(int color, int) override {
    return color < 0 ? nullptr : make_self_communicator(world_ranks().front());
  }
  bool do_test(int) override { return true; }
  void do_wait(int) override {}

  [[noreturn]] static void no_peer() { throw Error(ErrorKind::internal, "a rank alone has no peer"); }
};

}  // namespace

std::unique_ptr<Communicator> make_self_communicator(int world_rank) {
  return std::make_unique<SelfCommunicator>(world_rank);
}

}  // namespace tessera
