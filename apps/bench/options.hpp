// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the flags of `tessera bench`, and how its results leave.
// Used: bench.cpp and its benchmarks.
// Must not know: what is measured.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "apps/document.hpp"
#include "core/config/option.hpp"
#include "core/config/settings.hpp"

namespace tessera::apps {

/// Flags that every benchmark has. `step` and `ops` also take the options of a run.
const std::vector<Option>& common_options();

/// Those and the flags of `ops`, and of `step`.
const std::vector<Option>& ops_options();
const std::vector<Option>& step_options();

/// Those and the flags of `gemm`.
const std::vector<Option>& gemm_options();
/// Those and the flags of `experts`.
const std::vector<Option>& experts_options();
/// Those and the flags of `kernels`.
const std::vector<Option>& kernels_options();

/// The flags of a benchmark that takes nothing else; what it will write has been looked at. Throws Error{usage},
/// Error{cannot_create}.
Settings read_benchmark(std::string_view name, std::span<const std::string> arguments, std::span<const Option> options);

/// Threads to measure with: one, and all that this process may use (or `--threads`).
std::vector<int> thread_counts(const Settings& settings);

/// The document on stdout, its JSON in `--json FILE`, then the line `figure`. Throws
/// Error{cannot_create|permission|io}.
void publish(const Document& document, const Settings& settings, const std::string& figure);

}  // namespace tessera::apps
