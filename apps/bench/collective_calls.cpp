// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/collective_calls.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <bit>
#include <cstring>

#include "core/base/error.hpp"
#include "mpi/native.hpp"

namespace tessera::apps {
namespace {

constexpr int k_tag = 1;

}  // namespace

CollectiveCalls::CollectiveCalls(Communicator& ranks, HostMemory* memory, std::int64_t bytes)
    : ranks_(ranks), memory_(memory) {
  const std::int64_t floats = bytes / 4 + ranks.size();
  if (memory_ == nullptr) own_.resize(static_cast<std::size_t>(2 * floats));
  for (int b = 0; b < 2; ++b)
    buffers_[b] = memory_ == nullptr ? own_.data() + b * floats : static_cast<float*>(memory_->allocate(4 * floats));
}

CollectiveCalls::~CollectiveCalls() {
  if (memory_ == nullptr) return;
  for (float* buffer : buffers_) memory_->release(buffer);
}

void CollectiveCalls::choose(CallKind kind, std::int64_t bytes) {
  const int n = ranks_.size();
  kind_ = kind;
  const std::int64_t part = std::max<std::int64_t>(1, bytes / 4 / n);
  count_ = part * n;
  parts_.assign(static_cast<std::size_t>(n), part);
  mpi_parts_.assign(static_cast<std::size_t>(n), static_cast<int>(part));
  mpi_firsts_.clear();
  for (int r = 0; r < n; ++r) mpi_firsts_.push_back(static_cast<int>(r * part));
  workspace_.resize(static_cast<std::size_t>(ranks_.workspace_bytes(kind, count_, DType::f32)));
}

void CollectiveCalls::write() {
  ++round_;
  const std::int64_t count = kind_ == CallKind::all_gather ? parts_.front() : count_;
  std::fill_n(input(), count, value(ranks_.rank()));
}

float* CollectiveCalls::output(Maker maker) const {
  const bool in_place = kind_ == CallKind::all_reduce || kind_ == CallKind::broadcast;
  return buffers_[maker != Maker::copy && in_place ? 0 : 1];
}

std::int64_t CollectiveCalls::output_count(Maker maker) const {
  return maker != Maker::copy && kind_ == CallKind::reduce_scatter ? parts_.front() : count_;
}

void CollectiveCalls::read(Maker maker) {
  const float* data = output(maker);
  std::uint32_t sum = 0;
  for (std::int64_t e = 0; e < output_count(maker); ++e) sum += std::bit_cast<std::uint32_t>(data[e]);
  seen_ = sum;
}

float CollectiveCalls::expected(std::int64_t element) const {
  float sum = 0;
  switch (kind_) {
    case CallKind::all_reduce:
    case CallKind::reduce_scatter:
      for (int r = 0; r < ranks_.size(); ++r) sum += value(r);
      return sum;
    case CallKind::broadcast:
      return value(0);
    case CallKind::send:
      return value(ring(-1));
    default:
      return value(static_cast<int>(element / parts_.front()));
  }
}

void CollectiveCalls::check(Maker maker) const {
  if (maker == Maker::copy) return;
  for (const std::int64_t e : {std::int64_t{0}, output_count(maker) / 2, output_count(maker) - 1}) {
    const float got = output(maker)[e], wanted = expected(e);
    TESSERA_CHECK(got == wanted, fmt::format("{} of {} bytes: element {} is {} instead of {}", name_of(kind_), bytes(),
                                             e, got, wanted));
  }
}

void CollectiveCalls::call(Maker maker) {
  if (maker == Maker::copy) {
    std::memcpy(buffers_[1], buffers_[0], static_cast<std::size_t>(bytes()));
  } else {
    maker == Maker::ours ? call_ours() : call_mpi();
  }
}

void CollectiveCalls::call_ours() {
  const CallContext context{stream_, workspace_};
  const View in{input(), count_, DType::f32}, out{buffers_[1], count_, DType::f32};
  const View in_part{input(), parts_.front(), DType::f32}, out_part{buffers_[1], parts_.front(), DType::f32};
  switch (kind_) {
    case CallKind::all_reduce:
      return ranks_.all_reduce(in, ReduceOp::sum, context).wait();
    case CallKind::reduce_scatter:
      return ranks_.reduce_scatter(in, out_part, parts_, ReduceOp::sum, context).wait();
    case CallKind::all_gather:
      return ranks_.all_gather(in_part, out, parts_, context).wait();
    case CallKind::all_to_all:
      return ranks_.all_to_all(in, parts_, out, parts_, context).wait();
    case CallKind::broadcast:
      return ranks_.broadcast(in, 0, context).wait();
    default:
      Work sent = ranks_.send(in, ring(1), context);
      ranks_.receive(out, ring(-1), context).wait();
      sent.wait();
  }
}

void CollectiveCalls::call_mpi() {
  const MPI_Comm comm = mpi::native_handle(ranks_);
  const int count = static_cast<int>(count_), part = mpi_parts_.front();
  float *const in = input(), *const out = buffers_[1];
  switch (kind_) {
    case CallKind::all_reduce:
      return mpi::check(MPI_Allreduce(MPI_IN_PLACE, in, count, MPI_FLOAT, MPI_SUM, comm), "MPI_Allreduce");
    case CallKind::reduce_scatter:
      return mpi::check(MPI_Reduce_scatter_block(in, out, part, MPI_FLOAT, MPI_SUM, comm), "MPI_Reduce_scatter_block");
    case CallKind::all_gather:
      return mpi::check(
          MPI_Allgatherv(in, part, MPI_FLOAT, out, mpi_parts_.data(), mpi_firsts_.data(), MPI_FLOAT, comm),
          "MPI_Allgatherv");
    case CallKind::all_to_all:
      return mpi::check(MPI_Alltoallv(in, mpi_parts_.data(), mpi_firsts_.data(), MPI_FLOAT, out, mpi_parts_.data(),
                                      mpi_firsts_.data(), MPI_FLOAT, comm),
                        "MPI_Alltoallv");
    case CallKind::broadcast:
      return mpi::check(MPI_Bcast(in, count, MPI_FLOAT, 0, comm), "MPI_Bcast");
    default:
      return mpi::check(MPI_Sendrecv(in, count, MPI_FLOAT, ring(1), k_tag, out, count, MPI_FLOAT, ring(-1), k_tag, comm,
                                     MPI_STATUS_IGNORE),
                        "MPI_Sendrecv");
  }
}

}  // namespace tessera::apps
