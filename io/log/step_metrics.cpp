// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/log/step_metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <string>
#include <string_view>

#include "io/log/json_text.hpp"

namespace tessera::io {
namespace {

/// "[a, b]" of what `json` makes of each.
template <class Elements, class Json>
std::string list_of(const Elements& elements, const Json& json) {
  std::string text = "[";
  for (const auto& element : elements) text.append(text.size() > 1 ? ", " : "").append(json(element));
  return text + "]";
}

std::string number(double value) {
  std::string text;
  append_json(text, value);
  return text;
}

std::string json_of(const ExpertLayerOutcome& layer) {
  return fmt::format(
      "{{\"layer\": {}, \"load\": {}, \"imbalance\": {}, \"dropped_share\": {}, \"unscaled_aux_loss\": {}, "
      "\"unscaled_z_loss\": {}}}",
      layer.layer, list_of(layer.load, [](std::int64_t load) { return std::to_string(load); }),
      number(imbalance(layer)), number(dropped_share(layer)), number(layer.balance_loss), number(layer.z_loss));
}

struct Fields {
  MetricsWriter& metrics;

  void operator()(std::string_view name, double value) const { metrics.field(name, value); }
  void operator()(std::string_view name, std::int64_t value) const { metrics.field(name, value); }
  void operator()(std::string_view name, bool value) const { metrics.flag(name, value); }
  void operator()(std::string_view name, std::uint64_t digest) const {
    std::array<char, 16> digits;
    fmt::format_to_n(digits.data(), digits.size(), "{:016x}", digest);
    metrics.field(name, std::string_view(digits.data(), digits.size()));
  }
  void operator()(std::string_view name, const std::vector<ExpertLayerOutcome>& layers) const {
    metrics.json(name, list_of(layers, json_of));
  }
};

}  // namespace

void write_step(MetricsWriter& metrics, const StepRecord& record) {
  metrics.begin(record.step);
  for_each_metric(record, Fields{metrics});
  metrics.end();
}

}  // namespace tessera::io
