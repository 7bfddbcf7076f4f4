// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <dnnl.h>
#include <fmt/core.h>

#include <algorithm>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/base/error.hpp"
#include "core/host/gemm_single.hpp"

namespace tessera::host {

namespace {

/// The product of nothing: oneDNN refuses the empty operands' strides, or leaves C as it is.
void assign_zeros(const GemmCall<float, float>& call) {
  for (std::int64_t i = 0; i < call.m; ++i) std::fill_n(call.c + i * call.c_stride, call.n, 0.0F);
}

}  // namespace

std::int64_t gemm_single_workspace(int) {
  return 0;
}

void gemm_single(const GemmCall<float, float>& call, std::span<std::byte>, int threads) {
  if (call.m == 0 || call.n == 0) return;
  const float beta = call.result == Result::add ? 1 : 0;
  if (call.k == 0) {
    if (beta == 0) assign_zeros(call);
    return;
  }
#ifdef _OPENMP
  omp_set_num_threads(threads);  // of this thread's teams: oneDNN has no other way to be told
#else
  static_cast<void>(threads);
#endif
  const auto letter = [](Read read) { return read == Read::as_is ? 'N' : 'T'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(call.a.read), letter(call.b.read), call.m, call.n, call.k, 1, call.a.data, call.a.stride,
                 call.b.data, call.b.stride, beta, call.c, call.c_stride);
  TESSERA_CHECK(status == dnnl_success, fmt::format("dnnl_sgemm of {} x {} x {} gives status {}", call.m, call.n,
                                                    call.k, static_cast<int>(status)));
}

}  // namespace tessera::host
