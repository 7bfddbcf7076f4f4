// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/gemm.hpp"

#include "core/host/gemm_packed.hpp"

namespace tessera::host {

template std::int64_t gemm_workspace<double, double>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<float, float>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<BFloat16, BFloat16>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<BFloat16, float>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<Float16, Float16>(std::int64_t, std::int64_t, std::int64_t, int);
template std::int64_t gemm_workspace<Float16, float>(std::int64_t, std::int64_t, std::int64_t, int);

template void gemm(const GemmCall<double, double>&, std::span<std::byte>, int);
template void gemm(const GemmCall<float, float>&, std::span<std::byte>, int);
template void gemm(const GemmCall<BFloat16, BFloat16>&, std::span<std::byte>, int);
template void gemm(const GemmCall<BFloat16, float>&, std::span<std::byte>, int);
template void gemm(const GemmCall<Float16, Float16>&, std::span<std::byte>, int);
template void gemm(const GemmCall<Float16, float>&, std::span<std::byte>, int);

}  // namespace tessera::host
