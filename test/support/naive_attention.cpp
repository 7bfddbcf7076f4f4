// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/naive_attention.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/op_attributes.hpp"

namespace tessera::test {
namespace {

/// q, k, v, the positions and documents of queries and keys, from some operand on.
class Scores {
 public:
  Scores(std::span<const Tensor> operands, const Attributes& attributes)
      : q_(operands[0]),
        k_(operands[1]),
        query_position_(operands[3]),
        key_position_(operands[4]),
        query_document_(operands[5]),
        key_document_(operands[6]),
        record_(attributes.as<attributes::Attention>()) {}

  std::int64_t queries() const { return q_.shape.count_from(0) == 0 ? 0 : q_.shape[0] * q_.shape[1] * q_.shape[2]; }
  std::int64_t keys() const { return k_.shape[0]; }
  std::int64_t width() const { return q_.shape[3]; }
  double scale() const { return record_.scale; }

  /// Offset of key t's head that query row `row` (s, b, n flattened) reads.
  std::int64_t key_offset(std::int64_t row, std::int64_t t) const {
    const std::int64_t b = row / q_.shape[2] % q_.shape[1], n = row % q_.shape[2];
    const std::int64_t m = (n + q_.start[2]) / record_.group - k_.start[2];
    TESSERA_CHECK(m >= 0 && m < k_.shape[2], "a query's key head is elsewhere");
    return ((t * k_.shape[1] + b) * k_.shape[2] + m) * width();
  }

  bool visible(std::int64_t row, std::int64_t t) const {
    const std::int64_t token = row / q_.shape[2], key = t * k_.shape[1] + token % q_.shape[1];
    return query_position_.as<std::int32_t>()[token] >= key_position_.as<std::int32_t>()[key] &&
           query_document_.as<std::int32_t>()[token] == key_document_.as<std::int32_t>()[key];
  }

  double score(std::int64_t row, std::int64_t t) const {
    if (!visible(row, t)) return -std::numeric_limits<double>::infinity();
    const double *q = q_.as<double>() + row * width(), *k = k_.as<double>() + key_offset(row, t);
    double dot = 0;
    for (std::int64_t i = 0; i < width(); ++i) dot += q[i] * k[i];
    return dot * record_.scale;
  }

 private:
  const Tensor &q_, &k_, &query_position_, &key_position_, &query_document_, &key_document_;
  attributes::Attention record_;
};

void attention(std::span<const Tensor> in, std::span<const Tensor> out, const Attributes& attributes) {
  const Scores scores(in, attributes);
  const double* const v = in[2].as<double>();
  std::vector<double> p(static_cast<std::size_t>(scores.keys()));
  for (std::int64_t row = 0; row < scores.queries(); ++row) {
    double largest = -std::numeric_limits<double>::infinity(), sum = 0;
    for (std::int64_t t = 0; t < scores.keys(); ++t) {
      p[static_cast<std::size_t>(t)] = scores.score(row, t);
      largest = std::max(largest, p[static_cast<std::size_t>(t)]);
    }
    double* const o = out[0].as<double>() + row * scores.width();
    std::fill_n(o, scores.width(), 0.0);
    out[1].as<double>()[row] = largest;
    if (std::isinf(largest)) continue;
    for (double& x : p) sum += x = std::exp(x - largest);
    for (std::int64_t t = 0; t < scores.keys(); ++t)
      for (std::int64_t i = 0; i < scores.width(); ++i)
        o[i] += p[static_cast<std::size_t>(t)] / sum * v[scores.key_offset(row, t) + i];
    out[1].as<double>()[row] = largest + std::log(sum);
  }
}

void attention_grad(std::span<const Tensor> in, std::span<const Tensor> out, const Attributes& attributes) {
  const Scores scores(in.subspan(2), attributes);
  const double *const q = in[2].as<double>(), *const k = in[3].as<double>(), *const v = in[4].as<double>();
  for (const Tensor& gradient : out) std::fill_n(gradient.as<double>(), gradient.count(), 0.0);
  for (std::int64_t row = 0; row < scores.queries(); ++row) {
    const double *const d_out = in[0].as<double>() + row * scores.width(), *const o = in[9].as<double>() +
                                                                                      row * scores.width();
    double common = in[1].data != nullptr ? -in[1].as<double>()[row] : 0;
    for (std::int64_t i = 0; i < scores.width(); ++i) common += d_out[i] * o[i];
    for (std::int64_t t = 0; t < scores.keys(); ++t) {
      if (!scores.visible(row, t)) continue;
      const std::int64_t key = scores.key_offset(row, t);
      const double p = std::exp(scores.score(row, t) - in[10].as<double>()[row]);
      double dp = 0;
      for (std::int64_t i = 0; i < scores.width(); ++i) dp += d_out[i] * v[key + i];
      const double ds = p * (dp - common) * scores.scale();
      for (std::int64_t i = 0; i < scores.width(); ++i) {
        out[0].as<double>()[row * scores.width() + i] += ds * k[key + i];
        out[1].as<double>()[key + i] += ds * q[row * scores.width() + i];
        out[2].as<double>()[key + i] += p * d_out[i];
      }
    }
  }
}

}  // namespace

bool launch_naive_attention(std::string_view op, std::span<const Tensor> in, std::span<const Tensor> out,
                            const Attributes& attributes) {
  if (op == "attention")
    attention(in, out, attributes);
  else if (op == "attention_grad")
    attention_grad(in, out, attributes);
  else
    return false;
  return true;
}

}  // namespace tessera::test
