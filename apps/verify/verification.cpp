// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/verify/verification.hpp"

#include <array>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "apps/memory_check.hpp"
#include "apps/verify/random_documents.hpp"
#include "apps/verify/smaller.hpp"
#include "core/comm/self_communicator.hpp"
#include "core/config/run_rules.hpp"
#include "core/model/model_settings.hpp"
#include "core/scheduler/describe.hpp"
#include "core/train/learning_rate.hpp"

namespace tessera::apps {
namespace {

constexpr std::int64_t k_bytes_vocabulary = 257;  // of the tokenizer of bytes

/// What a training run reads and the comparison has no use for.
constexpr std::array k_unread{"checkpoint.",      "log.",
                              "modules.",         "data.",
                              "train.steps",      "train.eval_interval",
                              "train.stop_after", "train.skip_limit",
                              "train.trace",      "train.precision",
                              "train.watchdog",   "train.memory_limit"};

void mark_unread(const Settings& settings) {
  for (const auto& [name, entry] : settings.entries())
    for (const std::string_view unread : k_unread)
      if (name.starts_with(unread)) settings.mark_used(name);
}

/// The comparison reads the option, whatever was said before.
void set(Settings& settings, std::string_view name, OptionValue value) {
  Settings::Entry entry = settings.entries().find(name)->second;
  entry.value = std::move(value);
  settings.set(std::string(name), std::move(entry));
}

Settings on_one_rank(Settings settings) {
  for (const char* degree :
       {"parallel.tensor", "parallel.context", "parallel.pipeline", "parallel.chunks", "parallel.expert"})
    set(settings, degree, std::int64_t{1});
  set(settings, "parallel.layers", std::vector<std::string>());
  return settings;
}

void check(const std::vector<Problem>& problems) {
  if (!problems.empty()) throw run_error(problems);
}

}  // namespace

const std::vector<Option>& verify_options() {
  static const std::vector<Option> rows{
      {.name = "steps",
       .type = OptionType::integer,
       .fallback = "3",
       .text = "Training steps that are compared.",
       .min = 1,
       .max = 1e6},
      {.name = "precision",
       .type = OptionType::choice,
       .fallback = "fp64",
       .text = "Of both runs; train.precision is not used. In fp64 rounding cannot hide a fault.",
       .choices = {"fp64", "fp32"}},
      {.name = "small",
       .type = OptionType::boolean,
       .fallback = "off",
       .text = "Makes the model, samples and batch small, and reads no data. Layout, schedule and what divides stay."},
      {.name = "in-process",
       .type = OptionType::integer,
       .fallback = "0",
       .text = "So many ranks, as threads of this process instead of what mpirun starts.",
       .min = 0,
       .max = 4096},
      {.name = "json",
       .type = OptionType::boolean,
       .fallback = "off",
       .text = "JSON instead of text, with every tensor."}};
  return rows;
}

Verification::Verification(const Settings& settings, const Registry& registry, int world)
    : layout_(settings), registry_(registry) {
  set(layout_, "train.precision", settings.get<std::string>("precision"));
  const bool small = settings.get<bool>("small");
  if (!small) open_data(settings);
  const bool vocabulary_known = settings.get<std::int64_t>("model.vocab") > 0;
  original_ = model_config(layout_, data_              ? data_->dataset().vocabulary().size
                                    : vocabulary_known ? 0
                                                       : k_bytes_vocabulary);
  if (small) layout_ = smaller(layout_, original_, world);
  model_ = small ? model_config(layout_, 0) : original_;
  check(check_run(layout_, world));
  alone_ = on_one_rank(layout_);
  for (const char* option : {"steps", "small", "precision", "in-process", "json"}) layout_.mark_used(option);
  mark_unread(layout_);
  steps_.steps = settings.get<std::int64_t>("steps");
  steps_.global_batch = layout_.get<std::int64_t>("train.global_batch");
  steps_.learning_rate = [rate = learning_rate_config(layout_)](std::int64_t step) {
    return learning_rate(rate, step);
  };
}

void Verification::open_data(const Settings& settings) {
  if (!settings.get<std::string>("data.train").empty()) data_ = std::make_unique<TrainingData>(settings);
}

std::unique_ptr<BatchSource> Verification::make_source() const {
  if (data_) return data_->training_source(model_.vocab);
  const auto mode = layout_.get<bool>("data.isolate_documents") ? io::DocumentMode::isolated : io::DocumentMode::joined;
  return std::make_unique<RandomDocuments>(static_cast<std::uint64_t>(layout_.get<std::int64_t>("train.seed")),
                                           model_.vocab, mode);
}

VerifyingRank::VerifyingRank(const Verification& verification, const VerifyingPlace& place, Together together)
    : verification_(verification), place_(place), together_(std::move(together)) {
  together_([&] {
    setup_ = std::make_unique<EngineSetup>(verification.layout(), verification.registry(), place_.kernels, place_.rank);
    setup_->compile(verification.model(), verification.steps().global_batch, {});
    check(verification.layout().unused());
    check_fits(setup_->engine().memory().total(), place_.ranks_here, "a rank");
  });
  setup_->engine().connect();
}

void VerifyingRank::train_alone() {
  together_([&] {
    if (place_.rank.world.rank() != 0) return;
    const std::unique_ptr<Communicator> self = make_self_communicator();
    EngineSetup alone(verification_.alone(), verification_.registry(), place_.kernels,
                      {*self, place_.threads_alone, nullptr, place_.rank.collective_workspace});
    alone.compile(verification_.model(), verification_.steps().global_batch, {});
    check_fits(alone.engine().memory().total(), 1, "training on one rank");
    alone.engine().connect();
    alone.engine().allocate();
    const std::unique_ptr<BatchSource> source = verification_.make_source();
    reference_ = reference_steps(alone.engine(), *source, verification_.steps());
  });
}

LayoutComparison VerifyingRank::compare() {
  Engine& engine = setup_->engine();
  engine.allocate();
  const std::unique_ptr<BatchSource> source = verification_.make_source();
  return compare_layout(place_.rank.world, engine, *source, verification_.steps(), reference_ ? &*reference_ : nullptr);
}

void VerifyingRank::check_fits(std::int64_t bytes, int ranks_here, const char* what) const {
  const auto limit = verification_.layout().get<std::int64_t>("train.memory_limit");
  const std::int64_t free = limit > 0 ? limit : free_bytes() / ranks_here;
  if (bytes <= free) return;
  throw Error(ErrorKind::resources,
              fmt::format("{} needs {}, but there are {}", what, describe_bytes(bytes), describe_bytes(free)),
              "verify the layout on a smaller model: --small");
}

}  // namespace tessera::apps
