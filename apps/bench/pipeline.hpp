// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `bench pipeline`: how close real stages come to the closed formula of their schedule, with kernels that sleep.
// Used: the verb `bench`.
// Must not know: how schedules are made.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/config/option.hpp"

namespace tessera::apps {

const std::vector<Option>& pipeline_options();

/// Plans, messages and the executor are those of training; every rank is a stage, and each pass of a chunk takes one
/// turn of sleep, so that many stages fit on few cores.
int bench_pipeline(std::span<const std::string> arguments);

}  // namespace tessera::apps
