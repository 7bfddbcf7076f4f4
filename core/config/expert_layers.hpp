// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  `model.expert_layers`: which layers have experts, where somebody lists them.
// Used: the rules of a run, the model's settings, the state of a run.
// Must not know: models, what an expert is.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera {

struct ExpertLayers {
  std::vector<int> layers;  ///< from 0, rising
  std::string problem;      ///< why there are none; empty: they are right
};

/// Of a model of `layers` layers: "1", "3", "5-7" -> 1, 3, 5, 6, 7. "pattern P" takes what Megatron's --moe-layer-freq
/// takes: an interval n (layers 0, n, 2n, …), or a sum of lists of one 0 or 1 per layer, as in ([0]*3+[1]*58).
ExpertLayers parse_expert_layers(std::span<const std::string> words, std::int64_t layers);

/// The same of a text with commas.
ExpertLayers parse_expert_layers(std::string_view text, std::int64_t layers);

/// "1, 3, 5-7": the shortest text that is read as these rising layers.
std::string expert_layers_text(std::span<const int> layers);

}  // namespace tessera
