// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/gemm_single.hpp"

#include "core/host/gemm_packed.hpp"

namespace tessera::host {

std::int64_t gemm_single_workspace(int threads) {
  return threads * std::int64_t(sizeof(PackedScratch<float>));
}

void gemm_single(const GemmCall<float, float>& call, std::span<std::byte> workspace, int threads) {
  gemm_packed(call, workspace, threads);
}

}  // namespace tessera::host
