// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string_view>

#include "core/base/error.hpp"
#include "core/config/core_options.hpp"
#include "core/config/resolve.hpp"
#include "core/config/run_rules.hpp"
#include "core/config/settings_text.hpp"
#include "core/config/sources.hpp"

/// Any run file has settings and a list of problems, and settings survive the way to other ranks.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  static const std::vector<Option> options = core_options();
  std::vector<Problem> problems;
  const std::vector<Raw> raws = read_ini({reinterpret_cast<const char*>(data), size}, "run.ini", problems);
  Resolved resolved = resolve(options, raws);
  problems.insert(problems.end(), resolved.problems.begin(), resolved.problems.end());
  const std::vector<Problem> broken = check_run(resolved.settings, 8);
  problems.insert(problems.end(), broken.begin(), broken.end());
  if (!problems.empty()) (void)run_error(problems);
  const std::vector<std::byte> packed = pack_settings(resolved.settings);
  if (to_json(unpack_settings(packed)) != to_json(resolved.settings)) __builtin_trap();
  return 0;
}
