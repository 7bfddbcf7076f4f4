// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the line of a step in metrics.jsonl.
// Used: `tessera train`.
// Must not know: which fields there are (core/train/step_record.hpp has the list), files.
#pragma once

#include "core/train/step_record.hpp"
#include "io/log/metrics_writer.hpp"

namespace tessera::io {

/// Writes the record as one line. `sample_digest` is a string of 16 hexadecimal digits, since readers of JSON keep 53
/// bits of a number. Throws Error{io}.
void write_step(MetricsWriter& metrics, const StepRecord& record);

}  // namespace tessera::io
