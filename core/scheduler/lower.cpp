// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/lower.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "core/graph/ops/convert.hpp"
#include "core/graph/ops/receive.hpp"
#include "core/graph/ops/shift.hpp"

namespace tessera {
namespace {

/// Bytes from which on an operand of a call is worth memory that other ranks of the node read.
constexpr std::int64_t k_shared_bytes = 64 << 10;

constexpr Tensor k_absent_tensor{nullptr, {}, {}, DType::u8};

}  // namespace

Lowering::Lowering(const Graph& graph, const Mesh& mesh, int rank, const std::vector<int>& stages, const Target& target,
                   Plan& plan)
    : graph_(graph), mesh_(mesh), rank_(rank), stages_(stages), target_(target), plan_(plan) {}

void Lowering::fix(Value v, Address address) {
  places_[v] = {storage_.add_fixed(address, local_bytes(v)), 0};
}

void Lowering::add_copies(Copies kind, int count) {
  Tag tag = Tag::boundary;
  if (kind == Copies::inputs) tag = Tag::inputs;
  if (kind == Copies::saved || kind == Copies::kept || kind == Copies::deferred) tag = Tag::activations;
  groups_[kind] = storage_.add_group({kind, tag, count, 0, 0});
}

Operand Lowering::place_input(Value v) {
  places_[v] = {storage_.add_copy(groups_.at(Copies::inputs), 0, local_bytes(v)), 0};
  return operand(v);
}

void Lowering::fix_accumulator(std::int32_t accumulator, Address address) {
  const Accumulator& a = graph_.accumulators[static_cast<std::size_t>(accumulator)];
  const std::int64_t bytes = slab_of(mesh_, a.layout, a.type.shape, rank_).extent.count() * size_of(a.type.dtype);
  accumulators_[accumulator] = {storage_.add_fixed(address, bytes), 0};
  if (a.total) places_[a.total] = accumulators_[accumulator];
}

void Lowering::announce(const std::vector<NodeList>& programs, const std::vector<std::int32_t>& sends,
                        const std::vector<Value>& outputs) {
  std::map<std::int32_t, const NodeList*> program_of;
  for (const NodeList& list : programs)
    for (std::int32_t n : list.nodes) program_of[n] = &list;
  for (const NodeList& list : programs) {
    for (std::int32_t n : list.nodes) {
      const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
      if (node.op == &ops::receive) {
        lasting_[node.out[0]] = {node.phase == Phase::forward ? Copies::forward_in : Copies::backward_in};
        continue;
      }
      std::vector<Value> read = node.in;
      read.push_back(node.repeat);
      for (Value v : read) {
        if (!v) continue;
        const Value base = base_of(v);
        last_reader_[base] = n;
        const Node* producer = graph_.producer(base);
        if (producer == nullptr || producer->op == &ops::receive) continue;
        const NodeList* made_in = program_of.at(graph_[base].producer);
        if (made_in != &list) note_lasting(base, lasting_for(made_in->kind, list.kind));
      }
    }
  }
  for (std::int32_t n : sends) {
    const Node& receive = graph_.nodes[static_cast<std::size_t>(n)];
    const Value base = base_of(receive.in[0]);
    last_reader_[base] = n;
    if (program_of.contains(graph_[base].producer))
      lasting_.try_emplace(base, Lasting{receive.phase == Phase::forward ? Copies::forward_out : Copies::backward_out});
  }
  for (Value v : outputs)
    if (graph_[v].producer < 0 || program_of.contains(graph_[v].producer)) lasting_[base_of(v)] = {};
}

/// What is read by several programs lies where the last of them can read it.
void Lowering::note_lasting(Value base, Lasting lasting) {
  const auto [it, fresh] = lasting_.emplace(base, lasting);
  if (!fresh && it->second.copies && (!lasting.copies || *lasting.copies > *it->second.copies)) it->second = lasting;
}

Lowering::Lasting Lowering::lasting_for(ProgramKind made_in, ProgramKind read_in) {
  const bool forward = made_in == ProgramKind::forward;
  if (!forward && made_in != ProgramKind::backward) return {};
  if (read_in == ProgramKind::backward) return {Copies::saved};
  if (read_in == ProgramKind::weight) return {forward ? Copies::kept : Copies::deferred};
  return {};
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
  if (step.kind == ConversionStep::Kind::mask) return group_of(node, step)[0] == rank_;
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
    if (producer == nullptr || (!is_view(*producer) && producer->op->memory != Memory::in_place)) return v;
    v = producer->in[0];
  }
}

std::int32_t Lowering::program(const NodeList& list, Events events) {
  const std::vector<std::int32_t> pieces = programs(list, events);
  TESSERA_CHECK(pieces.size() == 1, "a body is repeated where none can be");
  return pieces.front();
}

