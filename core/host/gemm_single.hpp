// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  fp32 products, the one place where a library may stand in for our own kernel.
// Used: gemm.cpp. Built from gemm_onednn.cpp or gemm_single.cpp, as TESSERA_ONEDNN says.
// Must not know: ops, tensors.
#pragma once

#include "core/host/gemm.hpp"

namespace tessera::host {

std::int64_t gemm_single_workspace(std::int64_t m, std::int64_t n, std::int64_t k, int threads);
void gemm_single(const GemmCall<float, float>& call, std::span<std::byte> workspace, int threads);

}  // namespace tessera::host
