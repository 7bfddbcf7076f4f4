// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/reference_experts.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

namespace tessera::test::reference {
namespace {

/// The element at the index, with signed indices as shapes have them.
double& at(Values& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}
double at(const Values& values, std::int64_t i) {
  return values[static_cast<std::size_t>(i)];
}
std::int64_t whole(const Values& values, std::int64_t i) {
  return static_cast<std::int64_t>(at(values, i));
}
Values zeros(std::int64_t count) {
  return Values(static_cast<std::size_t>(count), 0.0);
}
std::int64_t count_of(const Values& values) {
  return static_cast<std::int64_t>(values.size());
}

/// The numbers 0 … n − 1, those with larger scores first, equal ones as they were.
template <class Score>
std::vector<std::int64_t> ranked(std::int64_t n, const Score& score) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(n));
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return score(a) > score(b); });
  return order;
}

}  // namespace

Values softmax(const Values& x, std::int64_t width) {
  Values y = x;
  for (std::int64_t first = 0; first < count_of(x); first += width) {
    const double largest = *std::max_element(x.begin() + first, x.begin() + first + width);
    double sum = 0;
    for (std::int64_t i = first; i < first + width; ++i) sum += std::exp(at(x, i) - largest);
    for (std::int64_t i = first; i < first + width; ++i) at(y, i) = std::exp(at(x, i) - largest) / sum;
  }
  return y;
}

Values sigmoid(const Values& x) {
  Values y = x;
  for (double& value : y) value = 1 / (1 + std::exp(-value));
  return y;
}

Values top_k(const Values& scores, const Values& bias, const ChoiceRule& rule) {
  Values choice;
  const std::int64_t size = rule.experts / rule.groups;
  for (std::int64_t first = 0; first < count_of(scores); first += rule.experts) {
    const auto score = [&](std::int64_t e) { return at(scores, first + e) + (bias.empty() ? 0 : at(bias, e)); };
    const auto group_score = [&](std::int64_t group) {
      const auto best = ranked(size, [&](std::int64_t i) { return score(group * size + i); });
      return score(group * size + best[0]) + (size > 1 ? score(group * size + best[1]) : 0);
    };
    const auto groups = ranked(rule.groups, group_score);
    const std::set<std::int64_t> allowed(groups.begin(), groups.begin() + std::min(rule.groups, rule.group_k));
    std::int64_t left = rule.k;
    for (std::int64_t e : ranked(rule.experts, score))
      if (left > 0 && allowed.contains(e / size)) {
        choice.push_back(static_cast<double>(e));
        --left;
      }
  }
  return choice;
}

Values take(const Values& scores, const Values& choice, std::int64_t experts, std::int64_t k) {
  Values taken;
  for (std::int64_t i = 0; i < count_of(choice); ++i) taken.push_back(at(scores, i / k * experts + whole(choice, i)));
  return taken;
}

Values normalise(const Values& x, std::int64_t k, double factor) {
  Values y = x;
  for (std::int64_t first = 0; first < count_of(x); first += k) {
    const double sum = std::accumulate(x.begin() + first, x.begin() + first + k, 0.0);
    for (std::int64_t i = first; i < first + k; ++i) at(y, i) = factor * at(x, i) / sum;
  }
  return y;
}

Values expert_share(const Values& choice, const RouterExtents& extents) {
  Values share = zeros(extents.batch * extents.experts);
  const double each = static_cast<double>(extents.experts) / static_cast<double>(extents.k * extents.sequence);
  for (std::int64_t i = 0; i < count_of(choice); ++i)
    at(share, i / extents.k % extents.batch * extents.experts + whole(choice, i)) += each;
  return share;
}

Values expert_load(const Values& choice, std::int64_t experts) {
  Values load = zeros(experts);
  for (std::int64_t e = 0; e < experts; ++e)
    at(load, e) = static_cast<double>(std::count(choice.begin(), choice.end(), static_cast<double>(e)));
  return load;
}

