// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  weights and data of the reference models, by the formulas of test/data/README.md; so no weight file is needed.
// Used: parity tests against test/data/reference_steps.json.
// Must not know: layouts, ranks, how a model is built.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "core/base/counter_rng.hpp"

namespace tessera::reference {

inline constexpr std::uint64_t k_vocab = 131;
inline constexpr std::int64_t k_sequence = 32;
inline constexpr std::int64_t k_global_batch = 24;
inline constexpr std::uint64_t k_weight_seed = 1234;
inline constexpr std::uint64_t k_data_seed = 99;
inline constexpr std::uint64_t k_probe_seed = 7;

/// Index of a position of a sample in the stream of its step.
constexpr std::uint64_t place(std::int64_t column, std::int64_t position) {
  constexpr std::int64_t k_column_stride = 4096;
  return static_cast<std::uint64_t>(column * k_column_stride + position);
}

/// The numbers of one parameter for one purpose; `layer` is -1 for a parameter outside the layers.
inline CounterRng parameter_stream(std::uint64_t seed, std::string_view purpose, std::string_view field, int layer) {
  return CounterRng(seed, hash_name(std::string(purpose) + "/" + std::string(field)),
                    static_cast<std::uint64_t>(layer + 1));
}

/// Initial value of a row-major element of a parameter: gains in 1 ± 0.2, everything else in ± 0.1.
inline double initial_value(std::string_view field, int layer, std::int64_t element) {
  const double u = parameter_stream(k_weight_seed, "init", field, layer).uniform(static_cast<std::uint64_t>(element));
  const double centred = 2.0 * u - 1.0;
  return field.ends_with(".gain") ? 1.0 + centred * 0.2 : centred * 0.1;
}

/// Token id at a position (0 to k_sequence) of a sample of the global batch; steps count from 1. The target of a
/// position is the next token.
constexpr std::int32_t token(int step, std::int64_t column, std::int64_t position) {
  const CounterRng rng(k_data_seed, hash_name("tokens"), static_cast<std::uint64_t>(step));
  return static_cast<std::int32_t>(rng.at(place(column, position)) % k_vocab);
}

/// Whether the target of a position (0 to k_sequence - 1) counts in the loss. Samples differ much in how many count.
constexpr bool target_counts(int step, std::int64_t column, std::int64_t position) {
  const CounterRng rng(k_data_seed, hash_name("mask"), static_cast<std::uint64_t>(step));
  return rng.uniform(place(column, position)) < 0.15 + 0.8 * static_cast<double>(column % 5) / 4.0;
}

/// Weight of a gradient element in the `projection` of its tensor, in [-1, 1).
inline double projection_weight(std::string_view field, int layer, std::int64_t element) {
  const CounterRng rng = parameter_stream(k_probe_seed, "projection", field, layer);
  return 2.0 * rng.uniform(static_cast<std::uint64_t>(element)) - 1.0;
}

}  // namespace tessera::reference
