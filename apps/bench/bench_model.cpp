// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/bench/bench_model.hpp"

#include "core/model/model_settings.hpp"
#include "io/dataset/dataset.hpp"

namespace tessera::apps {
namespace {

constexpr std::int64_t k_vocabulary = 50257;  // of GPT-2, where there are no data

/// What model.vocab = 0 stands for.
std::int64_t vocabulary_of(const Settings& settings) {
  if (settings.get<std::int64_t>("model.vocab") > 0) return 0;
  const std::string data = settings.get<std::string>("data.train");
  return data.empty() ? k_vocabulary : io::Dataset(data).vocabulary().size;
}

}  // namespace

ModelConfig bench_model(const Settings& settings) {
  return model_config(settings, vocabulary_of(settings));
}

std::int64_t bench_global_batch(const Settings& settings, const Mesh& mesh) {
  if (settings.is_set("train.global_batch")) return settings.get<std::int64_t>("train.global_batch");
  return settings.get<std::int64_t>("train.micro_batch") * mesh.size_of(mesh.factors("dp").set());
}

}  // namespace tessera::apps
