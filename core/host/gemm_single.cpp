// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/gemm_single.hpp"

namespace tessera::host {

std::int64_t gemm_single_workspace(std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
  return gemm_packed_workspace<float, float>(m, n, k, threads);
}

void gemm_single(const GemmCall<float, float>& call, std::span<std::byte> workspace, int threads) {
  gemm_packed(call, workspace, threads);
}

}  // namespace tessera::host
