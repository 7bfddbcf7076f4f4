// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  where presets and configurations lie: in the install tree, or in the source tree of a build.
// Used: verbs that read presets.
// Must not know: what lies there.
#pragma once

#include <filesystem>

namespace tessera::apps {

/// <prefix>/share/tessera beside the program, or the source tree's share.
std::filesystem::path share_folder();

}  // namespace tessera::apps
