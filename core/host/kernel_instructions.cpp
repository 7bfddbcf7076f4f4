// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Compiled like the kernels, and nothing but a constant.
#include "core/host/processor.hpp"

namespace tessera::host {
namespace {

constexpr std::uint32_t bit(Instructions set) {
  return static_cast<std::uint32_t>(set);
}

}  // namespace

constinit const std::uint32_t k_kernel_instructions = 0U
#ifdef __SSE4_2__
                                                      | bit(Instructions::sse4_2)
#endif
#ifdef __AVX__
                                                      | bit(Instructions::avx)
#endif
#ifdef __F16C__
                                                      | bit(Instructions::f16c)
#endif
#ifdef __FMA__
                                                      | bit(Instructions::fma)
#endif
#ifdef __BMI2__
                                                      | bit(Instructions::bmi2)
#endif
#ifdef __AVX2__
                                                      | bit(Instructions::avx2)
#endif
#ifdef __AVX512F__
                                                      | bit(Instructions::avx512f)
#endif
#ifdef __AVX512VL__
                                                      | bit(Instructions::avx512vl)
#endif
#ifdef __AVX512BW__
                                                      | bit(Instructions::avx512bw)
#endif
#ifdef __AVX512DQ__
                                                      | bit(Instructions::avx512dq)
#endif
#ifdef __AVX512VBMI__
                                                      | bit(Instructions::avx512vbmi)
#endif
#ifdef __AVX512BF16__
                                                      | bit(Instructions::avx512bf16)
#endif
    ;

}  // namespace tessera::host
