// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/ranks.hpp"

#include <optional>
#include <system_error>

#include <fmt/core.h>

#include "apps/program_files.hpp"
#include "apps/report.hpp"
#include "apps/verb.hpp"
#include "core/base/log.hpp"
#include "io/checkpoint/together.hpp"
#include "io/current_error.hpp"
#include "io/hdf5/handle.hpp"
#include "mpi/launch.hpp"

namespace tessera::apps {
namespace {

constexpr std::string_view k_option_prefix = "TESSERA__";

/// Prints what a stalled rank waits for, and ends the job: nobody else would.
void end_stalled(const StallReport& report) {
  const char* where =
      report.silent_ranks.empty() ? "look at the other ranks and the network" : "look at the named rank";
  show_error(
      Error(ErrorKind::stalled, report.text,
            fmt::format("{} (is a process stopped, swapping, or stuck in a file system?); train.watchdog sets the "
                        "limit",
                        where)));
  mpi::Environment::abort(static_cast<int>(ErrorKind::stalled));
}

/// "rank 3: the start of MPI", as long as only the launcher can tell the rank.
std::string named(const char* what) {
  const std::optional<int> rank = mpi::launched_rank(mpi::environment_variables());
  return rank ? fmt::format("rank {}: {}", *rank, what) : std::string(what);
}

/// Throws Error{disagreement} on all ranks where `mine` is not what rank 0 has. Collective.
void compare_with_root(Ranks& ranks, const std::string& mine, const char* what, const char* hint) {
  const std::string roots = io::from_root(ranks.world(), mine);
  ranks.agreed([&] {
    if (mine == roots) return;
    throw Error(ErrorKind::disagreement,
                fmt::format("the {} here differs from that of rank 0.\nhere: {}\nrank 0: {}", what, mine, roots), hint);
  });
}

/// Rank 0 reads command line and environment for all, so that others elsewhere would be ignored.
void check_same_start(Ranks& ranks, std::string_view verb, std::span<const std::string> arguments) {
  std::string command = fmt::format("tessera {}", verb);
  for (const std::string& argument : arguments) command += " " + argument;
  compare_with_root(ranks, command, "command line", "start all ranks with one command line");
  std::string options;
  for (const auto& [name, value] : mpi::environment_variables())
    if (name.starts_with(k_option_prefix)) options += fmt::format("{}={} ", name, value);
  compare_with_root(ranks, options, "environment", "give all ranks the same variables TESSERA__...");
  compare_with_root(ranks, program_text(), "program", "install the same build on all nodes");
}

}  // namespace

Ranks::Ranks(double watchdog)
    : limit_(watchdog),
      deadline_(named("the start of MPI"), watchdog),
      environment_(argc_, argv_),
      memory_(mpi::find_node_memory(environment_, no_memory_)),
      logs_(environment_, memory_),
      recorder_(logs_.own(), environment_.rank()),
      world_(mpi::make_world(environment_, {.memory = memory_})),
      threads_(mpi::choose_threads(environment_)),
      faults_(environment_.rank(), environment_.size()) {
  deadline_.end();
  set_log_rank(environment_.rank(), environment_.size());
  world_->set_recorder(&recorder_, "world");
  const bool neighbours = environment_.layout().nodes < environment_.size();
  if (memory_ == nullptr && neighbours)
    log_warning("mpi", no_memory_ + "; ranks of a node exchange data by slower messages");
  watch(watchdog);
}

Ranks::~Ranks() {
  try {
    deadline_.begin(fmt::format("rank {}: the end of MPI", environment_.rank()), limit_);
  } catch (const std::system_error& error) {  // all is done and saved
    log_warning("watchdog", fmt::format("nobody watches the end of MPI: no thread can be made ({})", error.what()));
  }
}

void Ranks::agreed(const std::function<void()>& action) {
  try {
    io::together(*world_, action);
  } catch (const Error& error) {
    throw AgreedError(error);
  }
}

std::string Ranks::from_root(const std::function<std::string()>& action) {
  std::string text;
  agreed([&] {
    if (root()) text = action();
  });
  return io::from_root(*world_, text);
}

void Ranks::watch(double seconds) {
  watchdog_.reset();
  limit_ = seconds;
  if (seconds <= 0) return;
  WatchdogOptions options;
  options.limit = std::chrono::milliseconds(static_cast<std::int64_t>(seconds * 1000));
  options.own = &logs_.own();
  options.logs = logs_.all();
  options.was_away = [](std::chrono::nanoseconds time) {
    log_warning("watchdog",
                fmt::format("this process did not run for {:.1f} s: it was stopped, its memory had been moved to the "
                            "disk, or the machine had no time for it",
                            std::chrono::duration<double>(time).count()));
  };
  watchdog_ = std::make_unique<Watchdog>(options, end_stalled);
}

namespace {

/// Ranks, or null when they cannot be made here: `code` is then the exit code, and the reason has been shown.
std::unique_ptr<Ranks> start_ranks(double watchdog, int& code) {
  try {
    return std::make_unique<Ranks>(watchdog);
  } catch (...) {
    const Error error = io::current_error();
    const bool says_which = std::string_view(error.what()).starts_with("rank ");
    show_error(error, says_which ? "" : named(""));
    code = static_cast<int>(error.kind());
    return nullptr;
  }
}

}  // namespace

int run_on_ranks(std::string_view verb, std::span<const std::string> arguments, const std::function<int(Ranks&)>& body,
                 double watchdog) {
  int code = k_done;
  const std::unique_ptr<Ranks> made = start_ranks(watchdog, code);
  if (made == nullptr) return code;
  Ranks& ranks = *made;
  try {
    check_same_start(ranks, verb, arguments);
    return body(ranks);
  } catch (const AgreedError& error) {
    if (ranks.root()) show_error(error);
    if (io::hdf5::must_not_be_ended()) mpi::Environment::abort(static_cast<int>(error.kind()));
    return static_cast<int>(error.kind());
  } catch (...) {
    const Error error = io::current_error();
    const int size = ranks.environment().size();
    show_error(error, size > 1 ? fmt::format("rank {} of {}: ", ranks.environment().rank(), size) : std::string());
    if (size > 1) mpi::Environment::abort(static_cast<int>(error.kind()));
    return static_cast<int>(error.kind());
  }
}

}  // namespace tessera::apps
