// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/verify/smaller.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include "core/config/layer_counts.hpp"

namespace tessera::apps {
namespace {

constexpr std::int64_t k_key_heads = 2, k_head_dim = 4, k_vocabulary = 97, k_tokens = 32, k_layers = 4, k_samples = 2,
                       k_micro_batches_per_stage = 2;

void set(Settings& settings, std::string_view name, OptionValue value) {
  Settings::Entry entry = settings.entries().find(name)->second;
  entry.value = std::move(value);
  entry.origin = {Origin::From::flag, "--small"};
  settings.set(std::string(name), std::move(entry));
}

/// One layer in the shortest chunk; the others longer where they were, by two at most.
std::vector<int> shorter(const std::vector<int>& layers) {
  const int least = *std::min_element(layers.begin(), layers.end());
  std::vector<int> result;
  for (int count : layers) result.push_back(1 + std::min(count - least, 2));
  return result;
}

struct Degrees {
  std::int64_t tensor, context, pipeline, chunks, data;
};

void shrink_model(Settings& settings, const ModelConfig& model, const Degrees& degrees) {
  const std::int64_t key_heads = shrunk(model.key_heads(), k_key_heads, degrees.tensor * degrees.context);
  const std::int64_t heads = model.heads / model.key_heads() * key_heads;
  const std::int64_t features = heads * std::min(model.head_dim(), k_head_dim);
  const std::int64_t hidden = std::max<std::int64_t>(1, features * model.hidden / (model.heads * model.head_dim()));
  if (model.head_size != 0) set(settings, "model.head_dim", features / heads);
  set(settings, "model.heads", heads);
  set(settings, "model.kv_heads", key_heads);
  set(settings, "model.hidden", hidden);
  const auto shrink_width = [&](std::string_view name, std::int64_t width) {
    if (width > 0)
      set(settings, name, shrunk(width, std::max<std::int64_t>(1, width * hidden / model.hidden), degrees.tensor));
  };
  shrink_width("model.ffn", model.ffn);
  shrink_width("model.expert_ffn", model.experts.ffn);
  shrink_width("model.shared_expert_ffn", model.experts.shared_ffn);
  set(settings, "model.vocab", shrunk(model.vocab, k_vocabulary, degrees.tensor));
  set(settings, "model.sequence", shrunk(model.sequence, k_tokens, 2 * degrees.context * degrees.tensor));
}

/// Of the fewer layers those that stand where layers with experts do, the last one at least.
void shrink_expert_layers(Settings& settings, const ModelConfig& model) {
  const auto fewer = settings.get<std::int64_t>("model.layers");
  if (model.experts.layers.empty())
    return set(settings, "model.expert_interval", std::min(model.experts.interval, fewer));
  std::vector<std::string> kept;
  for (std::int64_t layer = 0; layer < fewer; ++layer)
    if (model.has_experts(static_cast<int>(fewer == 1 ? 0 : layer * (model.layers - 1) / (fewer - 1))))
      kept.push_back(std::to_string(layer));
  if (kept.empty()) kept.push_back(std::to_string(fewer - 1));
  set(settings, "model.expert_layers", std::move(kept));
}

void shrink_layers(Settings& settings, std::int64_t layers, const Degrees& degrees) {
  const std::int64_t chunks = degrees.pipeline * degrees.chunks;
  const std::vector<int> counts = layer_counts(settings);
  if (counts.empty()) return set(settings, "model.layers", shrunk(layers, std::max(k_layers, chunks), chunks));
  const std::vector<int> fewer = shorter(counts);
  std::vector<std::string> words;
  for (int count : fewer) words.push_back(std::to_string(count));
  set(settings, "parallel.layers", std::move(words));
  set(settings, "model.layers", std::accumulate(fewer.begin(), fewer.end(), std::int64_t{0}));
}

void shrink_batch(Settings& settings, const Degrees& degrees) {
  const auto batch = settings.get<std::int64_t>("train.global_batch"),
             samples = settings.get<std::int64_t>("train.micro_batch");
  const std::int64_t micro_batches =
      shrunk(batch / (samples * degrees.data), k_micro_batches_per_stage * degrees.pipeline, degrees.pipeline);
  const std::int64_t fewer = std::min(samples, k_samples);
  set(settings, "train.micro_batch", fewer);
  set(settings, "train.global_batch", micro_batches * fewer * degrees.data);
}

}  // namespace

std::int64_t shrunk(std::int64_t size, std::int64_t least, std::int64_t unit) {
  const std::int64_t common = std::gcd(size, unit);
  for (std::int64_t n = std::min(least, size); n < size; ++n)
    if (std::gcd(n, unit) == common) return n;
  return size;
}

Settings smaller(const Settings& settings, const ModelConfig& model, int world) {
  Degrees degrees{settings.get<std::int64_t>("parallel.tensor"), settings.get<std::int64_t>("parallel.context"),
                  settings.get<std::int64_t>("parallel.pipeline"), settings.get<std::int64_t>("parallel.chunks"), 1};
  degrees.data = world / (degrees.tensor * degrees.context * degrees.pipeline);
  Settings result = settings;
  shrink_model(result, model, degrees);
  shrink_layers(result, model.layers, degrees);
  if (model.experts.count > 0) shrink_expert_layers(result, model);
  shrink_batch(result, degrees);
  return result;
}

}  // namespace tessera::apps
