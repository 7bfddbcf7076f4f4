// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/gemm.hpp"

#include "core/host/gemm_packed.hpp"
#include "core/host/gemm_single.hpp"

namespace tessera::host {

template <class T>
std::int64_t gemm_workspace(std::int64_t, std::int64_t, std::int64_t, int threads) {
  if constexpr (std::is_same_v<T, float>) return gemm_single_workspace(threads);
  return threads * std::int64_t(sizeof(PackedScratch<Accumulation<T>>));
}

template <class T, class C>
void gemm(const GemmCall<T, C>& call, std::span<std::byte> workspace, int threads) {
  if constexpr (std::is_same_v<T, float>)
    gemm_single(call, workspace, threads);
  else
    gemm_packed(call, workspace, threads);
}

template std::int64_t gemm_workspace<double>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<float>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<BFloat16>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<Float16>(std::int64_t, std::int64_t, std::int64_t, int);

template void gemm(const GemmCall<double, double>&, std::span<std::byte>, int);
template void gemm(const GemmCall<float, float>&, std::span<std::byte>, int);
template void gemm(const GemmCall<BFloat16, BFloat16>&, std::span<std::byte>, int);
template void gemm(const GemmCall<BFloat16, float>&, std::span<std::byte>, int);
template void gemm(const GemmCall<Float16, Float16>&, std::span<std::byte>, int);
template void gemm(const GemmCall<Float16, float>&, std::span<std::byte>, int);

}  // namespace tessera::host
