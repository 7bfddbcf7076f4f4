// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/config/run_rules.hpp"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <numeric>
#include <optional>
#include <string>
#include <string_view>

#include "core/config/data_split.hpp"
#include "core/config/expert_layers.hpp"
#include "core/config/layer_counts.hpp"

namespace tessera {

namespace {

/// Collects problems; a problem's place is that of the option in the rule which was written last: a preset's below that
/// of a run file, that below a flag's. Of several, the first that the rule names.
class Rules {
 public:
  explicit Rules(const Settings& settings) : settings_(settings) {}

  std::int64_t operator[](std::string_view name) const { return settings_.get<std::int64_t>(name); }
  std::string text(std::string_view name) const { return settings_.text(name); }
  double real(std::string_view name) const { return settings_.get<double>(name); }
  std::vector<std::string> list(std::string_view name) const { return settings_.get<std::vector<std::string>>(name); }

  bool is_set(std::string_view name) const { return settings_.is_set(name); }

  void require(bool holds, std::initializer_list<std::string_view> options, std::string what, std::string hint) {
    if (holds) return;
    Origin last;
    for (const std::string_view option : options)
      if (const Origin& origin = settings_.origin(option); origin.from > last.from) last = origin;
    problems_.push_back({std::move(what), last.where, std::move(hint)});
  }

  std::vector<Problem> take() { return std::move(problems_); }

