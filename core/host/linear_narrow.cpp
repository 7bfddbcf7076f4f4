// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// linear and linear_dx for few rows, as variants "narrow": the weights are read once, where they lie, and never packed.
// The bits are those of the usual kernels.
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/linear_calls.hpp"
#include "core/host/narrow_product.hpp"

namespace tessera::host {
namespace {

constexpr std::int64_t k_block_columns = 512;

template <class T, Read weight_read>
struct NarrowLinear {
  using A = Accumulation<T>;
  using Narrow = std::conditional_t<weight_read == Read::transposed, NarrowTransposed<T>, NarrowAsIs<T>>;
  static constexpr bool k_forward = weight_read == Read::transposed;

  /// Scratch of one thread, in whole cache lines.
  static std::int64_t bytes(std::int64_t rows, std::int64_t outputs, std::int64_t depth) {
    const std::int64_t columns = std::min(outputs, k_block_columns);
    return (Narrow::scratch_elements(rows, columns, depth) * std::int64_t(sizeof(A)) + 63) / 64 * 64;
  }

  static std::int64_t workspace(std::span<const Tensor> in, std::span<const Tensor>, const Attributes&, int threads) {
    const Shape& w = in[1].shape;
    return threads * bytes(rows_of(in[0]), w[k_forward ? 0 : 1], w[k_forward ? 1 : 0]);
  }

  static void run(const KernelCall& call) {
    const GemmCall<T, T> product = k_forward ? forward_call<T>(call) : input_gradient_call<T>(call);
    if (product.m == 0) return;
    const std::int64_t scratch = bytes(product.m, product.n, product.k);
    const std::int64_t blocks = (product.n + k_block_columns - 1) / k_block_columns;
    parallel_parts(threads_of(call.stream), blocks, [&](std::int64_t block, int thread) {
      const std::int64_t column = block * k_block_columns, columns = std::min(k_block_columns, product.n - column);
      const MatrixView<T> w{product.b.data + (k_forward ? column * product.b.stride : column), product.b.stride,
                            weight_read};
      Narrow::run(
          {product.m, columns, product.k, product.a.data, product.a.stride, w, product.c + column, product.c_stride},
          reinterpret_cast<A*>(call.workspace.data() + thread * scratch));
    });
  }
};

constexpr auto k_entries =
    join(for_floating([]<class T>() {
           using Kernel = NarrowLinear<T, Read::transposed>;
           return KernelEntry{"linear", dtype_of<T>, Kernel::run, Kernel::workspace, 0, "narrow"};
         }),
         for_floating([]<class T>() {
           using Kernel = NarrowLinear<T, Read::as_is>;
           return KernelEntry{"linear_dx", dtype_of<T>, Kernel::run, Kernel::workspace, 0, "narrow"};
         }));

}  // namespace

std::span<const KernelEntry> linear_narrow_kernels() {
  return k_entries;
}

}  // namespace tessera::host
