// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/gemm.hpp"

#include "core/host/gemm_packed.hpp"
#include "core/host/gemm_single.hpp"

namespace tessera::host {

template <class T, class C>
std::int64_t gemm_workspace(std::int64_t m, std::int64_t n, std::int64_t k, int threads) {
  if constexpr (std::is_same_v<T, float>)
    return gemm_single_workspace(m, n, k, threads);
  else
    return gemm_packed_workspace<T, C>(m, n, k, threads);
}

template <class T, class C>
void gemm(const GemmCall<T, C>& call, std::span<std::byte> workspace, int threads) {
  if constexpr (std::is_same_v<T, float>)
    gemm_single(call, workspace, threads);
  else
    gemm_packed(call, workspace, threads);
}

template std::int64_t gemm_packed_workspace<double, double>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_packed_workspace<float, float>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_packed_workspace<BFloat16, BFloat16>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_packed_workspace<BFloat16, float>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_packed_workspace<Float16, Float16>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_packed_workspace<Float16, float>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<double, double>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<float, float>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<BFloat16, BFloat16>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<BFloat16, float>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<Float16, Float16>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<Float16, float>(std::int64_t, std::int64_t, std::int64_t, int);

template void gemm_packed(const GemmCall<double, double>&, std::span<std::byte>, int);
template void gemm_packed(const GemmCall<float, float>&, std::span<std::byte>, int);
template void gemm_packed(const GemmCall<BFloat16, BFloat16>&, std::span<std::byte>, int);
template void gemm_packed(const GemmCall<BFloat16, float>&, std::span<std::byte>, int);
template void gemm_packed(const GemmCall<Float16, Float16>&, std::span<std::byte>, int);
template void gemm_packed(const GemmCall<Float16, float>&, std::span<std::byte>, int);
template void gemm(const GemmCall<double, double>&, std::span<std::byte>, int);
template void gemm(const GemmCall<float, float>&, std::span<std::byte>, int);
template void gemm(const GemmCall<BFloat16, BFloat16>&, std::span<std::byte>, int);
template void gemm(const GemmCall<BFloat16, float>&, std::span<std::byte>, int);
template void gemm(const GemmCall<Float16, Float16>&, std::span<std::byte>, int);
template void gemm(const GemmCall<Float16, float>&, std::span<std::byte>, int);

}  // namespace tessera::host
