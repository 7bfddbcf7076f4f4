// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/named_modules.hpp"

#include <gmock/gmock.h>

#include "core/config/resolve.hpp"

namespace tessera {
namespace {

std::vector<std::string> names(const Settings& settings) {
  std::vector<std::string> found;
  for (const NamedModule& module : named_modules(settings)) found.push_back(module.kind + "/" + module.name);
  return found;
}

TEST(NamedModules, FollowTheOptions) {
  EXPECT_THAT(names(settings_of()), testing::ElementsAre("strategy/data_parallel", "optimizer/adamw"));
  EXPECT_THAT(names(settings_of({{"strategy.data", "zero"},
                                 {"parallel.tensor", "2"},
                                 {"parallel.context", "2"},
                                 {"strategy.context", "ulysses"},
                                 {"parallel.expert", "2"},
                                 {"strategy.extra", "lora, fp8"},
                                 {"parallel.pipeline", "2"},
                                 {"strategy.pipeline", "zero_bubble"},
                                 {"optimizer.name", "muon"},
                                 {"offload.name", "host"}})),
              testing::ElementsAre("strategy/zero", "strategy/tensor_parallel", "strategy/context_ulysses",
                                   "strategy/expert_parallel", "strategy/lora", "strategy/fp8", "schedule/zero_bubble",
                                   "optimizer/muon", "offload/host"));
}

TEST(NamedModules, KnowTheDegreeThatAsksForThem) {
  std::vector<std::string> degrees;
  for (const NamedModule& module : named_modules(settings_of({{"parallel.context", "2"}, {"parallel.pipeline", "3"}})))
    degrees.push_back(module.name + ":" + module.degree);
  EXPECT_THAT(degrees, testing::ElementsAre("data_parallel:", "context_ring:parallel.context",
                                            "one_f_one_b:parallel.pipeline", "adamw:"));
}

}  // namespace
}  // namespace tessera
