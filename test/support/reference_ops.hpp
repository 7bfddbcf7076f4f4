// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  every op as plain loops in double: what kernels are compared with.
// Used: tests of kernels, on every device.
// Must not know: kernels, dtypes, layouts, speed.
#pragma once

#include <cstdint>
#include <vector>

#include "test/support/tensor_value.hpp"

namespace tessera::test::reference {

Values add(const Values& x, const Values& y);

/// y[rows, out] = x[rows, in] · w[out, in]ᵀ
Values linear(const Values& x, const Values& w, std::int64_t rows, std::int64_t in, std::int64_t out);
/// dx[rows, in] = dy[rows, out] · w[out, in]
Values linear_dx(const Values& dy, const Values& w, std::int64_t rows, std::int64_t in, std::int64_t out);
/// dw[out, in] = Σ over rows of dy[row, out]·x[row, in]
Values linear_dw(const Values& dy, const Values& x, std::int64_t rows, std::int64_t in, std::int64_t out);

/// y[row, o] = x[row, o] + bias[o]
Values add_bias(const Values& x, const Values& bias);
/// Σ over rows of dy[row, width]
Values bias_grad(const Values& dy, std::int64_t width);

/// silu(gate)·up
Values swiglu(const Values& gate, const Values& up);

/// x·Φ(x)
Values gelu_erf(const Values& x);
/// x/2·(1 + tanh(sqrt(2/π)·(x + 0.044715·x³)))
Values gelu_tanh(const Values& x);

}  // namespace tessera::test::reference
