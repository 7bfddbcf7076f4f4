// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the datasets that a run names, and the samples of them that it trains and evaluates on.
// Used: the setup of a training run, the verb `verify`.
// Must not know: engines, layouts, the loop.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "core/config/settings.hpp"
#include "io/dataset/dataset_source.hpp"

namespace tessera::apps {

class TrainingData {
 public:
  /// Opens data.train and data.valid and splits samples of model.sequence tokens as data.split says. Throws
  /// Error{configuration} when there is nothing to train on, or nothing to evaluate on though train.eval_interval asks.
  explicit TrainingData(const Settings& settings);

  /// Compares the checksums of this rank's share of all tokens, where that is little enough to be read at every start;
  /// `tessera inspect --verify` does it for any. Throws Error{data}.
  void verify_share(int rank, int ranks) const;

  /// Equal where ranks see the same data.
  std::string identity() const;

  const io::Dataset& dataset() const { return *dataset_; }
  io::SampleRange training_samples() const { return training_samples_; }
  io::SampleRange validation_samples() const { return validation_samples_; }

  /// A stream of samples in the order of train.seed. Each thread needs its own; all must end before this does. Throws
  /// Error{data} when ids do not fit the model's vocabulary.
  std::unique_ptr<io::DatasetSource> training_source(std::int64_t model_vocab) const;

  /// In the order of the data; null when there are no samples.
  std::unique_ptr<io::DatasetSource> validation_source(std::int64_t model_vocab) const;

 private:
  std::unique_ptr<io::DatasetSource> source(const io::Dataset& dataset, io::SampleRange samples, io::SampleOrder order,
                                            std::int64_t model_vocab) const;
  const io::Dataset& held_out() const { return validation_dataset_ ? *validation_dataset_ : *dataset_; }

  const Settings& settings_;
  std::unique_ptr<io::Dataset> dataset_, validation_dataset_;
  io::SampleRange training_samples_, validation_samples_;
};

}  // namespace tessera::apps
