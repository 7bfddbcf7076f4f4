// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// token_loss = log z + shift − t, the cross-entropy of one token from the sums over its vocabulary.
#include <cmath>

#include "core/host/elementwise.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"

namespace tessera::host {
namespace {

template <class A>
void token_loss(const KernelCall& call) {
  map(
      threads_of(call.stream), call.out[0].count(), call.out[0].as<A>(),
      [](A z, A shift, A t) { return std::log(z) + (shift - t); }, call.in[0].as<const A>(), call.in[1].as<const A>(),
      call.in[2].as<const A>());
}

template <class A>
void token_loss_grad(const KernelCall& call) {
  map_two(
      threads_of(call.stream), call.in[0].count(), call.out[0].as<A>(), call.out[1].as<A>(),
      [](A dy, A z) {
        return std::pair{dy / z, -dy};
      },
      call.in[0].as<const A>(), call.in[1].as<const A>());
}

constexpr auto k_entries = join(for_accumulation([]<class A>() {
                                  return KernelEntry{"token_loss", dtype_of<A>, token_loss<A>};
                                }),
                                for_accumulation([]<class A>() {
                                  return KernelEntry{"token_loss_grad", dtype_of<A>, token_loss_grad<A>};
                                }));

}  // namespace

std::span<const KernelEntry> token_loss_kernels() {
  return k_entries;
}

}  // namespace tessera::host
