// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// pack_rows: of blocks [a, b, rows, …] the rows that an i32 [a, b] counts, one behind the other, blocks in the order of
// one dim and then the other; unpack_rows: the way back. What blocks hold beyond their counts is left as it is.
#include <algorithm>

#include "core/base/op_attributes.hpp"
#include "core/host/copy.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/parallel.hpp"

namespace tessera::host {
namespace {

/// Blocks in the order in which they are packed.
struct Blocks {
  int outer_dim;
  std::int64_t outer, inner, row_bytes, block_bytes;
  const std::int32_t* counts;

  std::int64_t index(std::int64_t place) const {
    const std::int64_t o = place / inner, i = place % inner;
    return outer_dim == 0 ? place : i * outer + o;
  }
};

Blocks blocks_of(const KernelCall& call, const Tensor& blocks, const Tensor& counts) {
  const auto outer_dim = static_cast<int>(call.attributes.as<attributes::RowBlocks>().outer_dim);
  const std::int64_t row_bytes = blocks.shape.count_from(3) * size_of(blocks.dtype);
  return {outer_dim, blocks.shape[outer_dim],     blocks.shape[1 - outer_dim],
          row_bytes, blocks.shape[2] * row_bytes, counts.as<const std::int32_t>()};
}

/// Calls body(block, packed bytes before it, its bytes), each thread for as many blocks.
template <class Body>
void for_blocks(const KernelCall& call, const Blocks& blocks, const Body& body) {
  const std::int64_t count = blocks.outer * blocks.inner;
  auto* const before = reinterpret_cast<std::int64_t*>(call.workspace.data());
  std::int64_t sum = 0;
  for (std::int64_t place = 0; place < count; ++place) {
    before[place] = sum;
    sum += blocks.counts[blocks.index(place)] * blocks.row_bytes;
  }
  const std::int64_t elements = count == 0 ? 0 : sum / count / 4;
  parallel_ranges(threads_of(call.stream), count, std::max<std::int64_t>(elements, 1),
                  [&](std::int64_t begin, std::int64_t end) {
                    for (std::int64_t place = begin; place < end; ++place) {
                      const std::int64_t block = blocks.index(place);
                      body(block, before[place], blocks.counts[block] * blocks.row_bytes);
                    }
                  });
}

void pack_rows(const KernelCall& call) {
  const Blocks blocks = blocks_of(call, call.in[0], call.in[1]);
  const auto* const from = call.in[0].as<const std::byte>();
  auto* const packed = call.out[0].as<std::byte>();
  for_blocks(call, blocks, [&](std::int64_t block, std::int64_t before, std::int64_t bytes) {
    copy_bytes(from + block * blocks.block_bytes, packed + before, bytes, 1);
  });
}

void unpack_rows(const KernelCall& call) {
  const Blocks blocks = blocks_of(call, call.out[0], call.in[1]);
  const auto* const packed = call.in[0].as<const std::byte>();
  auto* const to = call.out[0].as<std::byte>();
  for_blocks(call, blocks, [&](std::int64_t block, std::int64_t before, std::int64_t bytes) {
    copy_bytes(packed + before, to + block * blocks.block_bytes, bytes, 1);
  });
}

std::int64_t block_workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int) {
  return in[1].count() * std::int64_t(sizeof(std::int64_t));
}

constexpr std::array k_entries{KernelEntry{"pack_rows", DType::i64, pack_rows, block_workspace},
                               KernelEntry{"unpack_rows", DType::i64, unpack_rows, block_workspace}};

}  // namespace

std::span<const KernelEntry> row_block_kernels() {
  return k_entries;
}

}  // namespace tessera::host