std::vector<std::int32_t> Lowering::programs(const NodeList& list, Events events) {
  std::vector<std::int32_t> pieces;
  std::int32_t first = position();
  Value repeat;
  chunk_ = list.chunk;
  in_slots_ = events == Events::leave_open;
  for (std::size_t i = 0; i < list.nodes.size(); ++i) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(list.nodes[i])];
    if (node.repeat != repeat) {
      if (repeat) leave_body(first);
      wait_for_all();
      if (node.repeat) enter_body(list, i);
      if (position() > first) pieces.push_back(add_program(list.kind, first, repeat));
      first = position();
      repeat = node.repeat;
      body_ = repeat ? first : -1;
    }
    node_ = list.nodes[i];
    lower_node(node);
  }
  if (events == Events::wait_at_end) wait_for_all();
  if (repeat) leave_body(first);
  body_ = -1;
  pieces.push_back(add_program(list.kind, first, repeat));
  storage_.pack_program();
  return pieces;
}

void Lowering::lower_node(const Node& node) {
  if (is_view(node)) {
    for (std::size_t o = 0; o < node.out.size(); ++o)
      places_[node.out[o]] = {places_.at(node.in[0]).buffer, places_.at(node.in[0]).offset + view_offset(node, o)};
  } else if (node.op == &ops::convert) {
    lower_conversion(node);
  } else if (node.op == &ops::shift) {
    lower_shift(node);
  } else if (node.op == &ops::receive) {
    wait_for_copy(received_.at(node.out[0]), *lasting_.at(node.out[0]).copies);
  } else {
    lower_kernel(node);
  }
}

void Lowering::wait_for_all() {
  while (!pending_.empty()) wait_for(pending_.begin()->first);
}

/// A body may not run at all: accumulators that it would be the first to write are zero before it.
void Lowering::enter_body(const NodeList& list, std::size_t begin) {
  const Value repeat = graph_.nodes[static_cast<std::size_t>(list.nodes[begin])].repeat;
  for (std::size_t i = begin; i < list.nodes.size(); ++i) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(list.nodes[i])];
    if (node.repeat != repeat) break;
    for (Value v : node.out)
      if (const std::int32_t a = graph_[v].accumulator; a >= 0 && started_.insert(a).second) zero_accumulator(a);
  }
}

/// What lay there before the body lives until its last round is over. A gradient is complete only then, too.
void Lowering::leave_body(std::int32_t first) {
  wait_for_all();
  for (std::int32_t i = first; i < position(); ++i) {
    const Instruction& instruction = plan_.code[static_cast<std::size_t>(i)];
    for (int o = 0; o < instruction.inputs + instruction.outputs; ++o)
      if (const Place place = operand_places_[static_cast<std::size_t>(instruction.first_operand + o)];
          place && storage_.first_use(place.buffer) < first)
        storage_.use(place.buffer, position() - 1);
  }
  for (auto& [accumulator, contributions] : contributions_)
    if (!contributions.empty() && contributions.back().end > first)
      contributions.back() = {contributions.back().program, position(), node_};
}

std::int32_t Lowering::add_program(ProgramKind kind, std::int32_t first, Value repeat) {
  Program program{kind, static_cast<std::int16_t>(chunk_), first, position() - first};
  if (repeat) program.repeat = add_operand(places_.at(repeat), tensor(repeat), repeat);
  plan_.programs.push_back(program);
  return static_cast<std::int32_t>(plan_.programs.size() - 1);
}

std::int32_t Lowering::close_program(ProgramKind kind, std::int32_t first) {
  storage_.pack_program();
  return add_program(kind, first);
}

std::int32_t Lowering::zero_program(const std::vector<std::int32_t>& accumulators) {
  const std::int32_t first = position();
  chunk_ = 0;
  for (std::int32_t a : accumulators) zero_accumulator(a);
  return close_program(ProgramKind::seed, first);
}

/// Once in a step.
void Lowering::zero_accumulator(std::int32_t accumulator) {
  const Accumulator& a = graph_.accumulators[static_cast<std::size_t>(accumulator)];
  const Slab slab = slab_of(mesh_, a.layout, a.type.shape, rank_);
  zero(accumulators_.at(accumulator), {nullptr, slab.extent, slab.start, a.type.dtype});
  plan_.code.back().accumulate_after_first = 1;
}

void Lowering::lower_kernel(const Node& node) {
  std::vector<Tensor> in, out;
  for (Value v : node.in) in.push_back(v ? tensor(v) : k_absent_tensor);
  for (Value v : node.out) out.push_back(tensor(v));
  const KernelEntry& entry = target_.kernels.find(node.op->name, principal_dtype(in, out), target_.threads, in);
  for (Value v : node.in)
    if (v) wait_for(places_.at(v).buffer);

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
  if (entry.workspace != nullptr)
    grant_workspace(instruction, entry.workspace(in, out, node.attributes, target_.threads));
  std::vector<Type> in_types, out_types;
  for (const Tensor& t : in) in_types.push_back({t.shape, t.dtype});
  for (const Tensor& t : out) out_types.push_back({t.shape, t.dtype});
  const CostArgs costs{in_types, out_types, node.attributes};
  if (node.op->flops != nullptr) instruction.flops = node.op->flops(costs);
  instruction.bytes = node.op->bytes != nullptr ? node.op->bytes(costs) : operand_bytes(instruction, node.op->mutates);
  instruction.name = name(std::string(node.op->name));
  emit(instruction);
}

