// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "mpi/threads.hpp"

#include <fmt/core.h>
#include <hwloc.h>

#include <algorithm>
#include <charconv>
#include <memory>

#include "core/base/error.hpp"
#include "core/base/unique_handle.hpp"

namespace tessera::mpi {
namespace {

struct TopologyTraits {
  using Handle = hwloc_topology_t;
  static Handle null() noexcept { return nullptr; }
  static void close(Handle handle) { hwloc_topology_destroy(handle); }
};
using UniqueTopology = UniqueHandle<TopologyTraits>;

UniqueTopology load_topology() {
  hwloc_topology_t handle = nullptr;
  if (hwloc_topology_init(&handle) != 0) {
    throw Error(ErrorKind::resources, "hwloc cannot be started");
  }
  UniqueTopology topology(handle);
  if (hwloc_topology_load(handle) != 0) {
    throw Error(ErrorKind::resources, "hwloc cannot read the topology of this machine");
  }
  return topology;
}

int parse_omp_num_threads(const std::string& text) {
  int threads = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), threads);
  const bool complete = end == text.data() + text.size() || *end == ',';
  if (failed != std::errc{} || !complete || threads < 1) {
    throw Error(ErrorKind::configuration, fmt::format("OMP_NUM_THREADS={} is not a number of threads", text),
                "Set it to the number of threads of one rank, or unset it.");
  }
  return threads;
}

bool overlap(const CoreSet& a, const CoreSet& b) {
  return std::any_of(a.begin(), a.end(), [&](int core) { return std::binary_search(b.begin(), b.end(), core); });
}

}  // namespace

std::string threads_per_rank(int threads) {
  return fmt::format("{} thread{} per rank", threads, threads == 1 ? "" : "s");
}

Cores find_cores() {
  const UniqueTopology topology = load_topology();
  const std::unique_ptr<hwloc_bitmap_s, decltype(&hwloc_bitmap_free)> bound(hwloc_bitmap_alloc(), &hwloc_bitmap_free);
  Cores cores;
  if (hwloc_get_cpubind(topology.get(), bound.get(), HWLOC_CPUBIND_THREAD) != 0) {
    hwloc_bitmap_fill(bound.get());  // not bound, as far as can be known
  }
  hwloc_obj_t core = nullptr;
  while ((core = hwloc_get_next_obj_by_type(topology.get(), HWLOC_OBJ_CORE, core)) != nullptr) {
    if (hwloc_bitmap_intersects(core->cpuset, bound.get()) != 0) {
      cores.allowed.push_back(static_cast<int>(core->logical_index));
    }
  }
  cores.machine = hwloc_get_nbobjs_by_type(topology.get(), HWLOC_OBJ_CORE);
  return cores;
}

ThreadChoice choose_threads(std::span<const CoreSet> cores, int local_rank, int machine_cores,
                            const std::optional<std::string>& omp_num_threads) {
  if (omp_num_threads && !omp_num_threads->empty()) {
    const int threads = parse_omp_num_threads(*omp_num_threads);
    return {threads, fmt::format("{}, as OMP_NUM_THREADS says", threads_per_rank(threads))};
  }
  const CoreSet& own = cores[static_cast<std::size_t>(local_rank)];
  const auto sharing = static_cast<int>(
      std::count_if(cores.begin(), cores.end(), [&](const CoreSet& other) { return overlap(own, other); }));
  const int available = static_cast<int>(own.size());
  if (sharing == 0) {
    return {1, "1 thread per rank: the cores that it may use are not known"};
  }
  const int threads = std::max(1, available / sharing);
  std::string reason =
      fmt::format("{}: it may use {} of {} cores and shares them with {} other rank{}", threads_per_rank(threads),
                  available, machine_cores, sharing - 1, sharing == 2 ? "" : "s");
  if (available < sharing) {
    reason += "; there are more ranks than cores";
  } else if (available * std::ssize(cores) < machine_cores) {
    reason += "; the launcher binds ranks to few cores (mpirun --bind-to none, or --map-by with :PE=n, gives more)";
  }
  return {threads, reason};
}

}  // namespace tessera::mpi
