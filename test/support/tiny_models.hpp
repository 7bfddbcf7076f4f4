// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the models that tests train, place and plan: a few thousand parameters, sizes that most degrees do not divide.
// Used: tests.
// Must not know: what is tested.
#pragma once

#include "core/model/model.hpp"

namespace tessera::testing_support {

/// The tiny dense model of the acceptance cases: 4 layers, hidden 64, 4 heads of 16, 2 of keys, SwiGLU 176, vocabulary
/// 131 (a prime), 32 tokens, untied.
inline ModelConfig tiny_dense() {
  return {.layers = 4, .hidden = 64, .heads = 4, .kv_heads = 2, .ffn = 176, .vocab = 131, .sequence = 32};
}

/// The tiny mixture of the acceptance cases: that model with four experts in each layer, of which a token sees two.
inline ModelConfig tiny_mixture() {
  ModelConfig model = tiny_dense();
  model.experts = {.count = 4, .per_token = 2, .ffn = 96, .aux_coefficient = 1e-2};
  return model;
}

/// A GPT of that size: biases everywhere, layer norms, a tied table.
inline ModelConfig tiny_gpt() {
  ModelConfig model = tiny_dense();
  model.architecture = Architecture::gpt;
  model.kv_heads = 4;
  model.ffn = 256;
  model.biases = model.tied = true;
  return model;
}

/// One layer, for cases about the loop and not about the model.
inline ModelConfig tiniest() {
  return {.layers = 1, .hidden = 16, .heads = 2, .ffn = 24, .vocab = 31, .sequence = 8};
}

/// Two layers that can be cut evenly: hidden 16, 4 heads, 2 of keys, 16 tokens, a tied table.
inline ModelConfig even_model() {
  return {.layers = 2, .hidden = 16, .heads = 4, .kv_heads = 2, .ffn = 24, .vocab = 40, .sequence = 16, .tied = true};
}

/// Two layers whose feed-forward block (22) and vocabulary (37) cannot be; 8 heads, 16 tokens.
inline ModelConfig uneven_model(Architecture architecture, std::int64_t key_heads) {
  return {.architecture = architecture,
          .layers = 2,
          .hidden = 16,
          .heads = 8,
          .kv_heads = key_heads,
          .ffn = 22,
          .vocab = 37,
          .sequence = 16};
}

/// With biases, norms of queries and keys, a tied table and dropout.
inline ModelConfig with_everything(ModelConfig model, double dropout) {
  model.biases = model.qk_norm = model.tied = true;
  model.dropout = dropout;
  return model;
}

}  // namespace tessera::testing_support
