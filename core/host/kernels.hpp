// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the table of the host's kernels, one function per op file, and the helpers that fill it.
// Used: the host device, files of kernels.
// Must not know: what an op means.
#pragma once

#include <array>
#include <span>

#include "core/base/half.hpp"
#include "core/device/kernel.hpp"

namespace tessera::host {

/// All kernels of the host.
std::span<const KernelEntry> kernels();

std::span<const KernelEntry> add_kernels();
std::span<const KernelEntry> add_bias_kernels();
std::span<const KernelEntry> attention_kernels();
std::span<const KernelEntry> attention_grad_kernels();
std::span<const KernelEntry> balance_kernels();
std::span<const KernelEntry> cached_attention_kernels();
std::span<const KernelEntry> cast_kernels();
std::span<const KernelEntry> dropout_kernels();
std::span<const KernelEntry> embed_kernels();
std::span<const KernelEntry> expert_rows_kernels();
std::span<const KernelEntry> gelu_kernels();
std::span<const KernelEntry> grouped_linear_kernels();
std::span<const KernelEntry> jitter_kernels();
std::span<const KernelEntry> layer_norm_kernels();
std::span<const KernelEntry> linear_kernels();
std::span<const KernelEntry> linear_narrow_kernels();
#ifdef TESSERA_ONEDNN
std::span<const KernelEntry> linear_onednn_kernels();
#endif
std::span<const KernelEntry> lse_merge_kernels();
std::span<const KernelEntry> masked_sum_kernels();
std::span<const KernelEntry> part_kernels();
std::span<const KernelEntry> row_block_kernels();
std::span<const KernelEntry> rms_norm_kernels();
std::span<const KernelEntry> rope_kernels();
std::span<const KernelEntry> softmax_kernels();
std::span<const KernelEntry> softmax_sums_kernels();
std::span<const KernelEntry> step_kernels();
std::span<const KernelEntry> sum_squares_kernels();
std::span<const KernelEntry> swiglu_kernels();
std::span<const KernelEntry> token_loss_kernels();
std::span<const KernelEntry> top_k_kernels();
std::span<const KernelEntry> view_kernels();

/// One entry per floating dtype: `make.operator()<T>()` gives that of element type T.
template <class Make>
constexpr std::array<KernelEntry, 4> for_floating(Make make) {
  return {make.template operator()<double>(), make.template operator()<float>(), make.template operator()<BFloat16>(),
          make.template operator()<Float16>()};
}

/// The same for the types in which sums are kept.
template <class Make>
constexpr std::array<KernelEntry, 2> for_accumulation(Make make) {
  return {make.template operator()<double>(), make.template operator()<float>()};
}

template <std::size_t... Sizes>
constexpr auto join(const std::array<KernelEntry, Sizes>&... parts) {
  std::array<KernelEntry, (Sizes + ...)> all{};
  std::size_t next = 0;
  const auto append = [&](const auto& part) {
    for (const KernelEntry& entry : part) all[next++] = entry;
  };
  (append(parts), ...);
  return all;
}

}  // namespace tessera::host
