// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  a strategy that computes one gradient wrongly where there are several ranks: what comparisons must find.
// Used: tests of comparisons, as a class and as a module.
// Must not know: who finds it.
#pragma once

#include "core/scheduler/strategy.hpp"

namespace tessera::testing_support {

/// The backward of the norms of one layer reads the gradient in place of its input. Forward passes stay right.
class FaultyStrategy final : public Strategy {
 public:
  explicit FaultyStrategy(int layer) : layer_(layer) {}

  bool expand(const Node& node, Placer& placer, std::vector<Value>& out) const override;

 private:
  int layer_;
};

}  // namespace tessera::testing_support
