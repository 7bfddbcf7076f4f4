// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cstdio>
#include <new>

#include <fmt/core.h>

#include "apps/report.hpp"
#include "apps/verb.hpp"
#include "core/base/error.hpp"

namespace tessera::apps {
namespace {

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

bool asks_for(std::span<const std::string> arguments, std::string_view flag) {
  for (const std::string& argument : arguments) {
    if (argument == "--") return false;
    if (argument == flag) return true;
  }
  return false;
}

int dispatch(std::span<const std::string> arguments) {
  if (arguments.empty() || arguments[0] == "--help" || arguments[0] == "help") {
    fmt::print("{}", overview());
    return arguments.empty() ? static_cast<int>(ErrorKind::usage) : k_done;
  }
  if (arguments[0] == "--version") {
    fmt::print("tessera {}\n", TESSERA_VERSION);
    return k_done;
  }
  const Verb& verb = find_verb(arguments[0]);
  if (asks_for(arguments.subspan(1), "--help")) {
    fmt::print("{}", help_of(verb));
    return k_done;
  }
  return verb.run(arguments.subspan(1));
}

}  // namespace
}  // namespace tessera::apps

int main(int argc, char** argv) {
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  return tessera::apps::reported([&] { return tessera::apps::dispatch(arguments); });
}
