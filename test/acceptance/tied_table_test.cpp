// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B52: a table that the first stage reads as embedding and the last one as head is one parameter: its gradient is the
// sum of both parts, both copies get it, and the norm counts it once.
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <mutex>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "parallel_run.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

using testing_support::Gathered;

const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, 0.1});
const sgd::Sgd k_sgd({0, 0});
constexpr std::int64_t k_steps = 10;

ModelConfig tied_dense() {
  ModelConfig model = tiny_dense();
  model.tied = true;
  return model;
}

const ParallelLayout k_layouts[]{{1, Residual::replicated, 1, 2},
                                 {1, Residual::replicated, 1, 2, "zero_bubble"},
                                 {1, Residual::replicated, 1, 2, "interleaved", 2},
                                 {1, Residual::replicated, 1, 4},
                                 {1, Residual::replicated, 1, 4, "gpipe"},
                                 {2, Residual::replicated, 1, 2},
                                 {2, Residual::split, 1, 2},
                                 {1, Residual::replicated, 2, 2},
                                 {2, Residual::split, 2, 2, "zero_bubble"}};

using Bytes = std::vector<std::byte>;

/// The table as each rank holds it.
struct Copies {
  std::map<std::pair<int, std::int64_t>, Bytes> by_stage_and_row;
  int number = 0;
};

/// Trains ten steps and returns the copies after them.
Copies copies_after(const ModelConfig& model, DType dtype, const ParallelLayout& layout) {
  Copies copies;
  std::mutex mutex;
  const ParallelRun run(model, dtype, layout, k_adamw);
  const Mesh mesh(run.training.axes);
  testing_support::run_training(run.training, [&](Engine& engine, int rank) {
    TokenSource source({model.vocab, unequal, {}, {}});
    for (std::int64_t step = 1; step <= k_steps; ++step) engine.step(source, (step - 1) * 8, {step, 1e-3});
    for (const TensorPart& part : engine.tensors()) {
      if (part.group != "model" || part.parameter->name() != "embedding" || part.data == nullptr) continue;
      const auto bytes = static_cast<std::size_t>(part.slab.extent.count() * size_of(part.dtype));
      Bytes copy(bytes);
      std::memcpy(copy.data(), part.data, bytes);
      const std::lock_guard lock(mutex);
      ++copies.number;
      const auto [at, first] = copies.by_stage_and_row.try_emplace({mesh.stage_of(rank), part.slab.start[0]}, copy);
      EXPECT_TRUE(first || at->second == copy) << "rank " << rank;
    }
  });
  return copies;
}

class AcceptanceB52 : public testing::TestWithParam<ParallelLayout> {};

TEST_P(AcceptanceB52, CopiesStayTheSameBits) {
  const ParallelLayout& layout = GetParam();
  for (const ModelConfig& model : {tied_dense(), tiny_gpt()})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const Copies copies = copies_after(model, dtype, layout);
      EXPECT_EQ(copies.number, 2 * layout.tensor * layout.data) << "the first and the last stage";
      EXPECT_EQ(copies.by_stage_and_row.size(), static_cast<std::size_t>(2 * layout.tensor));
      for (const auto& [place, bytes] : copies.by_stage_and_row)
        EXPECT_TRUE(copies.by_stage_and_row.at({layout.stages - 1, place.second}) == bytes) << "row " << place.second;
    }
}

TEST_P(AcceptanceB52, TrainsAsOneRank) {
  for (const ModelConfig& model : {tied_dense(), tiny_gpt()})
    for (const DType dtype : {DType::f32, DType::f64}) {
      const StepLog one = train_steps(ParallelRun(model, dtype, {}, k_adamw).training, k_steps, unequal);
      expect_parity(train_steps(ParallelRun(model, dtype, GetParam(), k_adamw).training, k_steps, unequal), one, dtype);
    }
}

struct Gradient {
  double norm = 0;  ///< as reported
  Gathered tensors;
};

/// The first step's gradient; a head of its own begins as a copy of the embedding.
Gradient gradient_of(const ModelConfig& model, const ParallelLayout& layout) {
  Gradient gradient;
  std::mutex mutex;
  const ParallelRun run(model, DType::f64, layout, k_sgd);
  testing_support::run_training(run.training, [&](Engine& engine, int) {
    const std::vector<TensorPart> parts = engine.tensors();
    for (const TensorPart& head : parts)
      for (const TensorPart& embedding : parts)
        if (head.parameter->name() == "head" && embedding.parameter->name() == "embedding")
          std::memcpy(head.data, embedding.data,
                      static_cast<std::size_t>(head.slab.extent.count() * size_of(head.dtype)));
    TokenSource source({model.vocab, unequal, {}, {}});
    const StepOutcome outcome = engine.step(source, 0, {1, 0.0});
    const std::lock_guard lock(mutex);
    gradient.norm = outcome.gradient_norm;
    gradient.tensors.add(engine.gradients(), "gradient");
  });
  return gradient;
}

TEST_P(AcceptanceB52, TheGradientIsTheSumOfBothPartsAndCountsOnce) {
  const Gradient untied = gradient_of(tiny_dense(), {}), tied = gradient_of(tied_dense(), GetParam());
  const std::vector<double>&input = untied.tensors.tensors.at("embedding"), &output = untied.tensors.tensors.at("head"),
        &sum = tied.tensors.tensors.at("embedding");
  EXPECT_FALSE(tied.tensors.tensors.contains("head"));
  for (std::size_t i = 0; i < sum.size(); ++i) ASSERT_NEAR(sum[i], input[i] + output[i], 1e-12 * tied.norm) << i;
  double squares = 0;
  for (const auto& [name, values] : tied.tensors.tensors)
    for (double value : values) squares += value * value;
  EXPECT_NEAR(tied.norm, std::sqrt(squares), 1e-12 * tied.norm);
}

INSTANTIATE_TEST_SUITE_P(All, AcceptanceB52, testing::ValuesIn(k_layouts),
                         [](const auto& test) { return name_of(test.param); });

}  // namespace
}  // namespace tessera::acceptance
