// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// gelu: x·Φ(x), or its approximation by tanh (Hendrycks and Gimpel 2016). The latter is x·sigmoid(2u) with
// u = sqrt(2/π)·(x + 0.044715·x³), which loses no digits where tanh is near -1.
#include "core/base/op_attributes.hpp"
#include "core/host/elementwise.hpp"
#include "core/host/host_device.hpp"
#include "core/host/kernels.hpp"
#include "core/host/math.hpp"

namespace tessera::host {
namespace {

using attributes::GeluForm;

constexpr double k_twice_root = 1.5957691216057308;  // 2·sqrt(2/π)
constexpr double k_cube = 0.044715;

template <class A>
A twice_u(A x) {
  return A(k_twice_root) * x * (A(1) + A(k_cube) * x * x);
}

template <class T>
void gelu(const KernelCall& call) {
  using A = Accumulation<T>;
  const auto apply = [&](auto function) {
    map(threads_of(call.stream), call.out[0].count(), call.out[0].as<T>(), function, call.in[0].as<const T>());
  };
  if (call.attributes.as<attributes::Gelu>().form == GeluForm::erf)
    apply([](A x) { return x * standard_normal(x).distribution; });
  else
    apply([](A x) { return x * sigmoid(twice_u(x)); });
}

template <class T>
void gelu_grad(const KernelCall& call) {
  using A = Accumulation<T>;
  const auto apply = [&](auto function) {
    map(threads_of(call.stream), call.out[0].count(), call.out[0].as<T>(), function, call.in[0].as<const T>(),
        call.in[1].as<const T>());
  };
  if (call.attributes.as<attributes::Gelu>().form == GeluForm::erf) {
    apply([](A dy, A x) {
      const Normal<A> normal = standard_normal(x);
      return dy * (normal.distribution + x * normal.density);
    });
  } else {
    apply([](A dy, A x) {
      const A s = sigmoid(twice_u(x));
      const A slope = A(k_twice_root) * (A(1) + A(3 * k_cube) * x * x);
      return dy * s * (A(1) + x * (A(1) - s) * slope);
    });
  }
}

constexpr auto k_entries = join(for_floating([]<class T>() {
                                  return KernelEntry{"gelu", dtype_of<T>, gelu<T>};
                                }),
                                for_floating([]<class T>() {
                                  return KernelEntry{"gelu_grad", dtype_of<T>, gelu_grad<T>};
                                }));

}  // namespace

std::span<const KernelEntry> gelu_kernels() {
  return k_entries;
}

}  // namespace tessera::host
