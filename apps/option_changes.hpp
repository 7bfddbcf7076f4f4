// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  options that a run goes on with, and that were others when its checkpoint was saved.
// Used: resuming.
// Must not know: which of them matter; what must be equal has been compared before.
#pragma once

#include <string>
#include <vector>

namespace tessera::apps {

/// A line for each option that both have and that differs: "optimizer.lr = 0.002 (0.001 before)". The arguments are
/// to_json() of settings. Options of logs, checkpoints and modules' places are left out: they change no number.
std::vector<std::string> option_changes(const std::string& saved, const std::string& here);

}  // namespace tessera::apps
