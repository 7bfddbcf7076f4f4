// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  whether a file is a complete shared library for this machine. dlopen of a cut file may end in SIGBUS.
// Used: the loader, before dlopen.
// Must not know: modules.
#pragma once

#include <filesystem>
#include <string>

namespace tessera {

/// Why the file is none ("is not a shared library", "is cut short: …"); empty if it is one.
std::string elf_fault(const std::filesystem::path& file);

}  // namespace tessera
