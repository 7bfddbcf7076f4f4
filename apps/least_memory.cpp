// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/least_memory.hpp"

#include <fmt/core.h>

#include <algorithm>
#include <array>

#include "core/scheduler/describe.hpp"

namespace tessera::apps {
namespace {

constexpr double k_most = 0x1p62;           // elements and bytes that may be counted
constexpr double k_token_input_bytes = 20;  // ids, targets, masks, positions and documents of a token

double real(const Settings& settings, std::string_view option) {
  return static_cast<double>(settings.get<std::int64_t>(option));
}

double size_of_weight(const Settings& settings) {
  const std::string precision = settings.get<std::string>("train.precision");
  return precision == "fp64" ? 8 : precision == "fp32" ? 4 : 2;
}

/// As many digits as a reader of an estimate wants, however large.
std::string bytes_text(double bytes) {
  return bytes < k_most ? describe_bytes(static_cast<std::int64_t>(bytes)) : fmt::format("{:.1e} bytes", bytes);
}

}  // namespace

double parameter_count(const ModelConfig& model) {
  ModelConfig dense = model;
  dense.experts = {};
  dense.layers = 1;
  ModelConfig two = dense, sparse = dense;
  two.layers = 2;
  sparse.experts = model.experts;
  sparse.experts.interval = 1;
  sparse.experts.layers = {};
  const auto layers = static_cast<double>(model.layers), with = static_cast<double>(model.expert_layers().size());
  const auto one = static_cast<double>(dense.parameters()), layer = static_cast<double>(two.parameters()) - one;
  return one + (layers - 1) * layer + (with > 0 ? with * (static_cast<double>(sparse.parameters()) - one) : 0);
}

std::vector<Need> training_needs(const ModelConfig& model, std::int64_t global_batch, const Settings& settings,
                                 int world) {
  const double tensor = real(settings, "parallel.tensor"), context = real(settings, "parallel.context"),
               pipeline = real(settings, "parallel.pipeline"), expert = real(settings, "parallel.expert"),
               data = std::max(1.0, world / (tensor * context * pipeline));
  const bool replicated = settings.get<std::string>("strategy.data") == "data_parallel";
  const double weights = parameter_count(model) * size_of_weight(settings) / (tensor * pipeline * expert);
  const double tokens = static_cast<double>(model.sequence) / context;
  const double kept = settings.get<std::string>("train.recompute") == "none" ? static_cast<double>(model.layers) : 1;
  return {{"weights and gradients", replicated ? 2 * weights : weights / data,
           "Use a smaller model, or cut it over more ranks (parallel.tensor)."},
          {"one activation of each layer",
           std::max(1.0, kept / pipeline) * real(settings, "train.micro_batch") * tokens / tensor *
               static_cast<double>(model.hidden) * size_of_weight(settings),
           "Use a smaller train.micro_batch or model.sequence, or more ranks per sequence (parallel.context)."},
          {"the tokens of a step", static_cast<double>(global_batch) / data * tokens * k_token_input_bytes,
           "Use a smaller train.global_batch or more data-parallel ranks."}};
}

std::vector<Need> generation_needs(const ModelConfig& model, std::int64_t tokens, std::int64_t element_bytes) {
  const auto bytes = static_cast<double>(element_bytes);
  const double row = 2.0 * static_cast<double>(model.key_heads() * model.head_dim());
  return {{"weights", parameter_count(model) * bytes, "Use a machine with more memory."},
          {"keys and values of the text", static_cast<double>(model.layers) * static_cast<double>(tokens) * row * bytes,
           "Ask for fewer --tokens."}};
}

void check_needs(const std::vector<Need>& needs, std::int64_t limit) {
  double total = 0;
  std::string list;
  for (const Need& need : needs) {
    total += need.bytes;
    list += fmt::format("\n  {}: {}", need.what, bytes_text(need.bytes));
  }
  if (total <= static_cast<double>(limit)) return;
  const Need& largest =
      *std::max_element(needs.begin(), needs.end(), [](const Need& a, const Need& b) { return a.bytes < b.bytes; });
  throw Error(
      ErrorKind::resources,
      fmt::format("a rank needs at least {}, but may use {}:{}", bytes_text(total), describe_bytes(limit), list),
      largest.hint);
}

void check_counts(const ModelConfig& model, std::int64_t global_batch, const Settings& settings) {
  const auto sequence = static_cast<double>(model.sequence), micro = real(settings, "train.micro_batch");
  struct Count {
    const char* what;
    double count;
  };
  const std::array counts{
      Count{"train.steps x train.global_batch x model.sequence",
            real(settings, "train.steps") * static_cast<double>(global_batch) * sequence},
      Count{"train.micro_batch x model.sequence x model.vocab",
            8 * micro * sequence * static_cast<double>(model.vocab)},
      Count{"train.micro_batch x model.sequence x model.ffn", 8 * micro * sequence * static_cast<double>(model.ffn)}};
  for (const Count& count : counts)
    if (count.count > k_most)
      throw Error(ErrorKind::configuration, fmt::format("{} is too large to be counted", count.what),
                  "Make one of them smaller.");
}

}  // namespace tessera::apps
