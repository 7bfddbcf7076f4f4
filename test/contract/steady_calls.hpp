// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the promise that calls in a loop allocate nothing once each has been made.
// Used: tests of each implementation that link tessera_count_allocations.
// Must not know: any implementation.
#pragma once

#include "core/comm/flight_recorder.hpp"
#include "test/contract/communicator_fixture.hpp"
#include "test/support/count_allocations.hpp"

namespace tessera::test {

/// Allocations of this rank in steady rounds of every kind of call, recorded.
inline std::int64_t allocations_of_steady_calls(Communicator& communicator) {
  const auto log = std::make_unique<FlightLog>();
  FlightRecorder recorder(*log, communicator.rank());
  communicator.set_recorder(&recorder, "steady");
  const int ranks = communicator.size();
  const std::int64_t total = 3000 * ranks;
  const std::vector<std::int64_t> counts(static_cast<std::size_t>(ranks), 3000);
  Values<float> all(static_cast<std::size_t>(total));
  Values<float> mine(3000);
  Values<float> out(static_cast<std::size_t>(total));
  Calls calls(communicator);
  const auto reduce = calls.context(CallKind::all_reduce, total);
  const auto scatter = calls.context(CallKind::reduce_scatter, total);
  const auto gather = calls.context(CallKind::all_gather, 3000);
  const auto exchange = calls.context(CallKind::all_to_all, total);
  const auto spread = calls.context(CallKind::broadcast, total);
  const int right = (communicator.rank() + 1) % ranks;
  const int left = (communicator.rank() + ranks - 1) % ranks;
  std::int64_t before = 0;
  for (int round = 0; round < 60; ++round) {
    if (round == 30) {
      before = allocations();
    }
    communicator.all_reduce(view(all), ReduceOp::sum, reduce).wait();
    communicator.reduce_scatter(view(all), view(mine), counts, ReduceOp::sum, scatter).wait();
    communicator.all_gather(view(mine), view(all), counts, gather).wait();
    communicator.all_to_all(view(all), counts, view(out), counts, exchange).wait();
    communicator.broadcast(view(all), round % ranks, spread).wait();
    for (const std::int64_t count : {std::int64_t{10}, std::int64_t{3000}}) {  // buffered, and in place
      if (ranks > 1) {
        Work sent = communicator.send(part(all, 0, count), right, spread);
        communicator.receive(part(mine, 0, count), left, spread).wait();
        sent.wait();
      }
    }
    communicator.barrier();
    (void)communicator.agree(true);
  }
  const std::int64_t after = allocations();
  communicator.set_recorder(nullptr, "");
  return after - before;
}

}  // namespace tessera::test
