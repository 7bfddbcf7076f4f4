// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The same under MPI: what MPI itself allocates is not ours.
#include <gtest/gtest.h>

#include "core/host/host_device.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "mpi/world.hpp"
#include "steady_steps.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/mpi_environment.hpp"
#include "test/support/reference_source.hpp"

namespace tessera::test {
namespace {

void expect_none(const std::string& axis, const Strategy* strategy) {
  const auto world = mpi::make_world(mpi_environment());
  const Mesh mesh({{axis, axis, world->size()}});
  const adamw::AdamW optimizer({0.9, 0.95, 1e-8, 0.1});
  const DataParallel data(1 << 12);
  HostDevice device(1);
  const KernelTable kernels = testing_support::all_kernels(device);
  const testing_support::TrainingCase run = busy_case(Architecture::llama, DType::f32);
  std::vector<const Strategy*> strategies{&data};
  if (strategy != nullptr) strategies.push_back(strategy);
  Engine engine({run.model,
                 run.dtype,
                 mesh,
                 *world,
                 device,
                 kernels,
                 strategies,
                 optimizer,
                 run.clip,
                 run.global_batch,
                 run.micro_batch,
                 run.head_pieces,
                 run.seed,
                 mpi::workspace_bytes,
                 {}});
  engine.connect();
  engine.allocate();
  reference::ReferenceSource source;
  const auto sites = ours(allocations_of_steps(engine, *world, source, Watcher::yes));
  EXPECT_TRUE(sites.empty()) << describe(sites);
}

TEST(SteadyStep, OfMpiRanksAllocatesNothing) {
  expect_none("dp", nullptr);
}

TEST(SteadyStep, OfContextRanksAllocatesNothing) {
  for (const std::string& name : context_strategies()) {
    SCOPED_TRACE(name);
    expect_none("cp", context_strategy(name).get());
  }
}

}  // namespace
}  // namespace tessera::test
