// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// cast: the same values in another dtype; accumulate: adds a value to one kept in the accumulation type.
#include "core/host/copy.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

void cast(const KernelCall& call) {
  const Tensor &x = call.in[0], &y = call.out[0];
  convert(x.dtype, x.data, y.dtype, y.data, x.count(), threads_of(call.stream));
}

void add_to(const KernelCall& call) {
  if (!call.accumulates(0)) return cast(call);
  const Tensor &x = call.in[0], &y = call.out[0];
  accumulate(x.dtype, x.data, y.dtype, y.data, x.count(), threads_of(call.stream));
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"cast", dtype_of<T>, cast};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"accumulate", dtype_of<T>, add_to, nullptr, 1U};
                                }));

}  // namespace

std::span<const KernelEntry> cast_kernels() {
  return k_entries;
}

}  // namespace tessera::host
