// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/model/model_settings.hpp"

#include <fmt/core.h>

#include "core/config/expert_layers.hpp"

namespace tessera {
namespace {

/// 4 · hidden for gpt; for llama 8/3 · hidden, rounded up to a multiple of 64: three matrices then cost as much as two.
std::int64_t default_ffn(Architecture architecture, std::int64_t hidden) {
  if (architecture == Architecture::gpt) return 4 * hidden;
  return (8 * hidden / 3 + 63) / 64 * 64;
}

std::vector<int> listed_layers(const Settings& settings) {
  const ExpertLayers parsed = parse_expert_layers(settings.get<std::vector<std::string>>("model.expert_layers"),
                                                  settings.get<std::int64_t>("model.layers"));
  if (!parsed.problem.empty()) throw Error(ErrorKind::configuration, "model.expert_layers: " + parsed.problem);
  return parsed.layers;
}

ExpertConfig expert_config(const Settings& settings) {
  ExpertConfig experts;
  experts.count = settings.get<std::int64_t>("model.experts");
  if (experts.count == 0) return experts;
  experts.per_token = settings.get<std::int64_t>("model.experts_per_token");
  experts.ffn = settings.get<std::int64_t>("model.expert_ffn");
  experts.shared_ffn = settings.get<std::int64_t>("model.shared_expert_ffn");
  experts.interval = settings.get<std::int64_t>("model.expert_interval");
  experts.layers = listed_layers(settings);
  experts.score =
      settings.get<std::string>("model.router_score") == "sigmoid" ? RouterScore::sigmoid : RouterScore::softmax;
  experts.renormalise = settings.get<bool>("model.router_renormalise");
  experts.scale = settings.get<double>("model.router_scale");
  experts.groups = settings.get<std::int64_t>("model.expert_groups");
  experts.groups_per_token = settings.get<std::int64_t>("model.expert_groups_per_token");
  experts.aux_coefficient = settings.get<double>("model.aux_coefficient");
  experts.z_coefficient = settings.get<double>("model.z_coefficient");
  experts.bias = settings.get<bool>("model.router_bias");
  if (experts.bias) experts.bias_rate = settings.get<double>("model.router_bias_rate");
  experts.noise = settings.get<double>("model.router_noise");
  experts.capacity = settings.get<double>("model.expert_capacity");
  experts.rows = settings.get<double>("parallel.expert_rows");
  return experts;
}

}  // namespace

ModelConfig model_config(const Settings& settings, std::int64_t data_vocab) {
  ModelConfig model;
  model.architecture =
      settings.get<std::string>("model.architecture") == "gpt" ? Architecture::gpt : Architecture::llama;
  model.layers = settings.get<std::int64_t>("model.layers");
  model.hidden = settings.get<std::int64_t>("model.hidden");
  model.heads = settings.get<std::int64_t>("model.heads");
  model.kv_heads = settings.get<std::int64_t>("model.kv_heads");
  model.head_size = settings.get<std::int64_t>("model.head_dim");
  model.ffn = settings.get<std::int64_t>("model.ffn");
  if (model.ffn == 0) model.ffn = default_ffn(model.architecture, model.hidden);
  model.vocab = settings.get<std::int64_t>("model.vocab");
  if (model.vocab == 0) model.vocab = data_vocab;
  model.sequence = settings.get<std::int64_t>("model.sequence");
  model.tied = settings.get<bool>("model.tied");
  model.biases = settings.get<bool>("model.biases");
  model.qk_norm = settings.get<bool>("model.qk_norm");
  model.norm_epsilon = settings.get<double>("model.norm_epsilon");
  if (model.architecture == Architecture::llama) model.rope_theta = settings.get<double>("model.rope_theta");
  model.dropout = settings.get<double>("model.dropout");
  model.experts = expert_config(settings);
  validate(model);
  if (data_vocab > model.vocab)
    throw Error(ErrorKind::configuration,
                fmt::format("model.vocab = {} is smaller than the vocabulary of the data, {}", model.vocab, data_vocab),
                "set model.vocab = 0 to take that of the data");
  return model;
}

}  // namespace tessera
