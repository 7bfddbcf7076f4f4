// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/direct_call.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>

#include "core/comm/reduction.hpp"

namespace tessera::mpi {
namespace {

/// Up to here every member adds up everything for itself: one meeting less.
constexpr std::int64_t k_short_bytes = 4096;

/// Parts of an all-reduce begin at cache lines, so that members do not write to each other's.
constexpr std::int64_t k_line = 64;

}  // namespace

void DirectCall::reserve(int members) {
  inputs_.reserve(static_cast<std::size_t>(members));
  places_.reserve(static_cast<std::size_t>(members));
}

void DirectCall::start(NodeGroup& group, const Request& request, std::uint64_t call) {
  group_ = &group;
  request_ = request;
  call_ = call;
  step_ = Step::show;
  places_.resize(request.send_counts.size());
  std::exclusive_scan(request.send_counts.begin(), request.send_counts.end(), places_.begin(), std::int64_t{0});
}

DirectCall::Outcome DirectCall::advance() {
  if (step_ == Step::show) {
    if (!show()) {
      return Outcome::waiting;
    }
    step_ = Step::meet;
  }
  if (step_ == Step::meet) {
    if (group_->turn() != call_ || !group_->all_show(call_)) {
      return Outcome::waiting;
    }
    if (!meet()) {
      group_->leave();
      return Outcome::refused;
    }
    share();
    group_->reach(call_, 1);
    step_ = Step::share;
  }
  if (step_ == Step::share) {
    if (!group_->all_reach(call_, 1)) {
      return Outcome::waiting;
    }
    if (request_.kind == CallKind::all_reduce) {
      gather_sums();
      group_->reach(call_, 2);
    }
    step_ = Step::finish;
  }
  // Of a long all-reduce, others may still read the own sums.
  if (request_.kind == CallKind::all_reduce && !is_short() && !group_->all_reach(call_, 2)) {
    return Outcome::waiting;
  }
  group_->leave();
  return Outcome::done;
}

std::int64_t DirectCall::element_bytes() const {
  return size_of(request_.in.dtype);
}

bool DirectCall::is_short() const {
  return request_.in.count * element_bytes() <= k_short_bytes;
}

std::int64_t DirectCall::part() const {
  const std::int64_t line = k_line / element_bytes();
  const std::int64_t each = (request_.in.count + group_->size() - 1) / group_->size();
  return (each + line - 1) / line * line;
}

bool DirectCall::show() {
  const ConstView in = request_.in;
  const auto offset =
      in.count == 0 ? std::optional<std::uint64_t>(0) : group_->memory().offset_of(in.data, in.count * element_bytes());
  return group_->try_show(call_, offset.value_or(NodeGroup::k_elsewhere), places_);
}

bool DirectCall::meet() {
  inputs_.clear();
  for (int member = 0; member < group_->size(); ++member) {
    const std::uint64_t offset = group_->offset(member, call_);
    if (offset == NodeGroup::k_elsewhere) {
      return false;
    }
    inputs_.push_back(group_->data(member, offset));
  }
  return true;
}

void DirectCall::share() {
  switch (request_.kind) {
    case CallKind::all_reduce:
      return share_all_reduce();
    case CallKind::reduce_scatter:
      return share_reduce_scatter();
    case CallKind::all_gather:
      return share_all_gather();
    default:
      return share_all_to_all();
  }
}

// Only this member reads its own part of its own buffer, so the sum may go there at once. A short sum waits aside until
// the others have read the buffer.
void DirectCall::share_all_reduce() {
  const std::int64_t count = request_.in.count;
  const std::array<void*, 1> aside{request_.workspace.data()};
  const std::array<void*, 1> in_place{request_.out.data};
  if (is_short()) {
    reduce_in_order(inputs_, 0, aside, 0, count, request_.in.dtype, request_.op);
    return;
  }
  const std::int64_t first = std::min(group_->rank() * part(), count);
  reduce_in_order(inputs_, first, in_place, first, std::min(part(), count - first), request_.in.dtype, request_.op);
}

void DirectCall::gather_sums() {
  const std::int64_t count = request_.in.count;
  if (is_short()) {
    std::copy_n(request_.workspace.data(), count * element_bytes(), static_cast<std::byte*>(request_.out.data));
    return;
  }
  for (int step = 1; step < group_->size(); ++step) {
    const int member = (group_->rank() + step) % group_->size();
    const std::int64_t first = std::min(member * part(), count);
    copy_from(member, first, first, std::min(part(), count - first));
  }
}

void DirectCall::share_reduce_scatter() {
  const auto before = request_.receive_counts.first(static_cast<std::size_t>(group_->rank()));
  const std::int64_t first = std::accumulate(before.begin(), before.end(), std::int64_t{0});
  const std::array<void*, 1> outputs{request_.out.data};
  reduce_in_order(inputs_, first, outputs, 0, request_.out.count, request_.in.dtype, request_.op);
}

void DirectCall::share_all_gather() {
  std::int64_t first = 0;
  for (int member = 0; member < group_->size(); ++member) {
    const std::int64_t count = request_.receive_counts[static_cast<std::size_t>(member)];
    copy_from(member, 0, first, count);
    first += count;
  }
}

void DirectCall::share_all_to_all() {
  std::int64_t first = 0;
  for (int member = 0; member < group_->size(); ++member) {
    const std::int64_t count = request_.receive_counts[static_cast<std::size_t>(member)];
    copy_from(member, group_->place(member, call_, group_->rank()), first, count);
    first += count;
  }
}

void DirectCall::copy_from(int member, std::int64_t first_there, std::int64_t first_here, std::int64_t count) {
  const auto* source =
      static_cast<const std::byte*>(inputs_[static_cast<std::size_t>(member)]) + first_there * element_bytes();
  std::byte* target = static_cast<std::byte*>(request_.out.data) + first_here * element_bytes();
  if (count > 0 && source != target) {
    std::memcpy(target, source, static_cast<std::size_t>(count * element_bytes()));
  }
}

}  // namespace tessera::mpi
