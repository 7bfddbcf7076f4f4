// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
// Boundaries between stages become messages: a receive posted before the program that reads, a send behind the one that
// makes, each with one event per copy, since several micro-batches are under way.
#include "core/scheduler/lower.hpp"

namespace tessera {

std::int32_t Lowering::copies_of(Copies kind) const {
  return storage_.groups()[static_cast<std::size_t>(groups_.at(kind))].count;
}

std::int32_t Lowering::receive_program(const std::vector<std::int32_t>& nodes) {
  const std::int32_t first = position();
  for (std::int32_t n : nodes) {
    const Node& node = graph_.nodes[static_cast<std::size_t>(n)];
    const Value v = node.out[0];
    chunk_ = node.chunk;
    const Copies kind = *lasting_.at(v).copies;
    places_[v] = lasting_place(v, lasting_.at(v));
    received_[v] = plan_.events;
    plan_.events += copies_of(kind);
    post_message(CallKind::receive, n, places_[v], received_[v], kind);
  }
  return nodes.empty() ? -1 : close_program(ProgramKind::receive, first);
}

Lowering::SendPrograms Lowering::send_programs(const std::vector<std::int32_t>& nodes) {
  if (nodes.empty()) return {};
  SendPrograms programs;
  const std::int32_t first = position();
  const std::int32_t first_event = plan_.events;
  const Node& any = graph_.nodes[static_cast<std::size_t>(nodes[0])];
  const Copies kind = any.phase == Phase::forward ? Copies::forward_out : Copies::backward_out;
  chunk_ = graph_.producer(any.in[0])->chunk;
  for (std::int32_t n : nodes) {
    const Place place = outgoing(graph_.nodes[static_cast<std::size_t>(n)], kind);
    const std::int32_t event = plan_.events;
    plan_.events += copies_of(kind);
    post_message(CallKind::send, n, place, event, kind);
  }
  programs.send = close_program(ProgramKind::send, first);
  const std::int32_t waits = position();
  for (std::int32_t event = first_event; event < plan_.events; event += copies_of(kind)) wait_for_copy(event, kind);
  programs.sent = close_program(ProgramKind::sent, waits);
  return programs;
}

/// Where the value lies that is sent: among the copies that live until the send is done. What lies elsewhere (it is
/// kept for the backward, too) is copied there.
Place Lowering::outgoing(const Node& receive, Copies copies) {
  const Place place = places_.at(receive.in[0]);
  const auto found = lasting_.find(base_of(receive.in[0]));
  if (found != lasting_.end() && found->second.copies == copies) return place;
  const Place copy = lasting_place(receive.in[0], {copies});
  const Tensor local = tensor(receive.in[0]);
  copy_part(place, local, copy, local, {0, 0, 0, local.shape.rank() == 0 ? 1 : local.shape[0]});
  return copy;
}

/// Both ends give the message the key of the node that reads.
void Lowering::post_message(CallKind kind, std::int32_t n, Place place, std::int32_t event, Copies copies) {
  const Node& receive = graph_.nodes[static_cast<std::size_t>(n)];
  const Node& producer = *graph_.producer(receive.in[0]);
  const AxisId stage_axis = mesh_.find("pp");
  node_ = n;
  Tensor local = tensor(receive.out[0]);
  local.shape = {local.shape.count()};
  Instruction instruction;
  instruction.kind = Instruction::Kind::post;
  instruction.stream = StreamRole::pipeline;
  instruction.first_operand = add_operand(place, local, receive.in[0]);
  add_operand(place, local, receive.in[0]);
  add_operand({}, {nullptr, {0}, {}, DType::u8}, {});
  instruction.inputs = 1;
  instruction.outputs = 2;
  instruction.event = event;
  instruction.event_copies = static_cast<std::int8_t>(copies);
  instruction.layer = receive.layer;
  Call call;
  call.kind = kind;
  call.group = {AxisSet::of(stage_axis), {}};
  call.peer = stages_[static_cast<std::size_t>(kind == CallKind::send ? receive.chunk : producer.chunk)];
  call.bytes = kind == CallKind::send ? local.count() * size_of(local.dtype) : 0;
  add_call(instruction, std::move(call));
  plan_.calls.back().chunk = producer.chunk;
}

void Lowering::wait_for_copy(std::int32_t event, Copies copies) {
  Instruction instruction;
  instruction.kind = Instruction::Kind::wait;
  instruction.event = event;
  instruction.event_copies = static_cast<std::int8_t>(copies);
  instruction.first_operand = static_cast<std::int32_t>(plan_.operands.size());
  instruction.name = name("wait");
  emit(instruction);
}

}  // namespace tessera
