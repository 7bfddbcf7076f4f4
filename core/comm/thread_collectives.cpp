// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/thread_collectives.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/comm/reduction.hpp"

namespace tessera {
namespace {

using Calls = std::vector<CollectiveCall>;

void copy(const void* in, std::int64_t in_first, void* out, std::int64_t out_first, std::int64_t count, DType dtype) {
  const std::int64_t bytes = size_of(dtype);
  const std::byte* source = static_cast<const std::byte*>(in) + in_first * bytes;
  std::byte* target = static_cast<std::byte*>(out) + out_first * bytes;
  if (source != target && count > 0) {
    std::memcpy(target, source, static_cast<std::size_t>(count * bytes));
  }
}

std::string describe(const CollectiveCall& call) {
  std::string text =
      fmt::format("{} {} of {} {}", name_of(call.kind), name_of(call.op), call.in.count, name_of(call.in.dtype));
  if (call.root >= 0) {
    text += fmt::format(" from member {}", call.root);
  }
  return text;
}

bool same_counts(const std::int64_t* a, const std::int64_t* b, std::size_t members) {
  return a == b || std::equal(a, a + members, b);
}

/// Whether the call of member i fits the call of member 0.
bool fits(const Calls& calls, std::size_t i) {
  const CollectiveCall& a = calls.front();
  const CollectiveCall& b = calls[i];
  if (a.kind != b.kind || a.op != b.op || a.in.dtype != b.in.dtype || a.root != b.root) {
    return false;
  }
  switch (a.kind) {
    case CallKind::all_reduce:
    case CallKind::broadcast:
      return a.in.count == b.in.count;
    case CallKind::reduce_scatter:
    case CallKind::all_gather:
      return same_counts(a.receive_counts, b.receive_counts, calls.size());
    case CallKind::all_to_all:
      for (std::size_t j = 0; j < calls.size(); ++j) {
        if (b.send_counts[j] != calls[j].receive_counts[i]) {
          return false;
        }
      }
      return true;
    default:
      return true;
  }
}

void all_gather(const Calls& calls) {
  std::int64_t first = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::int64_t count = calls.front().receive_counts[i];
    for (const CollectiveCall& to : calls) {
      copy(calls[i].in.data, 0, to.out, first, count, to.in.dtype);
    }
    first += count;
  }
}

void all_to_all(const Calls& calls) {
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const CollectiveCall& from = calls[i];
    std::int64_t sent = 0;
    for (std::size_t j = 0; j < calls.size(); ++j) {
      const CollectiveCall& to = calls[j];
      const std::int64_t place = std::accumulate(to.receive_counts, to.receive_counts + i, std::int64_t{0});
      copy(from.in.data, sent, to.out, place, from.send_counts[j], from.in.dtype);
      sent += from.send_counts[j];
    }
  }
}

void broadcast(const Calls& calls) {
  const ConstView in = calls[static_cast<std::size_t>(calls.front().root)].in;
  for (const CollectiveCall& to : calls) {
    copy(in.data, 0, to.out, 0, in.count, in.dtype);
  }
}

void agree(const Calls& calls) {
  const bool all = std::all_of(calls.begin(), calls.end(), [](const auto& c) { return *static_cast<bool*>(c.out); });
  for (const CollectiveCall& call : calls) {
    *static_cast<bool*>(call.out) = all;
  }
}

}  // namespace

ThreadCollectives::ThreadCollectives(std::shared_ptr<ThreadWorld> world, std::vector<int> world_ranks)
    : world_(std::move(world)),
      world_ranks_(std::move(world_ranks)),
      posted_(world_ranks_.size()),
      inputs_(world_ranks_.size()),
      outputs_(world_ranks_.size()) {
  for (Meeting& meeting : meetings_) {
    meeting.calls.resize(world_ranks_.size());
    meeting.completions.resize(world_ranks_.size());
  }
}

bool ThreadCollectives::post(int member, const CollectiveCall& call, const Completion& completion) {
  world_->throw_if_aborted();
  const auto m = static_cast<std::size_t>(member);
  Meeting& meeting = meetings_[posted_[m].load(std::memory_order_relaxed) % meetings_.size()];
  {
    const std::lock_guard lock(mutex_);
    meeting.calls[m] = call;
    meeting.completions[m] = completion;
    posted_[m].fetch_add(1, std::memory_order_release);
    if (++meeting.arrived < world_ranks_.size()) {
      return false;
    }
    meeting.arrived = 0;
  }
  check(meeting);
  execute(meeting);
  for (std::size_t i = 0; i < world_ranks_.size(); ++i) {
    if (i != m) {
      complete(*world_, meeting.completions[i]);
    }
  }
  return true;
}

void ThreadCollectives::check(const Meeting& meeting) const {
  for (std::size_t i = 1; i < meeting.calls.size(); ++i) {
    if (!fits(meeting.calls, i)) {
      world_->abort(ErrorKind::disagreement,
                    fmt::format("collective call {} of a group of {}: rank {} made {}, rank {} made {}", posted(0),
                                world_ranks_.size(), world_ranks_.front(), describe(meeting.calls.front()),
                                world_ranks_[i], describe(meeting.calls[i])));
      world_->throw_if_aborted();
    }
  }
}

void ThreadCollectives::execute(const Meeting& meeting) {
  const Calls& calls = meeting.calls;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    inputs_[i] = calls[i].in.data;
    outputs_[i] = calls[i].out;
  }
  switch (calls.front().kind) {
    case CallKind::all_reduce:
      return reduce_in_order(inputs_, 0, outputs_, 0, calls.front().in.count, calls.front().in.dtype, calls.front().op);
    case CallKind::reduce_scatter:
      return reduce_scatter(calls);
    case CallKind::all_gather:
      return all_gather(calls);
    case CallKind::all_to_all:
      return all_to_all(calls);
    case CallKind::broadcast:
      return broadcast(calls);
    case CallKind::agree:
      return agree(calls);
    case CallKind::split:
      return split(calls);
    default:
      return;
  }
}

void ThreadCollectives::reduce_scatter(const Calls& calls) {
  const CollectiveCall& call = calls.front();
  std::int64_t first = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::int64_t count = call.receive_counts[i];
    reduce_in_order(inputs_, first, std::span(outputs_).subspan(i, 1), 0, count, call.in.dtype, call.op);
    first += count;
  }
}

}  // namespace tessera
