// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "memory_probe.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/optimizer/lion/lion.hpp"
#include "modules/optimizer/sgd/sgd.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "modules/strategy/expert_parallel/expert_parallel.hpp"
#include "modules/strategy/tensor_parallel/tensor_parallel.hpp"
#include "test/support/context_strategies.hpp"
#include "test/support/guarded_device.hpp"
#include "test/support/reference_source.hpp"
#include "test/support/thread_training.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::test {
namespace {

using Bytes = std::vector<std::byte>;

constexpr Tag k_tags_of_step[] = {Tag::state,         Tag::inputs,  Tag::activations,
                                  Tag::communication, Tag::scratch, Tag::workspace};
constexpr Tag k_persistent[] = {Tag::weights, Tag::gradients, Tag::optimizer};

Bytes copy_of(std::span<const std::byte> bytes) {
  return {bytes.begin(), bytes.end()};
}

/// One past the last byte in which two regions differ.
std::int64_t last_difference(std::span<const std::byte> a, std::span<const std::byte> b) {
  for (std::size_t i = a.size(); i > 0; --i)
    if (a[i - 1] != b[i - 1]) return static_cast<std::int64_t>(i);
  return 0;
}

Mesh mesh_of(const MemoryCase& c, const Strategy& tensor, const Strategy& expert, int ranks) {
  std::vector<Axis> axes{{"tp", "tp", c.tensor}, {"cp", "cp", c.context}, {"dp", "dp", ranks / c.tensor / c.context}};
  tensor.factor(axes);
  expert.factor(axes);
  return Mesh(std::move(axes));
}

/// An engine with everything that it needs.
class Probe {
 public:
  Probe(const MemoryCase& c, Communicator& world, const CollectiveWorkspace& workspace)
      : c_(c),
        tensor_(c.model.heads, c.model.kv_heads, TensorParallel::Residual::split),
        context_(context_strategy(c.attention)),
        expert_(c.expert),
        mesh_(mesh_of(c, tensor_, expert_, world.size())),
        device_(c.threads),
        kernels_(testing_support::all_kernels(device_)),
        engine_({c.model,
                 c.dtype,
                 mesh_,
                 world,
                 device_,
                 kernels_,
                 {&data_, &tensor_, context_.get(), &expert_},
                 *c.optimizer,
                 1.0,
                 c.global_batch,
                 c.micro_batch,
                 c.head_pieces,
                 1,
                 workspace,
                 {}}) {
    engine_.connect();
    engine_.allocate();
    clear_routers();
    for (Tag tag : k_persistent) persistent_.push_back(copy_of(engine_.arena().region(tag)));
  }

  /// Marks all memory that a step must write before it reads: whole regions, and of gradients the parameters' parts,
  /// because the gaps between them are 0 and summed too.
  void mark() {
    for (Tag tag : k_tags_of_step) std::ranges::fill(engine_.arena().region(tag), k_untouched);
    for (const TensorPart& part : engine_.gradients())
      std::memset(part.data, static_cast<int>(k_untouched),
                  static_cast<std::size_t>(part.slab.extent.count() * size_of(part.dtype)));
    persistent_[1] = copy_of(engine_.arena().region(Tag::gradients));
  }

  void run() {
    reference::ReferenceSource source;
    outcome_ = engine_.step(source, 0, {1, 1e-3});
    evaluation_ = engine_.evaluate(source, 24, c_.global_batch + 1);
  }

  std::int64_t touched(Tag tag) const {
    const auto region = engine_.arena().region(tag);
    if (const auto* p = std::ranges::find(k_persistent, tag); p != std::end(k_persistent))
      return last_difference(region, persistent_[static_cast<std::size_t>(p - std::begin(k_persistent))]);
    return last_difference(region, Bytes(region.size(), k_untouched));
  }

  std::int64_t planned(Tag tag) const { return engine_.memory()[tag]; }
  std::int64_t damaged() const { return device_.damaged(); }

