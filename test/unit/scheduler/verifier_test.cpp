// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Ranks that would call differently are told before the first step, with the first differing call of both sides.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "core/host/host_device.hpp"
#include "core/scheduler/verifier.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/schedule/gpipe/gpipe.hpp"
#include "modules/schedule/one_f_one_b/one_f_one_b.hpp"
#include "modules/schedule/zero_bubble/zero_bubble.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/thread_training.hpp"

namespace tessera::test {
namespace {

using testing::AllOf;
using testing::HasSubstr;

const Mesh& mesh() {
  static const Mesh all({{"tp", "tp", 2}, {"dp", "dp", 2}, {"pp", "pp", 2}});
  return all;
}

/// What one rank is started with.
struct Settings {
  const Schedule* schedule;
  std::int64_t global_batch = 8;
  std::int64_t bucket_bytes = 1 << 12;
  TensorParallel::Residual residual = TensorParallel::Residual::replicated;
};

/// Calls use(engine) with an engine of rank `world.rank()`.
void with_engine(Communicator& world, const Settings& settings, const std::function<void(Engine&)>& use) {
  const adamw::AdamW optimizer({});
  const DataParallel data(settings.bucket_bytes);
  const TensorParallel tensor(4, 2, settings.residual);
  HostDevice device(1);
  const KernelTable kernels = testing_support::all_kernels(device);
  const ModelConfig model{.layers = 4, .hidden = 16, .heads = 4, .kv_heads = 2, .ffn = 24, .vocab = 31, .sequence = 8};
  Engine engine({model,
                 DType::f32,
                 mesh(),
                 world,
                 device,
                 kernels,
                 {&data, &tensor},
                 optimizer,
                 1.0,
                 settings.global_batch,
                 1,
                 1,
                 1,
                 [](CallKind, std::int64_t, DType, int) { return std::int64_t{0}; },
                 {},
                 {settings.schedule, 1, {}}});
  use(engine);
}

/// What every rank is told when one of them is started otherwise.
std::vector<std::string> refusals(const Settings& usual, const Settings& other, int other_rank) {
  std::mutex mutex;
  std::vector<std::string> messages;
  run_ranks(mesh().size(), [&](Communicator& world) {
    with_engine(world, world.rank() == other_rank ? other : usual, [&](Engine& engine) {
      try {
        engine.connect();
      } catch (const Error& error) {
        const std::lock_guard lock(mutex);
        messages.push_back(error.kind() == ErrorKind::disagreement ? error.what() : "another kind of error");
      }
    });
  });
  return messages;
}

void expect_told(const Settings& usual, const Settings& other) {
  const std::vector<std::string> messages = refusals(usual, other, 5);
  ASSERT_EQ(std::ssize(messages), mesh().size()) << "not every rank was refused";
  for (const std::string& message : messages) {
    EXPECT_EQ(message, messages[0]);
    EXPECT_THAT(message, AllOf(HasSubstr("rank 5 makes "), HasSubstr("call "), HasSubstr(" on ")));
  }
}

TEST(Verifier, AcceptsRanksThatAgree) {
  const OneFOneB schedule;
  EXPECT_TRUE(refusals({&schedule}, {&schedule}, 0).empty());
}

TEST(Verifier, RefusesAnotherSchedule) {
  const OneFOneB one_f_one_b;
  const GPipe gpipe;
  const ZeroBubble zero_bubble;
  expect_told({&one_f_one_b}, {&gpipe});
  expect_told({&one_f_one_b}, {&zero_bubble});
}

TEST(Verifier, RefusesAnotherNumberOfMicroBatches) {
  const OneFOneB schedule;
  expect_told({&schedule}, {&schedule, 12});
}

TEST(Verifier, RefusesAnotherSizeOfBuckets) {
  const OneFOneB schedule;
  expect_told({&schedule}, {&schedule, 8, 1 << 20});
}

TEST(Verifier, RefusesAnotherStrategy) {
  const OneFOneB schedule;
  expect_told({&schedule}, {&schedule, 8, 1 << 12, TensorParallel::Residual::split});
}

/// The plans of all ranks.
std::vector<Plan> plans_of(const Settings& settings) {
  std::vector<Plan> plans(static_cast<std::size_t>(mesh().size()));
  run_ranks(mesh().size(), [&](Communicator& world) {
    with_engine(world, settings,
                [&](Engine& engine) { plans[static_cast<std::size_t>(world.rank())] = engine.training().plan; });
  });
  return plans;
}

std::vector<std::string> verify(const std::vector<Plan>& plans) {
  std::vector<const Plan*> all;
  for (const Plan& plan : plans) all.push_back(&plan);
  return verify_plans(all, mesh());
}

/// Lets one rank make two neighbouring calls on different communicators the other way round: each communicator still
/// sees its calls in one order, but two ranks can wait for each other.
void invert(Plan& plan) {
  for (std::size_t a = 0; a + 1 < plan.actions.size(); ++a) {
    const auto kind = [&](std::size_t i) {
      return plan.programs[static_cast<std::size_t>(plan.actions[i].program)].kind;
    };
    if (kind(a) == ProgramKind::send && kind(a + 1) == ProgramKind::forward)
      return std::swap(plan.actions[a], plan.actions[a + 1]);
  }
  FAIL() << "no send is followed by a forward";
}

TEST(Verifier, ComparesAllRanksOfAMeshInOneProcess) {
  const OneFOneB one_f_one_b;
  const GPipe gpipe;
  std::vector<Plan> plans = plans_of({&one_f_one_b});
  EXPECT_TRUE(verify(plans).empty());
  plans[5] = plans_of({&gpipe})[5];
  const std::vector<std::string> differences = verify(plans);
  ASSERT_FALSE(differences.empty());
  EXPECT_THAT(differences[0], HasSubstr("rank 5 makes "));
}

TEST(Verifier, FindsCallsOnTwoCommunicatorsInOppositeOrders) {
  const OneFOneB schedule;
  std::vector<Plan> plans = plans_of({&schedule});
  invert(plans[1]);
  const auto told = AllOf(HasSubstr("rank 1 makes "), HasSubstr(" on tp"), HasSubstr(" before call "),
                          HasSubstr(" on pp from rank 1 to rank 5"));
  EXPECT_THAT(verify(plans), testing::ElementsAre(told));

  std::mutex mutex;
  std::vector<std::string> messages;
  run_ranks(mesh().size(), [&](Communicator& world) {
    try {
      verify_over(world, plans[static_cast<std::size_t>(world.rank())], mesh());
    } catch (const Error& error) {
      const std::lock_guard lock(mutex);
      messages.emplace_back(error.what());
    }
  });
  EXPECT_EQ(std::ssize(messages), mesh().size());
  for (const std::string& message : messages) EXPECT_THAT(message, told);
}

}  // namespace
}  // namespace tessera::test
