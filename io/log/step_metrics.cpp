// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "io/log/step_metrics.hpp"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace tessera::io {
namespace {

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
};

}  // namespace

void write_step(MetricsWriter& metrics, const StepRecord& record) {
  metrics.begin(record.step);
  for_each_metric(record, Fields{metrics});
  metrics.end();
}

}  // namespace tessera::io
