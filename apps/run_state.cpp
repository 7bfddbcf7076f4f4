// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/run_state.hpp"

#include <fmt/core.h>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/base/json_depth.hpp"
#include "core/config/core_options.hpp"
#include "core/config/expert_layers.hpp"
#include "core/config/value.hpp"
#include "core/scheduler/kernel_choices.hpp"

namespace tessera::apps {
namespace {

using nlohmann::json;

constexpr int k_format = 1;
constexpr int k_most_depth = 32;
constexpr std::string_view k_section = "model";

json write_model(const ModelConfig& m) {
  return {{"architecture", m.architecture == Architecture::gpt ? "gpt" : "llama"},
          {"layers", m.layers},
          {"hidden", m.hidden},
          {"heads", m.heads},
          {"kv_heads", m.key_heads()},
          {"head_dim", m.head_dim()},
          {"ffn", m.ffn},
          {"vocab", m.vocab},
          {"sequence", m.sequence},
          {"tied", m.tied},
          {"biases", m.biases},
          {"qk_norm", m.qk_norm},
          {"norm_epsilon", m.norm_epsilon},
          {"rope_theta", m.rope_theta},
          {"dropout", m.dropout},
          {"experts", m.experts.count},
          {"experts_per_token", m.experts.per_token},
          {"expert_ffn", m.experts.width(m.ffn)},
          {"shared_expert_ffn", m.experts.shared_ffn},
          {"expert_layers", expert_layers_text(m.expert_layers())},
          {"router_score", m.experts.score == RouterScore::sigmoid ? "sigmoid" : "softmax"},
          {"router_renormalise", m.experts.renormalise},
          {"router_scale", m.experts.scale},
          {"expert_groups", m.experts.groups},
          {"expert_groups_per_token", m.experts.groups_per_token},
          {"aux_coefficient", m.experts.aux_coefficient},
          {"z_coefficient", m.experts.z_coefficient},
          {"router_bias", m.experts.bias},
          {"router_noise", m.experts.noise},
          {"expert_capacity", m.experts.capacity}};
}

/// nlohmann makes an integer of any number.
template <class Integer>
Integer whole(const json& j, const char* name) {
  const json& value = j.at(name);
  const bool large = value.is_number_unsigned() &&
                     value.get<std::uint64_t>() > static_cast<std::uint64_t>(std::numeric_limits<Integer>::max());
  if (value.is_number_integer() && !large) return value.get<Integer>();
  throw Error(ErrorKind::data, fmt::format("\"{}\" of the checkpoint is not a number of anything", name),
              "the checkpoint is damaged; use an older one");
}

/// First versions wrote an interval.
std::vector<int> read_expert_layers(const json& j) {
  const auto layers = j.at("layers").get<std::int64_t>();
  if (!j.contains("expert_layers")) {
    std::vector<int> every;
    const auto interval = whole<std::int64_t>(j, "expert_interval");
    for (std::int64_t layer = interval - 1; layer < layers; layer += interval) every.push_back(static_cast<int>(layer));
    return every;
  }
  const ExpertLayers parsed = parse_expert_layers(j.at("expert_layers").get<std::string>(), layers);
  if (!parsed.problem.empty())
    throw Error(ErrorKind::data, "model.expert_layers of the checkpoint: " + parsed.problem, "use an older one");
  return parsed.layers;
}

/// What no option of that name could be is damage, and no size of anything.
void check_values(const json& model) {
  for (const Option& option : core_options()) {
    if (section_of(option.name) != k_section) continue;
    const auto saved = model.find(option.name.substr(k_section.size() + 1));
    if (saved == model.end()) continue;
    const ParsedValue parsed = parse_value(option, saved->is_string() ? saved->get<std::string>() : saved->dump());
    if (!parsed.value)
      throw Error(ErrorKind::data, fmt::format("{} of the checkpoint {}", option.name, parsed.problem),
                  "the checkpoint is damaged; use an older one");
  }
}

ExpertConfig read_experts(const json& j) {
  ExpertConfig e;
  j.at("experts").get_to(e.count);
  j.at("experts_per_token").get_to(e.per_token);
  j.at("expert_ffn").get_to(e.ffn);
  j.at("shared_expert_ffn").get_to(e.shared_ffn);
  e.layers = read_expert_layers(j);
  e.score = j.at("router_score").get<std::string>() == "sigmoid" ? RouterScore::sigmoid : RouterScore::softmax;
  j.at("router_renormalise").get_to(e.renormalise);
  j.at("router_scale").get_to(e.scale);
  j.at("expert_groups").get_to(e.groups);
  j.at("expert_groups_per_token").get_to(e.groups_per_token);
  j.at("aux_coefficient").get_to(e.aux_coefficient);
  j.at("z_coefficient").get_to(e.z_coefficient);
  e.bias = j.value("router_bias", false);
  e.noise = j.value("router_noise", 0.0);
  j.at("expert_capacity").get_to(e.capacity);
  return e;
}

ModelConfig read_model(const json& j) {
  check_values(j);
  ModelConfig m;
  m.architecture = j.at("architecture").get<std::string>() == "gpt" ? Architecture::gpt : Architecture::llama;
  j.at("layers").get_to(m.layers);
  j.at("hidden").get_to(m.hidden);
  j.at("heads").get_to(m.heads);
  j.at("kv_heads").get_to(m.kv_heads);
  m.head_size = j.value("head_dim", std::int64_t{0});
  j.at("ffn").get_to(m.ffn);
  j.at("vocab").get_to(m.vocab);
  j.at("sequence").get_to(m.sequence);
  j.at("tied").get_to(m.tied);
  j.at("biases").get_to(m.biases);
  j.at("qk_norm").get_to(m.qk_norm);
  j.at("norm_epsilon").get_to(m.norm_epsilon);
  j.at("rope_theta").get_to(m.rope_theta);
  j.at("dropout").get_to(m.dropout);
  if (j.contains("experts")) m.experts = read_experts(j);  // checkpoints of the first versions have none
  return m;
}

json write_loss_scale(const LossScaleState& s) {
  return {{"scale", s.scale},
          {"good_steps", s.good_steps},
          {"hysteresis_left", s.hysteresis_left},
          {"skipped", s.skipped},
          {"skipped_at_floor", s.skipped_at_floor}};
}

LossScaleState read_loss_scale(const json& j) {
  return {j.at("scale").get<double>(), whole<std::int64_t>(j, "good_steps"), whole<std::int64_t>(j, "hysteresis_left"),
          whole<std::int64_t>(j, "skipped"), whole<std::int64_t>(j, "skipped_at_floor")};
}

}  // namespace

std::string write_state(const RunState& state) {
  const json j{{"format", k_format},
               {"step", state.progress.step},
               {"consumed_samples", state.progress.consumed_samples},
               {"consumed_tokens", state.progress.consumed_tokens},
               {"loss_scale", write_loss_scale(state.progress.loss_scale)},
               {"model", write_model(state.model)},
               {"data",
                {{"fingerprint", state.data.fingerprint},
                 {"samples", state.data.samples},
                 {"isolate_documents", state.data.isolate_documents}}},
               {"optimizer", state.optimizer},
               {"precision", state.precision},
               {"seed", state.seed},
               {"settings", json::parse(state.settings)},
               {"kernels", state.kernels}};
  return j.dump(1) + "\n";
}

std::vector<std::string> model_differences(const ModelConfig& saved, const ModelConfig& here) {
  const json theirs = write_model(saved), ours = write_model(here);
  const auto text = [](const json& value) {
    if (value.is_boolean()) return std::string(value.get<bool>() ? "on" : "off");
    return value.is_string() ? value.get<std::string>() : value.dump();
  };
  std::vector<std::string> lines;
  for (const auto& [name, value] : ours.items())
    if (value != theirs.at(name))
      lines.push_back(fmt::format("model.{} is {}, the checkpoint has {}", name, text(value), text(theirs.at(name))));
  return lines;
}

RunState read_state(std::string_view text, const std::string& where) {
  if (json_depth(text) > k_most_depth)
    throw Error(ErrorKind::data, fmt::format("{}: more than {} brackets lie in each other", where, k_most_depth),
                "the checkpoint is damaged; use an older one");
  try {
    const json j = json::parse(text);
    const auto format = whole<std::int64_t>(j, "format");
    if (format != k_format)
      throw Error(ErrorKind::data,
                  fmt::format("{}: format {} is not known to this version, which reads {}", where, format, k_format),
                  "use the version that wrote the checkpoint");
    RunState state;
    state.progress.step = whole<std::int64_t>(j, "step");
    state.progress.consumed_samples = whole<std::int64_t>(j, "consumed_samples");
    state.progress.consumed_tokens = whole<std::int64_t>(j, "consumed_tokens");
    state.progress.loss_scale = read_loss_scale(j.at("loss_scale"));
    state.model = read_model(j.at("model"));
    const json& data = j.at("data");
    state.data = {whole<std::uint64_t>(data, "fingerprint"), whole<std::int64_t>(data, "samples"),
                  data.value("isolate_documents", false)};
    j.at("optimizer").get_to(state.optimizer);
    j.at("precision").get_to(state.precision);
    state.seed = whole<std::uint64_t>(j, "seed");
    state.settings = j.at("settings").dump();
    state.kernels = j.value("kernels", KernelChoices().text());
    return state;
  } catch (const json::exception& error) {
    throw Error(ErrorKind::data, fmt::format("{}: {}", where, error.what()),
                "the checkpoint is damaged; use an older one");
  }
}

}  // namespace tessera::apps