Values sequence_mean(const Values& scores, const RouterExtents& extents) {
  Values mean = zeros(extents.batch * extents.experts);
  for (std::int64_t i = 0; i < count_of(scores); ++i)
    at(mean, i % count_of(mean)) += at(scores, i) / static_cast<double>(extents.sequence);
  return mean;
}

double z_loss(const Values& logits, const RouterExtents& extents) {
  double loss = 0;
  for (std::int64_t first = 0; first < count_of(logits); first += extents.experts) {
    double sum = 0;
    for (std::int64_t i = first; i < first + extents.experts; ++i) sum += std::exp(at(logits, i));
    loss += std::pow(std::log(sum), 2) / static_cast<double>(extents.sequence);
  }
  return loss;
}

ExpertPlan expert_plan(const Values& choice, std::int64_t experts, std::int64_t capacity, std::int64_t round) {
  ExpertPlan plan{Values(static_cast<std::size_t>(experts * capacity), -1.0), zeros(experts)};
  for (std::int64_t e = 0; e < experts; ++e) {
    std::vector<std::int64_t> all;
    for (std::int64_t i = 0; i < count_of(choice); ++i)
      if (whole(choice, i) == e) all.push_back(i);
    for (std::int64_t row = 0; row < capacity && round * capacity + row < static_cast<std::int64_t>(all.size());
         ++row) {
      at(plan.index, e * capacity + row) = static_cast<double>(all[static_cast<std::size_t>(round * capacity + row)]);
      at(plan.counts, e) += 1;
    }
  }
  return plan;
}

Values take_rows(const Values& x, const Values& index, std::int64_t width, std::int64_t k) {
  Values rows = zeros(count_of(index) * width);
  for (std::int64_t i = 0; i < count_of(rows); ++i)
    if (at(index, i / width) >= 0) at(rows, i) = at(x, whole(index, i / width) / k * width + i % width);
  return rows;
}

Values put_rows(const Values& rows, const Values& index, std::int64_t tokens, std::int64_t width, std::int64_t k) {
  Values x = zeros(tokens * width);
  for (std::int64_t i = 0; i < count_of(rows); ++i)
    if (at(index, i / width) >= 0) at(x, whole(index, i / width) / k * width + i % width) += at(rows, i);
  return x;
}

namespace {

/// Calls body(expert, row) for live rows, the row counted over all.
template <class Body>
void for_live_rows(const Values& counts, const GroupedExtents& extents, const Body& body) {
  for (std::int64_t row = 0; row < extents.rows(); ++row)
    if (row % extents.capacity < whole(counts, row / extents.capacity))
      body(row / extents.capacity / extents.parts, row);
}

/// Calls body(y, w, x), elements, for all products of the live rows.
template <class Body>
void for_products(const Values& counts, const GroupedExtents& extents, const Body& body) {
  for_live_rows(counts, extents, [&](std::int64_t expert, std::int64_t row) {
    for (std::int64_t o = 0; o < extents.out; ++o)
      for (std::int64_t i = 0; i < extents.in; ++i)
        body(row * extents.out + o, (expert * extents.out + o) * extents.in + i, row * extents.in + i);
  });
}

}  // namespace

Values grouped_linear(const Values& x, const Values& w, const Values& counts, const GroupedExtents& extents) {
  Values y = zeros(extents.rows() * extents.out);
  for_products(counts, extents, [&](auto to, auto weight, auto from) { at(y, to) += at(w, weight) * at(x, from); });
  return y;
}

Values grouped_linear_dx(const Values& dy, const Values& w, const Values& counts, const GroupedExtents& extents) {
  Values dx = zeros(extents.rows() * extents.in);
  for_products(counts, extents, [&](auto from, auto weight, auto to) { at(dx, to) += at(w, weight) * at(dy, from); });
  return dx;
}

Values grouped_linear_dw(const Values& dy, const Values& x, const Values& counts, const GroupedExtents& extents) {
  Values dw = zeros(extents.experts * extents.out * extents.in);
  for_products(counts, extents, [&](auto d, auto weight, auto from) { at(dw, weight) += at(dy, d) * at(x, from); });
  return dw;
}

}  // namespace tessera::test::reference
