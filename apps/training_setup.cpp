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

}  // namespace

TrainingSetup::TrainingSetup(Ranks& ranks, const Run& run, const ExecutorOptions& executor)
    : settings_(run.settings()), devices_(ranks.world().size()) {
  ranks.agreed([&] {
    parts_ = std::make_unique<EngineSetup>(ranks, run);
    open_data();
    parts_->compile(model_, settings_.get<std::int64_t>("train.global_batch"), executor);
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

DataIdentity TrainingSetup::data_identity() const {
  return {dataset_->fingerprint(), training_samples_.count};
}

TrainerArgs TrainingSetup::trainer_args() const {
  TrainerArgs args{engine(),
                   *source_,
                   {},
                   learning_rate_config(settings_),
                   settings_.get<std::int64_t>("train.steps"),
                   settings_.get<std::int64_t>("train.eval_interval"),
                   {},
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
