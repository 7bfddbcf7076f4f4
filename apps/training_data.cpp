// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/training_data.hpp"

#include <string>
#include <vector>

#include <fmt/core.h>

#include "core/config/data_split.hpp"

namespace tessera::apps {
namespace {

/// Tokens that a rank verifies at the start: a quarter of a second, or a second from a slow disk.
constexpr std::int64_t k_most_verified = 64 << 20;

/// Samples of a dataset, at least one.
std::int64_t samples_of(const io::Dataset& dataset, std::int64_t sequence) {
  const std::int64_t samples = io::samples_in(dataset.tokens(), sequence);
  if (samples == 0)
    throw Error(ErrorKind::data,
                fmt::format("{} has {} tokens, a sample needs model.sequence + 1 = {}", dataset.path().native(),
                            dataset.tokens(), sequence + 1),
                "Use more data or a shorter model.sequence.");
  return samples;
}

}  // namespace

TrainingData::TrainingData(const Settings& settings) : settings_(settings) {
  dataset_ = std::make_unique<io::Dataset>(settings_.get<std::string>("data.train"));
  const std::string validation = settings_.get<std::string>("data.valid");
  if (!validation.empty()) validation_dataset_ = std::make_unique<io::Dataset>(validation);
  const auto sequence = settings_.get<std::int64_t>("model.sequence");
  const double share = parse_split(settings_.get<std::string>("data.split")).value_or(0);
  const io::Split split = io::split_samples(samples_of(*dataset_, sequence), share);
  training_samples_ = split.train;
  validation_samples_ =
      validation_dataset_ ? io::SampleRange{0, samples_of(*validation_dataset_, sequence)} : split.valid;
  if (validation_samples_.count == 0 && settings_.get<std::int64_t>("train.eval_interval") > 0)
    throw Error(ErrorKind::configuration,
                fmt::format("data.split leaves none of {} samples to evaluate on", training_samples_.count),
                "Name a dataset in data.valid, or keep a larger part of the training data.");
}

void TrainingData::verify_share(int rank, int ranks) const {
  for (const io::Dataset* dataset : {dataset_.get(), validation_dataset_.get()})
    if (dataset != nullptr && dataset->tokens() / ranks <= k_most_verified) dataset->verify(rank, ranks);
}

std::string TrainingData::identity() const {
  std::string text = fmt::format("{:016x}", dataset_->fingerprint());
  if (validation_dataset_) text += fmt::format(" {:016x}", validation_dataset_->fingerprint());
  return text;
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
