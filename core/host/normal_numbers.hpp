// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  standard normal numbers by place: the i-th of a stream is the same whoever asks for it.
// Used: initial weights.
// Must not know: what the numbers become.
#pragma once

#include <cstdint>

#include "core/base/counter_rng.hpp"

namespace tessera::host {

/// data[i] = deviation · normal number first + i of the stream (Box and Muller 1958, of its numbers 2n and 2n + 1), in
/// fp32 or fp64, the first rounded. The same bits on any number of threads and on any processor.
template <class T>
void fill_normal(const CounterRng& random, std::int64_t first, std::int64_t count, double deviation, T* data,
                 int threads);

}  // namespace tessera::host
