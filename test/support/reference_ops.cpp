// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/reference_ops.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "core/base/counter_rng.hpp"

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

Values embed(const Values& table, const Values& ids, std::int64_t width, std::int64_t first_row) {
  Values y = zeros(count_of(ids) * width);
  for (std::int64_t token = 0; token < count_of(ids); ++token)
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(at(ids, token)) - first_row;
      if (row >= 0 && row * width < count_of(table)) at(y, token * width + i) = at(table, row * width + i);
    }
  return y;
}

Values embed_grad(const Values& dy, const Values& ids, std::int64_t rows, std::int64_t width, std::int64_t first_row) {
  Values gradient = zeros(rows * width);
  for (std::int64_t token = 0; token < count_of(ids); ++token)
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t row = static_cast<std::int64_t>(at(ids, token)) - first_row;
      if (row >= 0 && row < rows) at(gradient, row * width + i) += at(dy, token * width + i);
    }
  return gradient;
}

Normalized rms_norm(const Values& x, const Values& gain, double epsilon) {
  const std::int64_t width = count_of(gain), rows = width == 0 ? 0 : count_of(x) / width;
  Normalized result{x, {}, zeros(rows)};
  for (std::int64_t r = 0; r < rows; ++r) {
    double squares = 0;
    for (std::int64_t i = 0; i < width; ++i) squares += at(x, r * width + i) * at(x, r * width + i);
    at(result.rstd, r) = 1 / std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::int64_t i = 0; i < width; ++i) at(result.y, r * width + i) *= at(result.rstd, r) * at(gain, i);
  }
  return result;
}

Normalized layer_norm(const Values& x, const Values& gain, const Values& bias, double epsilon) {
  const std::int64_t width = count_of(gain), rows = width == 0 ? 0 : count_of(x) / width;
  Normalized result{x, zeros(rows), zeros(rows)};
  for (std::int64_t r = 0; r < rows; ++r) {
    double sum = 0, squares = 0;
    for (std::int64_t i = 0; i < width; ++i) sum += at(x, r * width + i);
    const double mean = sum / static_cast<double>(width);
    for (std::int64_t i = 0; i < width; ++i) squares += std::pow(at(x, r * width + i) - mean, 2);
    at(result.mean, r) = mean;
    at(result.rstd, r) = 1 / std::sqrt(squares / static_cast<double>(width) + epsilon);
    for (std::int64_t i = 0; i < width; ++i)
      at(result.y, r * width + i) = (at(x, r * width + i) - mean) * at(result.rstd, r) * at(gain, i) + at(bias, i);
  }
  return result;
}

Values rope(const Values& x, const Values& position, std::int64_t heads, std::int64_t head_dim, double theta,
            double sign) {
  Values y = x;
  const std::int64_t half = head_dim / 2;
  for (std::int64_t token = 0; token < count_of(position); ++token)
    for (std::int64_t head = 0; head < heads; ++head)
      for (std::int64_t j = 0; j < half; ++j) {
        const double power = -2 * static_cast<double>(j) / static_cast<double>(head_dim);
        const double angle = sign * at(position, token) * std::pow(theta, power);
        const std::int64_t first = (token * heads + head) * head_dim + j;
        const double a = at(x, first), c = at(x, first + half);
        at(y, first) = a * std::cos(angle) - c * std::sin(angle);
        at(y, first + half) = c * std::cos(angle) + a * std::sin(angle);
      }
  return y;
}

Values dropout(const Values& x, const Values& index, const Values& sample, const DropoutPlace& place) {
  Values y = x;
  const std::int64_t tokens = count_of(index), width = tokens == 0 ? 0 : count_of(x) / tokens;
  for (std::int64_t token = 0; token < tokens; ++token) {
    const CounterRng rng(place.seed, place.site, static_cast<std::uint64_t>(at(sample, token % count_of(sample))));
    for (std::int64_t i = 0; i < width; ++i) {
      const std::int64_t element = static_cast<std::int64_t>(at(index, token)) * place.width + place.first + i;
      const bool kept = rng.uniform(static_cast<std::uint64_t>(element)) >= place.probability;
      at(y, token * width + i) *= kept ? 1 / (1 - place.probability) : 0;
    }
  }
  return y;
}

