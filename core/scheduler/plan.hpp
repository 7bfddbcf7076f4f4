// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  what one rank does in a step, as a value: programs of instructions, and actions that run them.
// Used: executor, simulator, verifier, timeline and printer read it; nobody changes it.
// Must not know: how it was derived.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "core/comm/communicator.hpp"
#include "core/device/device.hpp"
#include "core/graph/graph.hpp"

namespace tessera {

/// Bytes to which everything in the arena is aligned.
inline constexpr std::int64_t k_alignment = 64;

constexpr std::int64_t aligned(std::int64_t bytes) {
  return (bytes + k_alignment - 1) / k_alignment * k_alignment;
}

/// What memory is for. Each tag is one contiguous region of the arena.
enum class Tag : std::uint8_t {
  weights,
  gradients,
  optimizer,
  state,
  inputs,
  activations,
  boundary,
  communication,
  scratch,
  workspace
};
inline constexpr int k_tags = 10;

constexpr std::string_view name_of(Tag tag) {
  constexpr std::string_view names[] = {"weights",     "gradients", "optimizer",     "state",   "inputs",
                                        "activations", "boundary",  "communication", "scratch", "workspace"};
  return names[static_cast<int>(tag)];
}

/// What lies in several copies, because several micro-batches are under way: an action says which copy it uses.
enum class Copies : std::uint8_t {
  inputs,        ///< what a micro-batch brings
  saved,         ///< frames: from forward to backward
  kept,          ///< from forward to weight, where the schedule splits the backward
  deferred,      ///< from backward to weight
  forward_in,    ///< from the chunk before
  forward_out,   ///< to the chunk behind
  backward_in,   ///< from the chunk behind
  backward_out,  ///< to the chunk before
};
inline constexpr int k_copies = 8;
using CopyIndices = std::array<std::int32_t, k_copies>;

/// The memory of one kind. The chunks of a stage share the copies, each as large as the largest chunk needs.
struct CopyGroup {
  Copies kind = Copies::saved;
  Tag tag = Tag::activations;
  int count = 1;
  std::int64_t bytes = 0;  ///< of one copy
  std::int64_t first = 0;  ///< offset of copy 0 in the tag's region; copies are aligned
};

/// Bytes from one copy to the next.
constexpr std::int64_t stride(const CopyGroup& group) {
  return aligned(group.bytes);
}

/// A place in the arena. In a group of copies the offset is relative to the action's copy.
struct Address {
  Tag tag = Tag::scratch;
  std::int64_t offset = -1;  ///< bytes; -1: absent
  std::int16_t group = -1;   ///< in Plan::groups

