// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/lower.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/graph/ops/convert.hpp"

namespace tessera {
namespace {

DType principal_dtype(const std::vector<Tensor>& in, const std::vector<Tensor>& out) {
  for (const auto* operands : {&in, &out})
    for (const Tensor& tensor : *operands)
      if (is_floating(tensor.dtype)) return tensor.dtype;
  return DType::i64;
}

constexpr Tensor k_absent_tensor{nullptr, {}, {}, DType::u8};

}  // namespace

Lowering::Lowering(const Graph& graph, const Mesh& mesh, int rank, const Target& target, Plan& plan)
    : graph_(graph), mesh_(mesh), rank_(rank), target_(target), plan_(plan) {}

void Lowering::fix(Value v, Address address) {
  places_[v] = {storage_.add_fixed(address, local_bytes(v)), 0};
}

Operand Lowering::place_input(Value v, std::int64_t offset) {
  fix(v, {Tag::inputs, offset});
  return operand(v);
}

void Lowering::fix_accumulator(std::int32_t accumulator, Address address) {
  const Accumulator& a = graph_.accumulators[static_cast<std::size_t>(accumulator)];
  const std::int64_t bytes = slab_of(mesh_, a.layout, a.type.shape, rank_).extent.count() * size_of(a.type.dtype);
  accumulators_[accumulator] = {storage_.add_fixed(address, bytes), 0};
  if (a.total) places_[a.total] = accumulators_[accumulator];
}

void Lowering::announce(const std::vector<NodeList>& programs, const std::vector<Value>& outputs) {
  std::map<std::int32_t, const NodeList*> program_of;
  for (const NodeList& list : programs)
    for (std::int32_t n : list.nodes) program_of[n] = &list;
  auto per_micro_batch = [](ProgramKind kind) { return kind == ProgramKind::forward || kind == ProgramKind::backward; };
  for (const NodeList& list : programs) {
    for (std::int32_t n : list.nodes) {
      for (Value v : graph_.nodes[static_cast<std::size_t>(n)].in) {
        if (!v) continue;
        const Value base = base_of(v);
        last_reader_[base] = n;
        if (graph_[base].producer < 0) continue;
        const NodeList* made_in = program_of.at(graph_[base].producer);
        if (made_in == &list) continue;
        homes_[base] = per_micro_batch(made_in->kind) && per_micro_batch(list.kind) ? Home::frame : Home::state;
      }
    }
  }
  for (Value v : outputs) homes_[base_of(v)] = Home::state;
}

Tensor Lowering::tensor(Value v) const {
  const ValueInfo& info = graph_[v];
  const Slab slab = slab_of(mesh_, info.layout, info.type.shape, rank_);
  return {nullptr, slab.extent, slab.start, info.type.dtype};
}

std::int64_t Lowering::local_bytes(Value v) const {
  const Tensor t = tensor(v);
  return t.count() * size_of(t.dtype);
}

/// Whether the node's outputs are its input's memory: views, slices of contiguous parts, and the mask where it keeps.
bool Lowering::is_view(const Node& node) const {
  if (node.op->memory == Memory::view) return true;
  if (node.op != &ops::convert) return false;
  const auto step = node.attributes.as<ConversionStep>();
  if (step.kind == ConversionStep::Kind::mask) return mesh_.group(rank_, step.axes.set())[0] == rank_;
  if (step.kind != ConversionStep::Kind::slice) return false;
  const Shape local = tensor(node.in[0]).shape;
  return local.count() == local.count_from(step.to_dim);
}

std::int64_t Lowering::view_offset(const Node& node, std::size_t output) const {
  const std::int64_t element = size_of(graph_[node.in[0]].type.dtype);
  if (node.op != &ops::convert) return static_cast<std::int64_t>(output) * local_bytes(node.out[output]);
  const auto step = node.attributes.as<ConversionStep>();
  if (step.kind != ConversionStep::Kind::slice) return 0;
  const Tensor from = tensor(node.in[0]), to = tensor(node.out[0]);
  const auto dim = static_cast<std::size_t>(step.to_dim);
  return (to.start[dim] - from.start[dim]) * from.shape.count_from(step.to_dim + 1) * element;
}

Value Lowering::base_of(Value v) const {
  for (;;) {
    const Node* producer = graph_.producer(v);
    if (producer == nullptr || !is_view(*producer)) return v;
    v = producer->in[0];
  }
}

std::int32_t Lowering::program(const NodeList& list, Events events) {
  const std::int32_t first = position();
  in_slots_ = events == Events::leave_open;
  for (std::int32_t n : list.nodes) {
    node_ = n;
    const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
    if (is_view(node)) {
      for (std::size_t o = 0; o < node.out.size(); ++o)
        places_[node.out[o]] = {places_.at(node.in[0]).buffer, places_.at(node.in[0]).offset + view_offset(node, o)};
    } else if (node.op == &ops::convert) {
      lower_conversion(node);
    } else {
      lower_kernel(node);
    }
  }
  if (events == Events::wait_at_end)
    while (!pending_.empty()) wait_for(pending_.begin()->first);
  storage_.pack_program();
  plan_.programs.push_back({list.kind, static_cast<std::int16_t>(list.chunk), first, position() - first});
  return static_cast<std::int32_t>(plan_.programs.size() - 1);
}

void Lowering::lower_kernel(const Node& node) {
  std::vector<Tensor> in, out;
  for (Value v : node.in) in.push_back(v ? tensor(v) : k_absent_tensor);
  for (Value v : node.out) out.push_back(tensor(v));
  const KernelEntry& entry = target_.kernels.find(node.op->name, principal_dtype(in, out));
  for (Value v : node.in)
    if (v) read(places_.at(v));

  Instruction instruction;
  instruction.launch = entry.launch;
  instruction.first_operand = static_cast<std::int32_t>(plan_.operands.size());
  instruction.inputs = static_cast<std::uint8_t>(in.size());
  instruction.outputs = static_cast<std::uint8_t>(out.size());
  instruction.layer = node.layer;
  for (std::size_t i = 0; i < in.size(); ++i)
    add_operand(node.in[i] ? places_.at(node.in[i]) : Place{}, in[i], node.in[i]);
  for (std::size_t o = 0; o < out.size(); ++o) {
    const Place place = produce(node, o);
    places_[node.out[o]] = place;
    add_operand(place, out[o], node.out[o]);
  }
  mark_accumulation(node, instruction);
  plan_.attributes.push_back(node.attributes);
  instruction.attributes = static_cast<std::int32_t>(plan_.attributes.size() - 1);
  if (entry.workspace != nullptr) {
    instruction.workspace = {Tag::workspace, 0};
    instruction.workspace_bytes = entry.workspace(in, out, node.attributes, target_.threads);
    storage_.memory()[Tag::workspace] = std::max(storage_.memory()[Tag::workspace], instruction.workspace_bytes);
  }
  if (node.op->flops != nullptr) {
    std::vector<Type> in_types, out_types;
    for (const Tensor& t : in) in_types.push_back({t.shape, t.dtype});
    for (const Tensor& t : out) out_types.push_back({t.shape, t.dtype});
    instruction.flops = node.op->flops({in_types, out_types, node.attributes});
  }
  instruction.name = name(std::string(node.op->name));
  emit(instruction);
}

/// Where output `o` of a node that computes goes.
Place Lowering::produce(const Node& node, std::size_t output) {
  const Value v = node.out[output];
  const ValueInfo& info = graph_[v];
  if (info.accumulator >= 0) return accumulators_.at(info.accumulator);
  if (const auto fixed = places_.find(v); fixed != places_.end()) return fixed->second;
  if (const auto home = homes_.find(v); home != homes_.end())
    return {storage_.add(home->second == Home::frame ? Tag::activations : Tag::state, local_bytes(v), position()), 0};
  if (!last_reader_.contains(v)) return {};
  if (output == 0 && node.op->memory == Memory::may_overwrite && may_take_over(node, node.in[0]))
    return places_.at(node.in[0]);
  return {storage_.add(Tag::scratch, local_bytes(v), position()), 0};
}

/// Whether output 0 may lie where `in` lies: nobody reads it later, and it is scratch of this program.
bool Lowering::may_take_over(const Node& node, Value in) const {
  const Place place = places_.at(in);
  if (storage_.tag(place.buffer) != Tag::scratch || last_reader_.at(base_of(in)) != node_) return false;
  for (const auto& [buffer, pending] : pending_)
    if (std::find(pending.buffers.begin(), pending.buffers.end(), place.buffer) != pending.buffers.end()) return false;
  return place.offset == 0 && storage_.bytes(place.buffer) == local_bytes(in) &&
         local_bytes(in) == local_bytes(node.out[0]);
}

/// The first contribution of a step overwrites, all others add.
void Lowering::mark_accumulation(const Node& node, Instruction& instruction) {
  for (std::size_t o = 0; o < node.out.size(); ++o) {
    const std::int32_t accumulator = graph_[node.out[o]].accumulator;
    if (accumulator < 0) continue;
    const bool first = started_.insert(accumulator).second;
    (first ? instruction.accumulate_after_first : instruction.accumulate) |= 1U << o;
    completed_[accumulator] = position() + 1;
  }
}

std::int32_t Lowering::completed(std::int32_t accumulator) const {
  const auto found = completed_.find(accumulator);
  return found == completed_.end() ? -1 : found->second;
}

std::int32_t Lowering::name(const std::string& text) {
  const auto [it, fresh] = names_.emplace(text, static_cast<std::int32_t>(plan_.names.size()));
  if (fresh) plan_.names.push_back(text);
  return it->second;
}

std::int32_t Lowering::add_operand(Place place, const Tensor& tensor, Value v) {
  plan_.operands.push_back({{}, tensor, v});
  operand_places_.push_back(place);
  return static_cast<std::int32_t>(plan_.operands.size() - 1);
}

void Lowering::read(Place place) {
  wait_for(place.buffer);
}

void Lowering::emit(Instruction instruction) {
  for (int i = 0; i < instruction.inputs + instruction.outputs; ++i)
    if (const Place place = operand_places_[static_cast<std::size_t>(instruction.first_operand + i)])
      storage_.use(place.buffer, position());
  plan_.code.push_back(instruction);
}

Operand Lowering::operand(Value v) {
  return {storage_.address(places_.at(v)), tensor(v), v};
}

void Lowering::finish() {
  for (std::size_t i = 0; i < plan_.operands.size(); ++i) plan_.operands[i].at = storage_.address(operand_places_[i]);
  plan_.memory = storage_.memory();
  plan_.memory.frame = plan_.memory[Tag::activations];
  plan_.releases = storage_.releases();
}

}  // namespace tessera
