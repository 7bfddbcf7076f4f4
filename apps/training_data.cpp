// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/training_data.hpp"

#include <charconv>
#include <string>
#include <vector>

#include <fmt/core.h>

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

TrainingData::TrainingData(const Settings& settings) : settings_(settings) {
  const std::string path = settings_.get<std::string>("data.train");
  if (path.empty())
    throw Error(ErrorKind::configuration, "data.train is not set: there is nothing to train on",
                "make a dataset with `tessera prepare --output FILE TEXT...` and name it in data.train");
  dataset_ = std::make_unique<io::Dataset>(path);
  const std::string validation = settings_.get<std::string>("data.valid");
  if (!validation.empty()) validation_dataset_ = std::make_unique<io::Dataset>(validation);
  const auto sequence = settings_.get<std::int64_t>("model.sequence");
  const io::Split split = io::split_samples(io::samples_in(dataset_->tokens(), sequence), validation_share(settings_));
  training_samples_ = split.train;
  validation_samples_ =
      validation_dataset_ ? io::SampleRange{0, io::samples_in(validation_dataset_->tokens(), sequence)} : split.valid;
  if (validation_samples_.count == 0 && settings_.get<std::int64_t>("train.eval_interval") > 0)
    throw Error(ErrorKind::configuration, "train.eval_interval is set, but there is nothing to evaluate on",
                "name a dataset in data.valid, or keep a part of the training data with data.split = 99, 1");
}

std::unique_ptr<io::DatasetSource> TrainingData::training_source(std::int64_t model_vocab) const {
  return source(*dataset_, training_samples_, io::SampleOrder::shuffled, model_vocab);
}

std::unique_ptr<io::DatasetSource> TrainingData::validation_source(std::int64_t model_vocab) const {
  if (validation_samples_.count == 0) return nullptr;
  return source(held_out(), validation_samples_, io::SampleOrder::sequential, model_vocab);
}

std::unique_ptr<io::DatasetSource> TrainingData::source(const io::Dataset& dataset, io::SampleRange samples,
                                                        io::SampleOrder order, std::int64_t model_vocab) const {
  const auto seed = static_cast<std::uint64_t>(settings_.get<std::int64_t>("train.seed"));
  const auto mode =
      settings_.get<bool>("data.isolate_documents") ? io::DocumentMode::isolated : io::DocumentMode::joined;
  return std::make_unique<io::DatasetSource>(dataset, io::Sampler(samples, seed, order),
                                             settings_.get<std::int64_t>("model.sequence"), mode, model_vocab);
}

}  // namespace tessera::apps
