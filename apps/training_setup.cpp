// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "apps/training_setup.hpp"

#include "apps/least_memory.hpp"
#include "apps/memory_check.hpp"
#include "core/model/model_settings.hpp"

namespace tessera::apps {

TrainingSetup::TrainingSetup(Ranks& ranks, const Run& run, const ExecutorOptions& executor)
    : settings_(run.settings()), devices_(ranks.world().size()) {
  ranks.agreed([&] {
    parts_ = std::make_unique<EngineSetup>(ranks, run);
    open_data();
    data_->verify_share(ranks.world().rank(), devices_);
  });
  const std::string roots = ranks.from_root([&] { return data_->identity(); });
  ranks.agreed([&] {
    if (data_->identity() != roots)
      throw Error(ErrorKind::disagreement, "data.train or data.valid is not the same dataset here as on rank 0",
                  "Copy the same files to all nodes, or name a folder that all of them share.");
    const auto global_batch = settings_.get<std::int64_t>("train.global_batch");
    check_counts(model_, global_batch, settings_);
    check_needs(training_needs(model_, global_batch, settings_, devices_), memory_limit(settings_, ranks));
    parts_->compile(model_, global_batch, executor);
  });
}

void TrainingSetup::open_data() {
  data_ = std::make_unique<TrainingData>(settings_);
  model_ = model_config(settings_, data_->dataset().vocabulary().size);
  source_ = data_->training_source(model_.vocab);
  validation_source_ = data_->validation_source(model_.vocab);
}

void TrainingSetup::disturb_sources(FaultPoints& faults) {
  for (auto [source, point] : {std::pair(&source_, "data"), std::pair(&validation_source_, "evaluation")}) {
    if (*source == nullptr) continue;
    undisturbed_.push_back(std::move(*source));
    *source = std::make_unique<FaultySource>(*undisturbed_.back(), faults, point);
  }
}

DataIdentity TrainingSetup::data_identity() const {
  return {data_->dataset().fingerprint(), data_->training_samples().count,
          settings_.get<bool>("data.isolate_documents")};
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
  if (validation_source_) args.validation = {validation_source_.get(), data_->validation_samples().count};
  if (!settings_.get<std::string>("checkpoint.dir").empty())
    args.save_interval = settings_.get<std::int64_t>("checkpoint.interval");
  return args;
}

}  // namespace tessera::apps
