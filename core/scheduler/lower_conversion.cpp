// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
// Conversions become calls of communicators, with parts packed and unpacked where they do not lie one behind the other.
#include <algorithm>

#include <fmt/core.h>

#include "core/scheduler/lower.hpp"

namespace tessera {
namespace {

/// One member's share of an exchange along a dim: where it begins in the local tensor, and how many indices it has.
struct Part {
  std::int64_t begin = 0, length = 0;
};

/// Whether parts along `dim` are contiguous in memory and lie in the order of the members.
bool in_place(const Shape& local, int dim, const std::vector<Part>& parts) {
  if (local.count() != local.count_from(dim) && local.count() != 0) return false;
  std::int64_t next = 0;
  for (const Part& part : parts) {
    if (part.length > 0 && part.begin != next) return false;
    next += part.length;
  }
  return true;
}

Tensor with_extent(Tensor tensor, int dim, std::int64_t extent) {
  tensor.shape[dim] = extent;
  return tensor;
}

std::vector<std::int64_t> counts_of(const Shape& local, int dim, const std::vector<Part>& parts) {
  std::vector<std::int64_t> counts;
  for (const Part& part : parts) {
    Shape shape = local;
    shape[dim] = part.length;
    counts.push_back(shape.count());
  }
  return counts;
}

/// Parts of all members along `dim` under `layout`, relative to `origin`.
std::vector<Part> parts_of(const Mesh& mesh, const std::vector<int>& group, const Layout& layout, const Shape& global,
                           int dim, std::int64_t origin) {
  std::vector<Part> parts;
  for (int member : group) {
    const Range range = part_of(mesh, global[dim], layout.splits(dim), member);
    parts.push_back({range.begin - origin, range.size()});
  }
  return parts;
}

/// Parts that lie one behind the other, in the order of the members.
std::vector<std::int64_t> lengths_of(const std::vector<Part>& parts) {
  std::vector<std::int64_t> lengths;
  std::int64_t next = 0;
  for (const Part& part : parts) {
    TESSERA_CHECK(part.length == 0 || part.begin == next, "members do not take turns along a dim of blocks");
    lengths.push_back(part.length);
    next += part.length;
  }
  return lengths;
}

}  // namespace

void Lowering::lower_conversion(const Node& node) {
  using Kind = ConversionStep::Kind;
  const auto step = node.attributes.as<ConversionStep>();
  wait_for(places_.at(node.in[0]).buffer);
  const Value v = node.out[0];
  if (step.kind == Kind::all_reduce) return all_reduce(node);
  places_[v] = produce(node, 0);
  switch (step.kind) {
    case Kind::reduce_scatter:
      return reduce_scatter(node, step);
    case Kind::all_gather:
      return all_gather(node, step);
    case Kind::all_to_all:
      return all_to_all(node, step);
    case Kind::mask:
      return zero(places_[v], tensor(v));
    default:
      break;
  }
  const Tensor from = tensor(node.in[0]), to = tensor(v);
  const auto dim = static_cast<std::size_t>(step.to_dim);
  copy_part(places_.at(node.in[0]), from, places_[v], to,
            {step.to_dim, to.start[dim] - from.start[dim], 0, to.shape[step.to_dim]});
}

/// In place where nobody needs the summands any more; else on a copy. A gradient's bucket is always reduced in place.
void Lowering::all_reduce(const Node& node) {
  const Place in = places_.at(node.in[0]);
  const Tensor local = tensor(node.in[0]);
  const bool bucket = storage_.tag(in.buffer) == Tag::gradients;
  if (bucket || (!lasting_.contains(node.out[0]) && may_take_over(node, node.in[0]))) {
    places_[node.out[0]] = in;
  } else {
    places_[node.out[0]] = produce(node, 0);
    copy_part(in, local, places_[node.out[0]], local, {0, 0, 0, local.shape.rank() == 0 ? 1 : local.shape[0]});
  }
  const Place out = places_[node.out[0]];
  post(node, CallKind::all_reduce, out, out, local, local, {}, {});
}

void Lowering::reduce_scatter(const Node& node, const ConversionStep& step) {
  const int dim = step.to_dim;
  const Tensor from = tensor(node.in[0]), to = tensor(node.out[0]);
  const std::vector<int> group = group_of(node, step);
  const auto parts = parts_of(mesh_, group, graph_[node.out[0]].layout, graph_[node.out[0]].type.shape, dim,
                              from.start[static_cast<std::size_t>(dim)]);
  const auto counts = counts_of(from.shape, dim, parts);
  Place in = places_.at(node.in[0]);
  if (!in_place(from.shape, dim, parts)) {
    Place packed{storage_.add(Tag::communication, from.count() * size_of(from.dtype), position()), 0};
    std::int64_t offset = 0;
    for (std::size_t j = 0; j < parts.size(); ++j) {
      copy_part(in, from, {packed.buffer, offset}, with_extent(from, dim, parts[j].length),
                {dim, parts[j].begin, 0, parts[j].length});
      offset += counts[j] * size_of(from.dtype);
    }
    in = packed;
  }
  post(node, CallKind::reduce_scatter, in, places_[node.out[0]], from, to, counts, {});
}

void Lowering::all_gather(const Node& node, const ConversionStep& step) {
  const int dim = step.from_dim;
  const Tensor from = tensor(node.in[0]), to = tensor(node.out[0]);
  const std::vector<int> group = group_of(node, step);
  const auto parts = parts_of(mesh_, group, graph_[node.in[0]].layout, graph_[node.in[0]].type.shape, dim,
                              to.start[static_cast<std::size_t>(dim)]);
  const auto counts = counts_of(to.shape, dim, parts);
  const Place out = places_[node.out[0]];
  if (in_place(to.shape, dim, parts))
    return post(node, CallKind::all_gather, places_.at(node.in[0]), out, from, to, {}, counts);
  const Place packed{storage_.add(Tag::communication, to.count() * size_of(to.dtype), position()), 0};
  post(node, CallKind::all_gather, places_.at(node.in[0]), packed, from, to, {}, counts);
  wait_for(packed.buffer);
  std::int64_t offset = 0;
  for (std::size_t j = 0; j < parts.size(); ++j) {
    copy_part({packed.buffer, offset}, with_extent(to, dim, parts[j].length), out, to,
              {dim, 0, parts[j].begin, parts[j].length});
    offset += counts[j] * size_of(to.dtype);
  }
}

void Lowering::all_to_all(const Node& node, const ConversionStep& step) {
  if (node.in.size() == 3 && step.from_dim < 2 && step.to_dim < 2) return exchange_rows(node, step);
  const Tensor from = tensor(node.in[0]), to = tensor(node.out[0]);
  const Shape& global = graph_[node.in[0]].type.shape;
  const std::vector<int> group = group_of(node, step);
  const auto sent = parts_of(mesh_, group, graph_[node.out[0]].layout, global, step.to_dim,
                             from.start[static_cast<std::size_t>(step.to_dim)]);
  const auto received = parts_of(mesh_, group, graph_[node.in[0]].layout, global, step.from_dim,
                                 to.start[static_cast<std::size_t>(step.from_dim)]);
  const auto send_counts = counts_of(from.shape, step.to_dim, sent);
  const auto receive_counts = counts_of(to.shape, step.from_dim, received);
  const std::int64_t element = size_of(from.dtype);

  Place in = places_.at(node.in[0]);
  if (!in_place(from.shape, step.to_dim, sent)) {
    const Place packed{storage_.add(Tag::communication, from.count() * element, position()), 0};
    std::int64_t offset = 0;
    for (std::size_t j = 0; j < sent.size(); ++j) {
      copy_part(in, from, {packed.buffer, offset}, with_extent(from, step.to_dim, sent[j].length),
                {step.to_dim, sent[j].begin, 0, sent[j].length});
      offset += send_counts[j] * element;
    }
    in = packed;
  }
  const Place out = places_[node.out[0]];
  if (in_place(to.shape, step.from_dim, received))
    return post(node, CallKind::all_to_all, in, out, from, to, send_counts, receive_counts);
  const Place packed{storage_.add(Tag::communication, to.count() * element, position()), 0};
  post(node, CallKind::all_to_all, in, packed, from, to, send_counts, receive_counts);
  wait_for(packed.buffer);
  std::int64_t offset = 0;
  for (std::size_t j = 0; j < received.size(); ++j) {
    copy_part({packed.buffer, offset}, with_extent(to, step.from_dim, received[j].length), out, to,
              {step.from_dim, 0, received[j].begin, received[j].length});
    offset += receive_counts[j] * element;
  }
}

/// Only rows that are there move: packed by the member that gets them, unpacked by the member that sent them.
void Lowering::exchange_rows(const Node& node, const ConversionStep& step) {
  const Tensor from = tensor(node.in[0]), to = tensor(node.out[0]);
  const Shape& global = graph_[node.in[0]].type.shape;
  const std::vector<int> group = group_of(node, step);
  const auto sent = parts_of(mesh_, group, graph_[node.out[0]].layout, global, step.to_dim,
                             from.start[static_cast<std::size_t>(step.to_dim)]);
  const auto received = parts_of(mesh_, group, graph_[node.in[0]].layout, global, step.from_dim,
                                 to.start[static_cast<std::size_t>(step.from_dim)]);
  for (Value counts : {node.in[1], node.in[2]}) wait_for(places_.at(counts).buffer);
  const auto buffer = [&](const Tensor& t) {
    return Place{storage_.add(Tag::communication, t.count() * size_of(t.dtype), position()), 0};
  };
  const Place packed = buffer(from), arrived = buffer(to);
  move_rows("pack_rows", {places_.at(node.in[0]), from}, node.in[1], {packed, from}, step.to_dim);
  post(node, CallKind::all_to_all, packed, arrived, from, to, counts_of(from.shape, step.to_dim, sent),
       counts_of(to.shape, step.from_dim, received),
       RowExchange{{step.to_dim, lengths_of(sent)}, {step.from_dim, lengths_of(received)}, from.shape.count_from(3)});
  wait_for(arrived.buffer);
  move_rows("unpack_rows", {arrived, to}, node.in[2], {places_[node.out[0]], to}, step.from_dim);
}

void Lowering::move_rows(const char* kernel, const Located& from, Value counts, const Located& to, int outer_dim) {
  const KernelEntry& entry = target_.kernels.find(kernel, DType::i64);
  const std::vector<Tensor> in{from.tensor, tensor(counts)}, out{to.tensor};
  Instruction instruction;
  instruction.launch = entry.launch;
  instruction.first_operand = add_operand(from.place, from.tensor, {});
  add_operand(places_.at(counts), in[1], counts);
  add_operand(to.place, to.tensor, {});
  instruction.inputs = 2;
  instruction.outputs = 1;
  plan_.attributes.push_back(Attributes::of(attributes::RowBlocks{outer_dim}));
  instruction.attributes = static_cast<std::int32_t>(plan_.attributes.size() - 1);
  grant_workspace(instruction, entry.workspace(in, out, plan_.attributes.back(), target_.threads));
  instruction.name = name(kernel);
  instruction.layer = graph_.nodes[static_cast<std::size_t>(node_)].layer;
  instruction.bytes = operand_bytes(instruction);
  emit(instruction);
}

void Lowering::copy_part(Place from, const Tensor& source, Place to, const Tensor& target,
                         const attributes::CopyPart& part) {
  if (part.length == 0) return;
  Instruction instruction;
  instruction.launch = target_.kernels.find("copy_part", DType::i64).launch;
  instruction.first_operand = add_operand(from, source, {});
  add_operand(to, target, {});
  instruction.inputs = instruction.outputs = 1;
  plan_.attributes.push_back(Attributes::of(part));
  instruction.attributes = static_cast<std::int32_t>(plan_.attributes.size() - 1);
  instruction.name = name("copy_part");
  instruction.layer = graph_.nodes[static_cast<std::size_t>(node_)].layer;
  instruction.bytes = 2.0 * static_cast<double>(std::min(source.count(), target.count()) * size_of(target.dtype));
  emit(instruction);
}

void Lowering::zero(Place to, const Tensor& target) {
  Instruction instruction;
  instruction.launch = target_.kernels.find("zero", DType::i64).launch;
  instruction.first_operand = add_operand(to, target, {});
  instruction.outputs = 1;
  plan_.attributes.emplace_back();
  instruction.attributes = static_cast<std::int32_t>(plan_.attributes.size() - 1);
  instruction.name = name("zero");
  instruction.bytes = static_cast<double>(target.count() * size_of(target.dtype));
  emit(instruction);
}

/// The ranks among which a conversion moves data.
std::vector<int> Lowering::group_of(const Node& node, const ConversionStep& step) const {
  return mesh_.group(rank_, mesh_.group_of(step.axes.set(), graph_[node.in[0]].home));
}

void Lowering::post(const Node& node, CallKind kind, Place in, Place out, const Tensor& in_tensor,
                    const Tensor& out_tensor, std::vector<std::int64_t> send_counts,
                    std::vector<std::int64_t> receive_counts, std::optional<RowExchange> rows) {
  const auto step = node.attributes.as<ConversionStep>();
  Instruction instruction;
  instruction.kind = Instruction::Kind::post;
  instruction.stream = StreamRole::collective;
  const std::int64_t count = std::max(in_tensor.count(), out_tensor.count());
  const std::int64_t bytes =
      target_.collective_workspace(kind, count, in_tensor.dtype, static_cast<int>(group_of(node, step).size()));
  const Place workspace = call_workspace(bytes);
  instruction.first_operand = add_operand(in, in_tensor, node.in[0]);
  instruction.inputs = 1;
  for (std::size_t i = 1; i < node.in.size() && rows; ++i, ++instruction.inputs)
    add_operand(places_.at(node.in[i]), tensor(node.in[i]), node.in[i]);
  add_operand(out, out_tensor, node.out[0]);
  add_operand(workspace, {nullptr, {bytes}, {}, DType::u8}, {});
  instruction.outputs = 2;
  instruction.event = plan_.events++;
  instruction.layer = node.layer;
  Call call;
  call.kind = kind;
  call.group = mesh_.group_of(step.axes.set(), graph_[node.in[0]].home);
  call.op = step.merge == Merge::sum ? ReduceOp::sum : ReduceOp::max;
  call.bytes = in_tensor.count() * size_of(in_tensor.dtype);
  call.send_counts = std::move(send_counts);
  call.receive_counts = std::move(receive_counts);
  call.rows = std::move(rows);
  add_call(instruction, std::move(call));
  Pending pending{{instruction.event}, {in.buffer, out.buffer}};
  if (workspace) pending.buffers.push_back(workspace.buffer);
  pending_[out.buffer] = pending;
}

/// Scratch for a call; in programs with open events one of the slots, when the call that used it last is done.
Place Lowering::call_workspace(std::int64_t bytes) {
  if (bytes == 0) return {};
  if (!in_slots_) return {storage_.add(Tag::communication, bytes, position()), 0};
  const Place slot = slots_[next_slot_];
  TESSERA_CHECK(bytes <= storage_.bytes(slot.buffer), "a call outgrew its slot");
  for (auto pending = pending_.begin(); pending != pending_.end(); ++pending)
    if (pending->second.events.front() == slot_events_[next_slot_]) {
      wait_for(pending->first);
      break;
    }
  slot_events_[next_slot_] = plan_.events;  // the event of the call that comes next
  next_slot_ = (next_slot_ + 1) % slots_.size();
  return slot;
}

/// Names the call, gives it its place in the order that all ranks follow, and emits the instruction that posts it.
void Lowering::add_call(Instruction& instruction, Call call) {
  call.chunk = chunk_;
  call.key = key_ ? (*key_)++ : key_of(node_);
  if (std::find(plan_.communicators.begin(), plan_.communicators.end(), call.group) == plan_.communicators.end())
    plan_.communicators.push_back(call.group);
  instruction.name = name(fmt::format("{}({})", name_of(call.kind), mesh_.describe(call.group.axes)));
  instruction.call = static_cast<std::int32_t>(plan_.calls.size());
  plan_.calls.push_back(std::move(call));
  emit(instruction);
}

/// Waits for the open calls that write this buffer, if there are any.
void Lowering::wait_for(std::int32_t buffer) {
  const auto found = pending_.find(buffer);
  if (found == pending_.end()) return;
  const Pending pending = found->second;
  pending_.erase(found);
  for (std::int32_t event : pending.events) {
    Instruction instruction;
    instruction.kind = Instruction::Kind::wait;
    instruction.event = event;
    instruction.first_operand = static_cast<std::int32_t>(plan_.operands.size());
    instruction.name = name("wait");
    for (std::int32_t held : pending.buffers) storage_.use(held, position());
    emit(instruction);
  }
}

void Lowering::reserve_slots(std::int64_t bytes) {
  for (int slot = 0; slot < 2; ++slot) {
    slots_.push_back({storage_.add_fixed(storage_.reserve(Tag::communication, bytes), bytes), 0});
    slot_events_.push_back(-1);
  }
}

}  // namespace tessera
