// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/comm/collective_share.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include "core/comm/reduction.hpp"

namespace tessera {
namespace {

using Calls = std::span<const CollectiveCall>;

/// Parts of a sum begin at cache lines, so that members do not write to each other's.
constexpr std::int64_t k_line_bytes = 64;

const CollectiveCall& call_of(Calls calls, int member) {
  return calls[static_cast<std::size_t>(member)];
}

void copy(const void* in, std::int64_t in_first, void* out, std::int64_t out_first, std::int64_t count, DType dtype) {
  const std::int64_t bytes = size_of(dtype);
  const std::byte* source = static_cast<const std::byte*>(in) + in_first * bytes;
  std::byte* target = static_cast<std::byte*>(out) + out_first * bytes;
  if (source != target && count > 0) {
    std::memcpy(target, source, static_cast<std::size_t>(count * bytes));
  }
}

std::int64_t sum_before(const std::int64_t* counts, std::size_t member) {
  return std::accumulate(counts, counts + member, std::int64_t{0});
}

void all_gather(Calls calls, int member) {
  const CollectiveCall& own = call_of(calls, member);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    copy(calls[i].in.data, 0, own.out, first, own.receive_counts[i], own.in.dtype);
    first += own.receive_counts[i];
  }
}

void all_to_all(Calls calls, int member) {
  const CollectiveCall& own = call_of(calls, member);
  std::int64_t first = 0;
  for (std::size_t i = 0; i < calls.size(); ++i) {
    const std::int64_t place = sum_before(calls[i].send_counts, static_cast<std::size_t>(member));
    copy(calls[i].in.data, place, own.out, first, own.receive_counts[i], own.in.dtype);
    first += own.receive_counts[i];
  }
}

void broadcast(Calls calls, int member) {
  const CollectiveCall& own = call_of(calls, member);
  copy(call_of(calls, own.root).in.data, 0, own.out, 0, own.in.count, own.in.dtype);
}

}  // namespace

std::string describe(const CollectiveCall& call) {
  std::string text =
      fmt::format("{} {} of {} {}", name_of(call.kind), name_of(call.op), call.in.count, name_of(call.in.dtype));
  if (call.root >= 0) {
    text += fmt::format(" from member {}", call.root);
  }
  return text;
}

bool fits(Calls calls, std::size_t i, std::size_t j) {
  const CollectiveCall& a = calls[i];
  const CollectiveCall& b = calls[j];
  if (a.kind != b.kind || a.op != b.op || a.in.dtype != b.in.dtype || a.root != b.root) {
    return false;
  }
  switch (a.kind) {
    case CallKind::all_reduce:
    case CallKind::broadcast:
      return a.in.count == b.in.count;
    case CallKind::reduce_scatter:
    case CallKind::all_gather:
      return std::equal(a.receive_counts, a.receive_counts + calls.size(), b.receive_counts);
    case CallKind::all_to_all:
      return a.send_counts[j] == b.receive_counts[i];
    default:
      return true;
  }
}

void CollectiveShare::reserve(int members) {
  inputs_.reserve(static_cast<std::size_t>(members));
  outputs_.reserve(static_cast<std::size_t>(members));
}

void CollectiveShare::run(Calls calls, int member, Division division) {
  switch (calls.front().kind) {
    case CallKind::all_reduce:
    case CallKind::agree:
      return all_reduce(calls, member, division);
    case CallKind::reduce_scatter:
      return reduce_scatter(calls, member);
    case CallKind::all_gather:
      return all_gather(calls, member);
    case CallKind::all_to_all:
      return all_to_all(calls, member);
    case CallKind::broadcast:
      return broadcast(calls, member);
    default:
      return;
  }
}

void CollectiveShare::take_inputs(Calls calls) {
  inputs_.clear();
  for (const CollectiveCall& call : calls) {
    inputs_.push_back(call.in.data);
  }
}

void CollectiveShare::all_reduce(Calls calls, int member, Division division) {
  const CollectiveCall& own = call_of(calls, member);
  std::int64_t first = 0, count = own.in.count;
  take_inputs(calls);
  outputs_.clear();
  if (division == Division::each_for_itself) {
    outputs_.push_back(own.out);
  } else {
    const auto members = std::ssize(calls);
    const std::int64_t line = k_line_bytes / size_of(own.in.dtype);
    const std::int64_t part = ((count + members - 1) / members + line - 1) / line * line;
    first = std::min(member * part, count);
    count = std::min(part, count - first);
    for (const CollectiveCall& call : calls) {
      outputs_.push_back(call.out);
    }
  }
  reduce_in_order(inputs_, first, outputs_, first, count, own.in.dtype, own.op);
}

void CollectiveShare::reduce_scatter(Calls calls, int member) {
  const CollectiveCall& own = call_of(calls, member);
  const auto m = static_cast<std::size_t>(member);
  take_inputs(calls);
  outputs_.assign(1, own.out);
  reduce_in_order(inputs_, sum_before(own.receive_counts, m), outputs_, 0, own.receive_counts[m], own.in.dtype, own.op);
}

}  // namespace tessera
