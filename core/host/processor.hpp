// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  telling a program that was built for another processor before it runs into an instruction that is not there.
// Used: the host device, before anything else; kernel_instructions.cpp says what the kernels need.
// Must not know: kernels.
#pragma once

#include <cstdint>
#include <string>

namespace tessera::host {

/// Sets of instructions by which processors of one family differ. Values are bits.
enum class Instructions : std::uint32_t {
  sse4_2 = 1U << 0,
  avx = 1U << 1,
  f16c = 1U << 2,
  fma = 1U << 3,
  bmi2 = 1U << 4,
  avx2 = 1U << 5,
  avx512f = 1U << 6,
  avx512vl = 1U << 7,
  avx512bw = 1U << 8,
  avx512dq = 1U << 9,
  avx512vbmi = 1U << 10,
  avx512bf16 = 1U << 11,
};

/// Those that the kernels were compiled with: a constant, so that it can be read where they cannot run.
extern const std::uint32_t k_kernel_instructions;

/// Those that this processor has.
std::uint32_t processor_instructions();

/// Names of the needed ones that are not there, with commas between; empty where all are.
std::string missing_instructions(std::uint32_t needed, std::uint32_t there);

/// Throws Error{unavailable} where this processor cannot run the kernels.
void check_processor();

}  // namespace tessera::host
