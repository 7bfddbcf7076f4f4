// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// split_heads, merge_heads and split_tokens are views: where output and input are the same memory nothing is done, else
// it is a copy. concat_tokens copies its inputs one after the other.
#include "core/host/copy.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

std::int64_t bytes_of(const Tensor& tensor) {
  return tensor.count() * size_of(tensor.dtype);
}

void copy_whole(const KernelCall& call) {
  copy_bytes(call.in[0].data, call.out[0].data, bytes_of(call.out[0]), threads_of(call.stream));
}

void split_tokens(const KernelCall& call) {
  const auto* from = static_cast<const std::byte*>(call.in[0].data);
  for (const Tensor& piece : call.out) {
    if (piece.data != nullptr) copy_bytes(from, piece.data, bytes_of(piece), threads_of(call.stream));
    from += bytes_of(piece);
  }
}

void concat_tokens(const KernelCall& call) {
  auto* to = static_cast<std::byte*>(call.out[0].data);
  for (const Tensor& piece : call.in) {
    copy_bytes(piece.data, to, bytes_of(piece), threads_of(call.stream));
    to += bytes_of(piece);
  }
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"split_heads", dtype_of<T>, copy_whole};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"merge_heads", dtype_of<T>, copy_whole};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"split_tokens", dtype_of<T>, split_tokens};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"concat_tokens", dtype_of<T>, concat_tokens};
                                }),
                                std::array{KernelEntry{"split_tokens", DType::i64, split_tokens},
                                           KernelEntry{"concat_tokens", DType::i64, concat_tokens}});

}  // namespace

std::span<const KernelEntry> view_kernels() {
  return k_entries;
}

}  // namespace tessera::host
