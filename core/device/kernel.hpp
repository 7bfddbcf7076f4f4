// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a kernel receives and how it is found: one function per (op, dtype), resolved when the plan is made.
// Used: devices (offer kernels), the plan and its executor (call them).
// Must not know: the graph, layouts, communicators.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/base/attributes.hpp"
#include "core/base/dtype.hpp"
#include "core/base/shape.hpp"
#include "core/device/step_inputs.hpp"
#include "core/device/stream.hpp"

namespace tessera {

/// The rank's part of a value: dense, row-major, and where it lies in the global index space.
struct Tensor {
  void* data = nullptr;
  Shape shape;                                          ///< local extents, any of them may be 0
  std::array<std::int64_t, Shape::k_max_rank> start{};  ///< global index of the first element, per dim
  DType dtype = DType::f32;

  template <class T>
  T* as() const {
    return static_cast<T*>(data);
  }
  std::int64_t count() const { return shape.count(); }
};

/// By which kernels of an op are told apart: the dtype of its first floating operand, inputs first, then outputs; i64
/// where there is none.
constexpr DType principal_dtype(std::span<const Tensor> in, std::span<const Tensor> out) {
  for (const std::span<const Tensor> operands : {in, out})
    for (const Tensor& tensor : operands)
      if (is_floating(tensor.dtype)) return tensor.dtype;
  return DType::i64;
}

struct KernelCall {
  std::span<const Tensor> in;   ///< an absent optional input has null data
  std::span<const Tensor> out;  ///< an output that nobody reads has null data and must not be written
  const Attributes& attributes;
  std::span<std::byte> workspace;  ///< as many bytes as the entry's workspace rule asked for, 64-byte aligned
  const StepInputs& step;
  Stream& stream;
  std::uint32_t accumulate = 0;  ///< bit i: add to output i instead of overwriting it
  std::int32_t round = 0;        ///< of a body that is repeated: 1, 2, …; elsewhere 0

  bool accumulates(int output) const { return (accumulate >> output & 1U) != 0; }
};

using Kernel = void (*)(const KernelCall&);

/// Bytes of scratch for local operands (data pointers are null), for `threads` threads.
using WorkspaceRule = std::int64_t (*)(std::span<const Tensor> in, std::span<const Tensor> out, const Attributes&,
                                       int threads);

struct KernelEntry {
  std::string_view op;
  DType dtype;  ///< principal_dtype() of its operands
  Kernel launch;
  WorkspaceRule workspace = nullptr;  ///< null: needs none
  std::uint32_t accumulates = 0;      ///< bit i: output i may be accumulated into
  std::string_view variant = {};      ///< empty: the usual kernel of the op; else another way to the same values
};

}  // namespace tessera
