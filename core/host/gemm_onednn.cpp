// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <dnnl.h>
#include <fmt/core.h>
#ifdef _OPENMP
#include <omp.h>
#endif

#include "core/base/error.hpp"
#include "core/host/gemm_single.hpp"

namespace tessera::host {

namespace {

/// The product of nothing: oneDNN refuses the empty operands' strides, or leaves C as it is.
void scale_by_beta(const GemmCall<float, float>& call) {
  for (std::int64_t i = 0; i < call.m; ++i)
    for (std::int64_t j = 0; j < call.n; ++j) {
      float& c = call.c[i * call.c_stride + j];
      c = call.beta == 0 ? 0 : call.beta * c;
    }
}

}  // namespace

std::int64_t gemm_single_workspace(int) {
  return 0;
}

void gemm_single(const GemmCall<float, float>& call, std::span<std::byte>, int threads) {
  if (call.m == 0 || call.n == 0) return;
  if (call.k == 0) return scale_by_beta(call);
#ifdef _OPENMP
  omp_set_num_threads(threads);  // of this thread's teams: oneDNN has no other way to be told
#else
  static_cast<void>(threads);
#endif
  const auto letter = [](Read read) { return read == Read::as_is ? 'N' : 'T'; };
  const dnnl_status_t status =
      dnnl_sgemm(letter(call.a.read), letter(call.b.read), call.m, call.n, call.k, call.alpha, call.a.data,
                 call.a.stride, call.b.data, call.b.stride, call.beta, call.c, call.c_stride);
  TESSERA_CHECK(status == dnnl_success, fmt::format("dnnl_sgemm of {} x {} x {} gives status {}", call.m, call.n,
                                                    call.k, static_cast<int>(status)));
}

}  // namespace tessera::host
