// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the `[model]` section of a resolved run as a ModelConfig.
// Used: apps.
// Must not know: files, presets (their values stand in the settings).
#pragma once

#include "core/config/settings.hpp"
#include "core/model/model.hpp"

namespace tessera {

/// `data_vocab` is the vocabulary of the training data; it is taken when model.vocab is 0, and must not be larger than
/// model.vocab otherwise. Throws Error{configuration} as validate() does.
ModelConfig model_config(const Settings& settings, std::int64_t data_vocab);

}  // namespace tessera