Values jitter(const Values& x, const Values& index, const Values& sample, const DropoutPlace& place) {
  Values y = x;
  const std::int64_t width = index.empty() ? 0 : count_of(x) / count_of(index), batch = count_of(sample);
  for (std::int64_t i = 0; i < count_of(x); ++i) {
    const std::int64_t token = i / width;
    const CounterRng rng(place.seed, place.site, static_cast<std::uint64_t>(at(sample, token % batch)));
    const auto row = static_cast<std::int64_t>(at(index, token));
    const double u = rng.uniform(static_cast<std::uint64_t>(row * place.width + place.first + i % width));
    at(y, i) *= (1 - place.probability) + 2 * place.probability * u;
  }
  return y;
}

Values row_max(const Values& x, std::int64_t rows) {
  Values largest(static_cast<std::size_t>(rows), -std::numeric_limits<double>::infinity());
  const std::int64_t width = rows == 0 ? 0 : count_of(x) / rows;
  for (std::int64_t i = 0; i < count_of(x); ++i) at(largest, i / width) = std::max(at(largest, i / width), at(x, i));
  return largest;
}

SoftmaxSums softmax_sums(const Values& logits, const Values& shift, const Values& targets, std::int64_t first_column) {
  const std::int64_t rows = count_of(shift), width = rows == 0 ? 0 : count_of(logits) / rows;
  SoftmaxSums result{logits, zeros(rows), zeros(rows)};
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; ++i) {
      at(result.e, r * width + i) = std::exp(at(logits, r * width + i) - at(shift, r));
      at(result.z, r) += at(result.e, r * width + i);
    }
    const std::int64_t column = static_cast<std::int64_t>(at(targets, r)) - first_column;
    if (column >= 0 && column < width) at(result.t, r) = at(logits, r * width + column);
  }
  return result;
}

Values softmax_sums_grad(const Values& e, const Values& dz, const Values& dt, const Values& targets,
                         std::int64_t first_column) {
  const std::int64_t rows = count_of(dz), width = rows == 0 ? 0 : count_of(e) / rows;
  Values gradient = e;
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t i = 0; i < width; ++i) at(gradient, r * width + i) *= at(dz, r);
    const std::int64_t column = static_cast<std::int64_t>(at(targets, r)) - first_column;
    if (column >= 0 && column < width) at(gradient, r * width + column) += at(dt, r);
  }
  return gradient;
}

Values token_loss(const Values& z, const Values& shift, const Values& t) {
  Values loss = z;
  for (std::size_t i = 0; i < z.size(); ++i) loss[i] = std::log(z[i]) + shift[i] - t[i];
  return loss;
}

double masked_sum(const Values& x, const Values& mask) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * mask[i];
  return sum;
}

double sum_squares(const Values& x) {
  double sum = 0;
  for (const double value : x) sum += value * value;
  return sum;
}

namespace {

/// The keys that one query of one head sees, and their probabilities.
struct Attended {
  std::vector<std::int64_t> k_at;  ///< where each key (and value) begins
  Values probabilities;
  double lse = -std::numeric_limits<double>::infinity();
};

Attended attend(const AttentionInputs& in, std::int64_t query, std::int64_t b, std::int64_t head) {
  const std::int64_t kv_head = (head + in.first_head) / in.group - in.first_kv_head, d = in.head_dim;
  const std::int64_t q_token = query * in.batch + b, q_at = (q_token * in.heads + head) * d;
  Attended seen;
  for (std::int64_t key = 0; key < in.keys; ++key) {
    const std::int64_t k_token = key * in.batch + b, k_at = (k_token * in.kv_heads + kv_head) * d;
    if (at(in.q_position, q_token) < at(in.k_position, k_token)) continue;
    if (at(in.q_document, q_token) != at(in.k_document, k_token)) continue;
    double score = 0;
    for (std::int64_t i = 0; i < d; ++i) score += at(in.q, q_at + i) * at(in.k, k_at + i);
    seen.k_at.push_back(k_at);
    seen.probabilities.push_back(score * in.scale);
  }
  if (seen.k_at.empty()) return seen;
  const double largest = *std::max_element(seen.probabilities.begin(), seen.probabilities.end());
  double sum = 0;
  for (const double score : seen.probabilities) sum += std::exp(score - largest);
  seen.lse = largest + std::log(sum);
  for (double& score : seen.probabilities) score = std::exp(score - largest) / sum;
  return seen;
}

}  // namespace

