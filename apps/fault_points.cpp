// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/fault_points.hpp"

#include <signal.h>
#include <unistd.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <new>
#include <stdexcept>
#include <thread>

#include <fmt/core.h>

#include "core/base/error.hpp"
#include "core/base/log.hpp"

namespace tessera::apps {
namespace {

constexpr const char* k_variable = "TESSERA_FAULT";
constexpr std::chrono::milliseconds k_pause{100};

struct NamedAction {
  std::string_view name;
  FaultAction action;
  int signal = 0;
};

constexpr std::array k_actions{NamedAction{"error", FaultAction::error},
                               NamedAction{"no_memory", FaultAction::no_memory},
                               NamedAction{"nan", FaultAction::nan},
                               NamedAction{"flip", FaultAction::flip},
                               NamedAction{"pause", FaultAction::pause},
                               NamedAction{"KILL", FaultAction::signal, SIGKILL},
                               NamedAction{"STOP", FaultAction::signal, SIGSTOP},
                               NamedAction{"SEGV", FaultAction::signal, SIGSEGV},
                               NamedAction{"USR1", FaultAction::signal, SIGUSR1},
                               NamedAction{"TERM", FaultAction::signal, SIGTERM},
                               NamedAction{"INT", FaultAction::signal, SIGINT},
                               NamedAction{"HUP", FaultAction::signal, SIGHUP}};

[[noreturn]] void refuse(std::string_view text) {
  throw Error(ErrorKind::usage, fmt::format("{}: '{}' makes no sense", k_variable, text),
              "Unset it: it is for tests, and breaks runs on purpose.");
}

template <class Number>
Number number_of(std::string_view text) {
  Number number{};
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc{} || end != text.data() + text.size()) refuse(text);
  return number;
}

/// What stands before `separator`, which is taken off `rest` with it.
std::string_view take(std::string_view& rest, char separator) {
  const std::size_t end = std::min(rest.find(separator), rest.size());
  const std::string_view first = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return first;
}

void set_field(PlannedFault& fault, std::string_view field) {
  std::string_view value = field;
  const std::string_view name = take(value, '=');
  if (name == "at") {
    fault.point = value;
  } else if (name == "rank") {
    fault.rank = number_of<int>(value);
  } else if (name == "step") {
    fault.step = number_of<std::int64_t>(value);
  } else if (field == "to=launcher") {
    fault.target = FaultTarget::launcher;
  } else if (name == "do") {
    for (const NamedAction& known : k_actions) {
      if (known.name != value) continue;
      fault.action = known.action;
      fault.signal = known.signal;
      return;
    }
    refuse(field);
  } else {
    refuse(field);
  }
}

}  // namespace

std::vector<PlannedFault> parse_faults(std::string_view text) {
  std::vector<PlannedFault> faults;
  while (!text.empty()) {
    std::string_view fields = take(text, ';');
    PlannedFault fault;
    while (!fields.empty())
      if (const std::string_view field = take(fields, ' '); !field.empty()) set_field(fault, field);
    if (fault.point.empty()) refuse(text);
    faults.push_back(fault);
  }
  return faults;
}

FaultPoints::FaultPoints(int rank, int size) : rank_(rank) {
  const char* text = std::getenv(k_variable);
  if (text == nullptr) return;
  planned_ = parse_faults(text);
  for (const PlannedFault& fault : planned_)
    if (fault.rank && (*fault.rank < 0 || *fault.rank >= size)) refuse(fmt::format("rank={}", *fault.rank));
  if (rank == 0 && any())
    log_warning("fault", fmt::format("{} is set: this run will be broken on purpose, {}", k_variable, text));
}

FaultPoints::~FaultPoints() {
  for (const PlannedFault& fault : planned_)
    if (!fault.met && fault.rank.value_or(0) == rank_)
      log_warning("fault", fmt::format("{}: the run did not come to '{}'", k_variable, fault.point));
}

std::optional<FaultAction> FaultPoints::reached(std::string_view point, std::int64_t step) {
  std::optional<FaultAction> left;
  for (PlannedFault& fault : planned_) {
    if (fault.point != point || fault.rank.value_or(rank_) != rank_ || fault.step.value_or(step) != step) continue;
    fault.met = true;
    switch (fault.action) {
      case FaultAction::signal:
        if (!fault.done) ::kill(fault.target == FaultTarget::launcher ? ::getppid() : ::getpid(), fault.signal);
        fault.done = true;
        break;
      case FaultAction::error:
        throw std::runtime_error(fmt::format("a fault on purpose ({})", point));
      case FaultAction::no_memory:
        throw std::bad_alloc();
      case FaultAction::nan:
      case FaultAction::flip:
        left = fault.action;
        break;
      case FaultAction::pause:
        std::this_thread::sleep_for(k_pause);
        break;
    }
  }
  return left;
}

}  // namespace tessera::apps
