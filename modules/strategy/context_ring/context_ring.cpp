// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "modules/strategy/context_ring/context_ring.hpp"

#include <array>

#include <fmt/core.h>

#include "core/base/op_attributes.hpp"
#include "core/graph/ops/add.hpp"
#include "core/graph/ops/attention.hpp"
#include "core/graph/ops/lse_merge.hpp"
#include "core/graph/ops/shift.hpp"

namespace tessera {
namespace {

/// One block of keys: keys, values, their positions and documents.
using Block = std::array<Value, 4>;

class Ring {
 public:
  Ring(Placer& placer, const AxisList& axes, const Attributes& attention)
      : placer_(placer),
        axes_(axes),
        record_(attention.as<attributes::Attention>()),
        turns_(placer.mesh().size_of(axes.set())) {
    record_.blocks = axes.set().bits();
  }

  /// Inputs and outputs as of ops::attention.
  std::vector<Value> forward(const std::vector<Value>& in) {
    const Value q = in[0], position = in[3], document = in[5];
    Block block = own_block({in[1], in[2], in[4], in[6]});
    std::vector<Value> merged;
    for (int turn = 0; turn < turns_; ++turn) {
      const Block next = turn + 1 < turns_ ? passed_on(block) : block;
      const auto& [k, v, k_position, k_document] = block;
      const auto part = emit(ops::attention, {q, k, v, position, k_position, document, k_document});
      merged = turn == 0 ? part : emit(ops::lse_merge, {merged[0], merged[1], part[0], part[1]});
      block = next;
    }
    return merged;
  }

  /// Inputs and outputs as of ops::attention_grad.
  std::vector<Value> backward(const std::vector<Value>& in) {
    const Value position = in[5], document = in[7];
    Block block = own_block({in[3], in[4], in[6], in[8]});
    Value dq, dk, dv;
    for (int turn = 0; turn < turns_; ++turn) {
      const Block next = turn + 1 < turns_ ? passed_on(block) : block;
      const auto& [k, v, k_position, k_document] = block;
      const auto part = emit(ops::attention_grad,
                             {in[0], in[1], in[2], k, v, position, k_position, document, k_document, in[9], in[10]});
      dq = sum(dq, part[0]);
      dk = passed_on(sum(dk, part[1]));
      dv = passed_on(sum(dv, part[2]));
      block = next;
    }
    return {dq, dk, dv};
  }

 private:
  std::vector<Value> emit(const Op& op, const std::vector<Value>& in) {
    const bool attends = &op == &ops::attention || &op == &ops::attention_grad;
    return placer_.emit(op, in, attends ? Attributes::of(record_) : Attributes{});
  }

  Value sum(Value total, Value part) { return total ? emit(ops::add, {total, part})[0] : part; }

  Value passed_on(Value v) { return placer_.emit(ops::shift, std::array{v}, ops::shift_by(axes_.set(), 1))[0]; }

  Block passed_on(const Block& block) {
    Block next;
    for (std::size_t i = 0; i < block.size(); ++i) next[i] = passed_on(block[i]);
    return next;
  }

  Block own_block(const Block& whole) {
    Block own;
    for (std::size_t i = 0; i < whole.size(); ++i) own[i] = own_part(whole[i]);
    return own;
  }

  /// What attention reads whole, as this rank holds it: the form before it was gathered.
  Value own_part(Value whole) {
    const Graph& graph = placer_.graph();
    Layout own = graph[whole].layout;
    own.splits(0) = axes_;
    for (Value form = whole; form; form = graph[form].source)
      if (graph[form].layout == own) return form;
    return placer_.convert(whole, own);
  }

  Placer& placer_;
  AxisList axes_;
  attributes::Attention record_;
  int turns_;
};

/// Whether every axis of the ring splits the queries' tokens.
bool goes_round(const Layout& queries, const AxisList& axes) {
  return (axes.set() - queries.splits(0).set()).empty();
}

}  // namespace

void ContextRing::place_input(std::string_view, const TokenDims& dims, const Mesh& mesh, Layout& layout) const {
  if (dims.sequence >= 0) layout.splits(dims.sequence).append(mesh.factors("cp"));
}

void ContextRing::place_value(Mark mark, const Type& type, const Mesh& mesh, Layout&) const {
  const int ranks = mesh.size_of(mesh.factors("cp").set());
  if (mark != Mark::query || type.shape[0] % ranks == 0) return;
  throw Error(
      ErrorKind::configuration,
      fmt::format("model.sequence = {} is not a multiple of parallel.context = {}: strategy.context = ring passes "
                  "equal blocks of tokens round",
                  type.shape[0], ranks),
      "choose a multiple, or strategy.context = allgather or ulysses, which take any sequence");
}

bool ContextRing::expand(const Node& node, Placer& placer, std::vector<Value>& out) const {
  const bool forward = node.op == &ops::attention;
  if (!forward && node.op != &ops::attention_grad) return false;
  const AxisList axes = placer.mesh().factors("cp");
  const Value q = node.in[forward ? 0 : 2];
  if (axes.empty() || !goes_round(placer.graph()[q].layout, axes)) return false;
  Ring ring(placer, axes, node.attributes);
  out = forward ? ring.forward(node.in) : ring.backward(node.in);
  return true;
}

std::vector<Range> ContextRing::sequence_order(std::int64_t sequence, const Mesh& mesh) const {
  return zigzag_order(sequence, mesh.size_of(mesh.factors("cp").set()), zigzag_);
}

}  // namespace tessera
