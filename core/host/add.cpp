// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// add, add_into: z = x + y; z may be x.
#include "core/host/elementwise.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

template <class T>
void add(const KernelCall& call) {
  map(
      threads_of(call.stream), call.out[0].count(), call.out[0].as<T>(), [](auto x, auto y) { return x + y; },
      call.in[0].as<const T>(), call.in[1].as<const T>());
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"add", dtype_of<T>, add<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"add_into", dtype_of<T>, add<T>};
                                }));

}  // namespace

std::span<const KernelEntry> add_kernels() {
  return k_entries;
}

}  // namespace tessera::host
