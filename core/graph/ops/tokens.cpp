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

/// A piece is made of a piece of every part, so all parts of the sequence must be alike.
void check_even(const LayoutArgs& args, const Layout& layout, std::int64_t tokens, std::int64_t pieces) {
  const std::int64_t parts = args.mesh.size_of(layout.splits(0).set());
  TESSERA_CHECK(tokens % (parts * pieces) == 0, fmt::format("{} tokens, {} parts, {} pieces", tokens, parts, pieces));
}

LayoutAnswer split_layout(const Op&, const LayoutArgs& args) {
  const std::int64_t pieces = args.attributes.as<attributes::Pieces>().pieces;
  const Layout layout = args.in[0];
  check_even(args, layout, args.types[0].shape[0], pieces);
  return {{layout}, std::vector<Layout>(static_cast<std::size_t>(pieces), layout)};
}

LayoutAnswer concat_layout(const Op&, const LayoutArgs& args) {
  const Layout layout = args.in[0];
  check_even(args, layout, args.types[0].shape[0], 1);
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

const Op split_tokens{.name = "split_tokens", .memory = Memory::view, .type = split_type, .layout = split_layout,
                      .gradient = split_tokens_gradient};
const Op concat_tokens{.name = "concat_tokens", .type = concat_type, .layout = concat_layout};

}  // namespace tessera::ops
