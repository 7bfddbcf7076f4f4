// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/contract/communicator_contract.hpp"

#include "core/comm/self_communicator.hpp"
#include "core/comm/thread_communicator.hpp"

namespace tessera::test {
namespace {

RankRunner self_runner() {
  return {"self", 1, [](const std::function<void(Communicator&)>& rank) { rank(*make_self_communicator()); }};
}

RankRunner thread_runner(int ranks) {
  return {"threads" + std::to_string(ranks), ranks,
          [ranks](const std::function<void(Communicator&)>& rank) { run_ranks(ranks, rank); }};
}

INSTANTIATE_TEST_SUITE_P(Core, CommunicatorContract,
                         testing::Values(self_runner(), thread_runner(1), thread_runner(2), thread_runner(3),
                                         thread_runner(4)),
                         [](const auto& runner) { return runner.param.name; });

}  // namespace
}  // namespace tessera::test
