// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what this machine can do at most: clock, multiply-adds, copying. Measured, since virtual machines do not tell.
// Used: benchmarks, as the yardstick beside their results.
// Must not know: kernels.
#pragma once

#include <cstdint>
#include <string>

#include "apps/document.hpp"

namespace tessera::apps {

/// The most floating-point operations of a core in a cycle that any processor of today has: two fused multiply-adds of
/// 16 fp32 lanes.
inline constexpr double k_most_flops_per_cycle = 64;

std::string processor_name();
int processor_count();  ///< that this process may use

/// Cycles per second of one core, by a chain of additions that take one cycle each.
double measure_clock();

/// fp32 FLOP/s of `threads` threads in a loop of independent fused multiply-adds on registers.
double measure_fma_peak(int threads);

/// Bytes per second, read and written ones both counted, of copying between buffers that no cache holds, in huge
/// pages as the memory of a rank.
double measure_copy_bandwidth(int threads);

/// Bytes per second, read and written ones both counted, of changing every number of such a buffer.
double measure_stream_bandwidth(int threads);

/// Adds program, processor, cores and the time to a document.
void add_machine(Document& document);

}  // namespace tessera::apps
