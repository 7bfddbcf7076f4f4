// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/posted_call.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

#include "core/comm/reduction.hpp"

namespace tessera::mpi {
namespace {

/// Below this an all-reduce takes one step: the time is latency, not bytes.
constexpr std::int64_t k_direct_bytes = 4096;

/// What the receives of one round may take; larger calls go in more rounds.
constexpr std::int64_t k_workspace_bytes = std::int64_t{32} << 20;
constexpr std::int64_t k_smallest_segment = 4096;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

bool is_direct(CallKind kind, std::int64_t count, DType dtype) {
  return kind == CallKind::all_reduce && count * size_of(dtype) <= k_direct_bytes;
}

void copy(const void* in, void* out, std::int64_t bytes) {
  if (in != out && bytes > 0) {
    std::memcpy(out, in, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

std::int64_t reduction_segment(CallKind kind, std::int64_t count, DType dtype, int members) {
  if (is_direct(kind, count, dtype)) {
    return count;
  }
  const std::int64_t largest = k_workspace_bytes / (std::max(1, members - 1) * size_of(dtype));
  return std::min(ceil_div(count, members), std::max(k_smallest_segment, largest));
}

void PostedCall::reserve(int members) {
  const auto n = static_cast<std::size_t>(members);
  messages_.reserve(2 * n);
  firsts_.reserve(n);
  counts_.reserve(n);
  inputs_.reserve(n);
}

void PostedCall::cut_evenly(std::int64_t count) {
  const std::int64_t each = ceil_div(count, members_.size);
  firsts_.clear();
  counts_.clear();
  for (int member = 0; member < members_.size; ++member) {
    firsts_.push_back(std::min(member * each, count));
    counts_.push_back(std::min(each, count - firsts_.back()));
  }
}

void PostedCall::cut_by(std::span<const std::int64_t> counts) {
  counts_.assign(counts.begin(), counts.end());
  firsts_.clear();
  std::int64_t first = 0;
  for (const std::int64_t count : counts) {
    firsts_.push_back(first);
    first += count;
  }
}

/// Everybody's part is everything.
void PostedCall::cut_not(std::int64_t count) {
  firsts_.assign(static_cast<std::size_t>(members_.size), 0);
  counts_.assign(static_cast<std::size_t>(members_.size), count);
}

void PostedCall::start_all_reduce(const Members& members, View inout, ReduceOp op, std::span<std::byte> workspace) {
  members_ = members;
  const bool direct = is_direct(CallKind::all_reduce, inout.count, inout.dtype);
  direct ? cut_not(inout.count) : cut_evenly(inout.count);
  Reduction reduction;
  reduction.in = static_cast<const std::byte*>(inout.data);
  reduction.out = static_cast<std::byte*>(inout.data) + first_of(members.rank) * size_of(inout.dtype);
  reduction.op = op;
  reduction.dtype = inout.dtype;
  reduction.segment = reduction_segment(CallKind::all_reduce, inout.count, inout.dtype, members.size);
  reduction.gathers = !direct;
  reduction.workspace = workspace;
  start_reduction(reduction);
}

void PostedCall::start_reduce_scatter(const Members& members, ConstView in, View out,
                                      std::span<const std::int64_t> counts, ReduceOp op,
                                      std::span<std::byte> workspace) {
  members_ = members;
  cut_by(counts);
  Reduction reduction;
  reduction.in = static_cast<const std::byte*>(in.data);
  reduction.out = static_cast<std::byte*>(out.data);
  reduction.op = op;
  reduction.dtype = in.dtype;
  reduction.segment = reduction_segment(CallKind::reduce_scatter, in.count, in.dtype, members.size);
  reduction.workspace = workspace;
  start_reduction(reduction);
}

void PostedCall::start_reduction(const Reduction& reduction) {
  reduction_ = reduction;
  const std::int64_t longest = *std::max_element(counts_.begin(), counts_.end());
  reduction_.rounds = longest == 0 ? 0 : ceil_div(longest, reduction_.segment);
  step_ = Step::reduce;
  if (reduction_.rounds > 0) {
    post_round();
  }
}

std::int64_t PostedCall::in_round(int member) const {
  return std::clamp<std::int64_t>(count_of(member) - reduction_.round * reduction_.segment, 0, reduction_.segment);
}

std::byte* PostedCall::received_from(int member) const {
  const std::int64_t place = member < members_.rank ? member : member - 1;
  return reduction_.workspace.data() + place * reduction_.segment * size_of(reduction_.dtype);
}

void PostedCall::post_round() {
  const std::int64_t bytes = size_of(reduction_.dtype);
  const std::int64_t done = reduction_.round * reduction_.segment;
  for (int step = 1; step < members_.size; ++step) {
    const int from = (members_.rank + members_.size - step) % members_.size;
    messages_.receive(members_.route, received_from(from), in_round(members_.rank) * bytes, from);
  }
  for (int step = 1; step < members_.size; ++step) {
    const int to = (members_.rank + step) % members_.size;
    messages_.send(members_.route, reduction_.in + (first_of(to) + done) * bytes, in_round(to) * bytes, to);
  }
}

void PostedCall::add_round() {
  const std::int64_t done = reduction_.round * reduction_.segment * size_of(reduction_.dtype);
  const std::int64_t own = first_of(members_.rank) * size_of(reduction_.dtype) + done;
  inputs_.clear();
  for (int member = 0; member < members_.size; ++member) {
    inputs_.push_back(member == members_.rank ? reduction_.in + own : received_from(member));
  }
  const std::array<void*, 1> outputs{reduction_.out + done};
  reduce_in_order(inputs_, 0, outputs, 0, in_round(members_.rank), reduction_.dtype, reduction_.op);
}

void PostedCall::start_all_gather(const Members& members, ConstView in, View out,
                                  std::span<const std::int64_t> counts) {
  members_ = members;
  cut_by(counts);
  const std::int64_t bytes = size_of(in.dtype);
  auto* all = static_cast<std::byte*>(out.data);
  post_gather(static_cast<const std::byte*>(in.data), all, bytes);
  copy(in.data, all + first_of(members.rank) * bytes, in.count * bytes);
  step_ = Step::exchange;
}

void PostedCall::post_gather(const std::byte* own, std::byte* all, std::int64_t element_bytes) {
  for (int step = 1; step < members_.size; ++step) {
    const int from = (members_.rank + members_.size - step) % members_.size;
    messages_.receive(members_.route, all + first_of(from) * element_bytes, count_of(from) * element_bytes, from);
  }
  for (int step = 1; step < members_.size; ++step) {
    const int to = (members_.rank + step) % members_.size;
    messages_.send(members_.route, own, count_of(members_.rank) * element_bytes, to);
  }
}

void PostedCall::start_all_to_all(const Members& members, ConstView in, std::span<const std::int64_t> send_counts,
                                  View out, std::span<const std::int64_t> receive_counts) {
  members_ = members;
  const std::int64_t bytes = size_of(in.dtype);
  cut_by(receive_counts);
  for (int from = 0; from < members.size; ++from) {
    if (from != members.rank) {
      messages_.receive(members.route, static_cast<std::byte*>(out.data) + first_of(from) * bytes,
                        count_of(from) * bytes, from);
    }
  }
  const std::int64_t own_place = first_of(members.rank) * bytes;
  cut_by(send_counts);
  for (int step = 1; step < members.size; ++step) {
    const int to = (members.rank + step) % members.size;
    messages_.send(members.route, static_cast<const std::byte*>(in.data) + first_of(to) * bytes, count_of(to) * bytes,
                   to);
  }
  copy(static_cast<const std::byte*>(in.data) + first_of(members.rank) * bytes,
       static_cast<std::byte*>(out.data) + own_place, count_of(members.rank) * bytes);
  step_ = Step::exchange;
}

// A binomial tree: counted from the root, member r receives from r without its lowest set bit, and sends to r plus
// every power of two below that bit.
void PostedCall::start_broadcast(const Members& members, View inout, int root) {
  members_ = members;
  broadcast_ = inout;
  root_ = root;
  const int relative = (members.rank + members.size - root) % members.size;
  if (relative == 0) {
    post_broadcast();
    return;
  }
  const int parent = (relative & (relative - 1)) + root;
  messages_.receive(members.route, inout.data, inout.count * size_of(inout.dtype), parent % members.size);
  step_ = Step::receive_broadcast;
}

void PostedCall::post_broadcast() {
  const int relative = (members_.rank + members_.size - root_) % members_.size;
  const int below = relative == 0 ? members_.size : relative & -relative;
  int largest = 1;
  while (2 * largest < below) {
    largest *= 2;
  }
  // The farthest first: it has the longest way still to go.
  for (int distance = largest; distance > 0; distance /= 2) {
    if (distance < below && relative + distance < members_.size) {
      messages_.send(members_.route, broadcast_.data, broadcast_.count * size_of(broadcast_.dtype),
                     (relative + distance + root_) % members_.size);
    }
  }
  step_ = Step::exchange;
}

void PostedCall::start_send(const Members& members, ConstView in, int to) {
  messages_.send(members.route, in.data, in.count * size_of(in.dtype), to);
  step_ = Step::exchange;
}

void PostedCall::start_receive(const Members& members, View out, int from) {
  messages_.receive(members.route, out.data, out.count * size_of(out.dtype), from);
  step_ = Step::exchange;
}

bool PostedCall::advance() noexcept {
  try {
    while (step_ != Step::done && messages_.test()) {
      finish_step();
    }
  } catch (...) {  // kept for the one who waits for this call: another's wait may have come here
    error_ = std::current_exception();
    messages_.clear();
    step_ = Step::done;
  }
  return step_ == Step::done;
}

void PostedCall::throw_if_failed() {
  if (error_) {
    std::rethrow_exception(std::exchange(error_, nullptr));
  }
}

void PostedCall::finish_step() {
  switch (step_) {
    case Step::receive_broadcast:
      return post_broadcast();
    case Step::reduce:
      if (reduction_.round < reduction_.rounds) {
        add_round();
        ++reduction_.round;
      }
      if (reduction_.round < reduction_.rounds) {
        return post_round();
      }
      step_ = reduction_.gathers ? Step::gather : Step::done;
      if (reduction_.gathers) {
        auto* all = reduction_.out - first_of(members_.rank) * size_of(reduction_.dtype);
        post_gather(reduction_.out, all, size_of(reduction_.dtype));
      }
      return;
    default:
      step_ = Step::done;
  }
}

}  // namespace tessera::mpi
