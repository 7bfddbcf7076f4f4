// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "core/model/generation.hpp"

#include "core/graph/ops/attention.hpp"
#include "core/graph/ops/cached_attention.hpp"

namespace tessera {

void cache_attention(Graph& logical, std::int64_t capacity) {
  for (Node& node : logical.nodes) {
    if (node.op != &ops::attention) continue;
    ValueInfo cache = logical[node.in[1]];
    cache.type.shape[0] = capacity;
    cache.role = ValueRole::state;
    cache.mark = Mark::none;
    cache.producer = -1;
    cache.name = "key_cache";
    const Value keys = logical.add_value(cache);
    cache.name = "value_cache";
    const Value values = logical.add_value(cache);
    node.op = &ops::cached_attention;
    node.in = {node.in[0], node.in[1], node.in[2], keys, values};
    node.out = {node.out[0]};
  }
}

}  // namespace tessera
