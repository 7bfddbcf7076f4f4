// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  JSON from elsewhere: what writes a value again goes down into it, and a few thousand brackets in a row would
//       end the stack.
// Used: readers of states of checkpoints and of manifests of modules.
// Must not know: what the JSON says.
#pragma once

#include <string_view>

namespace tessera {

/// How deep arrays and objects lie in each other at most; of text that is no JSON, any number.
int json_depth(std::string_view json);

}  // namespace tessera
