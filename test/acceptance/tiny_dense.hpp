// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  data for the tiny models of the acceptance cases, and the check that two runs computed the same.
// Used: acceptance tests.
// Must not know: which case is tested.
#pragma once

#include <functional>
#include <vector>

#include "core/train/batch_source.hpp"
#include "test/support/thread_training.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::acceptance {

using testing_support::tiniest;
using testing_support::tiny_dense;
using testing_support::tiny_gpt;
using testing_support::tiny_mixture;

/// Random tokens. `g` is the number of a sample in the stream, `c` which data it is.
class TokenSource final : public BatchSource {
 public:
  struct Options {
    std::int64_t vocab = 0;
    std::function<std::int64_t(std::int64_t g)> valid;    ///< so many targets count, the first ones
    std::function<std::int64_t(std::int64_t g)> content;  ///< g -> c; empty: c = g
    std::function<void(std::int64_t g, std::int64_t c)>
        seen;  ///< called for each sample that a rank reads; may be empty
    std::function<bool(std::int64_t c, std::int64_t place)> counts =
        {};  ///< which of the valid targets count; empty: all
    std::function<std::int64_t(std::int64_t c, std::int64_t place)> document_start =
        {};  ///< where the document of a place begins; empty: the sample is one document
  };

  explicit TokenSource(Options options) : options_(std::move(options)) {}

  void fill(std::int64_t first_sample, std::int64_t samples, const BatchView& view) override;
  std::uint64_t digest(std::int64_t first_sample, std::int64_t samples) const override;

 private:
  std::int64_t content(std::int64_t g) const { return options_.content ? options_.content(g) : g; }

  Options options_;
};

/// Targets of the eight samples of a batch that count: very unequal numbers.
std::int64_t unequal(std::int64_t sample);

/// One data axis of so many ranks.
std::vector<Axis> data_axis(int ranks);

/// What a run of some steps did.
struct StepLog {
  std::vector<StepOutcome> steps;       ///< equal on all ranks, which is checked
  testing_support::Gathered gradients;  ///< of the first step
  testing_support::Gathered weights;    ///< at the end
};

/// Trains `steps` steps with learning rate 1e-3 on the ranks of the case's mesh.
StepLog train_steps(const testing_support::TrainingCase& run, std::int64_t steps, const TokenSource::Options& data);
StepLog train_steps(const testing_support::TrainingCase& run, std::int64_t steps,
                    const std::function<std::int64_t(std::int64_t)>& valid);

/// Whether a run computed what another one did, up to the order of sums. fp32: losses rel 1e-5, norms rel 1e-5 in the
/// first step and 1e-4 later, gradients of the first step 1e-5 of their largest element. fp64: 1e-10.
void expect_parity(const StepLog& actual, const StepLog& expected, DType dtype);

}  // namespace tessera::acceptance
