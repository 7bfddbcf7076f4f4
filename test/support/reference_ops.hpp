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

/// y[token, width] = table[id − first_row, width], or 0 where the id lies outside the table's part.
Values embed(const Values& table, const Values& ids, std::int64_t width, std::int64_t first_row);
/// gradient[rows, width] = Σ over tokens with id = first_row + row of dy[token, width]
Values embed_grad(const Values& dy, const Values& ids, std::int64_t rows, std::int64_t width, std::int64_t first_row);

struct Normalized {
  Values y, mean, rstd;  ///< [rows, width], [rows], [rows]
};
/// x·rstd·gain with rstd = 1/sqrt(mean(x²) + epsilon); the mean is not set.
Normalized rms_norm(const Values& x, const Values& gain, double epsilon);
/// (x − mean)·rstd·gain + bias, biased variance
Normalized layer_norm(const Values& x, const Values& gain, const Values& bias, double epsilon);

/// x[tokens, heads, head_dim] rotated by sign·position·theta^(−2j/head_dim), halves as pairs.
Values rope(const Values& x, const Values& position, std::int64_t heads, std::int64_t head_dim, double theta,
            double sign);

/// Where the elements of a part of [s, b, h] lie in the whole model.
struct DropoutPlace {
  std::uint64_t seed, site;
  double probability;
  std::int64_t width;      ///< global extent of h
  std::int64_t first = 0;  ///< global index of this part's first h
};
Values dropout(const Values& x, const Values& index, const Values& sample, const DropoutPlace& place);

/// The same of noise; `probability` is its spread.
Values jitter(const Values& x, const Values& index, const Values& sample, const DropoutPlace& place);

/// The largest of each row, −inf for rows of no elements.
Values row_max(const Values& x, std::int64_t rows);

struct SoftmaxSums {
  Values e, z, t;  ///< [rows, width], [rows], [rows]
};
/// e = exp(logits − shift), z = Σ e, t = logits[target − first_column] or 0 where that lies outside.
SoftmaxSums softmax_sums(const Values& logits, const Values& shift, const Values& targets, std::int64_t first_column);
/// e·dz + onehot(target − first_column)·dt
Values softmax_sums_grad(const Values& e, const Values& dz, const Values& dt, const Values& targets,
                         std::int64_t first_column);

/// log z + shift − t
Values token_loss(const Values& z, const Values& shift, const Values& t);

/// Σ x·mask
double masked_sum(const Values& x, const Values& mask);

/// Σ x²
double sum_squares(const Values& x);

/// Operands of attention: q [queries, batch, heads, head_dim], k and v [keys, batch, kv_heads, head_dim], positions and
/// documents [tokens, batch].
struct AttentionInputs {
  std::int64_t queries, keys, batch, heads, kv_heads, head_dim;
  std::int64_t group;                              ///< query heads per key/value head
  std::int64_t first_head = 0, first_kv_head = 0;  ///< global indices of the local heads' first
  double scale = 1;
  Values q = {}, k = {}, v = {}, q_position = {}, k_position = {}, q_document = {}, k_document = {};
};
struct AttentionOutputs {
  Values o, lse;  ///< like q; [queries, batch, heads]
};
/// Softmax over keys at or before the query's position in its document. Without any: o = 0, lse = −inf.
AttentionOutputs attention(const AttentionInputs& in);

/// Attention over two sets of keys as attention over both. o [rows, width], lse [rows].
AttentionOutputs lse_merge(const AttentionOutputs& first, const AttentionOutputs& second);

struct AttentionGradients {
  Values q, k, v;
};
/// From the gradients of o and, if not empty, of lse.
AttentionGradients attention_grad(const AttentionInputs& in, const Values& o_gradient, const Values& lse_gradient);

}  // namespace tessera::test::reference
