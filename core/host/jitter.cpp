// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// jitter (Fedus et al. 2021). The factor of an element is a function of (seed, site, sample, its place in the sample),
// so that no layout, batch size or restart changes it.
#include "core/base/op_attributes.hpp"
#include "core/host/kernels.hpp"
#include "core/host/random_elements.hpp"

namespace tessera::host {
namespace {

/// x · (1 + spread · (2u − 1)), u the element's number.
template <class T>
void jitter(const KernelCall& call) {
  using A = Accumulation<T>;
  const auto site = call.attributes.as<attributes::Jitter>();
  change_elements<T>(call, site.site, site.width,
                     [spread = site.spread](A x, const CounterRng& rng, std::uint64_t element) {
                       return x * static_cast<A>(1 + spread * (2 * rng.uniform(element) - 1));
                     });
}

constexpr auto k_entries = for_floating([]<class T>() { return KernelEntry{"jitter", dtype_of<T>, jitter<T>}; });

}  // namespace

std::span<const KernelEntry> jitter_kernels() {
  return k_entries;
}

}  // namespace tessera::host
