// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <filesystem>
#include <latch>
#include <thread>
#include <vector>

#include <fmt/core.h>

#include "apps/arguments.hpp"
#include "apps/report.hpp"
#include "apps/verb.hpp"
#include "core/base/error.hpp"

namespace tessera::apps {
namespace {

/// What the libraries of a rank take before it has anything of its own; below that they end the process without a word.
struct Limit {
  decltype(RLIMIT_STACK) resource;
  rlim_t least, unit;  ///< unit: of the shell's command
  const char *what, *command;
};
constexpr std::array k_limits{
    Limit{RLIMIT_STACK, 1 << 20, 1 << 10, "the stack may have only {} bytes", "ulimit -s"},
    Limit{RLIMIT_NOFILE, 64, 1, "only {} files may be open", "ulimit -n"},
    Limit{RLIMIT_AS, 1 << 29, 1 << 10, "the address space may have only {} bytes", "ulimit -v"}};

constexpr std::size_t k_least_threads = 4;

constexpr std::array k_verbs{&k_train, &k_plan, &k_prepare, &k_generate, &k_inspect, &k_modules, &k_bench, &k_verify};

std::string overview() {
  std::string text =
      "Tessera trains transformer language models on many processors.\n\nusage: tessera VERB [arguments]\n\n";
  for (const Verb* verb : k_verbs) text += fmt::format("  {:<10} {}\n", verb->name, verb->summary);
  return text + "\n`tessera VERB --help` says more. Exit codes are listed in share/doc/exit_codes.md.\n";
}

std::string help_of(const Verb& verb) {
  return fmt::format("usage: tessera {}\n\n{}\n\n{}", verb.usage, verb.summary, verb.help());
}

const Verb& find_verb(const std::string& name) {
  for (const Verb* verb : k_verbs)
    if (verb->name == name) return *verb;
  throw Error(ErrorKind::usage, fmt::format("there is no verb '{}'", name), "`tessera --help` lists the verbs");
}

bool asks_for_help(std::span<const std::string> arguments) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == "--help" || argument == "-h") return true;
  }
  return false;
}

int dispatch(std::span<const std::string> arguments) {
  if (arguments.empty() || asks_for_help(arguments.first(1)) || arguments[0] == "help") {
    fmt::print("{}", overview());
    return arguments.empty() ? static_cast<int>(ErrorKind::usage) : k_done;
  }
  if (arguments[0] == "--version") {
    fmt::print("tessera {}\n", TESSERA_VERSION);
    return k_done;
  }
  const Verb& verb = find_verb(arguments[0]);
  if (asks_for_help(arguments.subspan(1))) {
    fmt::print("{}", help_of(verb));
    return k_done;
  }
  if (verb.processes == Processes::one) check_alone(verb.name);
  return verb.run(arguments.subspan(1));
}

void check_limits() {
  for (const Limit& limit : k_limits) {
    rlimit own{};
    if (::getrlimit(limit.resource, &own) != 0 || own.rlim_cur >= limit.least) continue;
    throw Error(ErrorKind::resources, fmt::format(fmt::runtime(limit.what), own.rlim_cur),
                fmt::format("Raise its limit: `{}` must be at least {}.", limit.command, limit.least / limit.unit));
  }
}

/// Enough for the threads that watch a rank and those of the communication library.
void check_threads() {
  std::latch counted(1);
  std::vector<std::jthread> threads;
  try {
    while (threads.size() < k_least_threads) threads.emplace_back([&] { counted.wait(); });
  } catch (...) {
    counted.count_down();
    throw;
  }
  counted.count_down();
}

/// A stream that the caller closed gets its number back, so that no file of ours takes it. Writing to it fails.
void open_standard_streams() {
  for (int number = 0; number <= 2; ++number)
    if (::fcntl(number, F_GETFD) < 0) (void)::open("/dev/null", number == 2 ? O_WRONLY : O_RDONLY);
}

/// Threads of a rank that wait for each other spin, by themselves for some ten million cycles, which a program beside
/// them pays with half of a step and more: then sleep sooner. The library reads this once, before `main`; so the
/// program starts itself anew. Where that cannot be, all goes on as it is.
void let_waiting_threads_sleep(char** argv) {
  constexpr const char* spins = "3000";
  if (std::getenv("OMP_WAIT_POLICY") != nullptr || std::getenv("GOMP_SPINCOUNT") != nullptr) return;
  if (::setenv("GOMP_SPINCOUNT", spins, 0) != 0) return;
  std::error_code error;
  const std::filesystem::path program = std::filesystem::read_symlink("/proc/self/exe", error);
  if (!error) ::execv(program.c_str(), argv);
}

/// Writing to a closed pipe, or beyond the limit of a file's size, is an error like any other and ends no training.
void ignore_signals_of_writes() {
  for (const int number : {SIGPIPE, SIGXFSZ}) ::signal(number, SIG_IGN);
}

}  // namespace
}  // namespace tessera::apps

int main(int argc, char** argv) {
  using namespace tessera::apps;
  let_waiting_threads_sleep(argv);
  open_standard_streams();
  ignore_signals_of_writes();
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return checked_output(reported([&] {
    check_limits();
    check_threads();
    return dispatch(arguments);
  }));
}
