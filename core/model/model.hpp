// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the models that are built in: what a run file can say about them, and their logical graphs.
// Used: the scheduler (compiles the graph), apps, tests.
// Must not know: ranks, layouts, files, optimizers.
#pragma once

#include <string>
#include <vector>

#include "core/graph/builder.hpp"

namespace tessera {

enum class Architecture : std::uint8_t { llama, gpt };

enum class RouterScore : std::uint8_t { softmax, sigmoid };

/// Mixture-of-experts layers. Experts are gated as llama's dense layers are, without biases.
struct ExpertConfig {
  std::int64_t count = 0;        ///< 0: all layers are dense
  std::int64_t per_token = 2;    ///< experts that a token visits
  std::int64_t ffn = 0;          ///< width of one; 0: as in a dense layer
  std::int64_t shared_ffn = 0;   ///< width of the expert that every token visits; 0: there is none
  std::int64_t interval = 1;     ///< layers interval - 1, 2 · interval - 1, … have experts
  std::vector<int> layers = {};  ///< or these, rising; empty: by interval
  RouterScore score = RouterScore::softmax;
  bool renormalise = true;  ///< the weights of a token's experts sum to `scale`
  double scale = 1;
  std::int64_t groups = 1, groups_per_token = 1;  ///< experts are chosen within the best groups
  double aux_coefficient = 0.01;
  double z_coefficient = 0;
  bool bias = false;        ///< a bias per expert, for the choice only, moves so that all get as many tokens
  double bias_rate = 1e-3;  ///< how far in a step
  double noise = 0;         ///< what the router reads is times 1 ± this, at random, in training
  double capacity = 0;  ///< rows that a rank keeps for an expert, relative to an even spread; more are dropped. 0: all
  double rows = 0;      ///< planned for one round, relative likewise, where none are dropped; 0: all that can come

  double row_capacity() const { return capacity != 0 ? capacity : rows; }
  /// Whether a round may be too small: one that plans for every token never is.
  bool has_further_rounds() const {
    return capacity == 0 && rows != 0 && rows * static_cast<double>(per_token) < static_cast<double>(count);
  }
  std::int64_t width(std::int64_t dense) const { return ffn == 0 ? dense : ffn; }
};

/// The `[model]` section. Names and meaning as in the run file.
struct ModelConfig {
  Architecture architecture = Architecture::llama;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;   ///< 0: as many as heads
  std::int64_t head_size = 0;  ///< features of a head; 0: hidden ÷ heads
  std::int64_t ffn = 0;        ///< width of the feed-forward block
  std::int64_t vocab = 0;
  std::int64_t sequence = 0;
  bool tied = false;     ///< the head reads the embedding table
  bool biases = false;   ///< on every matrix but the tables
  bool qk_norm = false;  ///< RMSNorm of queries and keys per head
  double norm_epsilon = 1e-5;
  double rope_theta = 1e4;
  double dropout = 0;
  ExpertConfig experts = {};

  bool has_experts(int layer) const;
  std::vector<int> expert_layers() const;  ///< all that have, rising

  std::int64_t head_dim() const { return head_size == 0 && heads > 0 ? hidden / heads : head_size; }
  std::int64_t key_heads() const { return kv_heads == 0 ? heads : kv_heads; }

  /// Number of parameters, a tied table once.
  std::int64_t parameters() const;
};

/// Throws Error{configuration} that names every rule that the config breaks.
void validate(const ModelConfig& config);

/// What a micro-batch brings, as values of the logical graph. [s, b] unless said otherwise.
struct ModelInputs {
  Value ids;       ///< i32
  Value target;    ///< i32, the next token
  Value mask;      ///< 1 where the target counts, 0 elsewhere; in the accumulation type
  Value position;  ///< i32, place in its document or sample: what embeddings and masks see
  Value index;     ///< i32, place in its sample
  Value document;  ///< i32, equal for tokens that may see each other
  Value sample;    ///< i64 [b], number of the sample in the stream; keys dropout
};

/// A loss beside that of the tokens: a f64 scalar, the sum of one value per sequence. `coefficient` times their mean
/// over the global batch is added to what is trained.
struct AuxiliaryLoss {
  Value sum;
  double coefficient = 0;
};

/// A gradient that is no derivative: the sum of `value` over the micro-batches.
struct GivenGradient {
  Value parameter, value;
};

/// What a layer with experts did with a micro-batch: f64 values that are summed over those of a step.
struct ExpertReport {
  Value load;     ///< [experts]: the choices that went to each
  Value kept;     ///< how many of them got a row; none where all do
  Value balance;  ///< the auxiliary loss, a sum over sequences without coefficient; none where there is none
  Value z;        ///< and the z-loss
};

struct ModelGraph {
  Graph graph;
  ModelInputs inputs;
  std::vector<Value> losses;             ///< f64 scalars, one per piece of the head: Σ mask · cross entropy
  std::vector<AuxiliaryLoss> auxiliary;  ///< of training only
  std::vector<GivenGradient> gradients;  ///< of training only
  std::vector<ExpertReport> reports;     ///< the same, one per layer with experts
  Value logits;                          ///< [s, b, v], for generation; none otherwise
};

/// What the graph is for. Generation reads logits and has neither targets nor dropout.
enum class ModelPurpose : std::uint8_t { train, evaluate, generate };

/// Sizes that the model config does not say.
struct MicroBatch {
  std::int64_t sequence = 0;
  std::int64_t batch = 0;
  std::int64_t head_pieces = 1;  ///< pieces of the sequence that go through the head one after the other
};

/// The logical graph of one micro-batch, activations [s, b, h]. No rank, axis or collective in it.
ModelGraph build_model(const ModelConfig& config, const MicroBatch& micro_batch, ModelPurpose purpose, DType dtype);

}  // namespace tessera
