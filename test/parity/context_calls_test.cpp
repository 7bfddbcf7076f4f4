// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What a context strategy costs: the calls of one layer in the compiled plan, and the bytes that a rank hands over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/plan_calls.hpp"

namespace tessera {
namespace {

using testing_support::Calls;
using testing_support::calls_of;
using testing_support::CallsByName;

constexpr std::int64_t k_sequence = 32, k_batch = 2, k_head_dim = 8;

ModelConfig model_of(std::int64_t key_heads) {
  ModelConfig model;
  model.layers = 3;
  model.hidden = 64;
  model.heads = 8;
  model.kv_heads = key_heads;
  model.ffn = 48;
  model.vocab = 61;
  model.sequence = k_sequence;
  return model;
}

Plan plan_of(const Strategy& context, int ranks, int rank, std::int64_t key_heads) {
  const Mesh mesh({{"tp", "tp", 1}, {"cp", "cp", ranks}, {"dp", "dp", 1}});
  const DataParallel data(1 << 20);
  const Strategy* strategies[] = {&data, &context};
  return testing_support::training_plan(model_of(key_heads), {k_sequence, k_batch, 1}, mesh, rank, strategies);
}

/// Bytes of a rank's part of a value [s, b, heads, d] that `parts` ranks share.
std::int64_t bytes_of(std::int64_t heads, int parts) {
  return k_sequence * k_batch * heads * k_head_dim * 4 / parts;
}

TEST(ContextCallsTest, GatheringKeysTakesTwoCallsForwardAndFourBackward) {
  for (const int ranks : {2, 4}) {
    const Plan plan = plan_of(*test::context_strategy("allgather"), ranks, 0, 2);
    const std::int64_t keys = bytes_of(2, ranks), whole = bytes_of(2, 1);
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, 1), (CallsByName{{"all_gather(cp)", {2, 2 * keys}}}));
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, 1),
              (CallsByName{{"all_gather(cp)", {2, 2 * keys}}, {"reduce_scatter(cp)", {2, 2 * whole}}}));
    // Positions and documents are gathered once, for the first layer's attention.
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, 0).at("all_gather(cp)").count, 4);
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, k_head), CallsByName{});
  }
}

TEST(ContextCallsTest, ExchangingHeadsTakesFourCallsEachWay) {
  for (const int ranks : {2, 4}) {
    const Plan plan = plan_of(*test::context_strategy("ulysses"), ranks, 0, 4);
    const std::int64_t bytes = 2 * bytes_of(8, ranks) + 2 * bytes_of(4, ranks);
    const CallsByName expected{{"all_to_all(cp)", {4, bytes}}};
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, 1), expected);
    EXPECT_EQ(calls_of(plan, ProgramKind::backward, 1), expected);
  }
}

/// Keys of two heads cannot be shared by four ranks: queries are exchanged, keys gathered.
TEST(ContextCallsTest, TooFewKeyHeadsAreGathered) {
  const Plan plan = plan_of(*test::context_strategy("ulysses"), 4, 0, 2);
  const Calls queries{2, 2 * bytes_of(8, 4)}, keys{2, 2 * bytes_of(2, 4)};
  EXPECT_EQ(calls_of(plan, ProgramKind::forward, 1),
            (CallsByName{{"all_to_all(cp)", queries}, {"all_gather(cp)", keys}}));
  EXPECT_EQ(calls_of(plan, ProgramKind::backward, 1), (CallsByName{{"all_to_all(cp)", queries},
                                                                   {"all_gather(cp)", keys},
                                                                   {"reduce_scatter(cp)", {2, 2 * bytes_of(2, 1)}}}));
}

TEST(ContextCallsTest, HeadsThatCannotBeSharedAreRefused) {
  try {
    plan_of(*test::context_strategy("ulysses"), 3, 0, 8);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr("8 attention heads cannot be shared evenly"));
    EXPECT_THAT(std::string(error.what()), testing::HasSubstr("1 x 3 ranks"));
  }
}

}  // namespace
}  // namespace tessera
