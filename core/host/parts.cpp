// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// copy_part: some indices of one dim, from one tensor into another that differs in that dim only; zero: all bits zero.
// Both are for any dtype.
#include "core/base/op_attributes.hpp"
#include "core/host/copy.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/parallel.hpp"

namespace tessera::host {
namespace {

void copy_part(const KernelCall& call) {
  const auto part = call.attributes.as<attributes::CopyPart>();
  const Tensor &x = call.in[0], &y = call.out[0];
  const auto dim = static_cast<std::size_t>(part.dim);
  BoxPlace from{x.shape, {}}, to{y.shape, {}};
  Shape extent = x.shape;
  if (extent.rank() == 0)  // a scalar is its own only part
    return copy_bytes(x.data, y.data, size_of(x.dtype), 1);
  extent[static_cast<int>(dim)] = part.length;
  from.start[dim] = part.from;
  to.start[dim] = part.to;
  copy_box(x.data, from, y.data, to, extent, size_of(x.dtype), threads_of(call.stream));
}

/// To add nothing to what is there, nothing is done.
void zero(const KernelCall& call) {
  if (call.accumulates(0)) return;
  auto* const bytes = static_cast<std::byte*>(call.out[0].data);
  const std::int64_t count = call.out[0].count() * size_of(call.out[0].dtype);
  parallel_ranges(threads_of(call.stream), count, 1,
                  [&](std::int64_t begin, std::int64_t end) { std::fill(bytes + begin, bytes + end, std::byte{0}); });
}

constexpr std::array k_entries{KernelEntry{"copy_part", DType::i64, copy_part},
                               KernelEntry{"zero", DType::i64, zero, nullptr, 1}};

}  // namespace

std::span<const KernelEntry> part_kernels() {
  return k_entries;
}

}  // namespace tessera::host
