// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  moving and converting elements in host memory: parts of arrays, dtypes, sums, multiples.
// Used: conversions of layouts (pack and unpack), the executor, kernels.
// Must not know: graphs, communicators.
#pragma once

#include <array>
#include <cstdint>

#include "core/base/dtype.hpp"
#include "core/base/shape.hpp"

namespace tessera::host {

/// A box inside a row-major array: the array's extents and where the box begins in it.
struct BoxPlace {
  Shape array;
  std::array<std::int64_t, Shape::k_max_rank> start{};
};

/// Copies a box of `extent` elements of `element_bytes` each from one array into another; the arrays do not overlap.
void copy_box(const void* source, const BoxPlace& from, void* target, const BoxPlace& to, const Shape& extent,
              std::int64_t element_bytes, int threads);

/// Copies bytes; nothing happens if both pointers are equal.
void copy_bytes(const void* source, void* target, std::int64_t bytes, int threads);

/// Sets all elements of a floating array to the value, rounded.
void fill(DType dtype, void* target, double value, std::int64_t count, int threads);

/// target = source with other rounding. To 16 bits from f64 it goes through fp32. Both are floating.
void convert(DType from, const void* source, DType to, void* target, std::int64_t count, int threads);

/// target += source, in the target's accumulation type. Both are floating.
void accumulate(DType from, const void* source, DType to, void* target, std::int64_t count, int threads);

/// target *= factor, in the accumulation type.
void scale(DType dtype, void* target, double factor, std::int64_t count, int threads);

}  // namespace tessera::host
