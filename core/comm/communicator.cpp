// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/communicator.hpp"

#include <fmt/core.h>

#include <numeric>
#include <utility>

#include "core/base/error.hpp"
#include "core/comm/flight_recorder.hpp"

namespace tessera {
namespace {

constexpr std::uint64_t k_no_record = ~std::uint64_t{0};

std::int64_t bytes_of(ConstView view) {
  return view.count * size_of(view.dtype);
}

void check_view(CallKind kind, ConstView view) {
  TESSERA_CHECK(view.count >= 0, fmt::format("{} of {} elements", name_of(kind), view.count));
  TESSERA_CHECK(view.count == 0 || view.data != nullptr,
                fmt::format("{} of {} elements without memory", name_of(kind), view.count));
}

void check_same_dtype(CallKind kind, ConstView in, ConstView out) {
  TESSERA_CHECK(in.dtype == out.dtype,
                fmt::format("{} from {} to {}", name_of(kind), name_of(in.dtype), name_of(out.dtype)));
}

/// Marks the time of a wait, for the watchdog.
class WaitMark {
 public:
  WaitMark(FlightRecorder* recorder, std::uint64_t record) : recorder_(record == k_no_record ? nullptr : recorder) {
    if (recorder_ != nullptr) {
      recorder_->begin_wait(record);
    }
  }
  ~WaitMark() {
    if (recorder_ != nullptr) {
      recorder_->end_wait();
    }
  }
  WaitMark(const WaitMark&) = delete;
  WaitMark& operator=(const WaitMark&) = delete;

