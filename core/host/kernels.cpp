// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/kernels.hpp"

#include <vector>

namespace tessera::host {
namespace {

constexpr auto k_tables = std::to_array({
    add_kernels,           add_bias_kernels,
    attention_kernels,     attention_grad_kernels,
    balance_kernels,       cached_attention_kernels,
    cast_kernels,          dropout_kernels,
    embed_kernels,         expert_rows_kernels,
    gelu_kernels,          grouped_linear_kernels,
    jitter_kernels,        layer_norm_kernels,
    linear_kernels,        lse_merge_kernels,
    masked_sum_kernels,    part_kernels,
    row_block_kernels,     rms_norm_kernels,
    rope_kernels,          softmax_kernels,
    softmax_sums_kernels,  step_kernels,
    sum_squares_kernels,   swiglu_kernels,
    token_loss_kernels,    top_k_kernels,
    view_kernels,          linear_narrow_kernels,
#ifdef TESSERA_ONEDNN
    linear_onednn_kernels,
#endif
});

}  // namespace

std::span<const KernelEntry> kernels() {
  static const std::vector<KernelEntry> all = [] {
    std::vector<KernelEntry> entries;
    for (const auto table : k_tables) {
      const std::span<const KernelEntry> part = table();
      entries.insert(entries.end(), part.begin(), part.end());
    }
    return entries;
  }();
  return all;
}

}  // namespace tessera::host
