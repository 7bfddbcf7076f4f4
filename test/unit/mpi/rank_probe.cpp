// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// A program for launch_faults_test.py: says where its rank is, or makes calls until one of the ranks is stopped.
//   rank_probe map                one line per rank: rank, size, local rank, local size, node, launcher
//   rank_probe calls SECONDS     all-reduces in shared memory under a watchdog with this limit
// Exit codes as of the engine: 76 ranks or launcher disagree, 80 stalled.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <string_view>
#include <thread>
#include <vector>

#include "core/base/error.hpp"
#include "core/comm/watchdog.hpp"
#include "core/device/immediate_stream.hpp"
#include "mpi/node_logs.hpp"
#include "mpi/world.hpp"

namespace tessera {
namespace {

void print_map(const mpi::RankLayout& layout) {
  std::printf("rank %d of %d, local %d of %d, node %d, %s\n", layout.facts.rank, layout.facts.size,
              layout.facts.local_rank, layout.facts.local_size, layout.node, layout.launcher.c_str());
}

[[noreturn]] void stall(const StallReport& report) {
  std::printf("%s\n", report.text.c_str());
  std::fflush(stdout);
  mpi::Environment::abort(static_cast<int>(ErrorKind::stalled));
}

void make_calls(const mpi::Environment& environment, double seconds) {
  const auto memory = std::make_shared<mpi::NodeMemory>(environment);
  const auto world = mpi::make_world(environment, {.memory = memory});
  mpi::NodeLogs logs(environment, memory);
  FlightRecorder recorder(logs.own(), world->rank());
  world->set_recorder(&recorder, "world");
  const Watchdog watchdog({std::chrono::milliseconds(static_cast<int>(1000 * seconds)), &logs.own(), logs.all()},
                          stall);
  std::printf("rank %d is process %d\n", world->rank(), static_cast<int>(getpid()));
  std::fflush(stdout);
  ImmediateStream stream;
  const View view{memory->allocate(4000), 1000, DType::f32};
  std::vector<std::byte> workspace(
      static_cast<std::size_t>(world->workspace_bytes(CallKind::all_reduce, view.count, view.dtype)));
  while (true) {
    world->all_reduce(view, ReduceOp::max, {stream, workspace}).wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

int run(int argc, char** argv) {
  try {
    const mpi::Environment environment(argc, argv);
    if (argc == 2 && std::string_view(argv[1]) == "map") {
      print_map(environment.layout());
    } else if (argc == 3 && std::string_view(argv[1]) == "calls") {
      make_calls(environment, std::atof(argv[2]));
    }
    return 0;
  } catch (const Error& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return static_cast<int>(error.kind());
  }
}

}  // namespace
}  // namespace tessera

int main(int argc, char** argv) {
  return tessera::run(argc, argv);
}
