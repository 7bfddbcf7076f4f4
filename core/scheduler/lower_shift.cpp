// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
// A shift becomes a message to one neighbour in the ring and one from the other. Both are open until somebody reads
// what came: computation on the blocks at hand goes on meanwhile.
#include <algorithm>

#include "core/scheduler/lower.hpp"

namespace tessera {
namespace {

/// The axes of a shift as a group for values of a home.
AxisGroup ring_of(const Mesh& mesh, const Node& node, Home home) {
  return mesh.group_of(AxisSet(static_cast<std::uint16_t>(node.attributes.as<attributes::Shift>().axes)), home);
}

}  // namespace

void Lowering::lower_shift(const Node& node) {
  const std::int64_t by = node.attributes.as<attributes::Shift>().by;
  const std::vector<int> ring = mesh_.group(rank_, ring_of(mesh_, node, graph_[node.in[0]].home));
  const auto size = static_cast<std::int64_t>(ring.size());
  const std::int64_t here = std::find(ring.begin(), ring.end(), rank_) - ring.begin();
  const auto neighbour = [&](std::int64_t distance) {
    return static_cast<int>(((here + distance) % size + size) % size);
  };

  const Place in = places_.at(node.in[0]);
  wait_for(in.buffer);
  const Place out = places_[node.out[0]] = produce(node, 0);
  const Tensor local = tensor(node.in[0]);
  if (by % size == 0) return copy_part(in, local, out, local, {0, 0, 0, local.shape[0]});
  const std::int32_t sent = post_to(node, CallKind::send, neighbour(by), in);
  const std::int32_t received = post_to(node, CallKind::receive, neighbour(-by), out);
  pending_[out.buffer] = {{sent, received}, {in.buffer, out.buffer}};
}

/// Starts a message to or from a member of the ring; its event.
std::int32_t Lowering::post_to(const Node& node, CallKind kind, int peer, Place at) {
  const Tensor local = tensor(node.in[0]);
  Instruction instruction;
  instruction.kind = Instruction::Kind::post;
  instruction.stream = StreamRole::collective;
  instruction.first_operand = add_operand(at, local, node.in[0]);
  add_operand(at, local, node.out[0]);
  add_operand({}, {nullptr, {0}, {}, DType::u8}, {});
  instruction.inputs = 1;
  instruction.outputs = 2;
  instruction.event = plan_.events++;
  instruction.layer = node.layer;
  Call call;
  call.kind = kind;
  call.group = ring_of(mesh_, node, graph_[node.in[0]].home);
  call.peer = peer;
  call.bytes = kind == CallKind::send ? local.count() * size_of(local.dtype) : 0;
  add_call(instruction, std::move(call));
  return instruction.event;
}

}  // namespace tessera
