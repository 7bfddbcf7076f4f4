// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the handshake between engine and module, in C11: a module of any other build is refused, not crashed into.
// Used: the loader; modules, through core/module/module.hpp.
// Must not know: C++, or what a module does.
//
// A module exports one constant object, whose name carries the major version. Its layout is frozen: within a major
// version fields are only added at the end (the minor version counts that), and struct_size says how many there are.
#ifndef TESSERA_CORE_MODULE_ABI_H
#define TESSERA_CORE_MODULE_ABI_H

#include <stdint.h>

#define TESSERA_ABI_MAJOR 1
#define TESSERA_ABI_MINOR 0
#define TESSERA_ABI_SYMBOL "tessera_module_v1"

#ifdef __cplusplus
extern "C" {
#endif

/// What a module adds its factories to; a C++ object inside.
typedef struct tessera_registrar tessera_registrar;

typedef struct tessera_module_descriptor {
  uint32_t struct_size;  ///< sizeof when the module was built
  uint16_t abi_major, abi_minor;
  const char* build_tag;  ///< compiler, standard library and interface headers; must equal the engine's
  const char* kind;       ///< "optimizer"
  const char* name;       ///< "adamw"
  const char* version;    ///< "1.2.0"
  const char* summary;    ///< one line
  const char* options;    ///< JSON, the form of parse_options in core/config/core_options.hpp
  /// 0 to 100: how well the module suits this machine. With 0 it writes why not (zero-terminated, cut to capacity).
  int32_t (*supported)(char* why, uint32_t capacity);
  /// Registers factories and does nothing else. 0, or an error that it wrote. No C++ exception passes.
  int32_t (*enroll)(tessera_registrar* registrar, char* error, uint32_t capacity);
} tessera_module_descriptor;

/// The object that each module defines.
extern __attribute__((visibility("default"))) const tessera_module_descriptor tessera_module_v1;

#ifdef __cplusplus
}
#endif

#endif
