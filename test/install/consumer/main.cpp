// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// Asks the installed library how a partial sum becomes whole, and whether the presets came along.
#include <cstdio>
#include <filesystem>

#include "core/mesh/conversion.hpp"

int main() {
  const tessera::Mesh mesh({{"tp", "tp", 2}, {"dp", "dp", 3}});
  tessera::Layout partial;
  partial.set_partial(tessera::AxisSet::of(mesh.find("tp")), tessera::Merge::sum);
  for (const tessera::Conversion& conversion : tessera::plan_conversion(mesh, partial, tessera::Layout()))
    std::puts(tessera::name_of(conversion.step.kind).data());
  std::puts(std::filesystem::exists(DATA_DIR "/models/llama_tiny.ini") ? "presets" : "no presets");
}
