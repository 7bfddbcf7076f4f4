// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the steps from a manifest that fits to factories in the registry.
// Used: the loader.
// Must not know: search order, records.
#pragma once

#include "core/module/abi.h"
#include "core/module/manifest.hpp"
#include "core/module/registry.hpp"

namespace tessera {

/// dlopen and the one symbol. Throws Error{configuration} or Error{not_found}. Never closed again.
const tessera_module_descriptor& open_module(const Manifest& manifest);

/// The descriptor against the manifest and this engine. Throws Error{configuration}.
void check_descriptor(const Manifest& manifest, const tessera_module_descriptor& descriptor);

/// Asks whether it suits this machine (Error{unavailable}), then enrolls it (Error{configuration}). Gives the score.
int enroll_module(const Manifest& manifest, const tessera_module_descriptor& descriptor, Registry& registry);

}  // namespace tessera
