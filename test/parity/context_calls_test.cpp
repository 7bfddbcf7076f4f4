// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What a context strategy costs: the calls of one layer in the compiled plan, and the bytes that a rank hands over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

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

/// n ranks: n − 1 times the keys, the values and two integers per token; backward once more these, and n times two
/// gradients. Nothing is gathered or reduced.
TEST(ContextCallsTest, ARingPassesBlocksRound) {
  for (const int ranks : {2, 4}) {
    const Plan plan = plan_of(*test::context_strategy("ring"), ranks, 0, 2);
    const std::int64_t keys = bytes_of(2, ranks), integers = k_sequence * k_batch * 4 / ranks;
    const std::int64_t blocks = (ranks - 1) * (2 * keys + 2 * integers);
    for (const int layer : {0, 1, 2}) {
      EXPECT_EQ(calls_of(plan, ProgramKind::forward, layer),
                (CallsByName{{"send(cp)", {(ranks - 1) * 4, blocks}}, {"receive(cp)", {(ranks - 1) * 4, 0}}}));
      const int backward = (ranks - 1) * 4 + ranks * 2;
      EXPECT_EQ(calls_of(plan, ProgramKind::backward, layer),
                (CallsByName{{"send(cp)", {backward, blocks + ranks * 2 * keys}}, {"receive(cp)", {backward, 0}}}));
    }
    EXPECT_EQ(calls_of(plan, ProgramKind::forward, k_head), CallsByName{});
  }
}

/// Instructions of the whole program of a kind.
std::vector<Instruction> code_of(const Plan& plan, ProgramKind kind) {
  const auto program = std::find_if(plan.programs.begin(), plan.programs.end(),
                                    [&](const Program& candidate) { return candidate.kind == kind; });
  return {plan.code.begin() + program->first, plan.code.begin() + program->first + program->count};
}

/// Whether a call of the plan has a kernel of that name between where it is posted and where it is waited for.
int calls_behind(const Plan& plan, ProgramKind kind, std::string_view kernel) {
  const std::vector<Instruction> code = code_of(plan, kind);
  int hidden = 0;
  for (std::size_t post = 0; post < code.size(); ++post) {
    if (code[post].kind != Instruction::Kind::post) continue;
    for (std::size_t i = post + 1; i < code.size(); ++i) {
      if (code[i].kind == Instruction::Kind::wait && code[i].event == code[post].event) break;
      if (plan.names[static_cast<std::size_t>(code[i].name)] != kernel) continue;
      ++hidden;
      break;
    }
  }
  return hidden;
}

/// Every send and receive is under way while attention works, but for the last turn's gradients, which go home.
TEST(ContextCallsTest, BlocksTravelWhileAttentionWorks) {
  for (const int ranks : {2, 4}) {
    const Plan plan = plan_of(*test::context_strategy("ring"), ranks, 0, 2);
    EXPECT_EQ(calls_behind(plan, ProgramKind::forward, "attention"), 3 * 2 * 4 * (ranks - 1));
    EXPECT_EQ(calls_behind(plan, ProgramKind::backward, "attention_grad"), 3 * 2 * (4 * (ranks - 1) + 2 * (ranks - 1)));
  }
}

/// More ranks with as many tokens each: nothing that a rank keeps or works with grows.
TEST(ContextCallsTest, ARingsMemoryDoesNotGrowWithItsRanks) {
  std::map<std::string, std::map<int, MemoryPlan>> memory;
  for (const char* const strategy : {"ring", "allgather"})
    for (const int ranks : {1, 2, 4, 8}) {
      const Mesh mesh({{"cp", "cp", ranks}, {"dp", "dp", 1}});
      const DataParallel data(1 << 20);
      const auto context = test::context_strategy(strategy);
      const Strategy* strategies[] = {&data, context.get()};
      ModelConfig model = model_of(2);
      model.sequence = 16 * ranks;
      memory[strategy][ranks] =
          testing_support::training_plan(model, {model.sequence, k_batch, 1}, mesh, 0, strategies).memory;
    }
  for (const int ranks : {2, 4, 8})
    EXPECT_EQ(memory["ring"][ranks][Tag::activations], memory["ring"][1][Tag::activations]) << ranks;
  EXPECT_EQ(memory["ring"][8].total(), memory["ring"][4].total());
  EXPECT_GT(memory["allgather"][8].total(), memory["allgather"][2].total());
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

TEST(ContextCallsTest, BlocksThatAreNotEqualAreRefused) {
  try {
    plan_of(*test::context_strategy("ring"), 3, 0, 8);
    FAIL() << "was not refused";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::configuration);
    EXPECT_THAT(std::string(error.what()),
                testing::HasSubstr("model.sequence = 32 is not a multiple of parallel.context = 3"));
  }
}

}  // namespace
}  // namespace tessera