  explicit operator bool() const { return offset >= 0; }
  friend bool operator==(Address, Address) = default;
};

struct Operand {
  Address at;
  Tensor tensor;  ///< local shape, start and dtype; its data pointer is filled when the plan is bound to memory
  Value value;    ///< in the graph that the plan was made from, for printing
};

/// An all-to-all of rows whose number is data: tensors are [blocks, blocks, rows, …], and an i32 per block says how
/// many rows it has. Members take turns along one dim of blocks.
struct RowExchange {
  struct Side {
    int dim = 0;                        ///< of blocks, 0 or 1
    std::vector<std::int64_t> lengths;  ///< blocks of each member along it
  };
  Side send, receive;
  std::int64_t row = 0;  ///< elements
};

/// A collective or a message, with everything but the pointers.
struct Call {
  CallKind kind = CallKind::all_reduce;
  AxisGroup group;
  ReduceOp op = ReduceOp::sum;
  int peer = -1;         ///< of send and receive: rank in the communicator
  int chunk = 0;         ///< of what is moved: with `key` and the action's slot the place of the call in the order that
  std::int64_t key = 0;  ///< all ranks follow (DESIGN section 3)
  std::int64_t bytes = 0;  ///< that the rank hands over, for printing and simulation
  std::vector<std::int64_t> send_counts, receive_counts;
  std::optional<RowExchange> rows;  ///< takes the place of the counts, which are then what the call may need at most
};

struct Instruction {
  enum class Kind : std::uint8_t {
    kernel,  ///< runs `launch`
    post,    ///< starts `calls[call]`; its completion is event `event`
    wait,    ///< returns when event `event` has happened
  };
  Kind kind = Kind::kernel;
  StreamRole stream = StreamRole::compute;
  std::uint8_t inputs = 0, outputs = 0;
  std::int32_t first_operand = 0;
  std::int32_t attributes = -1;
  Kernel launch = nullptr;
  Address workspace;
  std::int64_t workspace_bytes = 0;
  std::uint32_t accumulate = 0;              ///< outputs that are added into, always
  std::uint32_t accumulate_after_first = 0;  ///< and those from the second micro-batch on
  std::int32_t call = -1;
  std::int32_t event = -1;        ///< of copy 0, where the event is one per copy
  std::int8_t event_copies = -1;  ///< Copies; -1: one event
  std::int32_t name = -1;         ///< in Plan::names
  std::int32_t layer = k_embedding;
  double flops = 0;
  double bytes = 0;  ///< of memory that a kernel reads and writes
};

enum class ProgramKind : std::uint8_t {
  count,
  seed,
  forward,
  backward,
  weight,
  receive,  ///< posts the receives of a boundary between stages
  send,     ///< posts the sends
  sent,     ///< waits until they are done
  reduce,
  update
};

constexpr std::string_view name_of(ProgramKind kind) {
  constexpr std::string_view names[] = {"count",   "seed", "forward", "backward", "weight",
                                        "receive", "send", "sent",    "reduce",   "update"};
  return names[static_cast<int>(kind)];
}

/// A run of instructions. Programs may be parts of others: a backward that is cut where a bucket is complete, or where
/// a body begins that is repeated.
struct Program {
  ProgramKind kind = ProgramKind::forward;
  std::int16_t chunk = 0;
  std::int32_t first = 0, count = 0;
  std::int32_t repeat = -1;  ///< operand, i32: how often it runs, equal on all ranks that it calls; -1: once
};

/// A program for one micro-batch, with the copies of memory that it uses.
struct Action {
  std::int32_t program = 0;
  std::int32_t micro_batch = 0;
  std::int64_t slot = 0;  ///< time in a run of the schedule where every turn takes two, the same on all stages
  CopyIndices copies{};
};

/// A parameter's part on this rank, inside its bucket.
struct BucketMember {
  std::int32_t parameter = -1;
  std::int64_t offset = 0;  ///< elements from the bucket's start
  Slab slab;                ///< of the parameter's global index space
};

/// What moves weights: the run's optimizer, or what keeps experts balanced (core/scheduler/balance_update.hpp).
enum class UpdateRule : std::uint8_t { optimizer, balance };

/// Parameters that are reduced and updated together: a 1-D run of elements.
struct Bucket {
  std::vector<BucketMember> members;
  std::int64_t elements = 0;  ///< with the gaps that align members
  bool trained = true;        ///< has a gradient
  bool decays = true;
  UpdateRule rule = UpdateRule::optimizer;
  DType dtype = DType::f32;  ///< of weights, gradients and states: the accumulation type
  AxisSet partial;           ///< axes over which the gradient is partial
  AxisList split;            ///< axes that split its parameters, outer first
  Home home;                 ///< stages that hold its parameters
  Address weights, gradients;
  std::vector<Address> states;
};

struct MemoryPlan {
  std::array<std::int64_t, k_tags> bytes{};  ///< planned peak of each tag
  std::array<Reach, k_tags> reach{};         ///< of each tag: whether calls move much from or to it

  std::int64_t& operator[](Tag tag) { return bytes[static_cast<std::size_t>(tag)]; }
  std::int64_t operator[](Tag tag) const { return bytes[static_cast<std::size_t>(tag)]; }
  std::int64_t total() const;
};

/// A range of memory that nobody reads any more after an instruction: what poisoning overwrites.
struct Release {
  std::int32_t after = 0;
  Address at;
  std::int64_t bytes = 0;
};

/// Where in the report of a step (Plan::loss) a layer with experts stands; -1: that is not told.
struct ExpertPlaces {
  std::int32_t layer = 0, experts = 0;
  std::int32_t load = -1, kept = -1, balance = -1, z = -1;  ///< as in ExpertReport; `experts` numbers from `load` on
};

struct Plan {
  int rank = 0;
  std::vector<Operand> operands;
  std::vector<Attributes> attributes;
  std::vector<Call> calls;
  std::vector<std::string> names;
  std::vector<Instruction> code;
  std::vector<Program> programs;
  std::vector<Action> actions;
  std::vector<Bucket> buckets;
  std::vector<AxisGroup> communicators;  ///< those that calls name
  std::vector<CopyGroup> groups;
  std::int32_t events = 0;
  MemoryPlan memory;
  std::vector<Release> releases;
  std::vector<Operand> inputs;  ///< what a micro-batch brings, in the order of the model's inputs
  std::vector<std::string> input_names;
  Operand loss, count, decision;  ///< f64: Σ token loss, valid tokens, [norm, factor, skip]; absent where not computed
  std::vector<ExpertPlaces> experts;  ///< of what stands behind Σ token loss, in training
  Operand logits;                     ///< of a generating model; else absent
};

/// Where a place is for an action: in its copies, where there are several.
inline Address address_in(const Plan& plan, const Action& action, Address at) {
  if (at.group < 0) return at;
  const CopyGroup& group = plan.groups[static_cast<std::size_t>(at.group)];
  return {at.tag, group.first + action.copies[static_cast<std::size_t>(group.kind)] * stride(group) + at.offset, -1};
}

/// The event of an instruction for an action: that of its copy, where there is one per copy.
inline std::int32_t event_in(const Instruction& instruction, const Action& action) {
  if (instruction.event_copies < 0) return instruction.event;
  return instruction.event + action.copies[static_cast<std::size_t>(instruction.event_copies)];
}

}  // namespace tessera
