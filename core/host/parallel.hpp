// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  threads within a rank: the only place that starts them.
// Used: kernels of the host.
// Must not know: what is computed. Which thread gets which part is not fixed, so a part must not depend on it.
#pragma once

#include <algorithm>
#include <cstdint>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace tessera::host {

/// Calls body(part, thread) once for every 0 <= part < parts, on up to `threads` threads; 0 <= thread < threads. The
/// body must not throw.
template <class Body>
void parallel_parts(int threads, std::int64_t parts, const Body& body) {
#ifdef _OPENMP
  const int team = static_cast<int>(std::min<std::int64_t>(threads, parts));
  if (team > 1) {
#pragma omp parallel for num_threads(team) schedule(dynamic, 1)
    for (std::int64_t part = 0; part < parts; ++part) body(part, omp_get_thread_num());
    return;
  }
#else
  static_cast<void>(threads);
#endif
  for (std::int64_t part = 0; part < parts; ++part) body(part, 0);
}

/// Work, in elements touched, below which a part is not worth a thread of its own.
inline constexpr std::int64_t k_part_elements = 1 << 15;

/// Calls body(begin, end) for consecutive ranges that cover 0 … count - 1, each of at least about `k_part_elements`
/// elements when an index stands for `elements` of them. For work in which every index is independent.
template <class Body>
void parallel_ranges(int threads, std::int64_t count, std::int64_t elements, const Body& body) {
  const std::int64_t least = std::max<std::int64_t>(1, k_part_elements / std::max<std::int64_t>(1, elements));
  const std::int64_t parts = std::clamp<std::int64_t>(count / least, 1, 4L * threads);
  parallel_parts(threads, parts, [&](std::int64_t part, int) {
    const std::int64_t begin = count * part / parts, end = count * (part + 1) / parts;
    if (begin < end) body(begin, end);
  });
}

}  // namespace tessera::host
