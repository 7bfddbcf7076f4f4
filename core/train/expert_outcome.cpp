// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/train/expert_outcome.hpp"

#include <algorithm>
#include <numeric>

namespace tessera {
namespace {

double ratio(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

/// One layer in a report.
class LayerReport {
 public:
  LayerReport(const ExpertStepReport& report, const ExpertPlaces& places) : report_(report), places_(places) {}

  std::span<const double> load() const {
    return {report_.values + places_.load, static_cast<std::size_t>(places_.experts)};
  }
  double choices() const { return std::accumulate(load().begin(), load().end(), 0.0); }
  double largest() const { return *std::max_element(load().begin(), load().end()); }
  double imbalance() const { return ratio(largest() * places_.experts, choices()); }
  double dropped() const { return places_.kept < 0 ? 0 : choices() - report_.values[places_.kept]; }
  double balance() const { return mean(places_.balance); }
  double z() const { return mean(places_.z); }

 private:
  /// Over sequences.
  double mean(std::int32_t place) const { return place < 0 ? 0 : report_.values[place] / report_.sequences; }

  const ExpertStepReport& report_;
  const ExpertPlaces& places_;
};

}  // namespace

double imbalance(const ExpertLayerOutcome& layer) {
  const auto choices = std::accumulate(layer.load.begin(), layer.load.end(), std::int64_t(0));
  const std::int64_t largest = *std::max_element(layer.load.begin(), layer.load.end());
  return ratio(static_cast<double>(largest) * static_cast<double>(layer.load.size()), static_cast<double>(choices));
}

double dropped_share(const ExpertLayerOutcome& layer) {
  const auto choices = std::accumulate(layer.load.begin(), layer.load.end(), std::int64_t(0));
  return ratio(static_cast<double>(layer.dropped), static_cast<double>(choices));
}

ExpertOutcome expert_outcome(const ExpertStepReport& report, const ExpertConfig& config) {
  ExpertOutcome outcome;
  double choices = 0, dropped = 0;
  for (const ExpertPlaces& places : report.layers) {
    const LayerReport layer(report, places);
    outcome.auxiliary_loss += config.aux_coefficient * layer.balance();
    outcome.z_loss += config.z_coefficient * layer.z();
    outcome.imbalance = std::max(outcome.imbalance, layer.imbalance());
    choices += layer.choices();
    dropped += layer.dropped();
  }
  outcome.dropped_share = ratio(dropped, choices);
  return outcome;
}

std::vector<ExpertLayerOutcome> expert_layers(const ExpertStepReport& report) {
  std::vector<ExpertLayerOutcome> layers;
  for (const ExpertPlaces& places : report.layers) {
    const LayerReport layer(report, places);
    layers.push_back({places.layer,
                      {layer.load().begin(), layer.load().end()},
                      static_cast<std::int64_t>(layer.dropped()),
                      layer.balance(),
                      layer.z()});
  }
  return layers;
}

}  // namespace tessera