void Lowering::grant_workspace(Instruction& instruction, std::int64_t bytes) {
  instruction.workspace = {Tag::workspace, 0};
  instruction.workspace_bytes = bytes;
  storage_.memory()[Tag::workspace] = std::max(storage_.memory()[Tag::workspace], bytes);
}

/// Every operand once; those added into, and inputs that are changed, twice.
double Lowering::operand_bytes(const Instruction& instruction, std::string_view mutates) const {
  double bytes = 0;
  for (int i = 0; i < instruction.inputs + instruction.outputs; ++i) {
    const auto operand = static_cast<std::size_t>(instruction.first_operand + i);
    if (operand_places_[operand].buffer < 0) continue;
    const Tensor& t = plan_.operands[operand].tensor;
    const std::uint32_t added = instruction.accumulate | instruction.accumulate_after_first;
    const bool twice = i < instruction.inputs ? mutates.find(static_cast<char>('0' + i)) != std::string_view::npos
                                              : (added >> (i - instruction.inputs) & 1U) != 0;
    bytes += static_cast<double>(t.count() * size_of(t.dtype)) * (twice ? 2 : 1);
  }
  return bytes;
}

/// Where output `o` of a node that computes goes.
Place Lowering::produce(const Node& node, std::size_t output) {
  const Value v = node.out[output];
  const ValueInfo& info = graph_[v];
  if (info.accumulator >= 0) return accumulators_.at(info.accumulator);
  if (output == 0 && node.op->memory == Memory::in_place) return places_.at(node.in[0]);
  if (const auto fixed = places_.find(v); fixed != places_.end()) return fixed->second;
  if (const auto found = lasting_.find(v); found != lasting_.end()) return lasting_place(v, found->second);
  if (!last_reader_.contains(v)) return {};
  if (output == 0 && node.op->memory == Memory::may_overwrite && may_take_over(node, node.in[0]))
    return places_.at(node.in[0]);
  return {storage_.add(Tag::scratch, local_bytes(v), position()), 0};
}

Place Lowering::lasting_place(Value v, const Lasting& lasting) {
  const std::int64_t bytes = local_bytes(v);
  if (lasting.copies) return {storage_.add_copy(groups_.at(*lasting.copies), chunk_, bytes), 0};
  return {storage_.add(Tag::state, bytes, position()), 0};
}

/// Whether output 0 may lie where `in` lies: nobody reads it later, not even the next round of a body, and it is
/// scratch of this program.
bool Lowering::may_take_over(const Node& node, Value in) const {
  const Place place = places_.at(in);
  if (storage_.first_use(place.buffer) < body_) return false;
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
    const auto program = static_cast<std::int32_t>(plan_.programs.size());
    auto& contributions = contributions_[accumulator];
    if (contributions.empty() || contributions.back().program != program) contributions.push_back({program, 0, 0});
    contributions.back() = {program, position() + 1, node_};
  }
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

void Lowering::emit(Instruction instruction) {
  if (instruction.kind == Instruction::Kind::post) event_layers_[instruction.event] = instruction.layer;
  if (instruction.kind == Instruction::Kind::wait) instruction.layer = event_layers_.at(instruction.event);
  for (int i = 0; i < instruction.inputs + instruction.outputs; ++i)
    if (const Place place = operand_places_[static_cast<std::size_t>(instruction.first_operand + i)])
      storage_.use(place.buffer, position());
  plan_.code.push_back(instruction);
}

Operand Lowering::operand(Value v) {
  return {storage_.address(places_.at(v)), tensor(v), v};
}

void Lowering::finish() {
  storage_.lay_out_groups();
  plan_.groups = storage_.groups();
  for (std::size_t i = 0; i < plan_.operands.size(); ++i) plan_.operands[i].at = storage_.address(operand_places_[i]);
  plan_.memory = storage_.memory();
  for (const Instruction& instruction : plan_.code)
    if (instruction.kind == Instruction::Kind::post) extend_reach(instruction);
  plan_.releases = storage_.releases();
}

/// Small operands are not worth memory that cannot lie in huge pages: they are copied on their way.
void Lowering::extend_reach(const Instruction& call) {
  for (int i = 0; i < call.inputs + call.outputs; ++i) {
    const Operand& operand = plan_.operands[static_cast<std::size_t>(call.first_operand + i)];
    if (operand.at && operand.tensor.count() * size_of(operand.tensor.dtype) >= k_shared_bytes)
      plan_.memory.reach[static_cast<std::size_t>(operand.at.tag)] = Reach::node;
  }
}

}  // namespace tessera
