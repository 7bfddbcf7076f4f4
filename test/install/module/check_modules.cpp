// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// check_modules FILE…: whether each module would load.
#include <core/module/loader.hpp>
#include <cstdio>
#include <span>

int main(int argc, char** argv) {
  int refused = 0;
  for (const char* file : std::span(argv + 1, static_cast<std::size_t>(argc - 1))) {
    const tessera::ModuleRecord record = tessera::ModuleLoader::check(file);
    std::printf("%s: %s %s\n", record.manifest.full_name().c_str(), std::string(name_of(record.state)).c_str(),
                record.reason.c_str());
    if (record.state != tessera::ModuleState::loaded) ++refused;
  }
  return refused == 0 ? 0 : 1;
}
