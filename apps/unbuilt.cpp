// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/unbuilt.hpp"

#include <string>
#include <string_view>

#include <fmt/core.h>

namespace tessera::apps {
namespace {

/// The only values that this version can do, the one to suggest first.
struct Limit {
  std::string_view option;
  std::vector<std::string_view> values;
  std::string_view why;
};

const std::vector<Limit>& limits() {
  static const std::vector<Limit> all{
      {"train.precision", {"fp32", "fp64"}, "this version trains in fp32 and fp64"},
      {"train.recompute", {"none"}, "this version keeps all activations"},
      {"offload.name", {"none"}, "this version keeps everything in memory"},
      {"model.experts", {"0"}, "this version has no experts"},
  };
  return all;
}

}  // namespace

std::vector<Problem> unbuilt(const Settings& settings) {
  std::vector<Problem> problems;
  for (const Limit& limit : limits()) {
    const std::string text = settings.text(limit.option);
    bool can = false;
    for (const std::string_view value : limit.values) can |= text == value;
    if (can) continue;
    problems.push_back({fmt::format("{} = {}: {}", limit.option, text, limit.why),
                        to_string(settings.origin(limit.option)),
                        fmt::format("set {} = {}", limit.option, limit.values[0])});
  }
  return problems;
}

}  // namespace tessera::apps
