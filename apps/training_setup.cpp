// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/training_setup.hpp"

#include <charconv>

#include <fmt/core.h>

#include "core/model/model_settings.hpp"

namespace tessera::apps {
namespace {

/// "99, 1" -> the second part's share of all; "1" -> 0.
double validation_share(const Settings& settings) {
  const std::string text = settings.get<std::string>("data.split");
  std::vector<double> parts;
  for (std::size_t begin = 0; begin <= text.size();) {
    const std::size_t comma = std::min(text.find(',', begin), text.size());
    std::string word = text.substr(begin, comma - begin);
    word.erase(0, word.find_first_not_of(' '));
    double value = -1;
    std::from_chars(word.data(), word.data() + word.size(), value);
    if (!(value >= 0))
      throw Error(
          ErrorKind::configuration,
          fmt::format("{}: data.split = {} is not a list of shares", to_string(settings.origin("data.split")), text),
          "write it as '0.99, 0.01' or '99, 1'");
    parts.push_back(value);
    begin = comma + 1;
  }
  double sum = 0;
  for (double part : parts) sum += part;
  if (parts.size() > 2 || !(sum > 0) || !(parts[0] > 0))
    throw Error(ErrorKind::configuration, fmt::format("data.split = {}: one or two shares, the first above 0", text));
  return parts.size() == 2 ? parts[1] / sum : 0;
}

DType precision_of(const Settings& settings) {
  const std::string precision = settings.get<std::string>("train.precision");
  if (precision == "fp64") return DType::f64;
  if (precision == "fp32") return DType::f32;
  throw Error(ErrorKind::configuration,
              fmt::format("train.precision = {}: this version trains in fp32 and fp64", precision),
              "set train.precision = fp32");
}

void refuse_unbuilt(const Settings& settings) {
  std::vector<Problem> problems;
  for (const char* option :
       {"parallel.tensor", "parallel.pipeline", "parallel.chunks", "parallel.context", "parallel.expert"})
    if (const std::int64_t degree = settings.get<std::int64_t>(option); degree != 1)
      problems.push_back({fmt::format("{} = {}: this version trains with data parallelism only", option, degree),
                          to_string(settings.origin(option)), fmt::format("set {} = 1", option)});
  if (settings.get<std::string>("train.recompute") != "none")
    problems.push_back({"train.recompute: this version keeps all activations",
                        to_string(settings.origin("train.recompute")), "set train.recompute = none"});
  if (settings.get<std::string>("offload.name") != "none")
    problems.push_back({"offload.name: this version keeps everything in memory",
                        to_string(settings.origin("offload.name")), "set offload.name = none"});
  if (!problems.empty()) throw run_error(problems);
}

}  // namespace

Mesh make_mesh(const Settings& settings, int world) {
  refuse_unbuilt(settings);
  return Mesh({{"tp", "tp", 1}, {"cp", "cp", 1}, {"dp", "dp", world}, {"pp", "pp", 1}});
}

TrainingSetup::TrainingSetup(Ranks& ranks, const Run& run, const ExecutorOptions& executor)
    : settings_(run.settings()), devices_(ranks.world().size()), mesh_({}), device_(ranks.threads().threads) {
  ranks.agreed([&] {
    mesh_ = make_mesh(settings_, ranks.world().size());
    open_data();
    make_engine(ranks, run, executor);
  });
}

void TrainingSetup::open_data() {
  const std::string path = settings_.get<std::string>("data.train");
  if (path.empty())
    throw Error(ErrorKind::configuration, "data.train is not set: there is nothing to train on",
                "make a dataset with `tessera prepare --output FILE TEXT...` and name it in data.train");
  dataset_ = std::make_unique<io::Dataset>(path);
  const std::string validation = settings_.get<std::string>("data.valid");
  if (!validation.empty()) validation_dataset_ = std::make_unique<io::Dataset>(validation);
  model_ = model_config(settings_, dataset_->vocabulary().size);

  const std::int64_t sequence = model_.sequence;
  const auto seed = static_cast<std::uint64_t>(settings_.get<std::int64_t>("train.seed"));
  const auto mode =
      settings_.get<bool>("data.isolate_documents") ? io::DocumentMode::isolated : io::DocumentMode::joined;
  const io::Split split = io::split_samples(io::samples_in(dataset_->tokens(), sequence), validation_share(settings_));
  training_samples_ = split.train;
  source_ = std::make_unique<io::DatasetSource>(*dataset_, io::Sampler(split.train, seed, io::SampleOrder::shuffled),
                                                sequence, mode, model_.vocab);
  const io::Dataset& held_out = validation_dataset_ ? *validation_dataset_ : *dataset_;
  validation_samples_ =
      validation_dataset_ ? io::SampleRange{0, io::samples_in(held_out.tokens(), sequence)} : split.valid;
  if (validation_samples_.count > 0)
    validation_source_ = std::make_unique<io::DatasetSource>(
        held_out, io::Sampler(validation_samples_, seed, io::SampleOrder::sequential), sequence, mode, model_.vocab);
  else if (settings_.get<std::int64_t>("train.eval_interval") > 0)
    throw Error(ErrorKind::configuration, "train.eval_interval is set, but there is nothing to evaluate on",
                "name a dataset in data.valid, or keep a part of the training data with data.split = 99, 1");
}

void TrainingSetup::make_engine(Ranks& ranks, const Run& run, const ExecutorOptions& executor) {
  const Registry& registry = run.registry();
  kernels_.add(device_.kernels());
  for (const std::string& name : registry.names<KernelSet>()) {
    const auto set = registry.create<KernelSet>(name, settings_);
    if (set->device == device_.name()) kernels_.add(set->entries);
  }
  for (const ModuleName& module : named_modules(settings_))
    if (module.kind == "strategy") strategies_.push_back(registry.create<Strategy>(module.name, settings_));
  optimizer_ = registry.create<Optimizer>(settings_.get<std::string>("optimizer.name"), settings_);

  EngineArgs args{model_,
                  precision_of(settings_),
                  mesh_,
                  ranks.world(),
                  device_,
                  kernels_,
                  {},
                  *optimizer_,
                  settings_.get<double>("optimizer.clip"),
                  settings_.get<std::int64_t>("train.global_batch"),
                  settings_.get<std::int64_t>("train.micro_batch"),
                  0,
                  static_cast<std::uint64_t>(settings_.get<std::int64_t>("train.seed")),
                  mpi::workspace_bytes,
                  executor};
  for (const auto& strategy : strategies_) args.strategies.push_back(strategy.get());
  engine_ = std::make_unique<Engine>(args);
}

DataIdentity TrainingSetup::data_identity() const {
  return {dataset_->fingerprint(), training_samples_.count};
}

TrainerArgs TrainingSetup::trainer_args() const {
  TrainerArgs args{*engine_,
                   *source_,
                   {},
                   learning_rate_config(settings_),
                   settings_.get<std::int64_t>("train.steps"),
                   settings_.get<std::int64_t>("train.eval_interval"),
                   0,
                   loss_scale_config(settings_),
                   model_,
                   settings_.get<std::int64_t>("train.global_batch"),
                   devices_};
  if (validation_source_) args.validation = {validation_source_.get(), validation_samples_.count};
  if (!settings_.get<std::string>("checkpoint.dir").empty())
    args.save_interval = settings_.get<std::int64_t>("checkpoint.interval");
  return args;
}

}  // namespace tessera::apps
