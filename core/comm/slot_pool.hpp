// SPDX-FileCopyrightText: The Tessera authors
// SPDX-License-Identifier: Apache-2.0
//
// For:  the fixed places in which outstanding calls of a communicator are kept.
// Used: implementations of Communicator.
// Must not know: what a call is.
#pragma once

#include <bit>
#include <cstdint>

#include "core/base/error.hpp"
#include "core/comm/communicator.hpp"

namespace tessera {

class SlotPool {
 public:
  int acquire() {
    TESSERA_CHECK(free_ != 0, "as many calls are outstanding as a communicator has slots: wait for some of them");
    const int slot = std::countr_zero(free_);
    free_ &= free_ - 1;
    return slot;
  }
  void release(int slot) { free_ |= std::uint64_t{1} << slot; }
  bool holds(int slot) const { return slot >= 0 && (free_ >> slot & 1U) == 0; }
  bool empty() const { return ~free_ == 0; }

 private:
  static_assert(Communicator::k_slots == 64, "one bit for each slot");
  std::uint64_t free_ = ~std::uint64_t{0};
};

}  // namespace tessera
