// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// A steady step allocates nothing: neither the engine nor kernels, executors and communicators below it.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "core/host/host_device.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/expert_parallel/expert_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "steady_steps.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/reference_source.hpp"

namespace tessera::test {
namespace {

/// A source that allocates whenever it is asked.
class WastefulSource final : public BatchSource {
 public:
  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override {
    kept_ = std::make_unique<reference::ReferenceSource>();
    kept_->fill(first_sample, samples, view);
  }
  std::uint64_t digest(std::int64_t, std::int64_t) const override { return 0; }

 private:
  std::unique_ptr<reference::ReferenceSource> kept_;
};

template <class Source>
std::vector<AllocationSite> allocations_of(testing_support::TrainingCase run) {
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 12);
  run.strategies.push_back(&data);
  run.optimizer = &optimizer;
  std::vector<AllocationSite> sites;
  testing_support::run_training(run, [&](Engine& engine, Communicator& world) {
    Source source;
    const Watcher watcher = world.rank() == 0 ? Watcher::yes : Watcher::no;
    const auto found = allocations_of_steps(engine, world, source, watcher);
    if (watcher == Watcher::yes) sites = found;
  });
  return sites;
}

void expect_none(const testing_support::TrainingCase& run) {
  const auto sites = ours(allocations_of<reference::ReferenceSource>(run));
  EXPECT_TRUE(sites.empty()) << describe(sites);
}

/// Or the tests below would see nothing either.
TEST(SteadyStep, AllocationsOfAllKindsAreSeen) {
  AllocationWatch watch;
  const auto made = std::make_unique<int>(1);
  const std::string text(100, 'x');
  const std::unique_ptr<char, decltype(&std::free)> copied(strdup("text"), &std::free);
  const HostDevice device(1);
  const auto sites = watch.sites();
  EXPECT_GE(sites.size(), 4U);
  EXPECT_EQ(ours(sites).size(), sites.size()) << describe(sites);
  const auto in_library = [](const AllocationSite& site) { return site.library.starts_with("libtessera"); };
  EXPECT_TRUE(std::any_of(sites.begin(), sites.end(), in_library)) << describe(sites);
}

TEST(SteadyStep, AllocationsInsideAStepAreSeen) {
  const auto sites = allocations_of<WastefulSource>(busy_case(Architecture::llama, DType::f32));
  EXPECT_EQ(ours(sites).size(), 3 * (6U + 7U)) << describe(sites);
}

TEST(SteadyStep, OfOneRankAllocatesNothing) {
  for (const Architecture architecture : {Architecture::llama, Architecture::gpt})
    for (const DType dtype : {DType::f64, DType::f32}) expect_none(busy_case(architecture, dtype));
}

TEST(SteadyStep, OfThreadRanksAllocatesNothing) {
  for (const int ranks : {2, 3}) {
    auto run = busy_case(Architecture::llama, DType::f32);
    run.axes = {{"dp", "dp", ranks}};
    expect_none(run);
  }
}

TEST(SteadyStep, OfTensorRanksAllocatesNothing) {
  for (const auto residual : {TensorParallel::Residual::replicated, TensorParallel::Residual::split}) {
    auto run = busy_case(Architecture::llama, DType::f32);
    run.model.kv_heads = 2;
    const TensorParallel tensor(run.model.heads, run.model.kv_heads, residual);
    run.axes = {{"tp", "tp", 4}};
    tensor.factor(run.axes);
    run.strategies = {&tensor};
    expect_none(run);
  }
}

TEST(SteadyStep, OfExpertsAllocatesNothing) {
  for (const int ranks : {1, 2}) {
    auto run = busy_case(Architecture::llama, DType::f32);
    run.model.biases = false;
    run.model.experts = {.count = 4, .z_coefficient = 1e-3, .capacity = 1.25};
    const ExpertParallel expert(ranks);
    run.axes = {{"dp", "dp", ranks}};
    expert.factor(run.axes);
    if (ranks > 1) run.strategies = {&expert};
    expect_none(run);
  }
}

TEST(SteadyStep, OfContextRanksAllocatesNothing) {
  for (const std::string& name : context_strategies()) {
    SCOPED_TRACE(name);
    auto run = busy_case(Architecture::llama, DType::f32);
    const auto context = context_strategy(name);
    run.axes = {{"cp", "cp", 4}};
    run.strategies = {context.get()};
    expect_none(run);
  }
}

TEST(SteadyStep, OfSeveralThreadsAllocatesNothing) {
  auto run = busy_case(Architecture::gpt, DType::f32);
  run.threads = 2;
  expect_none(run);
}

TEST(SteadyStep, WithATraceAndPoisonAllocatesNothing) {
  std::vector<TraceEvent> events;
  events.reserve(100000);
  auto run = busy_case(Architecture::llama, DType::f32);
  run.executor = {true, &events};
  expect_none(run);
  EXPECT_GT(events.size(), 100U);
}

}  // namespace
}  // namespace tessera::test
