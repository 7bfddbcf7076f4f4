// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  plans as text, printed from the plan that is executed.
// Used: apps (memory before the first allocation, `plan --explain`), tests that count.
// Must not know: how plans are made.
#pragma once

#include <map>
#include <string>

#include "core/scheduler/plan.hpp"

namespace tessera {

/// One line per tag with its planned peak, and the sum.
std::string describe_memory(const MemoryPlan& memory);

/// Programs and actions, instruction by instruction: names, shapes, layouts, addresses, calls with their bytes, events.
std::string describe_plan(const Plan& plan, const Graph& graph, const Mesh& mesh);

/// How many calls of each name a program makes, and the bytes that the rank hands over.
struct CallCount {
  int calls = 0;
  std::int64_t bytes = 0;
};
std::map<std::string, CallCount> count_calls(const Plan& plan, ProgramKind kind);

/// "12.0 MiB"
std::string describe_bytes(std::int64_t bytes);

}  // namespace tessera
