// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/scheduler/elementwise_update.hpp"

namespace tessera {

std::vector<Type> elementwise_update_type(const TypeArgs& args) {
  for (std::size_t i = 1; i + 1 < args.in.size(); ++i)
    TESSERA_CHECK(args.in[i] == args.in[0], to_string(args.in[i].shape) + " beside " + to_string(args.in[0].shape));
  return {};
}

LayoutAnswer elementwise_update_layout(const Op&, const LayoutArgs& args) {
  std::vector<Layout> in(args.in.size(), args.in[0]);
  in.back() = {};
  return {in, {}};
}

}  // namespace tessera