  void expect_same(const Probe& other) const {
    EXPECT_EQ(outcome_, other.outcome_);
    EXPECT_EQ(evaluation_, other.evaluation_);
    EXPECT_GT(outcome_.gradient_norm, 0);
    for (Tag tag : {Tag::weights, Tag::optimizer})
      EXPECT_TRUE(std::ranges::equal(engine_.arena().region(tag), other.engine_.arena().region(tag))) << name_of(tag);
  }

 private:
  /// Equal scores: every token chooses the first experts.
  void clear_routers() {
    for (const TensorPart& part : engine_.tensors())
      if (part.group == "model" && part.parameter->field == "router")
        std::memset(part.data, 0, static_cast<std::size_t>(part.slab.extent.count() * size_of(part.dtype)));
  }

  const MemoryCase& c_;
  TensorParallel tensor_;
  std::unique_ptr<Strategy> context_;
  ExpertParallel expert_;
  Mesh mesh_;
  GuardedDevice device_;
  KernelTable kernels_;
  DataParallel data_{1 << 14};
  Engine engine_;
  std::vector<Bytes> persistent_;
  StepOutcome outcome_;
  EvaluationOutcome evaluation_;
};

}  // namespace

void expect_planned_memory(const MemoryCase& c, Communicator& world, const CollectiveWorkspace& workspace) {
  SCOPED_TRACE(c.name + ", rank " + std::to_string(world.rank()) + " of " + std::to_string(world.size()));
  Probe zeroed(c, world, workspace), marked(c, world, workspace);
  zeroed.run();
  marked.mark();
  marked.run();
  EXPECT_EQ(marked.damaged(), 0) << "bytes outside the planned regions";
  marked.expect_same(zeroed);
  for (Tag tag : k_persistent) EXPECT_GE(marked.touched(tag), marked.planned(tag) - 64) << name_of(tag);
  if (c.model.experts.count > 0) return;  // rows that nobody has are not written
  for (Tag tag : {Tag::state, Tag::inputs, Tag::activations, Tag::scratch}) {
    EXPECT_GT(marked.planned(tag), 0) << name_of(tag);
    EXPECT_GE(marked.touched(tag), marked.planned(tag) - 64) << name_of(tag);
  }
}

const std::vector<MemoryCase>& memory_cases() {
  static const adamw::AdamW adamw({0.9, 0.95, 1e-8, 0.1});
  static const lion::Lion lion({0.9, 0.99, 0.1});
  static const sgd::Sgd sgd({0.9, 0.1});
  static const std::vector<MemoryCase> cases = [] {
    const ModelConfig llama{
        .layers = 2, .hidden = 24, .heads = 4, .kv_heads = 2, .ffn = 37, .vocab = 131, .sequence = 32};
    const ModelConfig varied = testing_support::with_everything(llama, 0.1);
    ModelConfig gpt = varied;
    gpt.architecture = Architecture::gpt;
    gpt.kv_heads = 4;
    gpt.qk_norm = false;
    ModelConfig odd = gpt;
    odd.sequence = 13;
    odd.hidden = 20;
    odd.ffn = 31;
    return std::vector<MemoryCase>{{"llama fp32", llama, DType::f32, &adamw, 12, 2, 1},
                                   {"llama fp64", llama, DType::f64, &adamw, 6, 1, 2},
                                   {"llama fp32 in four pieces", llama, DType::f32, &sgd, 12, 2, 4},
                                   {"llama with everything fp32", varied, DType::f32, &lion, 6, 1, 4},
                                   {"llama with everything fp64", varied, DType::f64, &adamw, 12, 2, 1},
                                   {"gpt fp32", gpt, DType::f32, &adamw, 12, 2, 2},
                                   {"gpt fp64, 2 threads", gpt, DType::f64, &adamw, 6, 1, 1, 2},
                                   {"gpt of odd sizes", odd, DType::f32, &adamw, 6, 1, 1}};
  }();
  return cases;
}

}  // namespace tessera::test
