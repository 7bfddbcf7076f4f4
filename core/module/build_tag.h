// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the build tag, one text that is equal exactly where C++ objects may be passed between two binaries.
// Used: descriptors of modules, the engine's own tag, the manifest (made by reading the text out of the library).
// Must not know: anything else of the project.
#ifndef TESSERA_CORE_MODULE_BUILD_TAG_H
#define TESSERA_CORE_MODULE_BUILD_TAG_H

#include <version>

#include "core/module/abi.h"
#include "core/module/interface_hash.h"

#define TESSERA_TEXT_OF(x) #x
#define TESSERA_TEXT(x) TESSERA_TEXT_OF(x)

#if defined(__clang__)
#define TESSERA_COMPILER "clang " TESSERA_TEXT(__clang_major__) "." TESSERA_TEXT(__clang_minor__)
#else
#define TESSERA_COMPILER "gcc " TESSERA_TEXT(__GNUC__) "." TESSERA_TEXT(__GNUC_MINOR__)
#endif

#ifdef _GLIBCXX_DEBUG
#define TESSERA_CONTAINERS " debug"
#else
#define TESSERA_CONTAINERS ""
#endif

#define TESSERA_BUILD_TAG                                                                                             \
  "tessera abi " TESSERA_TEXT(TESSERA_ABI_MAJOR) "." TESSERA_TEXT(                                                    \
      TESSERA_ABI_MINOR) ", " TESSERA_COMPILER                                                                        \
                         ", libstdc++ " TESSERA_TEXT(_GLIBCXX_RELEASE) " cxx11=" TESSERA_TEXT(_GLIBCXX_USE_CXX11_ABI) \
                             TESSERA_CONTAINERS ", interface " TESSERA_INTERFACE_HASH

#endif
