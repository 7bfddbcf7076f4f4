// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/verify/comparison_text.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

namespace tessera::apps {
namespace {

constexpr std::size_t k_named = 20;  ///< tensors that differ

Cell number(double value, std::string_view format) {
  Cell cell = Cell::of_json(fmt::format(fmt::runtime(format), value),
                            std::isfinite(value) ? fmt::format("{:.17g}", value) : "null");
  cell.align = Cell::Align::right;
  return cell;
}

Cell exact(double value) {
  return number(value, "{:.12g}");
}
Cell small(double value) {
  return number(value, "{:.1e}");
}

Cell verdict(bool agrees) {
  return Cell::of_json(agrees ? "agrees" : "DIFFERS", agrees ? "true" : "false");
}

Table steps_table(const LayoutComparison& comparison) {
  Table table{"steps",
              "training steps",
              {{"step", "step"},
               {"tokens", "tokens"},
               {"loss", "loss"},
               {"loss_on_one_rank", "on one rank"},
               {"loss_difference", "relative"},
               {"norm", "gradient norm"},
               {"norm_on_one_rank", "on one rank"},
               {"norm_difference", "relative"},
               {"agrees", ""}}};
  std::int64_t step = 0;
  for (const StepComparison& s : comparison.steps)
    table.add({++step, s.actual.tokens, exact(s.actual.loss), exact(s.expected.loss),
               small(relative_difference(s.actual.loss, s.expected.loss)), exact(s.actual.gradient_norm),
               exact(s.expected.gradient_norm),
               small(relative_difference(s.actual.gradient_norm, s.expected.gradient_norm)), verdict(s.agrees)});
  return table;
}

std::vector<Cell> row_of(std::string_view name, const TensorComparison& worst, bool agrees) {
  return {name,
          small(worst.largest),
          small(worst.difference),
          worst.largest > worst.allowed ? small(worst.relative()) : Cell::nothing(),  // else all of it is rounding
          small(worst.allowed),
          worst.worst_rank,
          verdict(agrees)};
}

std::vector<Column> tensor_columns() {
  return {{"name", "tensor"},
          {"largest", "largest element"},
          {"difference", "largest difference"},
          {"relative", "relative"},
          {"allowed", "allowed"},
          {"rank", "on rank"},
          {"agrees", ""}};
}

/// The tensors of a field of all layers by the worst of them.
Table fields_table(const LayoutComparison& comparison) {
  Table table{"fields", "gradient of step 1, each field in the layer where it is worst", tensor_columns()};
  const auto share = [](const TensorComparison& t) { return t.difference == 0 ? 0 : t.difference / t.allowed; };
  std::vector<std::string> done;
  for (const TensorComparison& first : comparison.gradients) {
    if (std::find(done.begin(), done.end(), first.field) != done.end()) continue;
    done.push_back(first.field);
    const TensorComparison* worst = &first;
    bool agrees = true;
    for (const TensorComparison& other : comparison.gradients) {
      if (other.field != first.field) continue;
      agrees = agrees && other.agrees();
      if (share(other) > share(*worst)) worst = &other;
    }
    table.add(row_of(worst->name, *worst, agrees));
  }
  return table;
}

std::string what_differs(const TensorComparison& tensor) {
  if (!tensor.complete) return "parts are missing";
  if (!tensor.replicas_equal) return "ranks that hold the same part have other bits";
  return fmt::format("{:.1e} where {:.1e} is allowed, on rank {}", tensor.difference, tensor.allowed,
                     tensor.worst_rank);
}

void add_differences(Document& document, const LayoutComparison& comparison) {
  std::vector<std::string> lines;
  for (const TensorComparison& tensor : comparison.gradients)
    if (!tensor.agrees()) lines.push_back(fmt::format("gradient of {}: {}", tensor.name, what_differs(tensor)));
  for (const std::string& name : comparison.drifted)
    lines.push_back(name + ": replicas have other bits after the last step");
  for (std::size_t i = 0; i < std::min(lines.size(), k_named); ++i) document.remark("DIFFERS  " + lines[i]);
  if (lines.size() > k_named) document.remark(fmt::format("and {} more", lines.size() - k_named));
}

Table tensors_table(const LayoutComparison& comparison) {
  Table table{"tensors", "gradient of step 1", tensor_columns()};
  for (const TensorComparison& tensor : comparison.gradients) table.add(row_of(tensor.name, tensor, tensor.agrees()));
  return table;
}

}  // namespace

void add_comparison(Document& document, const LayoutComparison& comparison, Detail detail) {
  const ParityTolerance& t = comparison.tolerance;
  document.add("tolerance", "tolerance, relative",
               fmt::format("loss {:.0e}, norm {:.0e} and later {:.0e}; gradients {:.0e} of a tensor's largest element"
                           " + {:.0e} of the norm + {:.0e}",
                           t.loss, t.first_norm, t.later_norm, t.gradient, t.gradient_of_norm, t.gradient_floor));
  document.add("agrees", {}, Cell::of_json({}, comparison.agrees() ? "true" : "false"), Place::hidden);
  document.add(steps_table(comparison));
  document.add(detail == Detail::tensors ? tensors_table(comparison) : fields_table(comparison));
  document.remark("");
  add_differences(document, comparison);
  document.remark(comparison.drifted.empty() ? "replicas: the same bits after the last step" : "replicas: DRIFTED");
  document.remark(comparison.agrees() ? "verdict: this layout trains as one rank does"
                                      : "verdict: this layout DOES NOT train as one rank does");
}

}  // namespace tessera::apps
