// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// The plan of a data-parallel step: what is kept for backward, and when the gradients of buckets are reduced.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

#include "core/host/host_device.hpp"
#include "modules/optimizer/adamw/adamw.hpp"
#include "modules/strategy/data_parallel/data_parallel.hpp"
#include "test/support/thread_training.hpp"
#include "test/support/tiny_models.hpp"

namespace tessera::test {
namespace {

constexpr int k_ranks = 2;
constexpr std::int64_t k_slot_bytes = 256;

ModelConfig one_layer(Architecture architecture) {
  ModelConfig model = testing_support::tiniest();
  model.architecture = architecture;
  if (architecture == Architecture::llama) {
    model.kv_heads = 1;
  } else {
    model.biases = model.tied = true;
    model.dropout = 0.1;
  }
  return model;
}

Plan plan_of(const ModelConfig& model, DType dtype, std::int64_t micro_batch, std::int64_t micro_batches,
             std::int64_t bucket_bytes) {
  const adamw::AdamW optimizer({});
  const DataParallel data(bucket_bytes);
  const Mesh mesh({{"dp", "dp", k_ranks}});
  Plan plan;
  run_ranks(k_ranks, [&](Communicator& world) {
    HostDevice device(1);
    const KernelTable kernels = testing_support::all_kernels(device);
    const Engine engine({model,
                         dtype,
                         mesh,
                         world,
                         device,
                         kernels,
                         {&data},
                         optimizer,
                         1.0,
                         micro_batch * micro_batches * k_ranks,
                         micro_batch,
                         1,
                         1,
                         [](CallKind, std::int64_t, DType, int) { return k_slot_bytes; },
                         {}});
    if (world.rank() == 0) plan = engine.training().plan;
  });
  return plan;
}

/// Bytes of values laid one behind the other at multiples of 64.
std::int64_t laid_out(const std::vector<std::int64_t>& elements, DType dtype) {
  std::int64_t end = 0;
  for (std::int64_t count : elements) end = (end + 63) / 64 * 64 + count * size_of(dtype);
  return end;
}

TEST(Plan, KeepsOfALlamaLayerWhatBackwardReads) {
  const ModelConfig m = one_layer(Architecture::llama);
  for (const DType dtype : {DType::f32, DType::f64})
    for (const std::int64_t batch : {1, 3}) {
      const std::int64_t tokens = m.sequence * batch, wide = tokens * m.hidden, narrow = tokens * m.head_dim();
      const std::int64_t inner = tokens * m.ffn;
      // residual, norm and its statistic; q k v, what attention gives and its log-sum-exp; residual, norm and its
      // statistic; gate, up and their product; residual and statistic of the head's norm; the head's input gradient.
      const std::vector<std::int64_t> kept{wide, wide, tokens, wide,  narrow, narrow, wide, tokens * m.heads,
                                           wide, wide, tokens, inner, inner,  inner,  wide, tokens,
                                           wide};
      const Plan plan = plan_of(m, dtype, batch, 2, 0);
      EXPECT_EQ(plan.memory[Tag::activations], laid_out(kept, dtype)) << name_of(dtype) << " batch " << batch;
    }
}

TEST(Plan, KeepsOfAGptLayerWhatBackwardReads) {
  const ModelConfig m = one_layer(Architecture::gpt);
  const std::int64_t tokens = m.sequence * 3, wide = tokens * m.hidden, inner = tokens * m.ffn;
  // As above with two statistics per norm, without rotation, and without a gate; masks of dropout are made again.
  const std::vector<std::int64_t> kept{wide, wide, tokens, tokens, wide,  wide,  wide, wide,   tokens * m.heads,
                                       wide, wide, tokens, tokens, inner, inner, wide, tokens, tokens,
                                       wide};
  EXPECT_EQ(plan_of(m, DType::f32, 3, 2, 0).memory[Tag::activations], laid_out(kept, DType::f32));
}

TEST(Plan, PersistentMemoryIsThatOfTheParameters) {
  const ModelConfig m = one_layer(Architecture::llama);
  const Plan plan = plan_of(m, DType::f32, 1, 1, 1);  // every parameter has a bucket of its own
  std::vector<std::int64_t> sizes;
  for (const Bucket& bucket : plan.buckets) {
    EXPECT_EQ(bucket.members.size(), 1U);
    sizes.push_back(bucket.elements);
  }
  EXPECT_EQ(std::accumulate(sizes.begin(), sizes.end(), std::int64_t{0}), m.parameters());
  EXPECT_EQ(plan.memory[Tag::weights], laid_out(sizes, DType::f32));
  EXPECT_EQ(plan.memory[Tag::gradients], plan.memory[Tag::weights]);
  std::vector<std::int64_t> twice;
  for (std::int64_t size : sizes) twice.insert(twice.end(), 2, size);
  EXPECT_EQ(plan.memory[Tag::optimizer], laid_out(twice, DType::f32));
}

/// The instructions of a step in the order in which they run.
struct Ran {
  const Instruction* instruction;
  ProgramKind kind;
  int micro_batch;
};

std::vector<Ran> run_order(const Plan& plan) {
  std::vector<Ran> order;
  for (const Action& action : plan.actions) {
    const Program& program = plan.programs[static_cast<std::size_t>(action.program)];
    for (std::int32_t i = program.first; i < program.first + program.count; ++i)
      order.push_back({&plan.code[static_cast<std::size_t>(i)], program.kind, action.micro_batch});
  }
  return order;
}

const Operand& operand(const Plan& plan, const Instruction& instruction, int index) {
  return plan.operands[static_cast<std::size_t>(instruction.first_operand + index)];
}

/// Where in the run order bucket reductions are posted.
std::vector<std::size_t> reductions(const std::vector<Ran>& order) {
  std::vector<std::size_t> posts;
  for (std::size_t i = 0; i < order.size(); ++i)
    if (order[i].kind == ProgramKind::reduce && order[i].instruction->kind == Instruction::Kind::post)
      posts.push_back(i);
  return posts;
}

std::size_t wait_of(const std::vector<Ran>& order, std::size_t post) {
  for (std::size_t i = post; i < order.size(); ++i)
    if (order[i].instruction->kind == Instruction::Kind::wait &&
        order[i].instruction->event == order[post].instruction->event)
      return i;
  return order.size();
}

class PlanReductions : public testing::TestWithParam<std::int64_t> {
 protected:
  PlanReductions()
      : plan_(plan_of(one_layer(Architecture::gpt), DType::f32, 1, 3, GetParam())), order_(run_order(plan_)) {}

