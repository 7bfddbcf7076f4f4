// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/reference_ops.hpp"

#include <cmath>
#include <numbers>

namespace tessera::test::reference {
namespace {

/// The element at the index, with signed indices as shapes have them.
double& at(Values& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}
double at(const Values& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}
Values zeros(std::int64_t count) {
  return Values(static_cast<std::size_t>(count), 0.0);
}
std::int64_t count_of(const Values& values) {
  return static_cast<std::int64_t>(values.size());
}

}  // namespace

Values add(const Values& x, const Values& y) {
  Values z = x;
  for (std::size_t i = 0; i < x.size(); ++i) z[i] += y[i];
  return z;
}

Values linear(const Values& x, const Values& w, std::int64_t rows, std::int64_t in, std::int64_t out) {
  Values y = zeros(rows * out);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i) at(y, r * out + o) += at(x, r * in + i) * at(w, o * in + i);
  return y;
}

Values linear_dx(const Values& dy, const Values& w, std::int64_t rows, std::int64_t in, std::int64_t out) {
  Values dx = zeros(rows * in);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i) at(dx, r * in + i) += at(dy, r * out + o) * at(w, o * in + i);
  return dx;
}

Values linear_dw(const Values& dy, const Values& x, std::int64_t rows, std::int64_t in, std::int64_t out) {
  Values dw = zeros(out * in);
  for (std::int64_t r = 0; r < rows; ++r)
    for (std::int64_t o = 0; o < out; ++o)
      for (std::int64_t i = 0; i < in; ++i) at(dw, o * in + i) += at(dy, r * out + o) * at(x, r * in + i);
  return dw;
}

Values add_bias(const Values& x, const Values& bias) {
  Values y = x;
  for (std::size_t i = 0; i < x.size(); ++i) y[i] += bias[i % bias.size()];
  return y;
}

Values bias_grad(const Values& dy, std::int64_t width) {
  Values gradient = zeros(width);
  for (std::int64_t i = 0; i < count_of(dy); ++i) at(gradient, i % width) += at(dy, i);
  return gradient;
}

Values swiglu(const Values& gate, const Values& up) {
  Values y = gate;
  for (std::size_t i = 0; i < y.size(); ++i) y[i] = gate[i] / (1 + std::exp(-gate[i])) * up[i];
  return y;
}

Values gelu_erf(const Values& x) {
  Values y = x;
  for (double& v : y) v = v * 0.5 * std::erfc(-v / std::numbers::sqrt2);
  return y;
}

Values gelu_tanh(const Values& x) {
  Values y = x;
  for (double& v : y) v = 0.5 * v * (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (v + 0.044715 * v * v * v)));
  return y;
}

}  // namespace tessera::test::reference
