// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  which build this process runs, so that ranks can tell whether they run the same one.
// Used: the start of verbs that run on several ranks.
// Must not know: ranks.
#pragma once

#include <string>

namespace tessera::apps {

/// A line for the program and each of its own libraries: name and the linker's id of its content, or a hash of the
/// file where there is no id. Equal text, equal programs, wherever they lie.
std::string program_text();

}  // namespace tessera::apps
