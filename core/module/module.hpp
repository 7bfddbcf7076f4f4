// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what a module writes to be one: the macro that makes its descriptor and enters its factories.
// Used: modules/<kind>/<name>/, built with tessera_add_module (share/cmake/TesseraModule.cmake).
// Must not know: the loader, or which interfaces there are.
#pragma once

#include <string>
#include <string_view>

#include "core/module/abi.h"
#include "core/module/build_tag.h"
#include "core/module/registry.hpp"

namespace tessera {

/// How well a module suits this machine, 0 to 100; with 0 it says why not.
using SupportedFunction = int (*)(std::string& why);

inline int always_supported(std::string&) {
  return 100;
}

// The C side of the two functions of a module: exceptions end here, as text.
std::int32_t call_supported(SupportedFunction function, char* why, std::uint32_t capacity) noexcept;
std::int32_t call_enroll(void (*function)(Registrar&), tessera_registrar* registrar, char* error,
                         std::uint32_t capacity) noexcept;

}  // namespace tessera

// Set by tessera_add_module: TESSERA_MODULE_KIND, TESSERA_MODULE_NAME, TESSERA_MODULE_VERSION, and, for a module that
// is linked into the program, TESSERA_MODULE_SYMBOL (else the symbol that the loader looks for).
#ifndef TESSERA_MODULE_SYMBOL
#define TESSERA_MODULE_SYMBOL tessera_module_v1
#endif

/// TESSERA_MODULE(optimizer, lion, "one line") { registrar.add<Optimizer>("lion", make_lion); }
#define TESSERA_MODULE(kind, name, summary) TESSERA_MODULE_IF(kind, name, summary, ::tessera::always_supported)

/// The same for a module that does not suit every machine: `supported` is a SupportedFunction.
#define TESSERA_MODULE_IF(kind, name, summary, supported)                                                         \
  static_assert(std::string_view(#kind) == TESSERA_MODULE_KIND && std::string_view(#name) == TESSERA_MODULE_NAME, \
                "kind and name must be those given to tessera_add_module");                                       \
  extern "C" {                                                                                                    \
  extern const char tessera_options_of_##kind##_##name[];                                                         \
  extern const tessera_module_descriptor TESSERA_MODULE_SYMBOL;                                                   \
  }                                                                                                               \
  static void tessera_enroll_module(::tessera::Registrar& registrar);                                             \
  constinit const tessera_module_descriptor TESSERA_MODULE_SYMBOL = {                                             \
      sizeof(tessera_module_descriptor),                                                                          \
      TESSERA_ABI_MAJOR,                                                                                          \
      TESSERA_ABI_MINOR,                                                                                          \
      TESSERA_BUILD_TAG,                                                                                          \
      #kind,                                                                                                      \
      #name,                                                                                                      \
      TESSERA_MODULE_VERSION,                                                                                     \
      summary,                                                                                                    \
      tessera_options_of_##kind##_##name,                                                                         \
      [](char* why, std::uint32_t capacity) { return ::tessera::call_supported(&supported, why, capacity); },     \
      [](tessera_registrar* registrar, char* error, std::uint32_t capacity) {                                     \
        return ::tessera::call_enroll(&tessera_enroll_module, registrar, error, capacity);                        \
      }};                                                                                                         \
  static void tessera_enroll_module([[maybe_unused]] ::tessera::Registrar& registrar)
