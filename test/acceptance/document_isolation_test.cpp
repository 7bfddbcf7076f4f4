// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B30: what is computed for a document in a packed sequence does not depend on the documents before it, in any layout.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/base/counter_rng.hpp"
#include "logits_run.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "parallel_run.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

const adamw::AdamW k_adamw({});

/// Documents of 10, 7 and 15 tokens.
constexpr std::int64_t k_starts[] = {0, 10, 17, 32};
constexpr std::int64_t k_third = 17, k_third_length = 15;

enum class Isolation : std::uint8_t { on, off };

/// One sample of given tokens.
class PackedSource final : public BatchSource {
 public:
  PackedSource(std::vector<std::int32_t> tokens, Isolation isolation)
      : tokens_(std::move(tokens)), isolation_(isolation) {}

  /// The only place whose target counts; none: all do.
  void count_only(std::int64_t place) { counted_ = place; }

  void fill(std::int64_t, std::int64_t samples, const BatchView& view) override {
    const std::int64_t columns = view.tokens.extent[1];
    for (std::int64_t c = 0; c < columns; ++c) {
      view.sample[c] = 0;
      for (std::int64_t r = 0; r < view.tokens.extent[0]; ++r) {
        const std::int64_t at = r * columns + c, place = view.tokens.start[0] + r;
        const std::int64_t start = isolation_ == Isolation::on ? document_of(place) : 0;
        view.ids[at] = tokens_[static_cast<std::size_t>(place)];
        view.target[at] = tokens_[static_cast<std::size_t>(place + 1)];
        view.index[at] = static_cast<std::int32_t>(place);
        view.position[at] = static_cast<std::int32_t>(place - start);
        view.document[at] = static_cast<std::int32_t>(start);
        const bool counts = view.tokens.start[1] + c < samples && place == counted_.value_or(place);
        if (view.mask_dtype == DType::f64)
          static_cast<double*>(view.mask)[at] = counts;
        else
          static_cast<float*>(view.mask)[at] = counts;
      }
    }
  }
  std::uint64_t digest(std::int64_t, std::int64_t) const override { return 0; }

 private:
  /// Where the document of a place begins; a sequence of the third document alone has only one.
  std::int64_t document_of(std::int64_t place) const {
    if (std::ssize(tokens_) == k_third_length + 1) return 0;
    return *(std::upper_bound(std::begin(k_starts), std::end(k_starts) - 1, place) - 1);
  }

  std::vector<std::int32_t> tokens_;
  Isolation isolation_;
  std::optional<std::int64_t> counted_;
};

/// 33 tokens, those of the first document by `first`.
std::vector<std::int32_t> tokens_with(std::uint64_t first) {
  std::vector<std::int32_t> tokens;
  for (std::uint64_t place = 0; place < 33; ++place)
    tokens.push_back(static_cast<std::int32_t>(CounterRng(place < 10 ? first : 7, hash_name("packed")).at(place) %
                                               std::uint64_t(tiny_dense().vocab)));
  return tokens;
}

std::vector<std::int32_t> third_document() {
  const std::vector<std::int32_t> all = tokens_with(1);
  return {all.begin() + k_third, all.end()};
}

double largest_difference(const std::vector<double>& a, const std::vector<double>& b) {
  EXPECT_EQ(a.size(), b.size());
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) largest = std::max(largest, std::abs(a[i] - b[i]));
  return largest;
}

/// Logits of the third document, in a packed sequence whose first document is made of `first`.
std::vector<double> third_logits(const ParallelLayout& layout, std::uint64_t first, Isolation isolation) {
  PackedSource source(tokens_with(first), isolation);
  const ParallelRun parallel(tiny_dense(), DType::f32, layout, k_adamw);
  const std::vector<double> all = logits_of(parallel.training, source);
  return {all.begin() + k_third * tiny_dense().vocab, all.end()};
}

class AcceptanceB30 : public testing::TestWithParam<ParallelLayout> {};