 private:
  const Settings& settings_;
  std::vector<Problem> problems_;
};

std::string divisors_of(std::int64_t number) {
  std::string text;
  for (std::int64_t divisor = 1; divisor <= number && text.size() < 60; ++divisor)
    if (number % divisor == 0) text += fmt::format("{}{}", text.empty() ? "" : ", ", divisor);
  return text;
}

/// "Nearest: 24 and 28."
std::string nearest_multiples(std::int64_t number, std::int64_t unit) {
  const std::int64_t below = number / unit * unit;
  return below == 0 ? fmt::format("Nearest: {}.", unit) : fmt::format("Nearest: {} and {}.", below, below + unit);
}

void check_model(Rules& run) {
  const std::int64_t hidden = run["model.hidden"], heads = run["model.heads"], kv_heads = run["model.kv_heads"];
  const std::int64_t given = run["model.head_dim"], width = given == 0 ? hidden / heads : given;
  run.require(given != 0 || hidden % heads == 0, {"model.heads", "model.hidden"},
              fmt::format("model.hidden = {} is not a multiple of model.heads = {}", hidden, heads),
              fmt::format("Heads must divide the features: {}; or set model.head_dim.", divisors_of(hidden)));
  run.require(heads % kv_heads == 0, {"model.kv_heads", "model.heads"},
              fmt::format("model.heads = {} is not a multiple of model.kv_heads = {}", heads, kv_heads),
              fmt::format("Heads of keys must divide those of queries: {}.", divisors_of(heads)));
  run.require(run.text("model.architecture") != "llama" || (given == 0 && hidden % heads != 0) || width % 2 == 0,
              {"model.head_dim", "model.heads", "model.hidden"},
              given == 0
                  ? fmt::format("model.hidden / model.heads = {} / {} must be even for rotary positions", hidden, heads)
                  : fmt::format("model.head_dim = {} must be even for rotary positions", given),
              {});
  const std::int64_t experts = run["model.experts"], visited = run["model.experts_per_token"];
  run.require(experts == 0 || visited <= experts, {"model.experts_per_token", "model.experts"},
              fmt::format("model.experts_per_token = {} is more than model.experts = {}", visited, experts), {});
  run.require(experts == 0 || run.text("model.architecture") == "llama", {"model.experts", "model.architecture"},
              fmt::format("model.experts = {}, but model.architecture = {}: only llama has layers of experts", experts,
                          run.text("model.architecture")),
              "Set model.architecture = llama, or model.experts = 0.");
  const std::int64_t expert_ranks = run["parallel.expert"];
  run.require(experts > 0 || expert_ranks == 1, {"parallel.expert"},
              fmt::format("parallel.expert = {}, but the model has no experts", expert_ranks),
              "Set model.experts, or parallel.expert = 1.");
  const std::int64_t layers = run["model.layers"], stages = run["parallel.pipeline"], chunks = run["parallel.chunks"];
  run.require(layers >= stages * chunks, {"parallel.pipeline", "parallel.chunks", "model.layers"},
              fmt::format("model.layers = {} is less than parallel.pipeline x parallel.chunks = {} x {}", layers,
                          stages, chunks),
              "Every chunk of a stage needs a layer.");
}

void check_expert_layers(Rules& run) {
  const std::vector<std::string> words = run.list("model.expert_layers");
  if (run["model.experts"] == 0) return;
  run.require(!words.empty() || run["model.expert_interval"] <= run["model.layers"],
              {"model.expert_interval", "model.layers"},
              fmt::format("model.expert_interval = {} is more than model.layers = {}: no layer has experts",
                          run["model.expert_interval"], run["model.layers"]),
              {});
  if (words.empty()) return;
  run.require(!run.is_set("model.expert_interval"), {"model.expert_interval"},
              fmt::format("model.expert_interval = {} and model.expert_layers = {} both say which layers have experts",
                          run["model.expert_interval"], run.text("model.expert_layers")),
              "Keep one of them; --model.expert_layers= takes a preset's list back.");
  const std::string problem = parse_expert_layers(words, run["model.layers"]).problem;
  run.require(problem.empty(), {"model.expert_layers", "model.layers"},
              fmt::format("model.expert_layers = {}: {}", run.text("model.expert_layers"), problem),
              "Write rising layers and ranges: 1, 3, 5-7.");
}

void check_layers(Rules& run) {
  const std::vector<std::string> words = run.list("parallel.layers");
  if (words.empty()) return;
  const auto counts = parse_layer_counts(words);
  const std::string text = run.text("parallel.layers");
  run.require(counts.has_value(), {"parallel.layers"},
              fmt::format("parallel.layers = {} is not a list of numbers above 0", text),
              "Write one number per chunk: 3, 3, 2.");
  if (!counts) return;
  const std::int64_t layers = run["model.layers"], stages = run["parallel.pipeline"], chunks = run["parallel.chunks"];
  const std::int64_t sum = std::accumulate(counts->begin(), counts->end(), std::int64_t{0});
  run.require(std::ssize(*counts) == stages * chunks, {"parallel.layers"},
              fmt::format("parallel.layers = {} has {} numbers, not parallel.pipeline x parallel.chunks = {} x {}",
                          text, counts->size(), stages, chunks),
              "Write one number per chunk.");
  run.require(sum == layers, {"parallel.layers", "model.layers"},
              fmt::format("parallel.layers = {} are {} layers, but model.layers = {}", text, sum, layers), {});
}

void check_ranks(Rules& run, std::int64_t world) {
  const std::int64_t tensor = run["parallel.tensor"], context = run["parallel.context"],
                     pipeline = run["parallel.pipeline"], part = tensor * context * pipeline;
  run.require(
      world % part == 0, {"parallel.tensor", "parallel.pipeline", "parallel.context"},
      fmt::format("{} ranks are not a multiple of parallel.tensor x parallel.context x parallel.pipeline = {} x {} "
                  "x {} = {}",
                  world, tensor, context, pipeline, part),
      fmt::format("Start a multiple of {} ranks, or choose sizes whose product is one of {}.", part,
                  divisors_of(world)));
  if (world % part != 0) return;
  const std::int64_t data = world / part, micro = run["train.micro_batch"], batch = run["train.global_batch"];
  run.require(
      batch % (micro * data) == 0, {"train.global_batch", "train.micro_batch"},
      fmt::format("train.global_batch = {} is not a multiple of train.micro_batch x data-parallel ranks = {} x {}",
                  batch, micro, data),
      nearest_multiples(batch, micro * data));
}

void check_rates(Rules& run) {
  const std::string schedule = run.text("lr.schedule");
  if (schedule == "constant") return;
  const std::int64_t warmup = run["lr.warmup_steps"], decay = run["lr.decay_steps"], final = run["lr.wsd_steps"];
  run.require(warmup <= decay, {"lr.warmup_steps", "lr.decay_steps"},
              fmt::format("lr.warmup_steps = {} is more than lr.decay_steps = {}", warmup, decay),
              "The warm-up ends before the minimum is reached.");
  run.require(
      schedule != "wsd" || warmup + final <= std::max(warmup, decay), {"lr.wsd_steps", "lr.decay_steps"},
      fmt::format("lr.warmup_steps + lr.wsd_steps = {} + {} is more than lr.decay_steps = {}", warmup, final, decay),
      {});
  run.require(run.real("lr.min") <= run.real("optimizer.lr"), {"lr.min", "optimizer.lr"},
              fmt::format("lr.min = {} is more than optimizer.lr = {}", run.text("lr.min"), run.text("optimizer.lr")),
              {});
}

void check_data(Rules& run) {
  const std::string split = run.text("data.split");
  const std::optional<double> share = parse_split(split);
  run.require(share.has_value(), {"data.split"},
              fmt::format("data.split = {} is not a list of one or two shares, the first above 0", split),
              "Write it as '0.99, 0.01' or '99, 1'.");
  run.require(run["train.eval_interval"] == 0 || !run.text("data.valid").empty() || share.value_or(1) > 0,
              {"train.eval_interval"}, "train.eval_interval is set, but there is nothing to evaluate on",
              "Name a dataset in data.valid, or keep a part of the training data with data.split = 99, 1.");
}

void check_files(Rules& run) {
  run.require(!run.text("checkpoint.resume").empty(), {"checkpoint.resume"}, "checkpoint.resume is empty",
              "Write auto, none, or the path of a checkpoint.");
  run.require(run["checkpoint.interval"] == 0 || !run.text("checkpoint.dir").empty(), {"checkpoint.interval"},
              fmt::format("checkpoint.interval = {}, but there is no checkpoint.dir", run["checkpoint.interval"]),
              "Set checkpoint.dir to the folder for checkpoints.");
}

}  // namespace

std::vector<Problem> check_run(const Settings& settings, std::int64_t world) {
  Rules run(settings);
  check_model(run);
  check_expert_layers(run);
  check_layers(run);
  if (world > 0) check_ranks(run, world);
  check_rates(run);
  check_data(run);
  check_files(run);
  return run.take();
}

std::vector<Problem> check_available(const Settings& settings, std::span<const Option> options) {
  std::vector<Problem> problems;
  for (const Option& option : options) {
    if (!option.available || !settings.is_set(option.name)) continue;
    const std::string value = settings.text(option.name);
    const std::vector<std::string>& can = *option.available;
    if (std::find(can.begin(), can.end(), value) != can.end()) continue;
    const bool asked_for_by_another = can.empty() && !option.used_when.empty();  // whose problem it is
    if (asked_for_by_another) continue;
    problems.push_back(
        {can.empty() ? fmt::format("{} is not in this version", option.name)
                     : fmt::format("{} = {}: this version has only {}", option.name, value, fmt::join(can, ", ")),
         to_string(settings.origin(option.name)), "Remove it."});
  }
  return problems;
}

}  // namespace tessera
