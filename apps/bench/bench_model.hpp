// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the model and batch of a benchmark, where a run file leaves them open.
// Used: benchmarks that compile a run.
// Must not know: what is measured.
#pragma once

#include <cstdint>

#include "core/config/settings.hpp"
#include "core/mesh/mesh.hpp"
#include "core/model/model.hpp"

namespace tessera::apps {

/// Without model.vocab the vocabulary is that of the data, or of GPT-2.
ModelConfig bench_model(const Settings& settings);

/// train.global_batch; where it is not set, one micro-batch on each data-parallel rank.
std::int64_t bench_global_batch(const Settings& settings, const Mesh& mesh);

}  // namespace tessera::apps