  Plan plan_;
  std::vector<Ran> order_;
};

/// Each bucket once, all but the last while the backward of the last micro-batch still runs.
TEST_P(PlanReductions, StartBeforeTheBackwardEnds) {
  const std::vector<std::size_t> posts = reductions(order_);
  ASSERT_EQ(posts.size(), plan_.buckets.size());
  ASSERT_GT(posts.size(), 2U);
  const auto backward =
      std::find_if(order_.rbegin(), order_.rend(), [](const Ran& r) { return r.kind == ProgramKind::backward; });
  const auto end = static_cast<std::size_t>(order_.rend() - backward);
  std::set<std::int64_t> reduced;
  for (std::size_t post : posts) {
    EXPECT_EQ(operand(plan_, *order_[post].instruction, 0).at.tag, Tag::gradients);
    reduced.insert(operand(plan_, *order_[post].instruction, 0).at.offset);
  }
  EXPECT_EQ(reduced.size(), plan_.buckets.size());
  EXPECT_LT(posts[posts.size() - 2], end - 1);
  EXPECT_GE(posts.back(), end);
  for (std::size_t i = posts[0]; i < end; ++i)
    EXPECT_FALSE(order_[i].kind == ProgramKind::backward && order_[i].micro_batch < 2);
}

/// Between a post and its wait nobody reads or writes the bucket, and before the post all contributions are there.
TEST_P(PlanReductions, TouchNoGradientThatIsBeingReduced) {
  for (std::size_t post : reductions(order_)) {
    const Operand& bucket = operand(plan_, *order_[post].instruction, 0);
    const std::int64_t begin = bucket.at.offset, end = begin + bucket.tensor.count() * size_of(bucket.tensor.dtype);
    const std::size_t wait = wait_of(order_, post);
    ASSERT_LT(wait, order_.size());
    for (std::size_t i = post + 1; i < order_.size(); ++i) {
      const Instruction& instruction = *order_[i].instruction;
      if (instruction.kind == Instruction::Kind::wait) continue;
      for (int o = 0; o < instruction.inputs + instruction.outputs; ++o) {
        const Operand& other = operand(plan_, instruction, o);
        const std::int64_t at = other.at.offset, to = at + other.tensor.count() * size_of(other.tensor.dtype);
        if (other.at.tag != Tag::gradients || !other.at || to <= begin || at >= end) continue;
        EXPECT_GT(i, wait) << plan_.names[static_cast<std::size_t>(instruction.name)];
        EXPECT_EQ(order_[i].kind, ProgramKind::update) << plan_.names[static_cast<std::size_t>(instruction.name)];
      }
    }
  }
}

/// Two slots in turn: a reduction waits for the last but one, whose scratch it takes.
TEST_P(PlanReductions, UseTwoSlotsInTurn) {
  const std::vector<std::size_t> posts = reductions(order_);
  std::vector<std::int64_t> slots;
  for (std::size_t post : posts) {
    const Operand& slot = operand(plan_, *order_[post].instruction, 2);
    EXPECT_EQ(slot.at.tag, Tag::communication);
    EXPECT_EQ(slot.tensor.count(), k_slot_bytes);
    slots.push_back(slot.at.offset);
  }
  EXPECT_NE(slots[0], slots[1]);
  for (std::size_t p = 2; p < posts.size(); ++p) {
    EXPECT_EQ(slots[p], slots[p - 2]);
    EXPECT_LT(wait_of(order_, posts[p - 2]), posts[p]);
    EXPECT_GT(wait_of(order_, posts[p - 1]), posts[p]) << "only one reduction at a time";
  }
}

INSTANTIATE_TEST_SUITE_P(BucketBytes, PlanReductions, testing::Values(1, 1024, 2048),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace tessera::test