AttentionOutputs attention(const AttentionInputs& in) {
  AttentionOutputs out{zeros(count_of(in.q)), zeros(in.queries * in.batch * in.heads)};
  for (std::int64_t row = 0; row < count_of(out.lse); ++row) {
    const std::int64_t query = row / in.heads / in.batch, b = row / in.heads % in.batch, head = row % in.heads;
    const Attended seen = attend(in, query, b, head);
    at(out.lse, row) = seen.lse;
    for (std::size_t j = 0; j < seen.k_at.size(); ++j)
      for (std::int64_t i = 0; i < in.head_dim; ++i)
        at(out.o, row * in.head_dim + i) += seen.probabilities[j] * at(in.v, seen.k_at[j] + i);
  }
  return out;
}

AttentionOutputs lse_merge(const AttentionOutputs& first, const AttentionOutputs& second) {
  AttentionOutputs out{zeros(count_of(first.o)), zeros(count_of(first.lse))};
  const std::int64_t width = first.lse.empty() ? 0 : count_of(first.o) / count_of(first.lse);
  for (std::int64_t row = 0; row < count_of(first.lse); ++row) {
    const double largest = std::max(at(first.lse, row), at(second.lse, row));
    const double shift = std::isinf(largest) ? 0 : largest;  // e^(−inf) is 0 whatever the shift
    const double w1 = std::exp(at(first.lse, row) - shift), w2 = std::exp(at(second.lse, row) - shift);
    at(out.lse, row) = shift + std::log(w1 + w2);
    if (w1 + w2 == 0) continue;
    for (std::int64_t i = row * width; i < (row + 1) * width; ++i)
      at(out.o, i) = (w1 * at(first.o, i) + w2 * at(second.o, i)) / (w1 + w2);
  }
  return out;
}

AttentionGradients attention_grad(const AttentionInputs& in, const Values& o_gradient, const Values& lse_gradient) {
  AttentionGradients out{zeros(count_of(in.q)), zeros(count_of(in.k)), zeros(count_of(in.v))};
  const std::int64_t d = in.head_dim;
  for (std::int64_t row = 0; row < in.queries * in.batch * in.heads; ++row) {
    const std::int64_t query = row / in.heads / in.batch, b = row / in.heads % in.batch, head = row % in.heads;
    const Attended seen = attend(in, query, b, head);
    Values p_gradient(seen.k_at.size(), 0.0);
    double mean = 0;  // Σ p·dp: what the softmax takes off every score's gradient
    for (std::size_t j = 0; j < seen.k_at.size(); ++j) {
      for (std::int64_t i = 0; i < d; ++i) {
        p_gradient[j] += at(o_gradient, row * d + i) * at(in.v, seen.k_at[j] + i);
        at(out.v, seen.k_at[j] + i) += seen.probabilities[j] * at(o_gradient, row * d + i);
      }
      mean += seen.probabilities[j] * p_gradient[j];
    }
    const double from_lse = lse_gradient.empty() ? 0 : at(lse_gradient, row);
    for (std::size_t j = 0; j < seen.k_at.size(); ++j) {
      const double score_gradient = seen.probabilities[j] * (p_gradient[j] - mean + from_lse) * in.scale;
      for (std::int64_t i = 0; i < d; ++i) {
        at(out.q, row * d + i) += score_gradient * at(in.k, seen.k_at[j] + i);
        at(out.k, seen.k_at[j] + i) += score_gradient * at(in.q, row * d + i);
      }
    }
  }
  return out;
}

}  // namespace tessera::test::reference
