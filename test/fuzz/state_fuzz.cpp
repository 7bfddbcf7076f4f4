// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include <cstdint>
#include <string>

#include "apps/run_state.hpp"
#include "core/base/error.hpp"
#include "test/fuzz/refused.hpp"

/// A state is refused, or can be written and read again.
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tessera;
  try {
    const apps::RunState state = apps::read_state({reinterpret_cast<const char*>(data), size}, "state.json");
    const std::string again = write_state(state);
    if (write_state(apps::read_state(again, "again")) != again) __builtin_trap();
  } catch (const Error& error) {
    refused(error);
  }
  return 0;
}