TEST_P(AcceptanceB30, LogitsOfADocumentDoNotKnowThoseBeforeIt) {
  ModelConfig alone = tiny_dense();
  alone.sequence = k_third_length;
  PackedSource source(third_document(), Isolation::on);
  const ParallelRun one_rank(alone, DType::f32, {}, k_adamw);
  const std::vector<double> expected = logits_of(one_rank.training, source);
  const std::vector<double> with_one = third_logits(GetParam(), 1, Isolation::on);
  EXPECT_LE(largest_difference(with_one, third_logits(GetParam(), 2, Isolation::on)), 1e-6);
  EXPECT_LE(largest_difference(with_one, expected), 1e-6);
  const std::vector<double> joined = third_logits(GetParam(), 1, Isolation::off);
  EXPECT_GT(largest_difference(joined, third_logits(GetParam(), 2, Isolation::off)), 1e-3);
}

/// Losses of the tokens of the third document, by the engine's own evaluation, which pipelines have too.
std::vector<double> third_losses(const ModelConfig& model, const ParallelLayout& layout, PackedSource source) {
  ParallelRun parallel(model, DType::f32, layout, k_adamw);
  parallel.training.global_batch = parallel.training.micro_batch = 1;
  std::vector<double> losses;
  testing_support::run_training(parallel.training, [&](Engine& engine, int rank) {
    testing_support::set_reference_weights(engine);
    PackedSource mine = source;
    for (std::int64_t place = model.sequence - k_third_length; place < model.sequence; ++place) {
      mine.count_only(place);
      const EvaluationOutcome outcome = engine.evaluate(mine, 0, 1);
      EXPECT_EQ(outcome.tokens, 1);
      if (rank == 0) losses.push_back(outcome.loss);
    }
  });
  return losses;
}

class AcceptanceB30Pipelines : public testing::TestWithParam<ParallelLayout> {};

TEST_P(AcceptanceB30Pipelines, LossesOfADocumentDoNotKnowThoseBeforeIt) {
  ModelConfig alone = tiny_dense();
  alone.sequence = k_third_length;
  const auto of = [&](std::uint64_t first, Isolation isolation) {
    return third_losses(tiny_dense(), GetParam(), PackedSource(tokens_with(first), isolation));
  };
  const std::vector<double> with_one = of(1, Isolation::on);
  EXPECT_LE(largest_difference(with_one, of(2, Isolation::on)), 1e-6);
  EXPECT_LE(largest_difference(with_one, third_losses(alone, {}, PackedSource(third_document(), Isolation::on))), 1e-6);
  EXPECT_GT(largest_difference(of(1, Isolation::off), of(2, Isolation::off)), 1e-3);
}

std::vector<ParallelLayout> layouts() {
  std::vector<ParallelLayout> all{{}, {2}, {2, Residual::split}};
  for (const int context : {2, 4})
    for (const std::string& attention : test::context_strategies())
      for (const Zigzag zigzag : {Zigzag::never, Zigzag::always}) {
        if (attention == "ulysses" && zigzag == Zigzag::always) continue;
        ParallelLayout layout;
        layout.context = context;
        layout.attention = attention;
        layout.zigzag = zigzag;
        all.push_back(layout);
        layout.tensor = 2;
        layout.residual = Residual::split;
        if (context == 2) all.push_back(layout);
      }
  return all;
}

std::vector<ParallelLayout> pipelines() {
  std::vector<ParallelLayout> all;
  for (const char* schedule : {"one_f_one_b", "zero_bubble"})
    for (const int tensor : {1, 2})
      for (const int context : {1, 2}) {
        ParallelLayout layout{tensor, Residual::split};
        layout.stages = 2;
        layout.schedule = schedule;
        layout.context = context;
        all.push_back(layout);
      }
  return all;
}

INSTANTIATE_TEST_SUITE_P(Layouts, AcceptanceB30, testing::ValuesIn(layouts()),
                         [](const auto& test) { return name_of(test.param); });
INSTANTIATE_TEST_SUITE_P(Layouts, AcceptanceB30Pipelines, testing::ValuesIn(pipelines()),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace tessera::acceptance
