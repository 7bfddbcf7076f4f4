// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The frozen layout of version 1 (64-bit). A change here is a new major version.
#include <stddef.h>

#include "core/module/abi.h"

#define AT(field, offset) _Static_assert(offsetof(tessera_module_descriptor, field) == (offset), #field)

AT(struct_size, 0);
AT(abi_major, 4);
AT(abi_minor, 6);
AT(build_tag, 8);
AT(kind, 16);
AT(name, 24);
AT(version, 32);
AT(summary, 40);
AT(options, 48);
AT(supported, 56);
AT(enroll, 64);
_Static_assert(sizeof(tessera_module_descriptor) == 72, "nothing behind the last field");

size_t tessera_test_descriptor_bytes(void);
size_t tessera_test_descriptor_bytes(void) {
  return sizeof(tessera_module_descriptor);
}