 private:
  FlightRecorder* recorder_;
};

}  // namespace

/// What the recorder and the byte counts need of a call.
struct Communicator::Call {
  CallKind kind;
  ConstView in;
  ReduceOp op = ReduceOp::sum;
  int member = -1;         // the other end, or the root
  std::int64_t bytes = 0;  // that this rank hands over
};

bool Work::test() {
  if (communicator_ != nullptr && communicator_->test(slot_)) {
    communicator_ = nullptr;
  }
  return communicator_ == nullptr;
}

void Work::wait() {
  if (communicator_ != nullptr) {
    std::exchange(communicator_, nullptr)->wait(slot_);
  }
}

Communicator::Communicator(int rank, std::vector<int> world_ranks)
    : rank_(rank), world_ranks_(std::move(world_ranks)), sent_(world_ranks_.size()), received_(world_ranks_.size()) {
  TESSERA_CHECK(rank_ >= 0 && rank_ < size(), fmt::format("rank {} of {}", rank_, size()));
  record_of_slot_.fill(k_no_record);
}

Communicator::~Communicator() = default;

void Communicator::set_recorder(FlightRecorder* recorder, std::string_view name) {
  recorder_ = recorder;
  recorder_name_ = name;
  recorder_channel_ = recorder == nullptr ? std::uint16_t{0} : recorder->add_channel(name, world_ranks_);
}

std::uint64_t Communicator::begin(const Call& call) {
  ++calls_;
  bytes_ += call.bytes;
  const auto member = static_cast<std::size_t>(call.member);
  std::uint64_t& sequence = call.kind == CallKind::send      ? sent_[member]
                            : call.kind == CallKind::receive ? received_[member]
                                                             : collectives_;
  ++sequence;
  if (recorder_ == nullptr) {
    return k_no_record;
  }
  CallRecord record;
  record.sequence = sequence;
  record.kind = call.kind;
  record.op = call.op;
  record.dtype = call.in.dtype;
  record.count = call.in.count;
  record.channel = recorder_channel_;
  record.peer = call.member < 0 ? -1 : world_ranks_[member];
  return recorder_->begin(record);
}

void Communicator::end(std::uint64_t record) {
  if (recorder_ != nullptr && record != k_no_record) {
    recorder_->end(record);
  }
}

Work Communicator::posted(std::uint64_t record, Work work) {
  if (work.communicator_ == nullptr) {
    end(record);
  } else {
    record_of_slot_[static_cast<std::size_t>(work.slot_)] = record;
  }
  return work;
}

bool Communicator::test(int slot) {
  if (!do_test(slot)) {
    return false;
  }
  end(record_of_slot_[static_cast<std::size_t>(slot)]);
  return true;
}

void Communicator::wait(int slot) {
  const std::uint64_t record = record_of_slot_[static_cast<std::size_t>(slot)];
  const WaitMark mark(recorder_, record);
  do_wait(slot);
  end(record);
}

void Communicator::check_workspace(CallKind kind, ConstView in, const CallContext& context) const {
  const std::int64_t needed = workspace_bytes(kind, in.count, in.dtype);
  TESSERA_CHECK(std::ssize(context.workspace) >= needed,
                fmt::format("{} of {} {} on {} ranks needs {} bytes of workspace, granted are {}", name_of(kind),
                            in.count, name_of(in.dtype), size(), needed, context.workspace.size()));
}

void Communicator::check_counts(CallKind kind, std::span<const std::int64_t> counts, std::int64_t total) const {
  TESSERA_CHECK(std::ssize(counts) == size(),
                fmt::format("{} with {} counts for {} ranks", name_of(kind), counts.size(), size()));
  std::int64_t sum = 0;
  for (const std::int64_t count : counts) {
    TESSERA_CHECK(count >= 0, fmt::format("{} with a count of {}", name_of(kind), count));
    sum += count;
  }
  TESSERA_CHECK(sum == total, fmt::format("{}: counts add up to {}, the buffer has {}", name_of(kind), sum, total));
}

void Communicator::check_member(CallKind kind, int member) const {
  TESSERA_CHECK(member >= 0 && member < size(),
                fmt::format("{} with rank {} of a group of {}", name_of(kind), member, size()));
  TESSERA_CHECK(is_collective(kind) || member != rank_,
                fmt::format("{} between rank {} and itself: copy instead", name_of(kind), member));
}

Work Communicator::all_reduce(View inout, ReduceOp op, const CallContext& context) {
  check_view(CallKind::all_reduce, inout);
  check_workspace(CallKind::all_reduce, inout, context);
  const auto record = begin({.kind = CallKind::all_reduce, .in = inout, .op = op, .bytes = bytes_of(inout)});
  return posted(record, do_all_reduce(inout, op, context));
}

Work Communicator::reduce_scatter(ConstView in, View out, std::span<const std::int64_t> counts, ReduceOp op,
                                  const CallContext& context) {
  constexpr auto kind = CallKind::reduce_scatter;
  check_view(kind, in);
  check_view(kind, out);
  check_same_dtype(kind, in, out);
  check_counts(kind, counts, in.count);
  TESSERA_CHECK(out.count == counts[static_cast<std::size_t>(rank_)],
                fmt::format("{} into {} elements", name_of(kind), out.count));
  check_workspace(kind, in, context);
  const auto record = begin({.kind = kind, .in = in, .op = op, .bytes = bytes_of(in)});
  return posted(record, do_reduce_scatter(in, out, counts, op, context));
}

Work Communicator::all_gather(ConstView in, View out, std::span<const std::int64_t> counts,
                              const CallContext& context) {
  constexpr auto kind = CallKind::all_gather;
  check_view(kind, in);
  check_view(kind, out);
  check_same_dtype(kind, in, out);
  check_counts(kind, counts, out.count);
  TESSERA_CHECK(in.count == counts[static_cast<std::size_t>(rank_)],
                fmt::format("{} of {} elements", name_of(kind), in.count));
  check_workspace(kind, in, context);
  const auto record = begin({.kind = kind, .in = in, .bytes = bytes_of(in)});
  return posted(record, do_all_gather(in, out, counts, context));
}

Work Communicator::all_to_all(ConstView in, std::span<const std::int64_t> send_counts, View out,
                              std::span<const std::int64_t> receive_counts, const CallContext& context) {
  constexpr auto kind = CallKind::all_to_all;
  check_view(kind, in);
  check_view(kind, out);
  check_same_dtype(kind, in, out);
  check_counts(kind, send_counts, in.count);
  check_counts(kind, receive_counts, out.count);
  check_workspace(kind, in, context);
  const auto record = begin({.kind = kind, .in = in, .bytes = bytes_of(in)});
  return posted(record, do_all_to_all(in, send_counts, out, receive_counts, context));
}

Work Communicator::broadcast(View inout, int root, const CallContext& context) {
  constexpr auto kind = CallKind::broadcast;
  check_view(kind, inout);
  check_member(kind, root);
  check_workspace(kind, inout, context);
  const auto record = begin({.kind = kind, .in = inout, .member = root, .bytes = root == rank_ ? bytes_of(inout) : 0});
  return posted(record, do_broadcast(inout, root, context));
}

Work Communicator::send(ConstView in, int to, const CallContext& context) {
  check_view(CallKind::send, in);
  check_member(CallKind::send, to);
  const auto record = begin({.kind = CallKind::send, .in = in, .member = to, .bytes = bytes_of(in)});
  return posted(record, do_send(in, to, context));
}

Work Communicator::receive(View out, int from, const CallContext& context) {
  check_view(CallKind::receive, out);
  check_member(CallKind::receive, from);
  const auto record = begin({.kind = CallKind::receive, .in = out, .member = from});
  return posted(record, do_receive(out, from, context));
}

void Communicator::barrier() {
  const auto record = begin({.kind = CallKind::barrier, .in = {}});
  const WaitMark mark(recorder_, record);
  do_barrier();
  end(record);
}

bool Communicator::agree(bool ok) {
  const auto record = begin({.kind = CallKind::agree, .in = {}});
  const WaitMark mark(recorder_, record);
  const bool all = do_agree(ok);
  end(record);
  return all;
}

std::unique_ptr<Communicator> Communicator::split(int color, int key, std::string_view name) {
  const auto record = begin({.kind = CallKind::split, .in = {}});
  const WaitMark mark(recorder_, record);
  auto part = do_split(color, key);
  end(record);
  if (part != nullptr && recorder_ != nullptr) {
    part->set_recorder(recorder_, fmt::format("{}.{}", name.empty() ? recorder_name_ : name, color));
  }
  return part;
}

}  // namespace tessera
