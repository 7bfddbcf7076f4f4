// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  running one kernel of the host on tensors of a test, with its workspace guarded on both sides.
// Used: tests of kernels, interpreters of graphs in tests.
// Must not know: which op is tested.
#pragma once

#include <span>
#include <string_view>

#include "core/device/device.hpp"
#include "test/support/tensor_value.hpp"

namespace tessera::test {

struct KernelRun {
  std::string_view op;
  DType dtype;
  std::vector<TensorValue> in;
  std::vector<TensorValue> out;  ///< results are written here
  Attributes attributes = {};
  std::uint32_t accumulate = 0;
  StepInputs step = {};
  std::int32_t round = 0;
  std::string_view variant = {};
};

/// Runs the kernel of an op on tensors of any memory. Throws Error{internal} if there is no such kernel, if it cannot
/// accumulate, or if it wrote outside its workspace.
void launch_kernel(std::string_view op, DType dtype, std::span<const Tensor> in, std::span<const Tensor> out,
                   const Attributes& attributes = {}, std::uint32_t accumulate = 0, const StepInputs& step = {},
                   int threads = 1, std::int32_t round = 0, std::string_view variant = {});

/// Runs the kernel on a host device of so many threads.
void run_kernel(KernelRun& run, int threads = 1);

/// The outputs' values after the run.
std::vector<Values> results_of(KernelRun run, int threads = 1);

/// Whether the outputs are the same bytes for 1, 2 and 3 threads.
bool same_for_any_threads(const KernelRun& run);

}  // namespace tessera::test
