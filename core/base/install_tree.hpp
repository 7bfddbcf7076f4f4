// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  where the things that belong to this library are: modules beside it, data under share.
// Used: the search for modules, presets, machine files.
// Must not know: what is in the folders.
#pragma once

#include <filesystem>

namespace tessera {

/// The folder that libtessera lies in, with symbolic links resolved.
std::filesystem::path library_folder();

/// share/tessera of the installation or the build: models, machines, configs. Throws Error{not_found} if it is gone.
std::filesystem::path share_folder();

}  // namespace tessera
