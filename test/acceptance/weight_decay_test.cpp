// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// B46: with zero gradients a step multiplies exactly the tensors that decay (matrices and tables, a tied table once) by
// 1 - lr · decay, and leaves gains and biases as they are.
#include <gtest/gtest.h>

#include <mutex>
#include <set>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/optimizer/lion/lion.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "tiny_dense.hpp"

namespace tessera::acceptance {
namespace {

constexpr double k_rate = 0.1, k_decay = 0.5;
const adamw::AdamW k_adamw({0.9, 0.95, 1e-8, k_decay});
const lion::Lion k_lion({0.9, 0.99, k_decay});
const sgd::Sgd k_sgd({0, k_decay}), k_momentum({0.9, k_decay});

struct Case {
  std::string name;
  ModelConfig model;
  const Optimizer* optimizer;
  DType dtype = DType::f32;
  int ranks = 1;
};

std::ostream& operator<<(std::ostream& out, const Case& c) {
  return out << c.name;
}

/// The documented set, by name: matrices and tables.
const std::set<std::string>& decayed_fields() {
  static const std::set<std::string> fields{"embedding",       "position_embedding", "head",        "attention.q",
                                            "attention.k",     "attention.v",        "attention.o", "feed_forward.gate",
                                            "feed_forward.up", "feed_forward.down"};
  return fields;
}

struct Weights {
  testing_support::Gathered before, after;
  std::map<std::string, std::string> fields;
};

Weights step_without_gradient(const Case& c) {
  const DataParallel data(1 << 12);
  testing_support::TrainingCase run;
  run.model = c.model;
  run.dtype = c.dtype;
  run.axes = data_axis(c.ranks);
  run.strategies = {&data};
  run.optimizer = c.optimizer;
  run.clip = 1;
  run.global_batch = 4;
  Weights weights;
  std::mutex mutex;
  testing_support::run_training(run, [&](Engine& engine, int) {
    testing_support::set_reference_weights(engine);  // no weight is 0 there
    TokenSource source({c.model.vocab, [](std::int64_t) { return std::int64_t{0}; }, {}, {}});
    {
      const std::lock_guard lock(mutex);
      weights.before.add(engine.tensors(), "model");
    }
    const StepOutcome outcome = engine.step(source, 0, {1, k_rate});
    EXPECT_EQ(outcome, StepOutcome());
    const std::lock_guard lock(mutex);
    weights.after.add(engine.tensors(), "model");
    for (const TensorPart& part : engine.tensors()) weights.fields[part.parameter->name()] = part.parameter->field;
  });
  EXPECT_TRUE(weights.after.replicas_equal);
  return weights;
}

class AcceptanceB46Decay : public testing::TestWithParam<Case> {};

TEST_P(AcceptanceB46Decay, OnlyMatricesAndTablesAndOnce) {
  const Weights weights = step_without_gradient(GetParam());
  for (const auto& [name, values] : weights.before.tensors) {
    const double ratio = decayed_fields().contains(weights.fields.at(name)) ? 1 - k_rate * k_decay : 1;
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double after = weights.after.tensors.at(name)[i];
      if (ratio == 1)
        ASSERT_EQ(after, values[i]) << name;
      else
        ASSERT_NEAR(after / values[i], ratio, 1e-6) << name;
    }
  }
  EXPECT_EQ(weights.before.tensors.contains("head"), !GetParam().model.tied);
}

std::vector<Case> cases() {
  ModelConfig biased = tiny_dense();
  biased.biases = biased.qk_norm = true;
  ModelConfig tied = biased;
  tied.tied = true;
  std::vector<Case> list;
  for (const auto& [name, optimizer] : {std::pair<std::string, const Optimizer*>("adamw", &k_adamw),
                                        {"lion", &k_lion},
                                        {"sgd", &k_sgd},
                                        {"sgd_momentum", &k_momentum}}) {
    list.push_back({"llama_" + name, biased, optimizer});
    list.push_back({"llama_tied_" + name + "_2_ranks", tied, optimizer, DType::f32, 2});
    list.push_back({"gpt_fp64_" + name, tiny_gpt(), optimizer, DType::f64});
  }
  list.push_back({"gpt_adamw_4_ranks", tiny_gpt(), &k_adamw, DType::f32, 4});
  return list;
}

INSTANTIATE_TEST_SUITE_P(All, AcceptanceB46Decay, testing::ValuesIn(cases()),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace tessera::acceptance
