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
constexpr std::int64_t k_short_bytes = 4096;

/// What the receives of one round may take; larger calls go in more rounds.
constexpr std::int64_t k_workspace_bytes = std::int64_t{32} << 20;
constexpr std::int64_t k_smallest_segment = 4096;

constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return (a + b - 1) / b;
}

bool is_short(CallKind kind, std::int64_t count, DType dtype) {
  return kind == CallKind::all_reduce && count * size_of(dtype) <= k_short_bytes;
}

void copy(const void* in, void* out, std::int64_t bytes) {
  if (in != out && bytes > 0) {
    std::memcpy(out, in, static_cast<std::size_t>(bytes));
  }
}

}  // namespace

std::int64_t reduction_segment(CallKind kind, std::int64_t count, DType dtype, int members) {
  if (is_short(kind, count, dtype)) {
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
  parts_.reserve(n);
  direct_.reserve(members);
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

void PostedCall::start(std::span<const Stage> stages) {
  std::copy(stages.begin(), stages.end(), stages_.begin());
  stage_ = 0;
  stage_count_ = stages.size();
  start_stage();
}

void PostedCall::start_stage() {
  const Stage& stage = stages_[stage_++];
  members_ = stage.members;
  request_ = stage.request;
  if (stage.group != nullptr) {
    direct_.start(*stage.group, request_, stage.number);
    step_ = Step::direct;
  } else {
    start_messages();
  }
}

void PostedCall::start_messages() {
  step_ = Step::exchange;
  switch (request_.kind) {
    case CallKind::all_reduce:
      return start_all_reduce();
    case CallKind::reduce_scatter:
      cut_by(request_.receive_counts);
      return start_reduction(false, out());
    case CallKind::all_gather:
      return start_all_gather();
    case CallKind::all_to_all:
      return start_all_to_all();
    case CallKind::broadcast:
      return start_broadcast();
    case CallKind::send:
      return messages_.send(members_.route, in(), request_.in.count * element_bytes(), request_.peer);
    default:
      return messages_.receive(members_.route, out(), request_.out.count * element_bytes(), request_.peer);
  }
}

void PostedCall::start_all_reduce() {
  const bool whole =
      is_short(CallKind::all_reduce, request_.in.count, request_.in.dtype) && request_.in.count <= segment_granted();
  whole ? cut_not(request_.in.count) : cut_evenly(request_.in.count);
  start_reduction(!whole, out() + first_of(members_.rank) * element_bytes());
}

void PostedCall::start_reduction(bool gathers, std::byte* out) {
  reduction_ = {};
  reduction_.out = out;
  reduction_.gathers = gathers;
  reduction_.segment = std::min(reduction_segment(request_.kind, request_.in.count, request_.in.dtype, members_.size),
                                segment_granted());
  const std::int64_t longest = *std::max_element(counts_.begin(), counts_.end());
  reduction_.rounds = longest == 0 ? 0 : ceil_div(longest, reduction_.segment);
  step_ = Step::reduce;
  if (reduction_.rounds > 0) {
    post_round();
  }
}

/// A stage has the workspace of its whole call, which may be less than a call of its own would get.
std::int64_t PostedCall::segment_granted() const {
  if (members_.size == 1) return request_.in.count;
  return std::ssize(request_.workspace) / ((members_.size - 1) * element_bytes());
}

std::int64_t PostedCall::in_round(int member) const {
  return std::clamp<std::int64_t>(count_of(member) - reduction_.round * reduction_.segment, 0, reduction_.segment);
}

std::byte* PostedCall::received_from(int member) const {
  const std::int64_t place = member < members_.rank ? member : member - 1;
  return request_.workspace.data() + place * reduction_.segment * element_bytes();
}

void PostedCall::post_round() {
  const std::int64_t bytes = element_bytes();
  const std::int64_t done = reduction_.round * reduction_.segment;
  for (int step = 1; step < members_.size; ++step) {
    const int from = (members_.rank + members_.size - step) % members_.size;
    messages_.receive(members_.route, received_from(from), in_round(members_.rank) * bytes, from);
  }
  for (int step = 1; step < members_.size; ++step) {
    const int to = (members_.rank + step) % members_.size;
    messages_.send(members_.route, in() + (first_of(to) + done) * bytes, in_round(to) * bytes, to);
  }
}

void PostedCall::add_round() {
  const std::int64_t done = reduction_.round * reduction_.segment * element_bytes();
  const std::int64_t own = first_of(members_.rank) * element_bytes() + done;
  inputs_.clear();
  for (int member = 0; member < members_.size; ++member) {
    inputs_.push_back(member == members_.rank ? in() + own : received_from(member));
  }
  const std::array<void*, 1> outputs{reduction_.out + done};
  reduce_in_order(inputs_, 0, outputs, 0, in_round(members_.rank), request_.in.dtype, request_.op);
}

void PostedCall::start_all_gather() {
  cut_by(request_.receive_counts);
  post_gather(in(), out());
  copy(in(), out() + first_of(members_.rank) * element_bytes(), request_.in.count * element_bytes());
}

void PostedCall::post_gather(const std::byte* own, std::byte* all) {
  const std::int64_t bytes = element_bytes();
  for (int step = 1; step < members_.size; ++step) {
    const int from = (members_.rank + members_.size - step) % members_.size;
    messages_.receive(members_.route, all + first_of(from) * bytes, count_of(from) * bytes, from);
  }
  for (int step = 1; step < members_.size; ++step) {
    const int to = (members_.rank + step) % members_.size;
    messages_.send(members_.route, own, count_of(members_.rank) * bytes, to);
  }
}

void PostedCall::start_all_to_all() {
  const std::int64_t bytes = element_bytes();
  cut_by(request_.receive_counts);
  for (int from = 0; from < members_.size; ++from) {
    if (from != members_.rank) {
      messages_.receive(members_.route, out() + first_of(from) * bytes, count_of(from) * bytes, from);
    }
  }
  std::byte* own = out() + first_of(members_.rank) * bytes;
  cut_by(request_.send_counts);
  for (int step = 1; step < members_.size; ++step) {
    const int to = (members_.rank + step) % members_.size;
    messages_.send(members_.route, in() + first_of(to) * bytes, count_of(to) * bytes, to);
  }
  copy(in() + first_of(members_.rank) * bytes, own, count_of(members_.rank) * bytes);
}

// A binomial tree: counted from the root, member r receives from r without its lowest set bit, and sends to r plus
// every power of two below that bit.
void PostedCall::start_broadcast() {
  const int root = request_.peer;
  const int relative = (members_.rank + members_.size - root) % members_.size;
  if (relative == 0) {
    post_broadcast();
    return;
  }
  const int parent = ((relative & (relative - 1)) + root) % members_.size;
  messages_.receive(members_.route, out(), request_.out.count * element_bytes(), parent);
  step_ = Step::receive_broadcast;
}

void PostedCall::post_broadcast() {
  const int root = request_.peer;
  const int relative = (members_.rank + members_.size - root) % members_.size;
  const int below = relative == 0 ? members_.size : relative & -relative;
  int largest = 1;
  while (2 * largest < below) {
    largest *= 2;
  }
  // The farthest first: it has the longest way still to go.
  for (int distance = largest; distance > 0; distance /= 2) {
    if (distance < below && relative + distance < members_.size) {
      messages_.send(members_.route, out(), request_.out.count * element_bytes(),
                     (relative + distance + root) % members_.size);
    }
  }
  step_ = Step::exchange;
}

bool PostedCall::advance() noexcept {
  try {
    while (step_ != Step::done && step_is_over()) {
      finish_step();
      if (step_ == Step::done && stage_ < stage_count_) start_stage();
    }
  } catch (...) {  // kept for the one who waits for this call: another's wait may have come here
    error_ = std::current_exception();
    messages_.clear();
    step_ = Step::done;
  }
  return step_ == Step::done;
}

bool PostedCall::step_is_over() {
  if (step_ == Step::direct) {
    const DirectCall::Outcome outcome = direct_.advance();
    if (outcome != DirectCall::Outcome::refused) {
      return outcome == DirectCall::Outcome::done;
    }
    start_messages();
  }
  return messages_.test();
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
        post_gather(reduction_.out, out());
      }
      return;
    default:
      step_ = Step::done;
  }
}

}  // namespace tessera::mpi
