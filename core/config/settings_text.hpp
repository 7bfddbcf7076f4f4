// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  settings as text and bytes: for the log and checkpoints, for comparing ranks, for broadcasting.
// Used: apps, the trainer, checkpoints.
// Must not know: who sends or stores the text.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/content_hash.hpp"
#include "core/config/settings.hpp"

namespace tessera {

/// {"model.layers": {"value": 12, "from": "file", "where": "run.ini:3"}, …}, sorted by name.
std::string to_json(const Settings& settings);

/// Lines "name=value" of all options that ranks must agree on, sorted: equal text, equal run.
std::string canonical_text(const Settings& settings);

/// Of the canonical text.
ContentHash settings_hash(const Settings& settings);

/// Everything, for rank 0 to broadcast; `unpack_settings` of it is equal, marks of use excepted.
std::vector<std::byte> pack_settings(const Settings& settings);

/// Throws Error{data} on anything that `pack_settings` did not make.
Settings unpack_settings(std::span<const std::byte> bytes);

}  // namespace tessera
