// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// dropout (Srivastava et al. 2014). Whether an element is kept is a function of (seed, site, sample, its place in the
// sample), so that no layout, batch size or restart changes a mask.
#include <cmath>

#include "core/base/op_attributes.hpp"
#include "core/host/kernels.hpp"
#include "core/host/random_elements.hpp"

namespace tessera::host {
namespace {

/// Keeps an element iff its number is at least p.
template <class T>
void dropout(const KernelCall& call) {
  using A = Accumulation<T>;
  const auto site = call.attributes.as<attributes::Dropout>();
  // uniform >= p, without rounding: both sides are whole multiples of 2^-53 after the ceiling.
  const auto least = static_cast<std::uint64_t>(std::ceil(std::ldexp(site.probability, 53)));
  const auto scale = static_cast<A>(1 / (1 - site.probability));
  change_elements<T>(call, site.site, site.width, [least, scale](A x, const CounterRng& rng, std::uint64_t element) {
    const A scaled = x * scale;  // always, or the loop is not vectorised
    return rng.at(element) >> 11 >= least ? scaled : A(0);
  });
}

constexpr auto k_entries = for_floating([]<class T>() { return KernelEntry{"dropout", dtype_of<T>, dropout<T>}; });

}  // namespace

std::span<const KernelEntry> dropout_kernels() {
  return k_entries;
}

}  // namespace tessera::host
