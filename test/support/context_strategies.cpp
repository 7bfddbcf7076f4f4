// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
#include "test/support/context_strategies.hpp"

#include "modules/strategy/context_allgather/context_allgather.hpp"
#include "modules/strategy/context_ring/context_ring.hpp"
#include "modules/strategy/context_ulysses/context_ulysses.hpp"

namespace tessera::test {

const std::vector<std::string>& context_strategies() {
  static const std::vector<std::string> all{"allgather", "ring", "ulysses"};
  return all;
}

std::unique_ptr<Strategy> context_strategy(const std::string& name, Zigzag zigzag) {
  if (name == "allgather") return std::make_unique<ContextAllgather>(zigzag);
  if (name == "ring") return std::make_unique<ContextRing>(zigzag);
  if (name == "ulysses") return std::make_unique<ContextUlysses>();
  throw Error(ErrorKind::not_found, "there is no context strategy " + name);
}

}  // namespace tessera::test
