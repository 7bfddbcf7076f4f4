// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  from the command line to a resolved run: run file, preset, flags, and the modules that they name.
// Used: the verbs that train, `plan`, `verify`.
// Must not know: models, devices, what options mean.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "apps/ranks.hpp"
#include "core/config/option.hpp"
#include "core/config/settings.hpp"
#include "core/module/loader.hpp"
#include "core/module/registry.hpp"
#include "core/scheduler/kernel_choices.hpp"

namespace tessera::apps {

/// Whether a verb can do without data.train.
enum class DataNeed : std::uint8_t { optional, required };

class Run {
 public:
  /// Rank 0 reads everything, reports all problems at once, and tells the result to all; every rank loads the modules
  /// that the run names, and all must have the same ones. Collective. `extra`: options of the verb itself. What is to
  /// be written must not be what is read: Error{cannot_create}.
  Run(Ranks& ranks, std::span<const std::string> arguments, std::span<const Option> extra = {},
      DataNeed data = DataNeed::optional);

  /// The same in one process, for ranks that are no processes: as many as the option `world` among `extra` says.
  Run(std::span<const std::string> arguments, std::span<const Option> extra, std::string_view world);

  const Settings& settings() const { return settings_; }
  const Registry& registry() const { return registry_; }
  const KernelChoices& kernels() const { return kernels_; }

  /// Problems of options that were set and that nobody read: asked when everything has been built.
  void check_used() const;

 private:
  void load_modules(Ranks& ranks);

  Settings settings_;
  KernelChoices kernels_;
  Registry registry_;
  std::unique_ptr<ModuleLoader> loader_;
};

/// train.watchdog in seconds as far as this rank can tell by itself, for the time before rank 0 has told the options.
double first_watchdog(std::span<const std::string> arguments);

/// The options of the core and of all modules that can be found, for `--help`.
std::string run_help();

}  // namespace tessera::apps
