// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/host/processor.hpp"

#include <array>

#include <fmt/core.h>

#include "core/base/error.hpp"

namespace tessera::host {
namespace {

struct Known {
  Instructions set;
  const char* name;
  bool (*there)();
};

// The compiler knows these names on processors of this family only.
#if defined(__x86_64__)
#define TESSERA_INSTRUCTIONS(name)                                               \
  Known {                                                                        \
    Instructions::name, #name, [] { return __builtin_cpu_supports(#name) != 0; } \
  }
constexpr std::array k_known{
    Known{Instructions::sse4_2, "sse4.2", [] { return __builtin_cpu_supports("sse4.2") != 0; }},
    TESSERA_INSTRUCTIONS(avx),
    TESSERA_INSTRUCTIONS(f16c),
    TESSERA_INSTRUCTIONS(fma),
    TESSERA_INSTRUCTIONS(bmi2),
    TESSERA_INSTRUCTIONS(avx2),
    TESSERA_INSTRUCTIONS(avx512f),
    TESSERA_INSTRUCTIONS(avx512vl),
    TESSERA_INSTRUCTIONS(avx512bw),
    TESSERA_INSTRUCTIONS(avx512dq),
    TESSERA_INSTRUCTIONS(avx512vbmi),
    TESSERA_INSTRUCTIONS(avx512bf16),
};
#undef TESSERA_INSTRUCTIONS
#else
constexpr std::array<Known, 0> k_known{};
#endif

}  // namespace

std::uint32_t processor_instructions() {
  std::uint32_t found = 0;
  for (const Known& known : k_known)
    if (known.there()) found |= static_cast<std::uint32_t>(known.set);
  return found;
}

std::string missing_instructions(std::uint32_t needed, std::uint32_t there) {
  std::string names;
  for (const Known& known : k_known) {
    if ((needed & ~there & static_cast<std::uint32_t>(known.set)) == 0) continue;
    names.append(names.empty() ? "" : ", ").append(known.name);
  }
  return names;
}

void check_processor() {
  const std::string missing = missing_instructions(k_kernel_instructions, processor_instructions());
  if (missing.empty()) return;
  throw Error(
      ErrorKind::unavailable,
      fmt::format("this program was built for another processor: its kernels use {}, which this one lacks", missing),
      "Build where the ranks run, or with -DTESSERA_NATIVE=OFF for processors of every kind.");
}

}  // namespace tessera::host
