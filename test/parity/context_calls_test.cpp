// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// What a context strategy costs: the calls of one layer in the compiled plan, and the bytes that a rank hands over.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/host/host_device.hpp"
#include "core/scheduler/scheduler.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/thread_training.hpp"

namespace tessera {
namespace {

constexpr std::int64_t k_sequence = 32, k_batch = 2, k_head_dim = 8;

struct Calls {
  int count = 0;
  std::int64_t bytes = 0;
  friend bool operator==(const Calls&, const Calls&) = default;
  friend std::ostream& operator<<(std::ostream& out, const Calls& c) {
    return out << c.count << " calls of " << c.bytes << " bytes";
  }
};
using CallsByName = std::map<std::string, Calls>;

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

/// The training plan of one rank in fp32; two micro-batches.
Plan plan_of(const Strategy& context, int ranks, int rank, std::int64_t key_heads) {
  const Mesh mesh({{"tp", "tp", 1}, {"cp", "cp", ranks}, {"dp", "dp", 1}});
  const DataParallel data(1 << 20);
  const adamw::AdamW optimizer({});
  const Strategy* strategies[] = {&data, &context};
  HostDevice device(1);
  const KernelTable kernels = testing_support::all_kernels(device);
  const Target target{kernels, 1, [](CallKind, std::int64_t, DType, int) { return std::int64_t{0}; }};
  const ModelGraph model = build_model(model_of(key_heads), {k_sequence, k_batch, 1}, ModelPurpose::train, DType::f32);
  return compile({model, mesh, rank, strategies, target, 2, Training{optimizer, 1.0}, nullptr}).plan;
}

/// The calls of one layer in the first program of a kind: the whole forward, or the whole backward.
CallsByName calls_of(const Plan& plan, ProgramKind kind, int layer) {
  const auto program = std::find_if(plan.programs.begin(), plan.programs.end(),
                                    [&](const Program& candidate) { return candidate.kind == kind; });
  CallsByName calls;
  for (std::int32_t i = program->first; i < program->first + program->count; ++i) {
    const Instruction& instruction = plan.code[static_cast<std::size_t>(i)];
    if (instruction.call < 0 || instruction.layer != layer) continue;
    Calls& named = calls[plan.names[static_cast<std::size_t>(instruction.name)]];
    ++named.count;
    named.bytes += plan.calls[static_cast<std::size_t>(instruction.call)].bytes;
  }
  return calls;
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
