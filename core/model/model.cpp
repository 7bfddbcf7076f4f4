// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/model/model.hpp"

#include <fmt/core.h>

#include <algorithm>

#include "core/model/architectures.hpp"

namespace tessera {
namespace {

/// Of one dim; a matrix of two of them can still be counted in bytes of fp64.
constexpr std::int64_t k_most = std::int64_t{1} << 29;

ModelInputs add_inputs(Builder& b, std::int64_t sequence, std::int64_t batch, DType dtype) {
  const Shape tokens{sequence, batch};
  return {b.input("ids", {tokens, DType::i32}),
          b.input("target", {tokens, DType::i32}),
          b.input("mask", {tokens, accumulation_of(dtype)}),
          b.input("position", {tokens, DType::i32}),
          b.input("index", {tokens, DType::i32}),
          b.input("document", {tokens, DType::i32}),
          b.input("sample", {{batch}, DType::i64})};
}

}  // namespace

void validate(const ModelConfig& c) {
  std::string broken;
  auto rule = [&](bool holds, const std::string& text) {
    if (!holds) broken += (broken.empty() ? "" : "\n") + text;
  };
  const std::pair<const char*, std::int64_t> sizes[] = {{"layers", c.layers}, {"hidden", c.hidden},
                                                        {"heads", c.heads},   {"ffn", c.ffn},
                                                        {"vocab", c.vocab},   {"sequence", c.sequence}};
  for (const auto& [name, value] : sizes)
    rule(value >= 1 && value <= k_most, fmt::format("model.{} = {}: must be from 1 to {}", name, value, k_most));
  if (!broken.empty()) throw Error(ErrorKind::configuration, broken, "give the sizes of the model, or a model.preset");
  rule(c.head_size >= 0 && c.head_size <= k_most, fmt::format("model.head_dim = {}: must be from 0", c.head_size));
  rule(c.head_size != 0 || c.hidden % c.heads == 0,
       fmt::format("model.hidden = {} is not a multiple of model.heads = {}", c.hidden, c.heads));
  rule(c.key_heads() >= 1 && c.heads % c.key_heads() == 0,
       fmt::format("model.heads = {} is not a multiple of model.kv_heads = {}", c.heads, c.key_heads()));
  rule(c.architecture != Architecture::llama || c.head_dim() % 2 == 0,
       fmt::format("{} features of a head: must be even for rotary positions", c.head_dim()));
  const ExpertConfig& e = c.experts;
  rule(e.count == 0 || c.architecture == Architecture::llama, "model.experts: only llama has layers of experts");
  rule(e.count == 0 || (e.per_token >= 1 && e.per_token <= e.count),
       fmt::format("model.experts_per_token = {} is not in 1 to model.experts = {}", e.per_token, e.count));
  rule(e.count == 0 || (e.count % e.groups == 0 && e.groups_per_token >= 1 && e.groups_per_token <= e.groups &&
                        e.count / e.groups * e.groups_per_token >= e.per_token),
       fmt::format(
           "model.expert_groups = {} of model.experts = {}: groups must be equal, and the best {} of them hold at "
           "least the {} experts of a token",
           e.groups, e.count, e.groups_per_token, e.per_token));
  rule(e.count == 0 || !e.layers.empty() || e.interval <= c.layers,
       fmt::format("model.expert_interval = {}: none of model.layers = {} has experts", e.interval, c.layers));
  rule(std::is_sorted(e.layers.begin(), e.layers.end(), std::less_equal<>()) &&
           (e.layers.empty() || (e.layers.front() >= 0 && e.layers.back() < c.layers)),
       fmt::format("model.expert_layers are not rising layers from 0 to {}", c.layers - 1));
  rule(e.noise >= 0 && e.noise < 1, fmt::format("model.router_noise = {} is not in [0, 1)", e.noise));
  rule(c.dropout >= 0 && c.dropout < 1, fmt::format("model.dropout = {} is not in [0, 1)", c.dropout));
  if (!broken.empty()) throw Error(ErrorKind::configuration, broken);
}

ModelGraph build_model(const ModelConfig& config, const MicroBatch& micro_batch, ModelPurpose purpose, DType dtype) {
  validate(config);
  ModelGraph model;
  Builder builder(model.graph, dtype);
  model.inputs = add_inputs(builder, micro_batch.sequence, micro_batch.batch, dtype);
  blocks::BlockContext context{builder, config, model.inputs, purpose, model.auxiliary, model.gradients, model.reports};
  const blocks::Embedded out = config.architecture == Architecture::llama ? llama_layers(context) : gpt_layers(context);
  blocks::head(context, out.x, out.table, micro_batch.head_pieces, model);
  return model;
}

bool ModelConfig::has_experts(int layer) const {
  if (experts.count == 0) return false;
  if (experts.layers.empty()) return (layer + 1) % experts.interval == 0;
  return std::binary_search(experts.layers.begin(), experts.layers.end(), layer);
}

std::vector<int> ModelConfig::expert_layers() const {
  std::vector<int> with;
  for (int layer = 0; layer < static_cast<int>(layers); ++layer)
    if (has_experts(layer)) with.push_back(layer);
  return with;
}

std::int64_t ModelConfig::parameters() const {
  const ModelGraph model = build_model(*this, {1, 1, 1}, ModelPurpose::train, DType::f32);
  std::int64_t count = 0;
  for (const Parameter& parameter : model.graph.parameters) count += model.graph[parameter.value].type.shape.count();
  return count;
}

}  // namespace tessera
