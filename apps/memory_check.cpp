// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/memory_check.hpp"

#include <unistd.h>

#include <fstream>
#include <string>

#include <fmt/core.h>

#include "core/scheduler/describe.hpp"

namespace tessera::apps {
namespace {

/// A line "Name:  123 kB" of a file of /proc, in bytes; 0 when it is not there.
std::int64_t proc_bytes(const char* path, const std::string& name) {
  std::ifstream file(path);
  for (std::string word; file >> word;) {
    if (word != name + ":") continue;
    std::int64_t kibibytes = 0;
    file >> kibibytes;
    return kibibytes * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t resident_bytes() {
  return proc_bytes("/proc/self/status", "VmRSS");
}

std::int64_t free_bytes() {
  return proc_bytes("/proc/meminfo", "MemAvailable");
}

std::int64_t memory_limit(const Settings& settings, const Ranks& ranks) {
  if (const auto limit = settings.get<std::int64_t>("train.memory_limit"); limit > 0) return limit;
  return resident_bytes() + free_bytes() / ranks.environment().layout().facts.local_size;
}

void check_memory(std::int64_t arena, std::int64_t runtime, std::int64_t limit) {
  if (arena + runtime <= limit) return;
  throw Error(ErrorKind::resources,
              fmt::format("the plan needs {} and the runtime holds {}, but this rank may use {}", describe_bytes(arena),
                          describe_bytes(runtime), describe_bytes(limit)),
              "use a smaller train.micro_batch or model.sequence, fewer ranks per node, or raise train.memory_limit");
}

}  // namespace tessera::apps
