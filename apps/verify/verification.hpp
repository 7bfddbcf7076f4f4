// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a run as it is verified: its training steps in its layout, and the same steps on one rank.
// Used: the verb `verify`.
// Must not know: how ranks were started, how results are shown.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <vector>

#include "apps/engine_setup.hpp"
#include "apps/training_data.hpp"
#include "core/train/compare_layout.hpp"

namespace tessera::apps {

/// The options of the verb itself.
const std::vector<Option>& verify_options();

/// What is the same on all ranks. May be shared by threads.
class Verification {
 public:
  /// `settings`: of a resolved run with verify_options. Opens the data. Throws as the setup of a training run.
  Verification(const Settings& settings, const Registry& registry, int world);

  const Settings& layout() const { return layout_; }  ///< of the run, perhaps made smaller
  const Settings& alone() const { return alone_; }    ///< the same without any degree of parallelism
  const Registry& registry() const { return registry_; }
  const ModelConfig& original_model() const { return original_; }
  const ModelConfig& model() const { return model_; }
  const ComparedSteps& steps() const { return steps_; }
  bool reads_data() const { return data_ != nullptr; }

  std::unique_ptr<BatchSource> make_source() const;

 private:
  void open_data(const Settings& settings);

  Settings layout_, alone_;
  const Registry& registry_;
  std::unique_ptr<TrainingData> data_;  ///< null: random documents
  ModelConfig original_, model_;
  ComparedSteps steps_;
};

/// How ranks fail together: runs the action on every rank; when any throws, all throw.
using Together = std::function<void(const std::function<void()>&)>;

struct VerifyingPlace {
  RankPlace rank;
  int ranks_here = 1;     ///< that share the memory of this node
  int threads_alone = 1;  ///< of rank 0 while the others wait
  KernelChoices kernels = {};
};

/// One rank of it. All calls are collective.
class VerifyingRank {
 public:
  /// Compiles and compares the plans of all ranks; allocates nothing large.
  VerifyingRank(const Verification& verification, const VerifyingPlace& place, Together together);

  /// Rank 0 trains alone, for as long as it takes; the others wait.
  void train_alone();

  /// After train_alone().
  LayoutComparison compare();

  const EngineSetup& setup() const { return *setup_; }

 private:
  void check_fits(std::int64_t bytes, int ranks_here, const char* what) const;

  const Verification& verification_;
  VerifyingPlace place_;
  Together together_;
  std::unique_ptr<EngineSetup> setup_;
  std::optional<ReferenceSteps> reference_;  ///< on rank 0
};

}  // namespace tessera::apps
