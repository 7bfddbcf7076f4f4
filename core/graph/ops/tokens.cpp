// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/graph/ops/tokens.hpp"

#include <fmt/core.h>

#include "core/base/op_attributes.hpp"
#include "core/graph/gradient_scope.hpp"

namespace tessera::ops {
namespace {

std::vector<Type> split_type(const TypeArgs& args) {
  const std::int64_t pieces = args.attributes.as<attributes::Pieces>().pieces;
  Type piece = args.in[0];
  TESSERA_CHECK(piece.shape[0] % pieces == 0, fmt::format("{} tokens, {} pieces", piece.shape[0], pieces));
  piece.shape[0] /= pieces;
  return std::vector<Type>(static_cast<std::size_t>(pieces), piece);
}

std::vector<Type> concat_type(const TypeArgs& args) {
  Type whole = args.in[0];
  whole.shape[0] *= static_cast<std::int64_t>(args.in.size());
  return {whole};
}

/// Several pieces are each made of a piece of every part, so all parts of the sequence must be alike.
void check_even(const LayoutArgs& args, const Layout& layout, std::int64_t tokens, std::int64_t pieces) {
  if (pieces == 1) return;
  const std::int64_t parts = args.mesh.size_of(layout.splits(0).set());
  TESSERA_CHECK(tokens % (parts * pieces) == 0, fmt::format("{} tokens, {} parts, {} pieces", tokens, parts, pieces));
}

/// What a piece holds follows from how the tokens are split. So values whose pieces belong together must be split
/// alike: all but the first are given the first as a guide.
LayoutAnswer split_layout(const Op&, const LayoutArgs& args) {
  const std::int64_t pieces = args.attributes.as<attributes::Pieces>().pieces;
  LayoutAnswer answer{{args.in.begin(), args.in.end()}, {}};
  Layout& layout = answer.in[0];
  if (args.in.size() == 2) {
    layout = Layout{};
    for (int dim : {0, 1}) layout.splits(dim) = args.in[1].splits(dim);
  }
  check_even(args, layout, args.types[0].shape[0], pieces);
  answer.out.assign(static_cast<std::size_t>(pieces), layout);
  return answer;
}

LayoutAnswer concat_layout(const Op&, const LayoutArgs& args) {
  const Layout layout = args.in[0];
  const auto pieces = static_cast<std::int64_t>(args.in.size());
  check_even(args, layout, pieces * args.types[0].shape[0], pieces);
  return {std::vector<Layout>(args.in.size(), layout), {layout}};
}

/// All pieces have a gradient or none: they go the same way through the head.
void split_tokens_gradient(GradientScope& g) {
  const auto pieces = static_cast<int>(g.attributes().as<attributes::Pieces>().pieces);
  std::vector<Value> gradients;
  for (int i = 0; i < pieces; ++i) gradients.push_back(g.gradient(i));
  g.add(0, g.emit_all(concat_tokens, gradients, g.attributes())[0]);
}

}  // namespace

const Op split_tokens{.name = "split_tokens",
                      .memory = Memory::view,
                      .type = split_type,
                      .layout = split_layout,
                      .gradient = split_tokens_gradient};
const Op concat_tokens{.name = "concat_tokens", .type = concat_type, .layout = concat_layout};

}  // namespace tessera::ops
